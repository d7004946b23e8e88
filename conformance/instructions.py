"""Which instructions of the processor a framework may use.

Kernels are chosen by what the processor has, and other kernels give other numbers: sums in 16 bits that are float32
where there is AVX512-FP16, NaN that a vector maximum loses. So that results are the same on every machine, runs hold
frameworks to AVX2, which nearly every x86 processor has; what a processor has beyond is tested where a run asks for it.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping

HELD, NATIVE = "avx2", "native"
X86 = {"x86_64", "AMD64"}
BEYOND = ("avx512", "avx10", "avx_", "amx")
"""How Linux' names of the features begin that are not used then."""

Variables = Mapping[str, str]


def holding(variables: Variables, machine: str = "") -> str:
    """Return source text that holds a framework to AVX2 by these variables of the environment, if it runs first.

    Empty where there are none, or where the machine (this one, or as `platform.machine` names it) is no x86.
    """
    if not variables or (machine or platform.machine()) not in X86:
        return ""
    lines = (f'os.environ["{name}"] = "{value}"\n' for name, value in variables.items())
    return f"import os\n\n{''.join(lines)}\n"


def used(features: Collection[str], instructions: str) -> list[str]:
    """Return what is used of a processor's features, as Linux names them."""
    return [name for name in features if instructions == NATIVE or not name.startswith(BEYOND)]
