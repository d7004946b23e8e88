"""ncnn: layers for convolution and transposed convolution."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, crops, is_framework_same
from conformance.adapters.ncnn.pooling import OTHER_RANK, SUFFIXES, layer, pads, per_axis

SAME_UPPER = "4=-233"
"""A pad of -233 stands for the padding `same` of TensorFlow."""
CONVOLUTION = ("Convolution", "ConvolutionDepthWise")
DECONVOLUTION = ("Deconvolution", "DeconvolutionDepthWise")
"""Names of the layers with one group, and with several."""
NO_CROP = Unsupported("a negative pad stands for the name of a padding")


def _parameters(step: Step) -> list[str]:
    groups = step.parameters["groups"]
    padding = [SAME_UPPER] if is_framework_same(step) else pads(step, 4)
    return [
        f"0={step.channels}",
        *per_axis(step, step.window, 1),
        *per_axis(step, step.dilation, 2),
        *([] if step.stride is None else per_axis(step, step.stride, 3)),
        *padding,
        *["5=1"] * step.bias,
        *([f"7={groups}"] if groups != 1 else []),
    ]


def _layer(names: tuple[str, str], step: Step, kernel: str, *more: str) -> Code:
    if not is_framework_same(step) and crops(step):
        return NO_CROP
    if len(step.kernel) != step.rank + 2:
        return Unsupported("a file of weights has no axes")
    name = names[step.parameters["groups"] != 1]
    parameters = [*_parameters(step), f"6={math.prod(step.kernel)}", *more]
    return layer(f"{name}{SUFFIXES[step.rank]}", parameters, (kernel, *("bias",) * step.bias))


def conv(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    return _layer(CONVOLUTION, step, "kernel")


def transpose(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason. Kernels are (groups, out, in, *window) in ncnn."""
    groups = step.parameters["groups"]
    kernel = "kernel.swapaxes(0, 1)"
    if groups > 1:
        kernel = f"kernel.reshape({groups}, -1, *kernel.shape[1:]).swapaxes(1, 2)"
    if is_framework_same(step):
        # The layer crops to a given size.
        sizes = [size * stride for size, stride in zip(step.shape[2:], step.stride or (), strict=True)]
        first = 25 if step.rank == len(SUFFIXES) else 20
        extents = [f"{first + axis}={size}" for axis, size in enumerate(reversed(sizes))]
        return _layer(DECONVOLUTION, step, kernel, *extents)
    output_padding = step.parameters["output_padding"]
    if len(output_padding) != step.rank:
        return OTHER_RANK
    added = [f"{18 + axis}={int(more)}" for axis, more in enumerate(reversed(output_padding))]
    return _layer(DECONVOLUTION, step, kernel, *(added if any(output_padding) else ()))
