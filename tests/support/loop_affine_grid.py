"""Grids from affine matrices as loops over fractions, written like PyTorch: a grid of -1 to 1, scaled, and products."""

import itertools
from fractions import Fraction

import numpy as np


def base_numbers(extent, align_corners):
    """Return the numbers of an axis: evenly spaced from -1 to 1, and without align_corners times (e - 1) / e."""
    if extent == 1:
        return [Fraction(0)]
    spaced = [-1 + Fraction(2, extent - 1) * cell for cell in range(extent)]
    return spaced if align_corners else [number * Fraction(extent - 1, extent) for number in spaced]


def base_points(size, align_corners):
    """Yield each cell of a grid with its numbers, the last axis first, and a 1."""
    axes = [base_numbers(extent, align_corners) for extent in size]
    for cell in itertools.product(*map(range, size)):
        yield cell, [*(axis[index] for axis, index in zip(axes[::-1], cell[::-1], strict=True)), Fraction(1)]


def loop_affine_grid(x, size, align_corners):
    """Return an object array (n, *size, axes) of fractions."""
    result = np.empty((len(x), *size, len(size)), object)
    for item, (cell, numbers) in itertools.product(range(len(x)), base_points(size, align_corners)):
        for row in range(len(size)):
            pairs = zip(numbers, x[item, row].tolist(), strict=True)
            result[(item, *cell, row)] = sum(number * Fraction(float(factor)) for number, factor in pairs)
    return result


def loop_gradient(grad, x, size, align_corners):
    """Return an object array of the shape of x of fractions."""
    result = np.full(x.shape, Fraction(0), object)
    for item, (cell, numbers) in itertools.product(range(len(x)), base_points(size, align_corners)):
        for row, column in itertools.product(range(len(size)), range(len(size) + 1)):
            result[item, row, column] += numbers[column] * Fraction(float(grad[(item, *cell, row)]))
    return result
