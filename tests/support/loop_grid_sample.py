"""Sampling at the points of a grid as loops over fractions, written like PyTorch's kernels.

Unlike the reference, which interpolates in a plane that continues without limit, a coordinate beyond an end is first
moved into the plane; for the mode cubic, the cells are moved.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

HALF = Fraction(1, 2)
A = Fraction(-3, 4)


def coordinate(number, extent, align_corners):
    return (number + 1) / 2 * (extent - 1) if align_corners else ((number + 1) * extent - 1) / 2


def moved(at, extent, padding_mode, align_corners):
    """Move a coordinate to an end (border), or reflect it between the centres or the edges of the cells at the ends."""
    if padding_mode == "reflection":
        low, high = (Fraction(0), Fraction(extent - 1)) if align_corners else (-HALF, extent - HALF)
        span = high - low
        if span == 0:
            return Fraction(0)
        flips, rest = divmod(abs(at - low), span)
        at = low + rest if flips % 2 == 0 else high - rest
    if padding_mode in {"border", "reflection"}:
        at = min(max(at, Fraction(0)), Fraction(extent - 1))
    return at


def cubic_weight(s):
    s = abs(s)
    if s <= 1:
        return (A + 2) * s**3 - (A + 3) * s**2 + 1
    return A * s**3 - 5 * A * s**2 + 8 * A * s - 4 * A if s < 2 else Fraction(0)


def taps(number, extent, mode, padding_mode, align_corners):
    """Return (cell, weight) of every cell of an axis that is read at a number of the grid."""
    at = coordinate(number, extent, align_corners)
    if mode == "cubic":
        low = math.floor(at)
        every = [
            (moved(Fraction(i), extent, padding_mode, align_corners), cubic_weight(at - i))
            for i in range(low - 1, low + 3)
        ]
    else:
        at = moved(at, extent, padding_mode, align_corners)
        low = math.floor(at)
        every = [(low, 1 - (at - low)), (low + 1, at - low)] if mode == "linear" else [(round(at), Fraction(1))]
    return [(int(cell), weight) for cell, weight in every if 0 <= cell < extent]


def loop_grid_sample(x, grid, mode, padding_mode, align_corners):
    """Return the exact results, an array of fractions. grid: an array of fractions, or of floats."""
    y = np.empty((*x.shape[:2], *grid.shape[1:-1]), object)
    for n, *position in np.ndindex(grid.shape[:-1]):
        point = [Fraction(number) for number in grid[(n, *position)].tolist()[::-1]]
        axes = [
            taps(number, extent, mode, padding_mode, align_corners)
            for number, extent in zip(point, x.shape[2:], strict=True)
        ]
        for c in range(x.shape[1]):
            terms = (
                math.prod((weight for _, weight in cells), start=Fraction(1))
                * Fraction(float(x[(n, c, *(cell for cell, _ in cells))]))
                for cells in itertools.product(*axes)
            )
            y[(n, c, *position)] = sum(terms, Fraction(0))
    return y


def gradient_of_x(grad, x, grid, *rules):
    """Return the exact gradient: the products of grad with the results for images with a single 1."""
    slope = np.empty(x.shape, object)
    for at in np.ndindex(x.shape):
        image = np.zeros(x.shape)
        image[at] = 1
        slope[at] = dot(loop_grid_sample(image, grid, *rules), grad)
    return slope


def gradient_of_grid(grad, x, grid, *rules):
    """Return the exact gradient on the side of larger numbers, from differences.

    Between two cells the result is a polynomial of each number, of degree 3 at most, and a polynomial of degree 3 has
    the derivative (−11f(0) + 18f(h) − 9f(2h) + 2f(3h)) / 6h at 0.
    """
    step = Fraction(1, 2**40)
    slope = np.empty(grid.shape, object)
    for at in np.ndindex(grid.shape):
        results = []
        for count in range(4):
            changed = np.array([Fraction(number) for number in grid.ravel().tolist()], object).reshape(grid.shape)
            changed[at] += count * step
            results.append(dot(loop_grid_sample(x, changed, *rules), grad))
        slope[at] = sum(factor * one for factor, one in zip((-11, 18, -9, 2), results, strict=True)) / (6 * step)
    return slope


def dot(results, grad):
    return sum(
        (one * Fraction(float(other)) for one, other in zip(results.ravel(), grad.ravel(), strict=True)), Fraction(0)
    )
