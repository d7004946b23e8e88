"""Every way in which a framework may evaluate a sum, an average or a dot product in an accumulating type.

Each works on the last axis of arrays (outputs, n) of that type and rounds after every operation, as IEEE arithmetic
does: NumPy and ml_dtypes compute 16-bit results by way of float32, whose 24 digits are at least 2 · 11 + 2, so that
rounding twice changes nothing. Source: Figueroa, "When is double rounding innocuous?" (1995).
"""

from fractions import Fraction

import ml_dtypes
import numpy as np

from reference.rounding import round_pair

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
# (dtype, type in which it accumulates)
ACCUMULATIONS = [(dtype, dtype) for dtype in FLOATS] + [(np.float16, np.float32), (ml_dtypes.bfloat16, np.float32)]
NAMES = {np.float16: "float16", ml_dtypes.bfloat16: "bfloat16", np.float32: "float32", np.float64: "float64"}


def roundoff(dtype):
    """u of a type."""
    return float(ml_dtypes.finfo(dtype).eps) / 2


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
    # The product of two numbers of at most 24 digits is exact in float64, and two_sum in round_pair keeps the rest.
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


# Inputs: (outputs, n), of a type.


def random(rng, shape, dtype):
    return (rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape)).astype(dtype)


def positive(rng, shape, dtype):
    return rng.uniform(1, 2, shape).astype(dtype)


def wide(rng, shape, dtype):
    """Exponents far apart, and every sum of 4,096 of them finite."""
    reach = 7 if dtype == np.float16 else 60
    # float16 has few exponents: what has none left below becomes subnormal or 0.
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
