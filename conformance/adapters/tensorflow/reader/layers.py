"""Layers with windows and padding of a graph, from its nodes."""

import channels_last as last
import numpy as np
import tensorflow as tf

from .nodes import Node, known_shape, padding_pairs

POOLING = {"MaxPool": "max_pool", "MaxPool3D": "max_pool", "AvgPool": "avg_pool", "AvgPool3D": "avg_pool"}
REDUCTIONS = {"Mean": "mean", "Max": "max"}
PAD_MODES = {b"REFLECT": "reflect", b"SYMMETRIC": "symmetric"}


def read_pool(node, model):
    """Add pooling."""
    fields = node.fields()
    rank = len(fields["shape"]) - 2
    window, stride = node.numbers("ksize", rank), node.numbers("strides", rank)
    if node.attribute("padding") == b"EXPLICIT":
        pads = padding_pairs(node, fields["shape"][2:], window, stride, [1] * rank)
        parameters = {"window": window, "stride": stride, "padding": pads}
        model.add(node.name, POOLING[node.operation.type], parameters, **fields)
        return
    operator, word = POOLING[node.operation.type], node.attribute("padding").decode()
    last.add_pool(model, node.name, operator, window, stride, word, fields)


def read_convolution(node, model):
    """Add a convolution, with the dilation of the nodes around it."""
    fields, kernel = node.fields(), node.shape(1)
    is_depthwise = node.operation.type.startswith("Depthwise")
    shape = last.depthwise_shape(kernel) if is_depthwise else [kernel[-1], kernel[-2], *kernel[:-2]]
    rank = len(shape) - 2
    stride, dilation = node.numbers("strides", rank), node.numbers("dilations", rank)
    pads = padding_pairs(node, fields["shape"][2:], shape[2:], stride, dilation)
    fields = {**fields, "padding_word": node.attribute("padding").decode().lower()}
    around, with_bias = surroundings(node), node
    if around is not None:
        space, with_bias = around
        block = [int(one) for one in space.constant(1)]
        dilation, pads = last.dilated(block, space.constant(2), with_bias.constant(2), (stride, dilation, pads))
        fields = {**fields, "shape": last.channels_first(space.shape(0)), "padding_word": ""}
    groups = fields["shape"][1] // max(shape[1], 1)
    parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
    has_bias, bias = with_bias.bias()
    values = node.weight(1)
    reorder = last.depthwise_first if is_depthwise else last.kernel_first
    found = last.weights(None if values is None else reorder(values), bias, has_bias=has_bias)
    model.add(node.name, "conv", parameters, kernel=shape, bias=has_bias, weights=found, **fields)


def surroundings(node):
    """Return SpaceToBatchND before a node and BatchToSpaceND after it, which dilate it; None without them."""
    before, users = node.operation.inputs[0].op, node.operation.outputs[0].consumers()
    if before.type != "SpaceToBatchND" or len(users) != 1 or users[0].type != "BatchToSpaceND":
        return None
    return Node(before, node.name, node.weights), Node(users[0], node.name, node.weights)


def read_transposed(node, model):
    """Add a transposed convolution: its inputs are the output shape, the kernel and the data."""
    fields, kernel = node.fields(2), node.shape(1)
    shape = [kernel[-1], kernel[-2], *kernel[:-2]]
    rank = len(shape) - 2
    stride, dilation = node.numbers("strides", rank), node.numbers("dilations", rank)
    outputs = known_shape(node.operation.outputs[0])
    outputs = outputs[2:] if node.is_first else outputs[1:-1]
    word = node.attribute("padding").decode()
    if word not in ("SAME", "VALID"):
        raise last.Problem(f"its padding {word} is not read")
    pads = last.transposed_padding(word, fields["shape"][2:], outputs, shape[2:], stride, dilation)
    parameters = {"stride": stride, **pads, "dilation": dilation, "groups": 1}
    has_bias, bias = node.bias()
    values = node.weight(1)
    found = last.weights(None if values is None else last.kernel_first(values), bias, has_bias=has_bias)
    model.add(node.name, "conv_transpose", parameters, kernel=shape, bias=has_bias, weights=found, **fields)


def read_pad(node, model):
    """Add padding of spatial axes."""
    kind = node.operation.type
    shape = node.operation.inputs[0].shape
    if shape.rank is not None and shape.rank < last.LEAST_RANK:
        model.add_other(kind)
        return
    pads = np.asarray(node.constant(1)).astype(int).tolist()
    value = float(node.constant(2)) if kind == "PadV2" else 0.0
    mode = PAD_MODES[node.attribute("mode")] if kind == "MirrorPad" else "constant"
    last.add_pad(model, node.name, pads, mode, value, {"shape": node.shape(0), "dtype": node.dtype(), "source": kind})


def read_reduction(node, model):
    """Add the mean or maximum of all spatial axes. Others are counted."""
    kind, axes = node.operation.type, tf.get_static_value(node.operation.inputs[1])
    rank = node.operation.inputs[0].shape.rank
    axes = None if axes is None or rank is None else [int(axis) for axis in np.ravel(axes)]
    if axes is None or not last.spatial_axes(axes, max(rank, 1)):
        model.add_other(kind)
        return
    fields = {"shape": node.shape(0), "dtype": node.dtype(), "source": kind}
    last.add_reduction(model, node.name, REDUCTIONS[kind], axes, fields)


WINDOWS = {
    **dict.fromkeys(POOLING, read_pool),
    **dict.fromkeys(("Conv2D", "Conv3D", "DepthwiseConv2dNative"), read_convolution),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), read_transposed),
}
READERS = {
    **WINDOWS, **dict.fromkeys(REDUCTIONS, read_reduction), **dict.fromkeys(("Pad", "PadV2", "MirrorPad"), read_pad),
}  # fmt: skip
