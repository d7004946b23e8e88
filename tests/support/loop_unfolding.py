"""Unfold and fold as plain loops over window cells, written from the PyTorch documents without the reference."""

from itertools import product

import numpy as np


def _columns(size, geometry):
    """Yield (window position, cell number, place in the plane) for every cell of every window."""
    window, stride, before, after, dilation = geometry
    counts = [
        (n + b + a - d * (w - 1) - 1) // s + 1
        for n, w, s, b, a, d in zip(size, window, stride, before, after, dilation, strict=True)
    ]
    for position in product(*map(range, counts)):
        for number, offset in enumerate(product(*map(range, window))):
            axes = zip(position, stride, offset, dilation, before, strict=True)
            yield position, number, tuple(p * s + o * d - b for p, s, o, d, b in axes)


def _channel(channel, channels, cell, cells, order):
    return cell * channels + channel if order == "dcr" else channel * cells + cell


def loop_unfold(x, geometry, order):
    """Return the columns; padding is 0. geometry: window, stride, padding before and after, dilation of each axis."""
    size, channels, cells = x.shape[2:], x.shape[1], int(np.prod(geometry[0]))
    found = list(_columns(size, geometry))
    counts = np.max([position for position, _, _ in found], axis=0) + 1
    output = np.zeros((x.shape[0], channels * cells, *counts), x.dtype)
    for position, cell, place in found:
        if all(0 <= at < extent for at, extent in zip(place, size, strict=True)):
            for channel in range(channels):
                target = _channel(channel, channels, cell, cells, order)
                output[(slice(None), target, *position)] = x[(slice(None), channel, *place)]
    return output


def loop_fold(x, size, geometry, order):
    """Return the plane to which every column is added."""
    cells = int(np.prod(geometry[0]))
    channels = x.shape[1] // cells
    output = np.zeros((x.shape[0], channels, *size), x.dtype)
    for position, cell, place in _columns(size, geometry):
        if all(0 <= at < extent for at, extent in zip(place, size, strict=True)):
            for channel in range(channels):
                source = _channel(channel, channels, cell, cells, order)
                output[(slice(None), channel, *place)] += x[(slice(None), source, *position)]
    return output
