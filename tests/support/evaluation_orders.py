"""The orders in which frameworks evaluate a sum, an average or a dot product in an accumulating type.

Each works on the last axis of arrays (outputs, n) of that type and rounds after every operation, as IEEE arithmetic
does: NumPy and ml_dtypes compute 16-bit results by way of float32, whose 24 digits are at least 2 · 11 + 2, so that
rounding twice changes nothing. Source: Figueroa, "When is double rounding innocuous?" (1995).
"""

from fractions import Fraction

import ml_dtypes
import numpy as np

from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDOFFS_PER_ULP
from reference.arithmetic.rounding import round_pair

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
# (dtype, accumulating type)
ACCUMULATIONS = [(dtype, dtype) for dtype in FLOATS] + [(np.float16, np.float32), (ml_dtypes.bfloat16, np.float32)]
NAMES = {np.float16: "float16", ml_dtypes.bfloat16: "bfloat16", np.float32: "float32", np.float64: "float64"}


def roundoff(dtype):
    """u of a type."""
    return float(ml_dtypes.finfo(dtype).eps) / 2


def rationals(x):
    """Return the numbers of an array (n,), or of each row of one (outputs, n), as a list, or lists, of rationals."""
    return [rationals(row) for row in x] if x.ndim > 1 else [Fraction(v) for v in x.astype(np.float64).tolist()]


def left_to_right(terms):
    total = terms[..., 0]
    for i in range(1, terms.shape[-1]):
        total = total + terms[..., i]
    return total


def right_to_left(terms):
    return left_to_right(terms[..., ::-1])


def from_zero(terms):
    return left_to_right(np.concatenate([np.zeros_like(terms[..., :1]), terms], -1))


def pairwise(terms):
    """Neighbours first, then their sums: a tree."""
    while terms.shape[-1] > 1:
        even = terms.shape[-1] // 2 * 2
        terms = np.concatenate([terms[..., 0:even:2] + terms[..., 1:even:2], terms[..., even:]], -1)
    return terms[..., 0]


def blocked(terms, width=32):
    """Blocks left to right, then the blocks left to right."""
    n = terms.shape[-1]
    sums = [left_to_right(terms[..., i : i + width]) for i in range(0, n, width)]
    return left_to_right(np.stack(sums, -1))


def lanes(terms, width=8):
    """As a vector unit does: every eighth term into one of eight sums, then a tree."""
    n = terms.shape[-1]
    if n < width:
        return left_to_right(terms)
    body = terms[..., : n // width * width].reshape(*terms.shape[:-1], n // width, width)
    total = pairwise(left_to_right(np.swapaxes(body, -1, -2)))
    rest = terms[..., n // width * width :]
    return left_to_right(np.concatenate([total[..., None], rest], -1))


def shuffled(terms):
    return left_to_right(terms[..., np.random.default_rng(1).permutation(terms.shape[-1])])


ORDERS = [left_to_right, right_to_left, from_zero, pairwise, blocked, lanes, shuffled]
FAST_ORDERS = [pairwise, blocked]


def fused(a, b, c):
    """Return a · b + c, rounded once; one shape and type."""
    if a.dtype == np.float64:
        triples = zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist(), strict=True)
        exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in triples]
        return np.array([float(value) for value in exact]).reshape(a.shape)
    # The product of two numbers of at most 24 digits is exact in float64, and two_sum in round_pair returns the
    # rounding error.
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    return round_pair(product, addend, a.dtype)


def fused_dot(a, b):
    """A chain of fused multiply-adds, from zero."""
    total = np.zeros_like(a[..., 0])
    for i in range(a.shape[-1]):
        total = fused(a[..., i], b[..., i], total)
    return total


def averages(cells, divisor, accumulate, orders=ORDERS):
    """Yield (name, result) for every way to divide the sum of the last axis by a whole number."""
    cells, number = cells.astype(accumulate), np.array(divisor).astype(accumulate)
    reciprocal = np.array(1).astype(accumulate) / number
    for order in orders:
        total = order(cells)
        yield f"{order.__name__}, division", total / number
        yield f"{order.__name__}, reciprocal", total * reciprocal
        yield f"{order.__name__}, scaled first", order(cells * reciprocal)
        yield f"{order.__name__}, divided first", order(cells / number)


def fused_average(cells, divisor, accumulate):
    """The reciprocal as a weight of fused multiply-adds."""
    cells = cells.astype(accumulate)
    reciprocal = np.array(1).astype(accumulate) / np.array(divisor).astype(accumulate)
    return fused_dot(cells, np.broadcast_to(reciprocal, cells.shape))


def dots(cells, weights, accumulate, orders=ORDERS):
    """Yield (name, result) for every order of adding rounded products."""
    products = cells.astype(accumulate) * weights.astype(accumulate)
    for order in orders:
        yield order.__name__, order(products)


def probabilities(x):
    """Yield each cell divided by the sum of its window, for windows (outputs, n).

    Or times the rounded reciprocal of the sum, where that is finite. A sum of 0 gives NaN.
    """
    for order in ORDERS:
        total = order(x)[:, None]
        with np.errstate(all="ignore"):
            inverse = np.array(1).astype(x.dtype) / total
            yield x / total
            if np.isfinite(inverse).all():
                yield x * inverse


def probability_grads(x, grad):
    """Yield every way to compute (g − Σ gᵢpᵢ) / Σ, pᵢ = xᵢ / Σ, for windows (outputs, n)."""
    total, weighted = left_to_right(x)[:, None], left_to_right(grad * x)[:, None]
    inverse = np.array(1).astype(x.dtype) / total
    yield grad / total - weighted / (total * total)
    yield grad * inverse - weighted * inverse * inverse
    yield (grad - left_to_right(grad * (x / total))[:, None]) / total
    yield (grad - left_to_right(grad * (x * inverse))[:, None]) * inverse


# Softmax and Lp pooling, with exponentials and powers as far off as the bound grants.


def perturbed(values, accumulate, rng):
    """Values of exp, log or pow in the type, each off by at most 4 units in the last place."""
    off = 1 + (FUNCTION_ULPS * ROUNDOFFS_PER_ULP - 1) * roundoff(accumulate) * rng.choice([-1, 1], values.shape)
    return (values * off).astype(accumulate)


def softmaxes(x, accumulate, wobble):
    """Yield softmax averages: with the largest value subtracted or not, divided before the sum or after.

    wobble(exponentials, x) perturbs the exponentials, float64, by what the bound grants them.
    """
    x = x.astype(accumulate)
    for shift in (x.max(-1, keepdims=True), np.array(0).astype(accumulate)):
        weights = wobble(np.exp((x - shift).astype(np.float64)), x).astype(accumulate)
        for order in ORDERS:
            total = order(weights)[:, None]
            yield order(x * weights) / total[:, 0]
            yield order(x * (weights / total))
            yield order(x * (weights * (np.array(1).astype(accumulate) / total)))


def power(base, exponent, accumulate, rng):
    """Return a power whose exponent is rounded to the type, as far off as the bound grants."""
    rounded = float(np.array(exponent).astype(accumulate))
    return perturbed(base.astype(np.float64) ** rounded, accumulate, rng)


def norms(x, p, accumulate, rng):
    """Yield p-norms: of the sum of powers, and of their average."""
    sizes = np.abs(x.astype(accumulate))
    n = np.array(x.shape[-1]).astype(accumulate)
    for order in ORDERS:
        total = order(power(sizes, p, accumulate, rng))
        yield power(total, 1 / p, accumulate, rng)
        yield power(total / n * n, 1 / p, accumulate, rng)


# Inputs: (outputs, n), of a type.


def random(rng, shape, dtype):
    return (rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape)).astype(dtype)


def positive(rng, shape, dtype):
    return rng.uniform(1, 2, shape).astype(dtype)


def wide(rng, shape, dtype):
    """Exponents far apart, and every sum of 4,096 of them finite."""
    reach = 7 if dtype == np.float16 else 60
    # float16 has few exponents: smaller numbers become subnormal or 0.
    return (rng.uniform(1, 2, shape) * 2.0 ** rng.integers(-reach, 4, shape) * rng.choice([-1, 1], shape)).astype(dtype)


def cancelling(rng, shape, dtype):
    """Sums far smaller than their terms."""
    values = random(rng, shape, dtype)
    half = shape[-1] // 2
    values[..., half : 2 * half] = -values[..., :half]
    nudge = (values[..., -1].astype(np.float64) * (1 + 2 * roundoff(dtype))).astype(dtype)
    values[..., -1] = nudge
    return values


def subnormal(rng, shape, dtype):
    """From the smallest subnormal to a few of the smallest normals."""
    least, digits = float(ml_dtypes.finfo(dtype).smallest_subnormal), -int(np.log2(roundoff(dtype)))
    steps = np.floor(2.0 ** rng.uniform(0, digits + 1, shape)) * rng.choice([-1, 1], shape)
    return (steps * least).astype(dtype)


def sticky(rng, shape, dtype):
    """One large number and many half a unit of its last digit: every addition may be lost."""
    values = np.full(shape, roundoff(dtype))
    values[..., 0] = 1
    values *= rng.choice([1, 1 + 4 * roundoff(dtype), 0.75], shape)
    return values.astype(dtype)


KINDS = [random, positive, wide, cancelling, subnormal, sticky]
