"""Where programs work: on the CPU, or on a CUDA device, and what float32 is multiplied in there.

A run is held to the CPU unless it asks for a device; CUDA devices are hidden from its workers then, as some frameworks
take the first that they see. On a device float32 is float32 unless a run allows TF32, which keeps 11 of its 24 bits.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from conformance import ConformanceError

CPU, CUDA = "cpu", "cuda"
DEVICE_NAMES = (CPU, CUDA)
FLOAT32, TF32 = "float32", "tf32"
PRECISIONS = (FLOAT32, TF32)
CUDA_DRIVER_LIBRARY = "libcuda.so.1"


@dataclass(frozen=True)
class Device:
    """What a run asks for: a device by its name, and whether float32 may be multiplied as TF32 there."""

    name: str = CPU
    precision: str = FLOAT32

    def __post_init__(self) -> None:
        """Refuse what is none. Raises ConformanceError."""
        if self.name not in DEVICE_NAMES:
            raise ConformanceError(f"device {self.name!r}: not one of {', '.join(DEVICE_NAMES)}")
        if self.precision not in PRECISIONS:
            raise ConformanceError(f"precision {self.precision!r}: not one of {', '.join(PRECISIONS)}")
        if self.precision == TF32 and self.name == CPU:
            raise ConformanceError(f"precision {TF32}: the device {CPU} has none; --device {CUDA} has")

    @property
    def environment_variables(self) -> Mapping[str, str]:
        """Variables of the environment of a worker: other devices are hidden."""
        return {"CUDA_VISIBLE_DEVICES": ""} if self.name == CPU else {}

    def environment_record(self, hardware: str) -> Mapping[str, str]:
        """Return what results say of the device, nothing of the CPU. hardware: its model, as the framework names it."""
        if self.name == CPU:
            return {}
        return {"device": self.name, "hardware": hardware, "precision": self.precision}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Device:
        """Return the device that the header of a results file speaks of. Raises ConformanceError."""
        return cls(environment.get("device", CPU), environment.get("precision", FLOAT32))


ON_CPU = Device()


def device_problem(name: str) -> str | None:
    """Return why this machine has no such device, None where it has one or only a framework can tell."""
    if name == CPU:
        return None
    try:
        driver = ctypes.CDLL(CUDA_DRIVER_LIBRARY)
    except OSError as error:
        return f"no NVIDIA driver is on this machine ({error})"
    found = ctypes.c_int()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(found))
    return None if status == 0 and found.value else f"the NVIDIA driver finds no device (CUDA error {status})"


AVX2, AVX512, AVX512_FP16, NATIVE = "avx2", "avx512", "avx512_fp16", "native"
X86_MACHINES = {"x86_64", "AMD64"}
DISABLED_FEATURE_PREFIXES = ("avx512", "avx10", "avx_", "amx")
"""How Linux' names of the features begin that are not used then."""
AVX512_CORE_FEATURES = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
"""Those that are used even so where a framework is held less; oneDNN calls them the core of AVX-512."""
FLOAT16_FEATURE = "avx512_fp16"
"""Computing with float16. Where a processor has it, a framework that is held to it may use all of AVX-512."""

InstructionVariables = Mapping[str, str | tuple[str, str]]
"""Variables of the environment with their values; of two, the second is for processors that compute with float16."""


READ_FEATURES_SOURCE = """\
cpu = ""
if os.path.exists("/proc/cpuinfo"):
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
        cpu = stream.read()
"""


def limit_instructions_source(variables: InstructionVariables, machine: str = "") -> str:
    """Return source text that holds a framework by these variables of the environment, if it runs first.

    Empty where there are none, or where the machine (this one, or as `platform.machine` names it) is no x86.
    """
    if not variables or (machine or platform.machine()) not in X86_MACHINES:
        return ""
    lines = (f'os.environ["{name}"] = {_value_source(value)}\n' for name, value in variables.items())
    asked = READ_FEATURES_SOURCE if any(isinstance(value, tuple) for value in variables.values()) else ""
    return f"import os\n\n{asked}{''.join(lines)}\n"


def _value_source(value: str | tuple[str, str]) -> str:
    """Return source text for a value; it is chosen where it runs, so that the text is the same everywhere."""
    if isinstance(value, str):
        return f'"{value}"'
    usual, half = value
    return f'"{half}" if " {FLOAT16_FEATURE}" in cpu else "{usual}"'


def instruction_limit(variables: InstructionVariables) -> str:
    """Return to what these variables hold a framework on x86."""
    if any(isinstance(value, tuple) for value in variables.values()):
        return AVX512_FP16
    return AVX512 if "AVX512_CORE" in variables.values() else AVX2


def used_features(features: Collection[str], instructions: str) -> list[str]:
    """Return what is used of a processor's features, as Linux names them."""
    if instructions == NATIVE:
        return list(features)
    kept = AVX512_CORE_FEATURES if instructions in {AVX512, AVX512_FP16} else set()
    if instructions == AVX512_FP16 and FLOAT16_FEATURE in features:
        kept = {name for name in features if name.startswith("avx512")}
    return [name for name in features if name in kept or not name.startswith(DISABLED_FEATURE_PREFIXES)]
