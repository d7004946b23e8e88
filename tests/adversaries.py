"""Inputs, and ways to evaluate them, whose errors come as near to the bound as we know how.

    python tests/adversaries.py > docs/bounds.md

prints how much of the bound they use, next to the medians of random inputs.

Averages and dot products: a first term of 1 and others of half a unit of its last digit, so that every addition rounds
the same way and loses all it adds: the worst case of Lange and Rump, "Sharp estimates for perturbation errors in
summations", Mathematics of Computation 88 (2019), which says that n terms summed in any order are off by at most
(n − 1)u / (1 + (n − 1)u) · Σ|tᵢ|. Where the result's type is coarser than the accumulating one, a result half-way
between two of its numbers. Softmax: the sum above and the sum below rounded apart.
"""

import math
import statistics
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np
from evaluations import (
    ACCUMULATIONS,
    NAMES,
    averages,
    dots,
    left_to_right,
    pairwise,
    random,
    roundoff,
)

import reference
from reference.bound import FUNCTION_ULPS, ROUNDOFFS_PER_ULP

SIZES = [1, 2, 3, 4, 6, 9, 16, 49, 100, 121, 256, 512, 1017, 4096]
SMALL = 9
OUTPUTS = 128
# Far enough from the subnormals of float16 that their share of the bound does not matter.
SCALE = 2.0**8

# The most roundings on each term of an average besides the additions: of the divisor, its reciprocal and the product.
# With a divisor of mantissa m the first two are at most u/m and um/2, together 3u/2. No divisor here is beyond float64.
DIVIDING = {2.0**-53: 2.0}
DIVIDING_OTHERS = 2.5
MULTIPLYING = 1.0
FUNCTION = FUNCTION_ULPS * ROUNDOFFS_PER_ULP


@dataclass(frozen=True)
class Reached:
    """The share of the bound that was used, and the most that any evaluation of such a sum could use."""

    share: float
    ceiling: float


def share(exact, got, accumulate):
    """Largest share of the bound among outputs."""
    got = got.astype(exact.value.dtype).reshape(exact.value.shape)
    return float((exact.distance(got) / exact.bound(accumulate)).max())


def ceiling(n, dtype, accumulate, factors, size=np.inf):
    """Return the most of the bound that can be used, by Lange and Rump, where S = |exact|.

    factors: roundings on each term besides the additions. size: the result, if it is so small that the bound's part
    for subnormals counts.
    """
    u, last = roundoff(accumulate), roundoff(dtype) if dtype != accumulate else 0.0
    additions = (n - 1) * u / (1 + (n - 1) * u)
    error = additions + math.expm1(factors * math.log1p(u)) * (1 + additions)
    g = (n + 3) * u / (1 - (n + 3) * u)
    subnormal = (n + 3) * float(ml_dtypes.finfo(dtype).smallest_subnormal) / size
    return (error + last * (1 + error)) / (g + roundoff(dtype) * (1 + g) + subnormal)


def stuck(n, u):
    """(outputs, n): first terms with even last digits; the others half a unit of it, or a little more."""
    x = np.full((OUTPUTS, n), u)
    x[OUTPUTS // 2 :] *= 1 + 2 * u
    steps = np.concatenate([np.arange(OUTPUTS // 4), np.random.default_rng(n).integers(0, 1 / (16 * u), OUTPUTS // 4)])
    x[:, 0] = 1 + 4 * u * np.tile(steps, 2)
    return x * SCALE


def between(n, u_out):
    """(1, n) whose average lies half-way between 1 and the next number of a coarser type."""
    x = np.ones(n)
    x[: (n + 1) // 2] += 2 * u_out
    if n % 2:
        x[-1] -= u_out
    return SCALE * (x[None] if n > 1 else 1.5 + 2 * u_out * np.arange(OUTPUTS)[:, None])


def divisors_of(n, u):
    """Return n, and for few terms divisors that round, or whose reciprocals round, by nearly u."""
    if n > SMALL:
        return [n]
    top = 2 ** min(-int(math.log2(u)), 29)
    near = np.random.default_rng(n).integers(0, max(2, top // 16), 12)
    return [n, 3, 5, 7, 9, *(top + 1 + 2 * near).tolist(), *(2 * top - 1 - 2 * near).tolist()]


def average(operator, dtype, accumulate, n):
    """Sums that stick, by divisors whose reciprocals round the same way."""
    u = roundoff(accumulate)
    x = (stuck(n, u) if dtype == accumulate else between(n, roundoff(dtype))).astype(dtype)
    free = operator not in FIXED_DIVISOR
    best = 0.0
    for divisor in divisors_of(n, u) if dtype == accumulate and free else [n if n > 1 or not free else 3]:
        exact = AVERAGES[operator](x, divisor)
        for _, got in averages(x, divisor, accumulate, [left_to_right]):
            best = max(best, share(exact, got, accumulate))
    factors = DIVIDING.get(u, DIVIDING_OTHERS) if free else _dividing_by(n, accumulate)
    return Reached(best, ceiling(n, dtype, accumulate, factors) if n > 1 or free else 0.0)


def _dividing_by(n, accumulate):
    """Roundings that division by n can cost: of the reciprocal, exactly, and of a product; none by a power of two."""
    reciprocal = Fraction(float(accumulate(1) / accumulate(n))) * n
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
    if operator in SLOW:
        # The reference takes its time for exponentials and powers.
        x = x[: OUTPUTS // 2 : 16] if dtype == accumulate else x
    reached = share(SUMS[operator](x), left_to_right(x.astype(accumulate)), accumulate)
    return Reached(reached, ceiling(n, dtype, accumulate, 0))


def softmax(_, dtype, accumulate, n):
    """Exponentials off by all they are granted; the sum below rounded one way, the sum above the other.

    One large value, and others so far below it that their weights are about half a unit of its last digit.
    """
    u, cells = roundoff(accumulate), n // 2
    rng = np.random.default_rng(n)
    many = 4000 if cells <= 64 else 400
    tops = 2.0 ** rng.uniform(1, 10, many) * rng.choice([-1, 1], many)
    gaps = -math.log(u) + rng.uniform(-1.5, 1.5, many)
    apart = np.concatenate([tops[:, None], np.repeat((tops - gaps)[:, None], cells - 1, 1)], 1)
    near = np.round(rng.uniform(-1, 1, (many, cells)) * 2) / 2 + rng.uniform(-2, 2, (many, 1))
    x = np.concatenate([apart, near]).astype(dtype)
    truth, limit = _softmax_guesses(x, n, u, roundoff(dtype))
    best = 0.0
    for got in [_softmax_by(x, accumulate, sign, shifted) for sign in (1, -1) for shifted in (True, False)]:
        guess = np.abs(got.astype(dtype).astype(np.float64) - truth) / limit
        guess[~np.isfinite(guess)] = 0
        # The likeliest few are enough: the reference takes its time for exponentials.
        likely = np.concatenate([np.argsort(guess[:many])[-2:], many + np.argsort(guess[many:])[-2:]])
        likely = likely[np.isfinite(got[likely].astype(np.float64))]
        if likely.size:
            exact = reference.OPERATORS["softmax_pool"](x[likely].reshape(1, 1, -1), cells)
            best = max(best, share(exact, got[likely], accumulate))
    return Reached(best, _softmax_ceiling(cells, u, roundoff(dtype)))


def _softmax_guesses(x, n, u, u_out):
    wide = x.astype(np.float64)
    weights = np.exp(wide - wide.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    truth = (wide * weights).sum(-1)
    size = (np.abs(wide) * weights).sum(-1)
    distance = wide.max(-1, keepdims=True) - wide
    spread = (weights * (FUNCTION + distance) * np.abs(wide - truth[:, None])).sum(-1)
    return truth, (n + 3) * u * (size + 2.0**-13) + u * spread + u_out * np.abs(truth)


def _softmax_ceiling(cells, u, u_out):
    """As ceiling(), where exponentials are right: both sums off by all they can, a product, a division."""
    last = 0 if u == u_out else Fraction(u_out)
    if cells == 1 and last:
        # The one value itself, a little wrong, is rounded back to it.
        return 0.0
    u, u_out = Fraction(u), Fraction(u_out)
    additions = (cells - 1) * u / (1 + (cells - 1) * u)
    error = (1 + additions) * (1 + u) ** 2 / (1 - additions) - 1
    g = (2 * cells + 3) * u / (1 - (2 * cells + 3) * u)
    return float((error + last * (1 + error)) / (g + u_out * (1 + g)))


def _softmax_by(x, accumulate, sign, shifted):
    wide, u = x.astype(accumulate).astype(np.float64), roundoff(accumulate)
    top = wide.max(-1, keepdims=True)
    weights = np.exp(wide - top)
    middle = (wide * weights).sum(-1, keepdims=True) / weights.sum(-1, keepdims=True)
    # What rounding an exponential to the type itself takes is left out.
    grant = 1 + sign * np.sign(wide - middle) * (FUNCTION - 1) * u
    if not shifted:
        # Exponentials out of this range may leave that of float16: no candidates, then.
        weights = np.where((np.abs(wide) > 9).any(-1, keepdims=True), np.nan, np.exp(np.clip(wide, -9, 9)))
    with np.errstate(all="ignore"):
        weights = (weights * grant).astype(accumulate)
        return left_to_right(x.astype(accumulate) * weights) / left_to_right(weights)


def norm(operator, dtype, accumulate, n):
    """Squares and root off by all they are granted, one way; squares that stick, or that round up, in between."""
    u, u_out, best = roundoff(accumulate), roundoff(dtype), 0.0
    x = np.empty((OUTPUTS, n))
    if dtype == accumulate:
        # The root of half a unit of the last digit of 1, a little less, or a little more.
        x[:] = np.sqrt(u) * (1 + np.tile([-16 * u, 4 * u], OUTPUTS // 2))[:, None]
        x[:, 0] = 1 + 2 * u * (np.arange(OUTPUTS) // 2)
    else:
        x[:] = np.sqrt(2 * u_out / max(1, n - 1)) * (1 + u_out * np.arange(-OUTPUTS // 2, OUTPUTS // 2))[:, None]
        x[:, 0] = 1
    x = (x * 4).astype(dtype)
    exact = reference.OPERATORS[operator](x.reshape(1, 1, -1), n)
    for sign in (-1, 1):
        best = max(best, share(exact, _norm_by(x, accumulate, sign), accumulate))
    return Reached(best, ceiling(n, dtype, accumulate, 0) if n > 1 or dtype == accumulate else 0.0)


def _norm_by(x, accumulate, sign):
    # What rounding to the type itself takes is left out.
    grant = 1 + sign * (FUNCTION - 1) * roundoff(accumulate)
    squares = (x.astype(np.float64) ** 2 * grant).astype(accumulate)
    return (np.sqrt(left_to_right(squares).astype(np.float64)) * grant).astype(accumulate)


def probability(operator, dtype, accumulate, n):
    """The sum below sticks; the first cell, which is nearly all of it, is divided by it."""
    u, u_out = roundoff(accumulate), roundoff(dtype)
    if n == 1:
        return Reached(0.0, 0.0)
    x = stuck(n, u)
    if dtype != accumulate:
        x = np.full((OUTPUTS, n), 1 / (n - 1))
        x[:, 0] = 1 + 2 * u_out * np.arange(OUTPUTS)
    x = x.astype(dtype)
    exact = reference.OPERATORS[operator](x.reshape(1, 1, -1), n)
    cells = x.astype(accumulate)
    reached = share(exact, cells / left_to_right(cells)[:, None], accumulate)
    return Reached(reached, ceiling(n, dtype, accumulate, 1, size=0.5))


# The operators as functions of terms (outputs, n), and of a divisor or of weights (n,).


def _of(name, *arrays, **parameters):
    return reference.OPERATORS[name](*arrays, **parameters)


def _cells(outputs, dtype):
    return np.zeros((1, outputs, 1), dtype)


def _avg_pool_grad(x, divisor):
    """Every cell lies in n windows, and padding in the others' places."""
    n = x.shape[1]
    cells = _cells(len(x), x.dtype)
    return _of("avg_pool_grad", x[None], cells, n, stride=1, padding=n - 1, divisor=divisor)


def _max_pool_grad(x):
    n = x.shape[1]
    return _of("max_pool_grad", x[None], _cells(len(x), x.dtype), n, stride=1, padding=n - 1)


def _one_cell_windows(name, value):
    """Each window holds the one cell of its plane, whose average or norm it is: every term is a gradient itself."""

    def gradient(x):
        n = x.shape[1]
        return _of(name, x[None], np.full_like(_cells(len(x), x.dtype), value), n, stride=1, padding=n - 1)

    return gradient


def _conv_x_grad(x, kernel):
    cells = np.zeros((len(x), 1, 1), x.dtype)
    return _of("conv_grad", x[..., None], cells, kernel[:, None, None])[0]


def _conv_kernel_grad(x, kernel):
    weights = np.zeros((len(x), 1, 1), x.dtype)
    return _of("conv_grad", x.T[..., None], kernel[:, None, None], weights)[1]


def _conv_bias_grad(x):
    n, outputs = x.shape[1], len(x)
    arrays = np.zeros((n, 1, 1), x.dtype), np.zeros((outputs, 1, 1), x.dtype), np.zeros(outputs, x.dtype)
    return _of("conv_grad", x.T[..., None], *arrays)[2]


AVERAGES = {
    "avg_pool": lambda x, divisor: _of("avg_pool", x.reshape(1, 1, -1), x.shape[1], divisor=divisor),
    "global_avg_pool": lambda x, _: _of("global_avg_pool", x[None]),
    "adaptive_avg_pool": lambda x, _: _of("adaptive_avg_pool", x.reshape(1, 1, -1), len(x)),
    "avg_pool_grad": _avg_pool_grad,
}
FIXED_DIVISOR = {"global_avg_pool", "adaptive_avg_pool"}
DOTS = {
    "conv": lambda x, kernel: _of("conv", x[..., None], kernel[None, :, None]),
    "conv_transpose": lambda x, kernel: _of("conv_transpose", x[..., None], kernel[:, None, None]),
    "conv_grad, x": _conv_x_grad,
    "conv_grad, kernel": _conv_kernel_grad,
}
SUMS = {
    "max_pool_grad": _max_pool_grad,
    "softmax_pool_grad": _one_cell_windows("softmax_pool_grad", 0),
    "lp_pool_grad": _one_cell_windows("lp_pool_grad", 1),
    "conv_grad, bias": _conv_bias_grad,
    "pad_grad": lambda x: _of("pad_grad", x[None], _cells(len(x), x.dtype), [(x.shape[1] - 1, 0)], mode="edge"),
}
OPERATORS = {
    **dict.fromkeys(AVERAGES, average),
    **dict.fromkeys(DOTS, dot),
    **dict.fromkeys(SUMS, plain_sum),
    "softmax_pool": softmax,
    "lp_pool": norm,
    "stochastic_pool_probabilities": probability,
}
# What functions are granted outweighs few terms here, and how much of that a framework may use we have not worked out.
LEAST_TERMS = {"softmax_pool_grad": 100, "lp_pool_grad": 100, "stochastic_pool_probabilities": 4}
SLOW = {"softmax_pool_grad", "lp_pool_grad"}


def reach(operator, dtype, accumulate, n):
    """Return what the adversary of an operator reaches with n terms."""
    return OPERATORS[operator](operator, dtype, accumulate, n)


POINTS = [
    (operator, dtype, accumulate, n)
    for operator in OPERATORS
    for dtype, accumulate in ACCUMULATIONS
    for n in SIZES
    if (n + 3) * roundoff(accumulate) < 1 / 2 and (operator != "softmax_pool" or n % 2 == 0)
    if n >= LEAST_TERMS.get(operator, 1)
    # These count some roundings more than their terms.
    if operator not in SLOW or (n + 40) * roundoff(accumulate) < 1 / 2
    # (n + 3) subnormals of float16 are as much as the last rounding of such small results.
    if (operator, dtype, n) != ("stochastic_pool_probabilities", np.float16, 4096)
]


def usual(operator, dtype, accumulate, n):
    """Return the median share that random inputs use: left to right and in pairs, every way to divide."""
    rng = np.random.default_rng(n)
    x = random(rng, (64, n // 2 if operator == "softmax_pool" else n), dtype)
    if operator == "softmax_pool":
        exact = reference.OPERATORS[operator](x[:8].reshape(1, 1, -1), n // 2)
        results = [_softmax_by(x[:8], accumulate, 0, True)]
    elif operator == "lp_pool":
        exact = reference.OPERATORS[operator](x.reshape(1, 1, -1), n)
        results = [_norm_by(x, accumulate, 0)]
    elif operator == "stochastic_pool_probabilities":
        cells = np.abs(x)
        exact = reference.OPERATORS[operator](cells.reshape(1, 1, -1), n)
        cells = cells.astype(accumulate)
        results = [cells / order(cells)[:, None] for order in (left_to_right, pairwise)]
    elif operator in DOTS:
        kernel = random(rng, n, dtype)
        exact = DOTS[operator](x, kernel)
        results = [got for _, got in dots(x, np.broadcast_to(kernel, x.shape), accumulate, [left_to_right, pairwise])]
    elif operator in SUMS:
        exact = SUMS[operator](x)
        results = [order(x.astype(accumulate)) for order in (left_to_right, pairwise)]
    else:
        exact = AVERAGES[operator](x, n)
        results = [got for _, got in averages(x, n, accumulate, [left_to_right, pairwise])]
    limits = exact.bound(accumulate)
    # A bound of 0 stands where nothing rounds, and there the distance is 0.
    limits = np.where(limits == 0, 1, limits)
    shares = [exact.distance(got.astype(dtype).reshape(exact.value.shape)) / limits for got in results]
    return statistics.median(np.concatenate([s.ravel() for s in shares]).tolist())


PAGE = """# How much of the bound is used

Written by `python tests/adversaries.py > docs/bounds.md`; `tests/test_reference_proof.py` holds it. The bound itself is
derived in `reference/bound.py`. Each cell reads *reached* / *median*: the largest share of the bound that the
adversary of `tests/adversaries.py` reaches, and the median over random inputs in [1, 2) of either sign. n counts the
terms that are added (softmax pooling adds twice: n = 2 · cells). A dash means that there is no bound: (n + 3)u ≥ 1/2.

Half of the bound is out of reach in two places, marked ·, and there the adversary reaches at least 80 % of the most
that is possible:

- **Few terms.** The bound grants n + 3 roundings, and one of the result. One term of a convolution meets one rounding
  (its product), of an average at most 2.5 (divisor, reciprocal, product), of softmax pooling two, and none that
  lasts where one term's result is coarser. They cannot reach half.
- **Many terms in float16 and bfloat16.** n terms are off by at most (n − 1)u / (1 + (n − 1)u) · S, whatever the order
  (Lange and Rump, "Sharp estimates for perturbation errors in summations", 2019), while the bound grows as
  (n + 3)u / (1 − (n + 3)u): where (n + 3)u nears 1/2 that is a third of it. The bound stays as it is, because it holds
  for products, divisions and functions too, and needs no condition but (n + 3)u < 1/2.

Blank cells are not constructed: odd n of softmax pooling; few terms of three operators, in which what functions are
granted outweighs the terms; probabilities of 4,096 cells in float16, of which (n + 3) subnormals are as much as the
last rounding.
"""


def main():
    print(PAGE)
    for operator in OPERATORS:
        print(f"## {operator}\n\n| type, accumulated in |", *(f"{n} |" for n in SIZES))
        print("|---|" + "---|" * len(SIZES))
        for dtype, accumulate in ACCUMULATIONS:
            cells = [_cell((operator, dtype, accumulate, n)) for n in SIZES]
            print(f"| {NAMES[dtype]}, {NAMES[accumulate]} |", *(f"{cell} |" for cell in cells))
        print()


def _cell(point):
    if point not in POINTS:
        return "" if (point[3] + 3) * roundoff(point[2]) < 1 / 2 else "–"
    reached = reach(*point)
    mark = "·" if reached.share < 1 / 2 else ""
    return f"{reached.share:.2f}{mark} / {usual(*point):.2g}"


if __name__ == "__main__":
    main()
