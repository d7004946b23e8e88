"""The device of a run (CPU or CUDA), the precision of float32 on it, and limits of processor instructions.

A run uses the CPU unless it requests a device. CUDA devices are then hidden from the workers, because some frameworks
use the first device that they find. On a device, float32 multiplications use float32 unless the run allows TF32, whose
significand has 11 bits instead of 24.
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
    """The device that a run requests, and whether float32 may be multiplied as TF32 on it."""

    name: str = CPU
    precision: str = FLOAT32

    def __post_init__(self) -> None:
        """Check name and precision. Raises ConformanceError."""
        if self.name not in DEVICE_NAMES:
            raise ConformanceError(f"device {self.name!r}: not one of {', '.join(DEVICE_NAMES)}")
        if self.precision not in PRECISIONS:
            raise ConformanceError(f"precision {self.precision!r}: not one of {', '.join(PRECISIONS)}")
        if self.precision == TF32 and self.name == CPU:
            raise ConformanceError(f"precision {TF32}: the device {CPU} has none; --device {CUDA} has")

    @property
    def environment_variables(self) -> Mapping[str, str]:
        """Environment variables of a worker; on the CPU, CUDA devices are hidden."""
        return {"CUDA_VISIBLE_DEVICES": ""} if self.name == CPU else {}

    def environment_record(self, hardware: str) -> Mapping[str, str]:
        """Return the entries of a results header; empty for the CPU.

        hardware: the device model, as the framework names it.
        """
        if self.name == CPU:
            return {}
        return {"device": self.name, "hardware": hardware, "precision": self.precision}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Device:
        """Return the device that the header of a results file names. Raises ConformanceError."""
        return cls(environment.get("device", CPU), environment.get("precision", FLOAT32))


ON_CPU = Device()


def device_problem(name: str) -> str | None:
    """Return why this machine has no such device, None if the driver finds one or the device is the CPU."""
    if name == CPU:
        return None
    try:
        driver = ctypes.CDLL(CUDA_DRIVER_LIBRARY)
    except OSError as error:
        return f"no NVIDIA driver is on this machine ({error})"
    # The driver is queried first: importing a framework takes seconds, and some frameworks only warn.
    found = ctypes.c_int()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(found))
    return None if status == 0 and found.value else f"the NVIDIA driver finds no device (CUDA error {status})"


AVX2, AVX512, AVX512_FP16, NATIVE = "avx2", "avx512", "avx512_fp16", "native"
X86_MACHINES = {"x86_64", "AMD64"}
DISABLED_FEATURE_PREFIXES = ("avx512", "avx10", "avx_", "amx")
"""Prefixes of the Linux names of processor features that an instruction limit disables."""
AVX512_CORE_FEATURES = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
"""Features that the limit `avx512` leaves enabled; oneDNN calls them the core of AVX-512."""
FLOAT16_FEATURE = "avx512_fp16"
"""Arithmetic in float16. On a processor with it, the limit `avx512_fp16` leaves all of AVX-512 enabled."""

InstructionVariables = Mapping[str, str | tuple[str, str]]
"""Environment variables and their values; of two values, the second is for processors with FLOAT16_FEATURE."""


READ_FEATURES_SOURCE = """\
cpu = ""
if os.path.exists("/proc/cpuinfo"):
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
        cpu = stream.read()
"""


def limit_instructions_source(variables: InstructionVariables, machine: str = "") -> str:
    """Return source text that sets the environment variables; it must run before the framework is imported.

    machine: as `platform.machine` names it, by default this machine. Empty without variables, or if it is not x86.
    """
    # The variables limit x86 instructions; other processors have only one set.
    if not variables or (machine or platform.machine()) not in X86_MACHINES:
        return ""
    lines = (f'os.environ["{name}"] = {_value_source(value)}\n' for name, value in variables.items())
    features = READ_FEATURES_SOURCE if any(isinstance(value, tuple) for value in variables.values()) else ""
    return f"import os\n\n{features}{''.join(lines)}\n"


def _value_source(value: str | tuple[str, str]) -> str:
    """Return source text for a value. With two values, the text selects one at run time by processor features."""
    if isinstance(value, str):
        return f'"{value}"'
    default, with_float16 = value
    return f'"{with_float16}" if " {FLOAT16_FEATURE}" in cpu else "{default}"'


def instruction_limit(variables: InstructionVariables) -> str:
    """Return the limit that these variables set on x86."""
    if any(isinstance(value, tuple) for value in variables.values()):
        return AVX512_FP16
    return AVX512 if "AVX512_CORE" in variables.values() else AVX2


def used_features(features: Collection[str], instructions: str) -> list[str]:
    """Return the processor features that a limit leaves enabled, by their Linux names."""
    if instructions == NATIVE:
        return list(features)
    # The limits of AVX-512 leave only its core enabled, except on processors with float16 arithmetic.
    enabled = AVX512_CORE_FEATURES if instructions in {AVX512, AVX512_FP16} else set()
    if instructions == AVX512_FP16 and FLOAT16_FEATURE in features:
        enabled = {name for name in features if name.startswith("avx512")}
    return [name for name in features if name in enabled or not name.startswith(DISABLED_FEATURE_PREFIXES)]
