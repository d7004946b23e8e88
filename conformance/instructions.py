"""Which instructions of the processor a framework may use.

Kernels are chosen by what the processor has, and other kernels give other numbers: sums in 16 bits that are float32
where there is AVX512-FP16, NaN that a vector maximum loses. So that results are the same on every machine, runs hold
frameworks to AVX2, which nearly every x86 processor has; what a processor has beyond is tested where a run asks for it.
A framework that cannot be held to AVX2 is held to the AVX-512 of the first processors that had it, and one that leaves
float16 to its kernels wherever the processor computes with it to that; its answers may depend on the processor.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping

HELD, HELD_LESS, HELD_HALF, NATIVE = "avx2", "avx512", "avx512_fp16", "native"
X86 = {"x86_64", "AMD64"}
BEYOND = ("avx512", "avx10", "avx_", "amx")
"""How Linux' names of the features begin that are not used then."""
AVX512_CORE = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
"""Those that are used even so where a framework is held less; oneDNN calls them the core of AVX-512."""
HALF = "avx512_fp16"
"""Computing with float16. Where a processor has it, a framework that is held to it may use all of AVX-512."""

Variables = Mapping[str, str | tuple[str, str]]
"""Variables of the environment with their values; of two, the second is for processors that compute with float16."""


FEATURES = """\
cpu = ""
if os.path.exists("/proc/cpuinfo"):
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
        cpu = stream.read()
"""


def holding(variables: Variables, machine: str = "") -> str:
    """Return source text that holds a framework by these variables of the environment, if it runs first.

    Empty where there are none, or where the machine (this one, or as `platform.machine` names it) is no x86.
    """
    if not variables or (machine or platform.machine()) not in X86:
        return ""
    lines = (f'os.environ["{name}"] = {_written(value)}\n' for name, value in variables.items())
    asked = FEATURES if any(isinstance(value, tuple) for value in variables.values()) else ""
    return f"import os\n\n{asked}{''.join(lines)}\n"


def _written(value: str | tuple[str, str]) -> str:
    """Return source text for a value; it is chosen where it runs, so that the text is the same everywhere."""
    if isinstance(value, str):
        return f'"{value}"'
    usual, half = value
    return f'"{half}" if " {HALF}" in cpu else "{usual}"'


def held(variables: Variables) -> str:
    """Return to what these variables hold a framework on x86."""
    if any(isinstance(value, tuple) for value in variables.values()):
        return HELD_HALF
    return HELD_LESS if "AVX512_CORE" in variables.values() else HELD


def used(features: Collection[str], instructions: str) -> list[str]:
    """Return what is used of a processor's features, as Linux names them."""
    if instructions == NATIVE:
        return list(features)
    kept = AVX512_CORE if instructions in {HELD_LESS, HELD_HALF} else set()
    if instructions == HELD_HALF and HALF in features:
        kept = {name for name in features if name.startswith("avx512")}
    return [name for name in features if name in kept or not name.startswith(BEYOND)]
