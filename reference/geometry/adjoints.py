"""The two adjoints of convolution: towards its input, and towards its kernel."""

import math

import numpy as np

from reference.arguments import Array
from reference.geometry.windows import Windows, all_planes_index


def input_gradient(grad: Array, kernel: Array, windows: Windows, groups: int) -> Array:
    """Add to each input cell the products of its windows' gradients with the weights that met it there.

    grad: (n, out, *output); kernel: (out, c / groups, *window). Returns (n, c, *spatial), no care for rounding.
    """
    n, out = grad.shape[:2]
    channels = kernel.shape[1]
    grad = grad.reshape(n, groups, out // groups, *windows.output)
    kernel = kernel.reshape(groups, out // groups, *kernel.shape[1:]).swapaxes(1, 2)
    total = np.zeros((n, groups, channels, *windows.size), grad.dtype)
    for offsets, inputs, outputs in windows.cells():
        target = total[all_planes_index(inputs)]
        target += np.matmul(
            kernel[all_planes_index(offsets)], _flatten_spatial(grad[all_planes_index(outputs)])
        ).reshape(target.shape)
    return total.reshape(n, groups * channels, *windows.size)


def kernel_gradient(grad: Array, x: Array, windows: Windows, groups: int) -> Array:
    """Add to each weight the products of the gradients and the input cells that it brought together.

    grad: (n, out, *output); x: (n, c, *spatial). Returns (out, c / groups, *window), no care for rounding.
    """
    n, out, channels = x.shape[0], grad.shape[1], x.shape[1] // groups
    grad = grad.reshape(n, groups, out // groups, *windows.output)
    x = x.reshape(n, groups, channels, *windows.size)
    total = np.zeros((groups, out // groups, channels, *windows.window), grad.dtype)
    for offsets, inputs, outputs in windows.cells():
        products = np.matmul(
            _flatten_spatial(grad[all_planes_index(outputs)]),
            _flatten_spatial(x[all_planes_index(inputs)]).swapaxes(-1, -2),
        )
        total[all_planes_index(offsets)] += products.sum(axis=0)
    return total.reshape(out, channels, *windows.window)


def _flatten_spatial(x: Array) -> Array:
    """Return (n, groups, channels, *spatial) as (n, groups, channels, cells)."""
    return x.reshape(*x.shape[:3], math.prod(x.shape[3:]))
