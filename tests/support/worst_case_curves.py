"""Softmax and Lp pooling and probabilities, whose errors come as near to the bound as we know how.

Exponentials and powers off by all they are granted; sums that stick, the one above and the one below rounded apart.
"""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np

import reference
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDOFFS_PER_ULP
from tests.support.evaluation_orders import left_to_right, roundoff
from tests.support.worst_case_sums import OUTPUTS, Reached, share, stuck

FUNCTION = FUNCTION_ULPS * ROUNDOFFS_PER_ULP
FEW = 16


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
    for got in [softmax_by(x, accumulate, sign, shifted) for sign in (1, -1) for shifted in (True, False)]:
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


def softmax_by(x, accumulate, sign, shifted):
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
        best = max(best, share(exact, norm_by(x, accumulate, sign), accumulate))
    # One value, a little wrong, is rounded back to itself.
    return Reached(best, _norm_ceiling(n, dtype, accumulate) if n > 1 or dtype == accumulate else 0.0)


def _norm_ceiling(n, dtype, accumulate):
    """As ceiling(), with the powers and the root off by all they are granted, all one way; see lp_pooling.py."""
    u, last = roundoff(accumulate), roundoff(dtype) if dtype != accumulate else 0.0
    additions, coarse = (n - 1) * u / (1 + (n - 1) * u), FUNCTION / (1 - FUNCTION * roundoff(dtype))
    error = max(
        abs(math.expm1(math.log1p(way * additions) / 2 + math.log1p(way * FUNCTION * u) * 1.5)) for way in (-1, 1)
    )
    g = (n + 3) * u / (1 - (n + 3) * u)
    magnitude = (1 + u * coarse / 2) * (1 + u * coarse) / 2
    bound = g * magnitude + u * coarse * 1.5
    return (error + last * (1 + error)) / (bound + roundoff(dtype) * (1 + bound))


def norm_by(x, accumulate, sign):
    # What rounding to the type itself takes is left out.
    grant = 1 + sign * (FUNCTION - 1) * roundoff(accumulate)
    squares = (x.astype(np.float64) ** 2 * grant).astype(accumulate)
    return (np.sqrt(left_to_right(squares).astype(np.float64)) * grant).astype(accumulate)


def probability(operator, dtype, accumulate, n):
    """The sum below sticks a little above a power of two, and so does the quotient: both round by nearly u."""
    u, u_out = roundoff(accumulate), roundoff(dtype)
    if n == 1:
        # A number divided by the same number.
        return Reached(0.0, 0.0)
    rng, many = np.random.default_rng(n), 512
    x = np.full((many, n), 2 * u)
    x[many // 2 :] *= 1 + 2 * u_out
    x[:, 0] = 1 + 2 * u_out * rng.integers(0, 1 / (16 * u_out), many)
    x[:, 1] = 1 + u_out * rng.integers(-1 / (32 * u_out), 1 / (16 * u_out), many)
    x = np.concatenate([x, stuck(n, u)]).astype(dtype)
    cells = x.astype(accumulate)
    got, wide = cells[:, 0] / left_to_right(cells), x.astype(np.float64)
    # float64 cannot rank its own errors, so all combinations of few terms are tried.
    tried = 8 if n > FEW else len(x)
    likely = np.argsort(np.abs(got.astype(dtype) / (wide[:, 0] / wide.sum(-1)) - 1))[-tried:]
    exact = reference.OPERATORS[operator](x[likely].reshape(1, 1, -1), n)
    every = cells[likely] / left_to_right(cells[likely])[:, None]
    return Reached(share(exact, every, accumulate), _quotient_ceiling(n, dtype, accumulate))


def _quotient_ceiling(n, dtype, accumulate):
    """As ceiling(), where the sum is below the line, and the result near 1/2."""
    u, last = roundoff(accumulate), roundoff(dtype) if dtype != accumulate else 0.0
    error = n * u + (n - 1) * u * u
    g = (n + 3) * u / (1 - (n + 3) * u)
    subnormal = 2 * (n + 3) * float(ml_dtypes.finfo(dtype).smallest_subnormal)
    return (error + last * (1 + error)) / (g + roundoff(dtype) * (1 + g) + subnormal)
