"""Gradients of softmax and Lp pooling and of probabilities, whose errors come as near to the bound as we know how.

Of few terms nearly all the bound is for functions: exponentials and powers are off by all they are granted, one way.
Of many terms the sums stick.
"""

import math
from itertools import islice

import ml_dtypes
import numpy as np

import reference
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDOFFS_PER_ULP
from tests.support.evaluation_orders import NAMES, left_to_right, probability_grads, random, roundoff
from tests.support.worst_case_cells import FOUND
from tests.support.worst_case_sums import Reached, beside, share, shares

FUNCTION = FUNCTION_ULPS * ROUNDOFFS_PER_ULP
CANDIDATES = 64
FEW, MANY, LARGE = 16, 49, 100
# Up to so many cells the sums of probabilities' gradients may stick or round up; beyond, either comes near.
BOTH_WAYS = 300
# How far apart two values of softmax are: a power of two whose exponential is a normal number.
APART = {2.0**-11: 8.0, 2.0**-8: 64.0, 2.0**-24: 64.0, 2.0**-53: 512.0}
# So high that the functions outweigh the rest, and a power of two, whose reciprocal is exact.
POWER = 16


def best_of(points):
    """Return the point that is the largest share."""
    return max(points, key=lambda point: point.share)


def off(number, way, accumulate):
    """Return a function's value as far off as it may be, on one side."""
    wide, form = np.array(float(number)), np.dtype(accumulate)
    limit = wide * (1 + way * FUNCTION * roundoff(accumulate))
    value = limit.astype(form)
    beyond = (value.astype(np.float64) - limit) * way > 0
    # NumPy's functions have errors of their own in float64.
    return np.nextafter(value, wide.astype(form)) if beyond or form == np.float64 else value


def sticking(n, dtype, accumulate, slope, up):
    """(outputs, n) of a type: what times a number sticks in a sum, or is rounded up by every addition.

    Where the result's type is coarser: what adds up to half a unit of its last digit, or one term at random.
    """
    u, u_out, outputs = roundoff(accumulate), roundoff(dtype), CANDIDATES if n <= FEW else 4
    size = 2.0 ** -math.floor(math.log2(abs(slope)))
    if dtype != accumulate:
        rng = np.random.default_rng(n)
        x = beside(n, u_out) / 2**4 if n > 1 else random(rng, (CANDIDATES, 1), np.float64)
        return (x * size).astype(dtype)
    firsts = (2.0**4 * (1 + 2 * u * np.arange(outputs)) / abs(slope)).astype(dtype)
    term = np.abs((firsts * np.array(slope).astype(accumulate)).astype(np.float64))
    half = u * 2.0 ** np.floor(np.log2(term))
    rest = half / abs(slope) * (1 + (4 if up else -4) * u)
    return np.concatenate([firsts[:, None], np.repeat(rest[:, None], n - 1, 1).astype(dtype)], 1)


def relative_ceiling(n, bound, dtype, accumulate, logarithm):
    """Return the most of a relative bound that can be used.

    n terms are off by what their additions take, by Lange and Rump, and each by a factor of this logarithm.
    """
    u, last = roundoff(accumulate), roundoff(dtype) if dtype != accumulate else 0.0
    error = math.expm1(math.log1p((n - 1) * u / (1 + (n - 1) * u)) + logarithm)
    return (error + last * (1 + error)) / bound


def _relative_bound(exact, got, accumulate):
    """Return the share that each output has, and the bound of the best relative to its result."""
    used = shares(exact, got, accumulate)
    best = int(used.argmax())
    cell = (part.reshape(got.size, -1)[best, 0] for part in (exact.bound(accumulate), exact.value))
    bound, value = map(float, cell)
    return float(used[best]), bound / abs(value)


# Softmax.


def softmax_grad(operator, dtype, accumulate, n):
    """Return the better of two: of windows of one cell, whose sum sticks, and of windows of two."""
    points = [_softmax_of_one(dtype, accumulate, n)] if n > 1 else []
    most = LARGE if dtype == ml_dtypes.bfloat16 else MANY
    if n == 1 or (dtype == accumulate and n <= most):
        points += [_softmax_of_two(operator, dtype, accumulate, n, up) for up in (False, True)]
    return best_of(points)


def _softmax_of_one(dtype, accumulate, n):
    grad = sticking(n, dtype, accumulate, 1.0, False)
    exact = softmax_grad_of(grad)
    used, bound = _relative_bound(exact, left_to_right(grad.astype(accumulate)), accumulate)
    # The softmax of one cell is e / e: at most a quotient and a product.
    return Reached(used, relative_ceiling(n, bound, dtype, accumulate, 2 * roundoff(accumulate)))


def softmax_grad_of(grad):
    """Return the gradient of a 0 that is the only cell of n windows: that of each window."""
    n = grad.shape[1]
    cells = np.zeros((1, len(grad), 1), grad.dtype)
    return reference.OPERATORS["softmax_pool_grad"](grad[None], cells, n, stride=1, padding=n - 1)


def _softmax_of_two(operator, dtype, accumulate, n, up):
    """All n windows contain a value and a much larger one, except one window, whose gradient is 0.

    When one is subtracted from the other half a unit of the last digit is lost.
    """
    apart, way = APART[roundoff(dtype)], 1 if up else -1
    x = np.array([-apart, way * apart * roundoff(accumulate)]).astype(dtype)
    low, top = x.astype(accumulate)
    weight, other = off(np.exp(float(low - top)), way, accumulate), off(1.0, -way, accumulate)
    share, rest = weight / (weight + other), other / (weight + other)
    slope = np.array(1).astype(accumulate) + low - (share * low + rest * top)
    given = sticking(max(n - 1, 1), dtype, accumulate, float(share) * float(slope), up)
    grad = given if n == 1 else np.pad(given, ((0, 0), (1, 1)))
    cells = np.broadcast_to(x, (1, len(grad), 2))
    where = {"window": 2} if n == 1 else {"window": n, "stride": 1, "padding": n - 1}
    exact = _first_cell(reference.OPERATORS[operator](grad[None], cells, **where))
    got = left_to_right(given.astype(accumulate) * share * slope)
    used, bound = _relative_bound(exact, got, accumulate)
    # Two exponentials and a difference; a sum, a quotient and two products; a sum and a difference of the slope.
    u = roundoff(accumulate)
    logarithm = math.log1p(FUNCTION * u) - math.log1p(-FUNCTION * u) + apart * u + 6 * u
    return Reached(used, relative_ceiling(n, bound, dtype, accumulate, logarithm))


def _first_cell(exact):
    parts = {name: getattr(exact, name)[..., :1] for name in ("value", "high", "low", "terms", "magnitude", "extra")}
    return reference.Exact(**parts, exact=False)


# Norms.


def norm_grad(_, dtype, accumulate, n):
    """All n windows contain a single 1, whose norm and quotient have the largest error allowed for functions."""
    return best_of([_norm_grad(dtype, accumulate, n, up) for up in (False, True)])


def _norm_grad(dtype, accumulate, n, up):
    u, way, one = roundoff(accumulate), 1 if up else -1, np.array(1).astype(accumulate)
    norm = off(float(off(1.0, -way, accumulate)) ** (1 / POWER), -way, accumulate)
    slope = off(float(one / norm) ** (POWER - 1), way, accumulate)
    cells = 1
    if dtype != accumulate:
        # Alone, a 1 that is a little wrong is rounded back; sums are half-way between two numbers without functions.
        cells, slope = (2, np.array(2 ** (1 / POWER - 1)).astype(accumulate)) if n == 1 else (1, one)
    grad = sticking(n, dtype, accumulate, float(slope), up)
    exact = norm_grad_of(grad, cells)
    used, bound = _relative_bound(exact, left_to_right(grad.astype(accumulate) * slope), accumulate)
    # A power, its root, a quotient, its power, and a product.
    function, rounding = -math.log1p(-FUNCTION * u), -math.log1p(-u)
    logarithm = (POWER - 1) * (function / POWER + function + rounding) + function + rounding
    return Reached(used, relative_ceiling(n, bound, dtype, accumulate, logarithm))


def norm_grad_of(grad, cells=1):
    """Return the gradient of a 1 that is the only cell of n windows, or of several cells."""
    n = grad.shape[1]
    x = np.ones((1, len(grad), cells), grad.dtype)
    where = {"stride": 1, "padding": n - 1} if cells == 1 else {}
    return reference.OPERATORS["lp_pool_grad"](grad[None], x, max(n, cells), p=POWER, **where)


# Probabilities.


def probability_grad(operator, dtype, accumulate, n):
    """One window of n cells: the square below the line sticks, the sum above rounds up, or the other way."""
    if found := FOUND.get((NAMES[dtype], NAMES[accumulate], n)):
        inputs = [tuple(np.array([list(map(float.fromhex, part.split()))]).astype(dtype) for part in found)]
    else:
        inputs = [_probabilities(n, dtype, accumulate, up) for up in (False, True)[: 2 if n <= BOTH_WAYS else 1]]
    reached = max(_probability_share(operator, x, grad, accumulate) for x, grad in inputs)
    return Reached(reached, _probability_ceiling(n, dtype, accumulate))


def _probabilities(n, dtype, accumulate, up):
    """Return cells (candidates, n) and gradients of their probabilities: both sums stick, or round up."""
    u, u_out, many = roundoff(accumulate), roundoff(dtype), 256 if n <= FEW else 64
    rng = np.random.default_rng(n)
    steps = rng.integers(0, 1 / (16 * u_out), (2, many))
    # No product overflows, and neither small terms nor small results are subnormal.
    size, sizes = (1.0, 2.0**8) if dtype == accumulate else (2.0**10, 2.0**14)
    x = np.full((many, n), size * u * (1 if up else 1 + 2 * u_out))
    grad = np.full((many, n), sizes * (1 + 4 * u_out if up else 1 - 4 * u_out))
    x[:, 0], grad[:, 0] = size * (1 + 2 * u_out * steps[0]), sizes * (1 + 2 * u_out * steps[1])
    grad[:, -1] = 0 if n > 1 else grad[:, -1]
    return x.astype(dtype), grad.astype(dtype)


def _probability_share(operator, x, grad, accumulate):
    """Return what the last cells reach, in the best way to compute them, of the likeliest windows."""
    wide, slopes, best = x.astype(np.float64), grad.astype(np.float64), 0.0
    truth = (slopes[:, -1] - (slopes * wide).sum(-1) / wide.sum(-1)) / wide.sum(-1)
    few = x.shape[1] <= LARGE
    # The reference adds rationals, and takes its time for it.
    for got in islice(probability_grads(x.astype(accumulate), grad.astype(accumulate)), 4 if few else 1):
        off = np.abs(got[:, -1].astype(x.dtype).astype(np.float64) - truth) / np.abs(slopes[:, 0] / wide[:, 0])
        likely = np.argsort(off)[-2 if few else -1 :]
        exact = reference.OPERATORS[operator](grad[likely][None, None], x[likely].reshape(1, 1, -1), x.shape[1])
        best = max(best, share(exact, got[likely], accumulate))
    return best


def _probability_ceiling(n, dtype, accumulate):
    """As ceiling(), for g / Σ − Σ gᵢxᵢ / Σ².

    Both sums are added up, one of them counts twice, and so does its reciprocal, which is off by u/2 where the sum is
    off by u: see DIVIDING. Three products and a difference are left.
    """
    u, last = roundoff(accumulate), roundoff(dtype) if dtype != accumulate else 0.0
    g = (3 * n + 8) * u / (1 - (3 * n + 8) * u)
    if n == 1:
        # Equal numbers cancel except for fewer than five roundings, so at most two units remain.
        return 4 * u / (2 * g * (1 + roundoff(dtype)))
    additions = (n - 1) * u / (1 + (n - 1) * u)
    error = math.expm1(math.log1p(additions) + 2 * math.log1p((n - 1) * u) + 5 * math.log1p(u))
    return (error + last * (1 + error)) / (g + roundoff(dtype) * (1 + g))
