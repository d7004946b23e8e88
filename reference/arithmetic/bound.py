"""The error bound of the design, derived once for every operator.

Source: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition (SIAM, 2002), chapter 3 for
products of factors 1 + δ and for inner products, chapter 4 for sums.
"""

import numpy as np

from reference.arguments import Array
from reference.arithmetic.errorfree import all_finite
from reference.arithmetic.rounding import FloatFormat

# The division, a rounded reciprocal, or a scaling before the sum.
FURTHER_ROUNDINGS = 3

# The greatest error, in units in the last place, that exp, log, pow and roots are granted. The OpenCL C
# specification, section "Relative Error as ULPs", limits single-precision exp and log to 3 ulp. The tables of
# glibc ("Known Maximum Errors in Math Functions") and CUDA ("Mathematical Functions") list smaller errors: 4 covers
# them all.
FUNCTION_ULPS = 4

# A unit in the last place is at most this many unit roundoffs of the number itself.
ROUNDOFFS_PER_ULP = 2

# float64 arithmetic on the bound itself rounds, by less than this.
ROUNDING_SLACK = 1 + 2.0**-40

# Bounds have so many binary digits. The sums in them are computed with BLAS, whose last digits depend on the processor.
BOUND_DIGITS = 24


class NoBound(ValueError):
    """So many terms that rounding alone could give any answer in the accumulating type: (n + 3) u >= 1/2."""


def error_bound(
    exact: Array,
    *,
    terms: Array,
    magnitude: Array,
    extra: Array | float,
    accumulate: FloatFormat,
    result: FloatFormat,
    flush: bool,
) -> Array:
    """Bound |computed − exact|, element by element, for every order of evaluation.

    A sum of n terms tᵢ with S = Σ|tᵢ| is evaluated in a type with unit roundoff u, in any order and any grouping
    (recursive, pairwise, blocked, with fused multiply-add), then rounded to the result's type.

    1. Without underflow every operation returns its exact result times 1 + δ, |δ| <= u (Higham 2.4). Regardless of the
       order n terms are added, each passes through at most n − 1 additions (Higham 4.2). It gains one factor more
       where it is a product, one where the result is divided, or multiplied by a reciprocal that was itself rounded
       (two), or where each term is scaled before the sum. A product of m factors (1 + δ)^±1 is 1 + θ with
       |θ| <= γ(m) = mu / (1 − mu) if mu < 1 (Higham, Lemma 3.1). A product, n − 1 additions, a rounded reciprocal
       and its multiplication are n + 2 factors; n + 3 leave one to spare. So the computed sum is Σ tᵢ(1 + θᵢ), and
       its error at most g·S with g = γ(n + 3).
    2. Rounding to the result's type, unit roundoff u_out, adds at most u_out times the rounded number, which is at most
       |exact| + g·S.
    3. Underflow. Let η be the smallest subnormal, or the smallest normal N where results are flushed to zero.
       Gradual: additions stay exact, and a product, a division or the last rounding is off by at most η/2, carried
       on by factors below 2 (as (n + 3)u < 1/2).
       Flushed: a result below N becomes 0, so each flush loses less than N. A flushed product leaves a 0, with
       which additions are exact; a flushed addition turns two numbers into a 0. So of n terms k flushed products,
       j flushed additions and r rounded ones have k + 2j + r <= n: n products and n − 1 additions never all flush.
       Underflow errors grow by (1 + u)^r, and (k + j)(1 + u)^r <= (n − r)/(1 − ru) <= n: the sum loses at
       most n·N (a fused multiply-add counts as an addition). A divisor is 1, and then exact, or at least 2, which
       halves the loss and outweighs its two roundings. It adds one flush, the last rounding another.
       Either way at most (n + 2)·η is lost before the result is rounded, and η there.

        B = e + u_out·(|exact| + e)        e = g·S + (n + 3)·η

    The last rounding also rounds the underflow errors, hence u_out·(n + 3)·η: with float32 sums of bfloat16 that is
    more than
    the η to spare once n > 255. Not covered: operands that are subnormal themselves and read as 0, which a factor
    may magnify without limit; a divisor whose reciprocal is subnormal; an overflow on the way.

    `extra`, in units of u, is what functions such as exp add to g·S; the operator that has it derives it. Where
    `exact` is not finite B is 0: nothing but the same infinity or NaN agrees.

    The bound is rounded up to 24 binary digits: the last digits of S depend on the order of its additions. A bound
    next to a number of 24 digits can still have two values; with 2^12 terms or fewer, that is not a bound which is
    such a number itself, because ROUNDING_SLACK is larger than the difference between two orders.

    exact, magnitude: float64; terms: int64. Returns float64. Raises NoBound where (n + 3)u >= 1/2.
    """
    # Values that depend on one window only are computed once if all windows of an axis are equal.
    roundings = _without_broadcast(terms).astype(np.float64) + FURTHER_ROUNDINGS
    u = accumulate.unit_roundoff
    if (roundings * u >= 1 / 2).any():
        raise NoBound(f"no bound for {int(terms.max())} terms in a type of {accumulate.precision} binary digits")
    limits = [form.smallest_normal if flush else form.smallest_subnormal for form in (accumulate, result)]
    # A NaN may be a signalling one, and a bound too large for float64 is infinite.
    with np.errstate(invalid="ignore", over="ignore"):
        bound: Array = magnitude * (roundings * u / (1 - roundings * u))
        bound += _without_broadcast(np.asarray(extra)) * u + roundings * max(limits)
        size = np.abs(exact)
        size += bound
        size *= result.unit_roundoff
        bound += size
        bound *= ROUNDING_SLACK
        bound = _rounded_up(bound)
    # Not finite is only what comes from a result that is not.
    return bound if all_finite(size) else np.where(np.isfinite(exact), bound, 0.0)


def _rounded_up(x: Array) -> Array:
    """Return numbers that are not negative, rounded up to BOUND_DIGITS binary digits."""
    fractions, exponents = np.frexp(x)
    rounded: Array = np.ldexp(np.ceil(np.ldexp(fractions, BOUND_DIGITS)), exponents - BOUND_DIGITS)
    return rounded


def _without_broadcast(x: Array) -> Array:
    """Return a broadcast array without its broadcast axes."""
    return x[tuple(slice(None) if stride else slice(1) for stride in x.strides)]
