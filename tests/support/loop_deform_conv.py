"""Deformable convolution as loops over fractions, written like torchvision: four corners of a point, with 0 outside."""

import itertools
import math
from fractions import Fraction

import numpy as np


def value_at(plane, point, padding_mode):
    """Return the interpolated value of a plane at a point, as a sum over the corners of the cell around it."""
    if padding_mode == "inside" and not all(0 <= at < size for at, size in zip(point, plane.shape, strict=True)):
        return Fraction(0)
    return sum((weight * plane[cell] for cell, weight in corners(point, plane.shape, padding_mode)), Fraction(0))


def corners(point, shape, padding_mode):
    """Yield the cells around a point that are in a plane, each with its weight."""
    low = [math.floor(at) for at in point]
    for steps in itertools.product((0, 1), repeat=len(point)):
        cell = [start + step for start, step in zip(low, steps, strict=True)]
        weight = math.prod(1 - abs(at - index) for at, index in zip(point, cell, strict=True))
        if padding_mode == "inside":
            cell = [min(index, size - 1) for index, size in zip(cell, shape, strict=True)]
        if weight and all(0 <= index < size for index, size in zip(cell, shape, strict=True)):
            yield tuple(cell), weight


def products(x, offset, kernel, *, stride, padding, dilation, groups, offset_groups, output):
    """Yield (index of the output, of the kernel, of the mask, channel of x, number of the offsets, point)."""
    axes, window = x.ndim - 2, kernel.shape[2:]
    for item, out in itertools.product(range(len(x)), range(len(kernel))):
        for at, taken in itertools.product(np.ndindex(*output), np.ndindex(*kernel.shape[1:])):
            channel = out // (len(kernel) // groups) * kernel.shape[1] + taken[0]
            cell = channel // (x.shape[1] // offset_groups) * math.prod(window)
            cell += int(np.ravel_multi_index(taken[1:], window))
            moves = [Fraction(float(offset[(item, cell * axes + axis, *at)])) for axis in range(axes)]
            place = zip(at, taken[1:], stride, dilation, padding, moves, strict=True)
            point = [o * s + k * d - before + move for o, k, s, d, (before, _), move in place]
            yield (item, out, *at), (out, *taken), (item, cell, *at), channel, cell * axes, point


def exact(array):
    """Return an array of fractions."""
    numbers = np.empty(array.shape, object)
    numbers.ravel()[:] = [Fraction(float(one)) for one in array.ravel()]
    return numbers


def loop_deform_conv(arrays, output, *, padding_mode="zeros", **rules):
    """Return the result for (x, offset, kernel, mask, bias) as an object array (n, out, *output) of fractions."""
    x, offset, kernel, mask, bias = arrays
    cells, weights, factors = exact(x), exact(kernel), None if mask is None else exact(mask)
    result = np.full((len(x), len(kernel), *output), Fraction(0), object)
    for to, of_kernel, of_mask, channel, _, point in products(x, offset, kernel, output=output, **rules):
        factor = 1 if factors is None else factors[of_mask]
        result[to] += weights[of_kernel] * factor * value_at(cells[to[0], channel], point, padding_mode)
    return result if bias is None else result + exact(bias).reshape(-1, *(1,) * len(output))


def loop_gradients(grad, arrays, output, *, padding_mode="zeros", **rules):
    """Return the gradients of x, offset, kernel and mask; that of an offset as a difference from the point on."""
    x, offset, kernel, mask = arrays
    cells, weights, slopes = exact(x), exact(kernel), exact(grad)
    factors = np.full(mask.shape, Fraction(1), object) if mask is None else exact(mask)
    of_x, of_offset, of_kernel, of_mask = (np.full(one.shape, Fraction(0), object) for one in (x, offset, kernel, mask))
    for to, at_kernel, at_mask, channel, number, point in products(x, offset, kernel, output=output, **rules):
        plane, value = cells[to[0], channel], value_at(cells[to[0], channel], point, padding_mode)
        inside = padding_mode == "zeros" or all(0 <= at < size for at, size in zip(point, plane.shape, strict=True))
        for cell, weight in corners(point, plane.shape, padding_mode) if inside else ():
            of_x[(to[0], channel, *cell)] += slopes[to] * weights[at_kernel] * factors[at_mask] * weight
        of_kernel[at_kernel] += slopes[to] * factors[at_mask] * value
        of_mask[at_mask] += slopes[to] * weights[at_kernel] * value
        for axis in range(len(point)):
            share = slopes[to] * weights[at_kernel] * factors[at_mask]
            move = slope(plane, point, axis, padding_mode)
            of_offset[(to[0], number + axis, *at_mask[2:])] += share * move
    return of_x, of_offset, of_kernel, of_mask


def slope(plane, point, axis, padding_mode):
    """Return the derivative of value_at() along an axis, from a point to the next cell: the value is linear there."""
    step = (math.floor(point[axis]) + 1 - point[axis]) / 2
    moved = [at + step * (number == axis) for number, at in enumerate(point)]
    return (value_at(plane, moved, padding_mode) - value_at(plane, point, padding_mode)) / step
