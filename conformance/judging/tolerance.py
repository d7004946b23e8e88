"""The error bound for a surface, which depends on its declared accumulation dtype and on TF32.

Frameworks add 16-bit numbers in float32, or in the 16-bit type with rounding after every addition. Each operator has a
convention for this choice; the gradients of kernel and bias have separate ones. The declared answer of a surface
selects its bound. Without an answer, the bound for float32 applies. In a composition of several calls, each
intermediate result is rounded to the dtype, so the bound for the 16-bit type applies.

If a run allows TF32, factors of float32 products may be cut from 24 to 11 significant bits. Inputs that have at most
11 bits use the bound of float32, so that with small integers a missing element is still detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from conformance.adapters.api import Surface
from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, Array
from conformance.cases.case import Case
from conformance.cases.operators import GRADIENT_SUFFIX, INPUTS, OPERATORS
from conformance.judging.expected import Target
from reference import Exact, NoBound
from reports.results.vocabulary import How

OWN_DTYPE = "own"
"""Answer of a surface that adds 16-bit numbers in their own dtype."""

SHORT_ANSWERS = frozenset({OWN_DTYPE, "rounded"})
"""Answers of a surface that rounds intermediate results or weights to the 16-bit dtype."""

TF32_RELATIVE_ERROR = 2.0**-10
"""Largest relative error of a float32 number truncated to the 11 bits of TF32; with rounding it is half of that."""
TF32_DROPPED_BITS = np.uint32(0x1FFF)
"""Mask of the bits of a float32 number that TF32 does not have."""


def accumulation_convention(case: Case) -> str:
    """Return the id of the convention for the accumulation dtype of a 16-bit case."""
    output = str(case.parameters.get("output"))
    has_own = output in INPUTS and INPUTS[output].has_gradient
    return f"{case.operator}/accumulation-{f'of-the-{output}-' if has_own else ''}in-{case.dtype}"


def rounds_to_own_dtype(case: Case, surface: Surface, how: How) -> bool:
    """Whether intermediate results, or weights of an interpolation, are rounded to the 16-bit dtype of the case."""
    if case.dtype not in SHORT_FLOATS:
        return False
    conventions = (
        accumulation_convention(case),
        f"{case.operator.removesuffix(GRADIENT_SUFFIX)}/weights-in-{case.dtype}",
    )
    declared = {surface.declarations[name].answer for name in conventions if name in surface.declarations}
    return how == How.COMPOSED or bool(declared & SHORT_ANSWERS)


def target_for(
    target: Target, case: Case, surface: Surface, how: How = How.NATIVE, inputs: Mapping[str, Array] | None = None
) -> Target | None:
    """Return the target with the error bound for a surface; None if rounding allows no finite bound.

    how: how the program is written.
    inputs: the input arrays of the case, inspected if TF32 is allowed.
    """
    if target.exact is None or target.exact.exact:
        return target
    # The bound for TF32 includes the rounding of float32, and 16-bit dtypes do not use TF32.
    if surface.tf32 and _may_multiply_matrices(case, how) and _loses_bits_in_tf32((inputs or {}).values()):
        return replace(target, bound=_tf32_bound(target.exact))
    if not rounds_to_own_dtype(case, surface, how):
        return target
    try:
        return replace(target, bound=target.exact.bound(accumulate=NUMPY_DTYPES[case.dtype]))
    except NoBound:
        return None


def _may_multiply_matrices(case: Case, how: How) -> bool:
    """Whether a case may be computed with float32 matrix products: a convolution, or a composition that may use one."""
    operator = OPERATORS[case.operator]
    has_products = operator.has_weights and not operator.has_channel_kernels
    return case.dtype == "float32" and (has_products or how == How.COMPOSED)


def _loses_bits_in_tf32(arrays: Iterable[Array]) -> bool:
    """Whether TF32 cannot represent some float32 number; arrays of other dtypes are not factors of products."""
    return any((array.view(np.uint32) & TF32_DROPPED_BITS).any() for array in arrays if array.dtype == np.float32)


def _tf32_bound(exact: Exact) -> Array:
    """Return the bound if both factors of every product are cut to TF32, with a relative error of at most t = 2^-10.

    Every product then has a relative error of at most (1 + t)^2 - 1, and the sum an error of at most that times S, the
    sum of magnitudes. The sum is computed in float32, but tensor cores truncate when they add, which doubles the error
    of rounding: 2·B with B of float32, where S is larger by (1 + t)^2.
    Sources: NVIDIA A100 Tensor Core GPU Architecture (2020), for the 10 bits of a fraction; M. Fasi, N. J. Higham,
    M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021), e330.
    """
    larger = (1 + TF32_RELATIVE_ERROR) ** 2
    bound: Array = 2 * larger * exact.bound() + (larger - 1) * exact.magnitude
    return np.where(np.isfinite(exact.value), bound, 0.0)
