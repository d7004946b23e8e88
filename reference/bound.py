"""The error bound of the design, derived once for every operator.

Source: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition (SIAM, 2002), chapter 3 for
products of factors 1 + δ and for inner products, chapter 4 for sums.
"""

import numpy as np

from .arguments import Array
from .rounding import Format

# The division, a rounded reciprocal, or a scaling before the sum.
FURTHER_ROUNDINGS = 3

# The greatest error, in units in the last place, that exp, log, pow and roots are granted. The OpenCL C
# specification, section "Relative Error as ULPs", asks single-precision exp and log to stay within 3; the tables of
# glibc ("Known Maximum Errors in Math Functions") and CUDA ("Mathematical Functions") lie below: 4 holds them all.
FUNCTION_ULPS = 4

# A unit in the last place is at most this many unit roundoffs of the number itself.
ROUNDOFFS_PER_ULP = 2

# float64 arithmetic on the bound itself rounds, by less than this.
SLACK = 1 + 2.0**-40


class NoBound(ValueError):
    """So many terms that rounding alone could give any answer in the accumulating type: (n + 3) u >= 1/2."""


def error_bound(
    exact: Array,
    *,
    terms: Array,
    magnitude: Array,
    extra: Array | float,
    accumulate: Format,
    result: Format,
    flush: bool,
) -> Array:
    """Bound |computed − exact|, element by element, for every order of evaluation.

    A sum of n terms tᵢ with S = Σ|tᵢ| is evaluated in a type with unit roundoff u, in any order and any grouping
    (recursive, pairwise, blocked, with fused multiply-add), then rounded to the result's type.

    1. Without underflow every operation returns its exact result times 1 + δ, |δ| <= u (Higham 2.4). In whatever
       order n terms are added, each passes through at most n − 1 additions (Higham 4.2). It gains one factor more
       where it is a product, one where the result is divided, or multiplied by a reciprocal that was itself rounded
       (two), or where each term is scaled before the sum. A product of m factors (1 + δ)^±1 is 1 + θ with
       |θ| <= γ(m) = mu / (1 − mu) if mu < 1 (Higham, Lemma 3.1). A product, n − 1 additions, a rounded reciprocal
       and its multiplication are n + 2 factors; n + 3 leave one to spare. So the computed sum is Σ tᵢ(1 + θᵢ), and
       its error at most g·S with g = γ(n + 3).
    2. Rounding to the result's type, unit roundoff u_out, adds at most u_out times what is rounded, which is at most
       |exact| + g·S.
    3. Under gradual underflow additions stay exact, and a product, a division or the last rounding is off by at most
       half the smallest subnormal η; there are at most n + 3 of those, each carried on by factors below 2 (as
       (n + 3)u < 1/2). So (n + 3)·η. A surface that flushes loses at most the smallest normal where it does.

        B = g·S + u_out·(|exact| + g·S) + (n + 3)·η

    `extra`, in units of u, is what functions such as exp add to g·S; the operator that has it derives it. Where
    `exact` is not finite B is 0: nothing but the same infinity or NaN agrees.

    exact, magnitude: float64; terms: int64. Returns float64. Raises NoBound where (n + 3)u >= 1/2.
    """
    roundings = terms.astype(np.float64) + FURTHER_ROUNDINGS
    u = accumulate.unit_roundoff
    if (roundings * u >= 1 / 2).any():
        raise NoBound(f"no bound for {int(terms.max())} terms in a type of {accumulate.precision} binary digits")
    limits = [form.smallest_normal if flush else form.smallest_subnormal for form in (accumulate, result)]
    computed = roundings * u / (1 - roundings * u) * magnitude + extra * u
    finite = np.isfinite(exact)
    final = result.unit_roundoff * (np.abs(np.where(finite, exact, 0.0)) + computed)
    bound: Array = (computed + final) * SLACK + roundings * max(limits)
    return np.where(finite, bound, 0.0)
