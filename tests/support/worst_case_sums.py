"""Sums, averages and scalar products whose errors come as near to the bound as we know how.

A first term of 1 and others of half a unit of its last digit, so that every addition rounds the same way and loses all
it adds: the worst case of Lange and Rump, "Sharp estimates for perturbation errors in summations", Mathematics of
Computation 88 (2019), which says that n terms summed in any order are off by at most (n − 1)u / (1 + (n − 1)u) · Σ|tᵢ|.
Where the result's type is coarser than the accumulating one, a result half-way between two of its numbers.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from tests.support.evaluation_orders import FLOATS, averages, dots, left_to_right, roundoff
from tests.support.operators_as_sums import AVERAGES, DIVISOR_OF_CELLS, DOTS, FIXED_DIVISOR, SUMS

SMALL = 9
OUTPUTS = 128
# Windows of more cells than this have their few likeliest outputs tried.
LARGE = 512
# Far enough from the subnormals of float16 that their share of the bound does not matter.
SCALE = 2.0**8

# Maximum roundings per term of an average, without additions: the divisor, its reciprocal and the product.
# With a divisor of mantissa m the first two are at most u/m and um/2, together 3u/2. No divisor here is beyond float64.
DIVIDING = {2.0**-53: 2.0}
DIVIDING_OTHERS = 2.5
MULTIPLYING = 1.0
# So many cells share a gradient; for one or two terms so many that their number rounds in float16.
FEW, MOST_CELLS, MOST_CELLS_OF_FEW = 2, 300, 4096


@dataclass(frozen=True)
class Reached:
    """The share of the bound that was used, and the most that any evaluation of such a sum could use."""

    share: float
    ceiling: float


def shares(exact, got, accumulate):
    """Return the share of the bound of each output (of all cells that have the same sum the first)."""
    shape = exact.value.shape
    results = np.repeat(got.astype(exact.value.dtype), exact.value.size // got.size).reshape(shape)
    return (exact.distance(results) / exact.bound(accumulate)).reshape(got.size, -1)[:, 0]


def share(exact, got, accumulate):
    """Largest share of the bound among outputs."""
    return float(shares(exact, got, accumulate).max())


def ceiling(n, dtype, accumulate, factors):
    """Return the most of the bound that can be used, by Lange and Rump, where S = |exact|.

    factors: roundings on each term in addition to the sums.
    """
    u, last = roundoff(accumulate), roundoff(dtype) if dtype != accumulate else 0.0
    additions = (n - 1) * u / (1 + (n - 1) * u)
    error = additions + math.expm1(factors * math.log1p(u)) * (1 + additions)
    g = (n + 3) * u / (1 - (n + 3) * u)
    return (error + last * (1 + error)) / (g + roundoff(dtype) * (1 + g))


def stuck(n, u):
    """(outputs, n): first terms with even last digits; the others half a unit of it, or a little more."""
    outputs = OUTPUTS if n <= LARGE else 8
    x = np.full((outputs, n), u)
    x[outputs // 2 :] *= 1 + 2 * u
    steps = np.concatenate([np.arange(outputs // 4), np.random.default_rng(n).integers(0, 1 / (16 * u), outputs // 4)])
    x[:, 0] = 1 + 4 * u * np.tile(steps, 2)
    return x * SCALE


def between(n, u_out):
    """(1, n) with an average half-way between 1 and the next number of a coarser type."""
    x = np.ones(n)
    x[: (n + 1) // 2] += 2 * u_out
    if n % 2:
        x[-1] -= u_out
    return SCALE * (x[None] if n > 1 else 1.5 + 2 * u_out * np.arange(OUTPUTS)[:, None])


def average(operator, dtype, accumulate, n):
    """Sums that stick, by divisors whose reciprocals round the same way."""
    u, own = roundoff(accumulate), dtype == accumulate
    x = (stuck(n, u) if own else between(n, roundoff(dtype))).astype(dtype)
    free = operator not in FIXED_DIVISOR
    divisors = _divisors_of(operator, n, u) if own and free else [n if n > 1 or not free else 3]
    if operator in DIVISOR_OF_CELLS:
        x = x[::4] if len(x) == OUTPUTS else x
        if not own and n > 1:
            # A plane of as many cells as terms would take long: four do, of a sum half-way between two numbers.
            x, divisors = beside(n, roundoff(dtype)).astype(dtype), [4]
    best = 0.0
    for divisor in divisors:
        exact = AVERAGES[operator](x, divisor)
        for _, got in averages(x, divisor, accumulate, [left_to_right]):
            best = max(best, share(exact, got, accumulate))
    factors = DIVIDING.get(u, DIVIDING_OTHERS) if free else _dividing_by(n, accumulate)
    if operator in DIVISOR_OF_CELLS and accumulate == np.float32:
        # 2**24 cells are no window.
        factors = 2.0
    return Reached(best, ceiling(n, dtype, accumulate, factors) if n > 1 or free else 0.0)


def _divisors_of(operator, n, u):
    """Return n, and for few terms divisors that round, or whose reciprocals round, by nearly u."""
    if operator in DIVISOR_OF_CELLS:
        many = n <= FEW and u == roundoff(np.float16)
        return [3] if n > SMALL else [3, 9, *_worst_divisors(u, MOST_CELLS_OF_FEW if many else MOST_CELLS)]
    if n > SMALL:
        return [n]
    top = 2 ** min(-int(math.log2(u)), 29)
    near = np.random.default_rng(n).integers(0, max(2, top // 16), 12)
    return [n, 3, 5, 7, 9, *(top + 1 + 2 * near).tolist(), *(2 * top - 1 - 2 * near).tolist()]


@cache
def _worst_divisors(u, most):
    """Return the two numbers of cells whose rounded reciprocals, times themselves, are farthest from 1."""
    form = next(dtype for dtype in FLOATS if roundoff(dtype) == u)
    return sorted(range(3, most, 2), key=lambda n: _dividing_by(n, form))[-2:]


def _dividing_by(n, accumulate):
    """Roundings of a division by n: of n, its reciprocal and a product; 0 for a power of two."""
    number = np.array(n).astype(accumulate)
    reciprocal = Fraction(float(np.array(1).astype(accumulate) / number)) * n
    return 0 if reciprocal == 1 else float(abs(reciprocal - 1)) / roundoff(accumulate) + 1


def beside(n, u_out):
    """(1, n): 1 and others that add up to half a unit of its last digit in a coarser type."""
    x = np.full(n, 2.0 ** math.floor(math.log2(u_out / max(1, n - 1))))
    x[0] = 1
    if n > 1:
        x[1] += u_out - x[1:].sum()
    return SCALE * x[None]


def dot(operator, dtype, accumulate, n):
    """Sums that stick; the first product is rounded the same way."""
    u, best = roundoff(accumulate), 0.0
    x = (stuck(n, u) if dtype == accumulate else beside(n, roundoff(dtype))).astype(dtype)
    if n == 1 and dtype != accumulate:
        x = (1 + 2 * roundoff(dtype) * np.arange(OUTPUTS)[:, None]).astype(dtype)
    kernel = np.ones(n, dtype)
    # (1 + 4uk)(1 + 2uj) leaves 4ujk units of the last digit: half of one, or a little less.
    firsts = [1.0, *(1 + 2 * u * (math.floor(1 / (8 * u * k)) - j) for k in (16, 24, 31) for j in range(3))]
    firsts += [1 + 4 * u * j for j in range(16)]
    firsts += [1.5 * (1 + 2 * roundoff(dtype))]
    for first in firsts if n <= SMALL else [1.0]:
        kernel[0] = first
        exact = DOTS[operator](x, kernel)
        for _, got in dots(x, np.broadcast_to(kernel, x.shape), accumulate, [left_to_right]):
            best = max(best, share(exact, got, accumulate))
    return Reached(best, ceiling(n, dtype, accumulate, MULTIPLYING))


def plain_sum(operator, dtype, accumulate, n):
    """Sums that stick, and nothing else."""
    if n == 1:
        return Reached(0.0, 0.0)
    x = (stuck(n, roundoff(accumulate)) if dtype == accumulate else beside(n, roundoff(dtype))).astype(dtype)
    reached = share(SUMS[operator](x), left_to_right(x.astype(accumulate)), accumulate)
    return Reached(reached, ceiling(n, dtype, accumulate, 0))
