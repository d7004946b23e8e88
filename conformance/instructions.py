"""Which instructions of the processor a framework may use.

Kernels are chosen by what the processor has, and other kernels give other numbers: sums in 16 bits that are float32
where there is AVX512-FP16, NaN that a vector maximum loses. So that results are the same on every machine, runs hold
frameworks to AVX2, which nearly every x86 processor has; what a processor has beyond is tested where a run asks for it.
A framework that cannot be held to AVX2 is held to the AVX-512 of the first processors that had it, and answers of its
may depend on whether the processor has that.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping

HELD, HELD_LESS, NATIVE = "avx2", "avx512", "native"
X86 = {"x86_64", "AMD64"}
BEYOND = ("avx512", "avx10", "avx_", "amx")
"""How Linux' names of the features begin that are not used then."""
AVX512_CORE = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
"""Those that are used even so where a framework is held less; oneDNN calls them the core of AVX-512."""

Variables = Mapping[str, str]


def holding(variables: Variables, machine: str = "") -> str:
    """Return source text that holds a framework by these variables of the environment, if it runs first.

    Empty where there are none, or where the machine (this one, or as `platform.machine` names it) is no x86.
    """
    if not variables or (machine or platform.machine()) not in X86:
        return ""
    lines = (f'os.environ["{name}"] = "{value}"\n' for name, value in variables.items())
    return f"import os\n\n{''.join(lines)}\n"


def held(variables: Variables) -> str:
    """Return to what these variables hold a framework on x86."""
    return HELD_LESS if "AVX512_CORE" in variables.values() else HELD


def used(features: Collection[str], instructions: str) -> list[str]:
    """Return what is used of a processor's features, as Linux names them."""
    kept = AVX512_CORE if instructions == HELD_LESS else set()
    return [name for name in features if instructions == NATIVE or name in kept or not name.startswith(BEYOND)]
