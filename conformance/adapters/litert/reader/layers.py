"""Layers with windows and padding of a `.tflite` file, from its operators."""

import channels_last as last
import numpy as np

from .nodes import MAX_RANK, MIRROR_MODES, padding_of, shape_of, surroundings


def read_pool(kind, node, model):
    """Add pooling of planes."""
    operator = {"MAX_POOL_2D": "max_pool", "AVERAGE_POOL_2D": "avg_pool"}[kind]
    options = node.options("Pool2DOptions")
    if operator == "avg_pool":
        node.check_float(0)
    window, stride = [options.FilterHeight(), options.FilterWidth()], [options.StrideH(), options.StrideW()]
    last.add_pool(model, node.name, operator, window, stride, padding_of(options), node.fields(kind))


def read_convolution(kind, node, model):
    """Add a convolution of planes, with kernels (out, *window, in) or (1, *window, out)."""
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    options = node.options("DepthwiseConv2DOptions" if is_depthwise else "Conv2DOptions")
    shape = node.shape(1)
    kernel = [shape[-1], 1, *shape[1:-1]] if is_depthwise else [shape[0], shape[-1], *shape[1:-1]]
    stride, dilation = strides_of(options, "HW"), dilations_of(options, "HW")
    add_convolution(kind, node, model, kernel, (-1, 0) if is_depthwise else (0, -1), (stride, dilation, options))


def read_volume_convolution(kind, node, model):
    """Add a convolution of volumes, with kernels (*window, in, out)."""
    options = node.options("Conv3DOptions")
    shape = node.shape(1)
    kernel = [shape[-1], shape[-2], *shape[:-2]]
    add_convolution(
        kind, node, model, kernel, (-1, -2), (strides_of(options, "DHW"), dilations_of(options, "DHW"), options)
    )


def strides_of(options, axes):
    """Return the stride on each axis."""
    return [getattr(options, f"Stride{axis}")() for axis in axes]


def dilations_of(options, axes):
    """Return the dilation on each axis."""
    return [getattr(options, f"Dilation{axis}Factor")() for axis in axes]


def add_convolution(kind, node, model, kernel, channel_axes, settings):
    """Add a convolution. channel_axes: the axes of the output and the input channels in the kernel of the file."""
    stride, dilation, options = settings
    node.check_float(0, 1)
    fields, around = node.fields(kind), surroundings(node)
    pads = last.named_pads(padding_of(options), fields["shape"][2:], kernel[2:], stride, dilation)
    fields = {**fields, "padding_word": padding_of(options).lower()}
    if around is not None:
        space, batch = around
        block = [int(one) for one in space.constant(1)]
        dilation, pads = last.dilated(block, space.constant(2), batch.constant(2), (stride, dilation, pads))
        fields = {**fields, "shape": last.channels_first(space.shape(0)), "padding_word": ""}
    groups = fields["shape"][1] // max(kernel[1], 1)
    parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
    values, has_bias = node.weight(1), node.has_input(2)
    bias = node.weight(2) if has_bias else None
    values = None if values is None else np.moveaxis(values, channel_axes, (0, 1))
    found = last.weights(values, bias, has_bias=has_bias)
    model.add(node.name, "conv", parameters, kernel=kernel, bias=has_bias, weights=found, **fields)


def read_transposed(kind, node, model):
    """Add a transposed convolution. The inputs are the output shape, the kernel, the data and the bias."""
    node.check_float(1, 2)
    is_volume = kind == "CONV_3D_TRANSPOSE"
    options = node.options("Conv3DOptions" if is_volume else "TransposeConvOptions")
    stride = strides_of(options, "DHW" if is_volume else "HW")
    dilation = dilations_of(options, "DHW") if is_volume else [1, 1]
    shape, fields = node.shape(1), node.fields(kind, 2)
    # The kernel is (out, *window, in) in planes and (*window, out, in) in volumes.
    axes = (-1, -2) if is_volume else (-1, 0)
    window = shape[:-2] if is_volume else shape[1:-1]
    kernel = [shape[axes[0]], shape[axes[1]], *window]
    outputs = node.output_shape()[1:-1]
    named = last.transposed_padding(padding_of(options), fields["shape"][2:], outputs, window, stride, dilation)
    parameters = {"stride": stride, **named, "dilation": dilation, "groups": 1}
    values, has_bias = node.weight(1), node.has_input(3)
    values = None if values is None else np.moveaxis(values, axes, (0, 1))
    found = last.weights(values, node.weight(3) if has_bias else None, has_bias=has_bias)
    model.add(node.name, "conv_transpose", parameters, kernel=kernel, bias=has_bias, weights=found, **fields)


def read_pad(kind, node, model):
    """Add padding of spatial axes."""
    if len(shape_of(node.tensor(0))) < last.LEAST_RANK:
        model.add_other(kind)
        return
    node.check_float(0)
    pads = node.constant(1).astype(int).tolist()
    value = float(node.constant(2).reshape(-1)[0]) if kind == "PADV2" else 0.0
    mode = MIRROR_MODES[node.options("MirrorPadOptions").Mode()] if kind == "MIRROR_PAD" else "constant"
    fields = {"shape": node.shape(0), "dtype": node.dtype(0), "source": kind}
    last.add_pad(model, node.name, pads, mode, value, fields)


def read_reduction(kind, node, model):
    """Add the mean or maximum of all spatial axes. Others are counted."""
    rank = len(shape_of(node.tensor(0)))
    axes = node.file.array(node.tensor(1))
    if (
        axes is None
        or axes.size > MAX_RANK
        or not last.spatial_axes([int(axis) for axis in axes.reshape(-1)], max(rank, 1))
    ):
        model.add_other(kind)
        return
    if kind == "MEAN":
        node.check_float(0)
    fields = {"shape": node.shape(0), "dtype": node.dtype(0), "source": kind}
    last.add_reduction(model, node.name, "mean" if kind == "MEAN" else "max", axes.reshape(-1).tolist(), fields)


READERS = {
    "MAX_POOL_2D": read_pool, "AVERAGE_POOL_2D": read_pool,
    "CONV_2D": read_convolution, "DEPTHWISE_CONV_2D": read_convolution, "CONV_3D": read_volume_convolution,
    "TRANSPOSE_CONV": read_transposed, "CONV_3D_TRANSPOSE": read_transposed,
    "PAD": read_pad, "PADV2": read_pad, "MIRROR_PAD": read_pad,
    "MEAN": read_reduction, "REDUCE_MAX": read_reduction,
}  # fmt: skip
