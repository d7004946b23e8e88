"""Grey-scale dilation and its gradients in rationals, one window at a time, written without the reference."""

import itertools
from fractions import Fraction

import numpy as np


def window_cells(shape, window, stride, padding, dilation):
    """Yield each window's position and its cells inside the plane, as (offset, place)."""
    sizes = zip(shape, window, stride, padding, dilation, strict=True)
    counts = [(size + sum(pads) - step * (extent - 1) - 1) // jump + 1 for size, extent, jump, pads, step in sizes]
    for position in np.ndindex(*counts):
        cells = []
        for offset in itertools.product(*map(range, window)):
            parts = zip(position, offset, stride, dilation, padding, strict=True)
            place = tuple(at * jump + index * step - before for at, index, jump, step, (before, _) in parts)
            if all(0 <= one < size for one, size in zip(place, shape, strict=True)):
                cells.append((offset, place))
        yield position, cells


def rational(number):
    """Return a number of any dtype as a rational."""
    return Fraction(int(number)) if np.asarray(number).dtype.kind in "iu" else Fraction(float(number))


def output_shape(x, kernel, stride, padding, dilation):
    positions = [at for at, _ in window_cells(x.shape[2:], kernel.shape[2:], stride, padding, dilation)]
    return (*x.shape[:2], *(max(one) + 1 for one in zip(*positions, strict=True)))


def loop_dilation(x, kernel, *, stride, padding, dilation):
    """Return the largest exact sum of each window, as an array of rationals; None for a window without cells."""
    output = np.full(output_shape(x, kernel, stride, padding, dilation), None, object)
    for position, cells in window_cells(x.shape[2:], kernel.shape[2:], stride, padding, dilation):
        for item, channel in np.ndindex(x.shape[:2]):
            sums = [
                rational(x[(item, channel, *place)]) + rational(kernel[(channel, 0, *offset)])
                for offset, place in cells
            ]
            output[(item, channel, *position)] = max(sums, default=None)
    return output


def loop_dilation_grad(grad, x, kernel, *, stride, padding, dilation, ties):
    """Return the exact gradients with respect to x and kernel, as arrays of rationals."""
    slopes = [np.full(array.shape, Fraction(0), object) for array in (x, kernel)]
    for position, cells in window_cells(x.shape[2:], kernel.shape[2:], stride, padding, dilation):
        for item, channel in np.ndindex(x.shape[:2]):
            sums = [x[(item, channel, *place)] + kernel[(channel, 0, *offset)] for offset, place in cells]
            chosen = [index for index, one in enumerate(sums) if one == max(sums)]
            chosen = {"first": chosen[:1], "last": chosen[-1:]}.get(ties, chosen)
            share = rational(grad[(item, channel, *position)])
            share = share / len(chosen) if ties == "split" and chosen else share
            for index in chosen:
                offset, place = cells[index]
                slopes[0][(item, channel, *place)] += share
                slopes[1][(channel, 0, *offset)] += share
    return slopes
