"""How far a surface may be off: the error bound in the type that it declares to add in.

Sums of 16-bit numbers are added in float32, or in their own type and rounded after every addition: frameworks differ,
so it is a question for each operator, and for the gradients of kernel and bias by themselves. A surface is judged by
its answer; one that answers none adds in float32. A composition of several calls has no choice: what one call hands to
the next is rounded to the dtype.

Where a run allows TF32, factors of float32 products may lose all but 11 of their 24 bits. Numbers that have no more
keep the bound of float32, so that whole numbers show a lost element as they always do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from conformance.adapters.api.surface import Surface
from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, Array
from conformance.cases.case import Case
from conformance.judging.expected import Target
from reference import Exact, NoBound

OWN_DTYPE = "own"
WEIGHT_INPUTS = ("kernel", "bias")
"""What gradients are also wanted of, besides x; these are sums over the items of a batch, too."""
TF32_RELATIVE_ERROR = 2.0**-10
"""The largest relative error of a float32 number that is cut to the 11 bits of TF32; rounded, it is half that."""
TF32_DROPPED_BITS = np.uint32(0x1FFF)
"""The bits of a float32 number that TF32 lacks."""


def accumulation_convention(case: Case) -> str:
    """Return the id of the question in which type sums like those of a case, of 16 bits, are added."""
    of = case.parameters.get("output")
    return f"{case.operator}/accumulation-{f'of-the-{of}-' if of in WEIGHT_INPUTS else ''}in-{case.dtype}"


def rounds_to_own_dtype(case: Case, surface: Surface, how: str) -> bool:
    """Whether something is rounded to the case's own dtype, of 16 bits, on the way."""
    if case.dtype not in SHORT_FLOATS:
        return False
    declaration = surface.declarations.get(accumulation_convention(case))
    return how == "composed" or (declaration is not None and declaration.answer == OWN_DTYPE)


def target_for(
    target: Target, case: Case, surface: Surface, how: str = "native", inputs: Mapping[str, Array] | None = None
) -> Target | None:
    """Return the target with the bound that the surface is held to; None where rounding leaves no bound.

    how: the program's, see translate; inputs: of the case, whose bits count where TF32 is allowed.
    """
    if target.exact is None or target.exact.exact:
        return target
    if surface.tf32 and _may_multiply_matrices(case, how) and _loses_bits_in_tf32((inputs or {}).values()):
        return replace(target, bound=_tf32_bound(target.exact))
    if not rounds_to_own_dtype(case, surface, how):
        return target
    try:
        return replace(target, bound=target.exact.bound(accumulate=NUMPY_DTYPES[case.dtype]))
    except NoBound:
        return None


def _may_multiply_matrices(case: Case, how: str) -> bool:
    """Whether a case may come to be products of float32 matrices: a convolution, or calls that may be one."""
    return case.dtype == "float32" and (case.operator.startswith("conv") or how == "composed")


def _loses_bits_in_tf32(arrays: Iterable[Array]) -> bool:
    """Whether TF32 cannot hold some number; arrays of other types are no factors."""
    return any((array.view(np.uint32) & TF32_DROPPED_BITS).any() for array in arrays if array.dtype == np.float32)


def _tf32_bound(exact: Exact) -> Array:
    """Return the bound where both factors of every product are cut to TF32, by t = 2^-10 of each at most.

    Every product then is off by (1 + t)^2 - 1 of itself, the sum by that of S. What follows is done in float32, but
    tensor cores cut where they add, which is twice the error of rounding: 2·B of float32, S being larger by (1 + t)^2.
    Sources: NVIDIA A100 Tensor Core GPU Architecture (2020), for the 10 bits of a fraction; M. Fasi, N. J. Higham,
    M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021), e330.
    """
    larger = (1 + TF32_RELATIVE_ERROR) ** 2
    bound: Array = 2 * larger * exact.bound() + (larger - 1) * exact.magnitude
    return np.where(np.isfinite(exact.value), bound, 0.0)
