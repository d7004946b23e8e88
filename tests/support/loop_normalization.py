"""Local response normalization in decimals, one value at a time, written from its definition without the reference."""

from decimal import Context, Decimal, localcontext

import numpy as np

DIGITS = 80
STEP = Decimal("1e-25")
"""Difference of two inputs whose results give a derivative of about 25 digits."""


def neighbours(channel, channels, size, extra_channel):
    """Return the channels of the window of a channel."""
    before = size // 2 if extra_channel == "before" else (size - 1) // 2
    return [other for other in range(channel - before, channel - before + size) if 0 <= other < channels]


def decimal_lrn(values, size, *, alpha, beta, k, alpha_over_size, extra_channel):
    """Return the results of one cell, from the values of its channels, as decimals."""
    factor = Decimal(alpha) / size if alpha_over_size else Decimal(alpha)
    results = []
    for channel, value in enumerate(values):
        window = neighbours(channel, len(values), size, extra_channel)
        base = Decimal(k) + factor * sum(values[other] ** 2 for other in window)
        results.append(value * (-Decimal(beta) * base.ln()).exp())
    return results


def loop_lrn(x, size, **parameters):
    """Return the result of an array, rounded to float64."""
    output = np.zeros(x.shape)
    with localcontext(Context(prec=DIGITS)):
        for batch, *cell in np.ndindex((x.shape[0], *x.shape[2:])):
            values = [Decimal(float(value)) for value in x[(batch, slice(None), *cell)]]
            output[(batch, slice(None), *cell)] = [float(one) for one in decimal_lrn(values, size, **parameters)]
    return output


def loop_lrn_grad(grad, x, size, **parameters):
    """Return the gradient of an array as differences of results, rounded to float64."""
    output = np.zeros(x.shape)
    with localcontext(Context(prec=DIGITS)):
        for batch, *cell in np.ndindex((x.shape[0], *x.shape[2:])):
            column = (batch, slice(None), *cell)
            values, slopes = ([Decimal(float(one)) for one in array[column]] for array in (x, grad))
            for channel in range(x.shape[1]):
                ends = []
                for way in (STEP, -STEP):
                    moved = [value + way * (other == channel) for other, value in enumerate(values)]
                    results = decimal_lrn(moved, size, **parameters)
                    ends.append(sum(g * y for g, y in zip(slopes, results, strict=True)))
                output[(batch, channel, *cell)] = float((ends[0] - ends[1]) / (2 * STEP))
    return output
