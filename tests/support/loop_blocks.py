"""Depth to space as plain loops over output cells, written from the ONNX document without the reference."""

from itertools import product

import numpy as np


def loop_depth_to_space(x, block, order):
    """Return the output: each cell is looked up by its position in its block."""
    axes = x.ndim - 2
    channels = x.shape[1] // block**axes
    output = np.zeros((x.shape[0], channels, *(block * extent for extent in x.shape[2:])), x.dtype)
    for cell in product(*map(range, output.shape)):
        batch, channel, *places = cell
        position = 0
        for place in places:
            position = position * block + place % block
        source = position * channels + channel if order == "dcr" else channel * block**axes + position
        output[cell] = x[(batch, source, *(place // block for place in places))]
    return output
