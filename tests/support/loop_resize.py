"""Resizing as plain loops over Fractions, written from the ONNX document without the modules of the reference."""

import itertools
import math
from fractions import Fraction

import numpy as np

HALF = Fraction(1, 2)


def coordinate(position, before, after, scale, rule):
    """Return the coordinate in the input of one output cell of an axis."""
    if rule == "asymmetric":
        return position / scale
    if rule == "align_corners":
        return Fraction(0) if after == 1 else Fraction(position * (before - 1), after - 1)
    if rule == "pytorch_half_pixel" and after == 1:
        return Fraction(0)
    return (position + HALF) / scale - HALF


def chosen_cell(where, rounding):
    """Return the cell that a coordinate selects, before it is moved into the input."""
    below = math.floor(where)
    rest = where - below
    if rounding == "floor":
        return below
    if rounding == "ceil":
        return below + (rest > 0)
    return below + (rest > HALF or (rest == HALF and rounding == "round_prefer_ceil"))


def shares(where, extent, mode, rounding, a):
    """Return {cell: weight} of one axis for a coordinate."""
    if mode == "nearest":
        return {min(max(chosen_cell(where, rounding), 0), extent - 1): Fraction(1)}
    below = math.floor(where)
    t = where - below
    if mode == "linear":
        terms = [(below, 1 - t), (below + 1, t)]
    else:
        a = Fraction(str(a))
        terms = [
            (below - 1, a * t**3 - 2 * a * t**2 + a * t),
            (below, (a + 2) * t**3 - (a + 3) * t**2 + 1),
            (below + 1, -(a + 2) * t**3 + (2 * a + 3) * t**2 - a * t),
            (below + 2, -a * t**3 + a * t**2),
        ]
    found = {}
    for beyond, weight in terms:
        cell = min(max(beyond, 0), extent - 1)
        found[cell] = found.get(cell, 0) + weight
    return found


def loop_resize(x, output, scales, mode, coordinates, *, rounding="round_prefer_floor", a=-0.75):
    """Return a dict {(n, c, *position): {(n, c, *cell): weight}} of the whole operator."""
    weights = {}
    for n, c, *position in np.ndindex(*x.shape[:2], *output):
        axes = [
            shares(coordinate(o, before, after, scale, coordinates), before, mode, rounding, a)
            for o, before, after, scale in zip(position, x.shape[2:], output, scales, strict=True)
        ]
        row = weights[(n, c, *position)] = {}
        for parts in itertools.product(*(one.items() for one in axes)):
            row[(n, c, *(cell for cell, _ in parts))] = math.prod(weight for _, weight in parts)
    return weights


def forward(x, weights):
    """Return {position: exact result}."""
    return {at: sum(weight * Fraction(float(x[cell])) for cell, weight in row.items()) for at, row in weights.items()}


def backward(grad, weights):
    """Return {cell: exact gradient}; cells that nothing reads are missing."""
    total = {}
    for at, row in weights.items():
        for cell, weight in row.items():
            total[cell] = total.get(cell, 0) + weight * Fraction(float(grad[at]))
    return total
