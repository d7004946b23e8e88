"""Resizing as plain loops over Fractions, written from the ONNX document without the modules of the reference."""

import itertools
import math
from fractions import Fraction

import numpy as np

HALF = Fraction(1, 2)


def centre(position, scale):
    """Return the coordinate of the centre of an output cell, where the first cell of the input begins at 0."""
    return (position + HALF) / scale


def crop(position, before, after, region):
    """Return the coordinate of an output cell of a crop; region: its ends."""
    start, end = region
    if after == 1:
        return HALF * (start + end) * (before - 1)
    return start * (before - 1) + position * (end - start) * (before - 1) / (after - 1)


def coordinate(position, before, after, scale, rule):
    """Return the coordinate in the input of one output cell of an axis."""
    from_zero = Fraction(0) if after == 1 else None
    adjustment = after / (before * scale)
    return {
        "half_pixel": centre(position, scale) - HALF,
        "half_pixel_symmetric": Fraction(before, 2) * (1 - adjustment) + centre(position, scale) - HALF,
        "pytorch_half_pixel": centre(position, scale) - HALF if from_zero is None else from_zero,
        "tf_half_pixel_for_nn": centre(position, scale),
        "asymmetric": position / scale,
        "align_corners": Fraction(position * (before - 1), after - 1) if from_zero is None else from_zero,
    }[rule]


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


def kernel(distance, mode, a):
    """Return the weight of a cell at a distance, before the weights are divided by their sum."""
    s = abs(distance)
    if mode == "linear":
        return max(1 - s, Fraction(0))
    if mode == "cubic":
        a = Fraction(str(a))
        if s <= 1:
            return (a + 2) * s**3 - (a + 3) * s**2 + 1
        return a * s**3 - 5 * a * s**2 + 8 * a * s - 4 * a if s < 2 else Fraction(0)
    lobes = int(mode[-1])
    if s == 0 or s >= lobes:
        return Fraction(int(s == 0))
    if s.denominator == 1:
        return Fraction(0)
    angle = math.pi * float(s)
    return Fraction(lobes * math.sin(angle) * math.sin(angle / lobes) / angle**2)


def filtered_shares(where, extent, scale, mode, a, *, antialias, exclude_outside):
    """Return {cell: weight} of one axis, from the kernel at every cell, divided by the sum."""
    width = max(1 / scale, Fraction(1)) if antialias else Fraction(1)
    found = {}
    for beyond in range(-30, extent + 30):
        cell = min(max(beyond, 0), extent - 1)
        if cell == beyond or not exclude_outside:
            found[cell] = found.get(cell, 0) + kernel((where - beyond) / width, mode, a)
    return {cell: weight / sum(found.values()) for cell, weight in found.items()}


def area_shares(position, extent, scale):
    """Return {cell: weight} of one axis: the part of an output cell that each cell covers."""
    first, last = position / scale, (position + 1) / scale
    covered = {cell: min(last, Fraction(cell + 1)) - max(first, Fraction(cell)) for cell in range(extent)}
    return {cell: length * scale for cell, length in covered.items() if length > 0}


def axis_shares(position, axis, parameters):
    """Return {cell: weight} of one output cell for the parameters of reference.resize.

    axis: the extent of the input and of the output, the scale, and the ends of a crop. Beyond an end, a crop has none.
    """
    extent, output, scale, region = axis
    given = {"nearest_rounding": "round_prefer_floor", "cubic_a": -0.75, "antialias": False, "exclude_outside": False}
    given |= parameters
    mode, flags = given["mode"], {name: given[name] for name in ("antialias", "exclude_outside")}
    if mode == "area":
        return area_shares(position, extent, scale)
    is_crop = given["coordinates"] == "tf_crop_and_resize"
    where = (
        crop(position, extent, output, region)
        if is_crop
        else coordinate(position, extent, output, scale, given["coordinates"])
    )
    if is_crop and not 0 <= where <= extent - 1:
        return {}
    if any(flags.values()) or mode.startswith("lanczos"):
        return filtered_shares(where, extent, scale, mode, given["cubic_a"], **flags)
    return shares(where, extent, mode, given["nearest_rounding"], given["cubic_a"])


def loop_resize(x, output, scales, parameters, regions=None):
    """Return a dict {(n, c, *position): {(n, c, *cell): weight}} of the whole operator.

    regions: the ends of a crop on each axis. A row without weights is an extrapolated cell.
    """
    regions = regions or [(Fraction(0), Fraction(1))] * len(output)
    weights = {}
    for n, c, *position in np.ndindex(*x.shape[:2], *output):
        axes = [
            axis_shares(o, axis, parameters)
            for o, *axis in zip(position, x.shape[2:], output, scales, regions, strict=True)
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
