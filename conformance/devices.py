"""Where programs work: on the CPU, or on a CUDA device, and what float32 is multiplied in there.

A run is held to the CPU unless it asks for a device; CUDA devices are hidden from its workers then, as some frameworks
take the first that they see. On a device float32 is float32 unless a run allows TF32, which keeps 11 of its 24 bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.errors import ConformanceError

CPU, CUDA = "cpu", "cuda"
DEVICES = (CPU, CUDA)
FLOAT32, TF32 = "float32", "tf32"
PRECISIONS = (FLOAT32, TF32)
DRIVER = "libcuda.so.1"


@dataclass(frozen=True)
class Device:
    """What a run asks for: a device by its name, and whether float32 may be multiplied as TF32 there."""

    name: str = CPU
    precision: str = FLOAT32

    def __post_init__(self) -> None:
        """Refuse what is none. Raises ConformanceError."""
        if self.name not in DEVICES:
            raise ConformanceError(f"device {self.name!r}: not one of {', '.join(DEVICES)}")
        if self.precision not in PRECISIONS:
            raise ConformanceError(f"precision {self.precision!r}: not one of {', '.join(PRECISIONS)}")
        if self.precision == TF32 and self.name == CPU:
            raise ConformanceError(f"precision {TF32}: the device {CPU} has none; --device {CUDA} has")

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables of the environment of a worker: other devices are hidden."""
        return {"CUDA_VISIBLE_DEVICES": ""} if self.name == CPU else {}

    def facts(self, hardware: str) -> Mapping[str, str]:
        """Return what results say of the device, nothing of the CPU. hardware: its model, as the framework names it."""
        if self.name == CPU:
            return {}
        return {"device": self.name, "hardware": hardware, "precision": self.precision}

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Device:
        """Return the device that the header of a results file speaks of. Raises ConformanceError."""
        return cls(environment.get("device", CPU), environment.get("precision", FLOAT32))


ON_CPU = Device()


def fault(name: str) -> str | None:
    """Return why this machine has no such device, None where it has one or only a framework can tell."""
    if name == CPU:
        return None
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError as error:
        return f"no NVIDIA driver is on this machine ({error})"
    found = ctypes.c_int()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(found))
    return None if status == 0 and found.value else f"the NVIDIA driver finds no device (CUDA error {status})"
