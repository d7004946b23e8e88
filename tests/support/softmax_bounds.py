"""The parts of the error bounds of softmax pooling and its gradient, in decimals."""

from decimal import Decimal

import ml_dtypes


def roundoff(dtype):
    return float(ml_dtypes.finfo(dtype).eps) / 2


FUNCTION = 8  # unit roundoffs: four units in the last place


def near(got, expected):
    """Whether a part of a bound is rounded up, and by hardly anything."""
    return expected <= Decimal(float(got)) <= expected * (1 + Decimal(2) ** -36)


def softmax_parts(values, u):
    """Return p, c, the average y, T, C and M of one window, as the docstrings of softmax pooling name them."""
    weights = [(x - max(values)).exp() for x in values]
    p = [weight / sum(weights) for weight in weights]
    y = sum(x * share for x, share in zip(values, p, strict=True))
    c = [((1 + FUNCTION * u) * (u * (max(values) - x)).exp() - 1) / u for x in values]
    t = sum(share * more * abs(x - y) for share, more, x in zip(p, c, values, strict=True))
    return (
        p,
        c,
        y,
        t,
        sum(a * b for a, b in zip(p, c, strict=True)),
        sum(abs(x) * s for x, s in zip(values, p, strict=True)),
    )
