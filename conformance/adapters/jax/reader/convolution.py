"""Convolutions and padding in StableHLO."""

import numpy as np
from channels_last import LEAST_RANK, Problem, weights
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .nodes import MAX_DEPTH, PASSING, Node, integers, pad_pairs, type_of


def dimensions_of(operation):
    """Return which axes of a convolution are the batch, the channels and spatial."""
    return stablehlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])


def read_convolution(node, _is_first, model):
    """Add a convolution, or a transposed one if the input has gaps."""
    operation = node.operation
    shape, dtype = type_of(operation.operands[0])
    kernel, _dtype = type_of(operation.operands[1])
    layout, rank = dimensions_of(operation), len(shape) - 2
    if ir.IntegerAttr(operation.attributes["batch_group_count"]).value != 1:
        raise Problem("the gradient of a convolution is not checked")
    order = [layout.kernel_output_feature_dimension, layout.kernel_input_feature_dimension,
             *layout.kernel_spatial_dimensions]  # fmt: skip
    axes = [layout.input_batch_dimension, layout.input_feature_dimension, *layout.input_spatial_dimensions]
    kernel, values = [kernel[axis] for axis in order], node.array(1)
    values = None if values is None else values.transpose(order)
    groups = ir.IntegerAttr(operation.attributes["feature_group_count"]).value
    stride, gaps = integers(operation, "window_strides", [1] * rank), integers(operation, "lhs_dilation", [1] * rank)
    dilation, pads = integers(operation, "rhs_dilation", [1] * rank), pad_pairs(operation, rank)
    parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
    is_flipped = "window_reversal" in operation.attributes and "true" in str(operation.attributes["window_reversal"])
    if is_flipped:
        values = None
    operator = "conv"
    if max(gaps, default=1) > 1:
        if max(stride) > 1:
            raise Problem("a convolution with a stride of an input with gaps is not checked")
        operator = "conv_transpose"
        parameters.update(stride=gaps, **transposed_parameters(kernel[2:], dilation, pads))
        values = None if values is None or groups != 1 else np.flip(values.swapaxes(0, 1), tuple(range(2, values.ndim)))
        kernel = [kernel[1] * groups, kernel[0] // groups, *kernel[2:]]
    has_bias, bias = bias_of(node, layout.output_feature_dimension)
    fields = {"shape": [shape[axis] for axis in axes], "dtype": dtype, "source": "convolution"}
    found = weights(values, bias, has_bias=has_bias)
    model.add(node.name, operator, parameters, kernel=kernel, bias=has_bias, weights=found, **fields)


def transposed_parameters(window, dilation, pads):
    """Return the padding of a transposed convolution, from that of the convolution of an input with gaps."""
    ends = [
        [(size - 1) * rate - before, (size - 1) * rate - after]
        for size, rate, (before, after) in zip(window, dilation, pads)
    ]
    if min((before for before, _after in ends), default=0) < 0:
        raise Problem("a transposed convolution with cells before its output is not checked")
    return {
        "padding": [[before, max(after, 0)] for before, after in ends],
        "output_padding": [max(-after, 0) for _before, after in ends],
    }


def bias_of(node, channels):
    """Return whether one number for each channel is added to a result, and the numbers if they are constants."""
    result = node.operation.results[0]
    users = list(result.uses)
    if len(users) != 1 or users[0].owner.operation.name != "stablehlo.add":
        return False, None
    addition, operand = Node(users[0].owner.operation, node.arguments), 1 - users[0].operand_number
    count = type_of(result)[0][channels]
    for _ in range(MAX_DEPTH):
        if type_of(addition.operation.operands[operand])[0] == [count]:
            return True, addition.array(operand)
        addition, operand = addition.operand(operand), 0
        if addition is None or addition.operation.name not in PASSING:
            break
    return False, None


def read_pad(node, is_first, model):
    """Add padding of spatial axes."""
    operation = node.operation
    shape, dtype = type_of(operation.operands[0])
    low, high = integers(operation, "edge_padding_low", []), integers(operation, "edge_padding_high", [])
    pads = [list(pair) for pair in zip(low, high)]
    channels = 1 if is_first else len(shape) - 1
    if any(integers(operation, "interior_padding", [0])):
        raise Problem("cells between those of the input are not read")
    if len(shape) < LEAST_RANK or any(pads[0]) or any(pads[channels]) or not any(map(any, pads)):
        model.add_other("pad of batch or channels")
        return
    value = node.number(1)
    if value is None:
        raise Problem("its value is computed by the model")
    axes = [axis for axis in range(1, len(shape)) if axis != channels]
    number = int(value) if np.isfinite(value) and float(value).is_integer() else value
    parameters = {"pads": [pads[axis] for axis in axes], "mode": "constant", "value": number}
    fields = {"shape": [shape[0], shape[channels], *(shape[axis] for axis in axes)], "dtype": dtype, "source": "pad"}
    model.add(node.name, "pad", parameters, **fields)
