"""The table of operators: their inputs, outputs, parameters and properties.

The schema of case files, command-line options, factors of sweeps, the exploration space, costs and drawings are derived
from this table. CONTRIBUTING.md explains how to add an operator. The classes are in conformance.cases.operator_types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operator_types import (
    CHANNEL_GEOMETRIES,
    GRADIENT_SUFFIX,
    PER_AXIS_KINDS,
    Arithmetic,
    BlockOrder,
    Coordinates,
    ExtraChannel,
    Formula,
    Geometry,
    Input,
    NearestRounding,
    Operation,
    Operator,
    OutsideMode,
    PaddingWord,
    PadMode,
    Parameter,
    ParameterKind,
    QuantizedDtype,
    Requantization,
    ResizeMode,
    Rounding,
    RoundMode,
    Ties,
)
from reports.results.vocabulary import Word

__all__ = [
    "CHANNEL_GEOMETRIES",
    "FORWARD_OPERATORS",
    "GRADIENT_SUFFIX",
    "GRID_OUTSIDE_MODES",
    "INPUTS",
    "MATRIX_AXES",
    "OPERATORS",
    "PARAMETERS",
    "PER_AXIS_KINDS",
    "REGION_PARAMETERS",
    "WEIGHT_INPUTS",
    "WINDOW_PARAMETERS",
    "Arithmetic",
    "BlockOrder",
    "Coordinates",
    "ExtraChannel",
    "Formula",
    "Geometry",
    "NearestRounding",
    "Operation",
    "Operator",
    "OutsideMode",
    "PadMode",
    "PaddingWord",
    "Parameter",
    "ParameterKind",
    "QuantizedDtype",
    "Requantization",
    "ResizeMode",
    "RoundMode",
    "Rounding",
    "Ties",
    "drawing_properties",
    "gradient_operator",
]

# fmt: off
_INPUTS = (
    Input("grad", "The gradient with respect to the output. Its shape is inferred from the case and is optional.",
          is_derived=True),
    Input("x", "The input, in the layout (n, c, *spatial)."),
    Input("kernel", "The weights: (out, in/groups, *window) of a convolution, (in, out/groups, *window) of "
          "conv_transpose, (channels, 1, *window) of dilation2d.",
          has_gradient=True),
    Input("bias", "One number for each output channel. Optional.", has_gradient=True),
    Input("indices", "The position of each value in the unpadded plane, row-major; int64 if no dtype is given.",
          dtype="int64", is_derived=True, is_position=True),
    Input("samples", "Numbers from 0 to 1 that place the windows of fractional pooling.",
          is_derived=True, is_position=True),
    Input("draws", "Numbers from 0 to 1 that select a cell of each window in stochastic pooling.",
          is_derived=True, is_position=True),
    Input("grid", "A point of x for each output cell, (n, *output_size, axes): -1 and 1 are the ends of an axis. The "
          "first number is the coordinate on the last axis.", is_derived=True, is_position=True, has_gradient=True),
    Input("offset", "The move of each cell of each window on each axis, in cells of x: "
          "(n, offset_groups * cells * axes, *output).", is_derived=True, is_position=True, has_gradient=True),
    Input("mask", "A factor for each cell of each window, (n, offset_groups * cells, *output). Optional.",
          is_derived=True, has_gradient=True),
)
_PARAMETERS = (
    Parameter("window", ParameterKind.SIZES, None, "Extent of the window on each spatial axis.",
              required=True, id_prefix="w", always_in_id=True),
    Parameter("pads", ParameterKind.PAIRS, None,
              "Number of cells to add before and after each spatial axis; negative numbers crop.",
              required=True, id_prefix="p", always_in_id=True),
    Parameter("stride", ParameterKind.SIZES, None,
              "Stride of the window. If not given, the window for pooling, 1 for convolution.",
              id_prefix="s", always_in_id=True),
    Parameter("padding", ParameterKind.PADDING, 0,
              "Padding cells around the input. They are never the maximum, and count in an average only with "
              "count_include_pad.", id_prefix="p"),
    Parameter("dilation", ParameterKind.SIZES, 1, "Distance between neighbouring cells of a window.", id_prefix="d"),
    Parameter("rounding", ParameterKind.CHOICE, Rounding.FLOOR.value,
              "The output-size rule. ceil: one more window if cells remain, unless it starts at or beyond before-pad + "
              "input; full: one more window if cells remain, wherever it starts.",
              choices=tuple(Rounding), is_geometric=True),
    Parameter("count_include_pad", ParameterKind.FLAG, False, "Whether padding counts in the divisor of an average.",
              id_prefix="include"),
    Parameter("output_size", ParameterKind.SIZES, None, "Extent of the output on each spatial axis.",
              required=True, id_prefix="to", always_in_id=True),
    Parameter("grid_size", ParameterKind.CHANNEL_COUNTS, None,
              "Extent of the grid on each axis. A matrix has a row for each axis, as channels.",
              required=True, id_prefix="to", always_in_id=True, is_geometric=True),
    Parameter("size", ParameterKind.SIZES, None, "Extent of the resized output on each spatial axis.", id_prefix="to"),
    Parameter("scale", ParameterKind.SCALES, None,
              "Output cells for each input cell; the extent is rounded down. Instead of a size.", id_prefix="by"),
    Parameter("output_padding", ParameterKind.SIZES, 0,
              "Cells that a transposed convolution adds after each spatial axis.", id_prefix="op"),
    Parameter("p", ParameterKind.NUMBER, 2, "The power of a norm.", limits=(1, 1_000_000), id_prefix="norm"),
    Parameter("local_size", ParameterKind.COUNT, None,
              "Number of neighbouring channels in the window of a normalization.",
              limits=(1, 10_000), required=True, id_prefix="w", always_in_id=True, is_geometric=True),
    Parameter("alpha", ParameterKind.NUMBER, 0.0001, "The factor of a sum of squares.",
              limits=(0, 1_000_000), id_prefix="a"),
    Parameter("beta", ParameterKind.NUMBER, 0.75, "The power of the divisor of a normalization.",
              limits=(-100, 100), id_prefix="b"),
    Parameter("k", ParameterKind.NUMBER, 1, "The number added to a sum of squares.",
              limits=(0, 1_000_000), id_prefix="k"),
    Parameter("alpha_over_size", ParameterKind.FLAG, True, "Whether alpha is divided by the number of channels.",
              id_prefix="over.size"),
    Parameter("extra_channel", ParameterKind.CHOICE, ExtraChannel.AFTER.value,
              "The side on which a window of an even number of channels has one more.",
              choices=tuple(ExtraChannel), is_geometric=True),
    Parameter("divisor", ParameterKind.COUNT, None, "Divisor of the sum, instead of the count of cells.",
              limits=(1, 1_000_000), id_prefix="by"),
    Parameter("groups", ParameterKind.COUNT, 1,
              "Number of groups. Input and output channels are split into groups that are convolved separately.",
              limits=(1, 10_000), id_prefix="g"),
    Parameter("offset_groups", ParameterKind.COUNT, 1,
              "Number of groups of input channels with their own offsets and masks.",
              limits=(1, 10_000), id_prefix="og"),
    Parameter("block", ParameterKind.COUNT, None,
              "Extent of the blocks of cells on each spatial axis.",
              limits=(1, 10_000), required=True, id_prefix="b", always_in_id=True, is_geometric=True),
    Parameter("order", ParameterKind.CHOICE, BlockOrder.DCR.value,
              "The order of channels that become a block or a window. dcr: its first cell in every channel of the "
              "plane, then the second one, and so on; crd: all its cells in the first channel, then in the second one.",
              choices=tuple(BlockOrder), always_in_id=True, is_geometric=True),
    Parameter("mode", ParameterKind.CHOICE, PadMode.CONSTANT.value,
              "The values that padding has: edge repeats the last cell, reflect mirrors without the last cell, "
              "symmetric mirrors with it, wrap continues at the opposite end. For resize and grid_sample: the "
              "interpolation.",
              choices=(*PadMode, *ResizeMode), is_geometric=True),
    Parameter("coordinates", ParameterKind.CHOICE, Coordinates.HALF_PIXEL.value,
              "The coordinate of an output cell in the input, by its name in ONNX.",
              choices=tuple(Coordinates), always_in_id=True, is_geometric=True),
    Parameter("nearest_rounding", ParameterKind.CHOICE, NearestRounding.ROUND_PREFER_FLOOR.value,
              "The cell that a coordinate selects in the mode nearest, by its name in ONNX.",
              choices=tuple(NearestRounding), is_geometric=True, only_with=("mode", ResizeMode.NEAREST.value)),
    Parameter("cubic_a", ParameterKind.NUMBER, -0.75, "The parameter of the cubic kernel: -0.75 or -0.5.",
              limits=(-1, 0), id_prefix="a", is_geometric=True, only_with=("mode", ResizeMode.CUBIC.value)),
    Parameter("antialias", ParameterKind.FLAG, False,
              "Whether the kernel is as wide as an output cell, if that is wider than a cell of the input.",
              id_prefix="antialias", is_geometric=True, only_if_true=True),
    Parameter("exclude_outside", ParameterKind.FLAG, False,
              "Whether cells beyond an end have the weight 0, and the others are divided by their sum.",
              id_prefix="exclude", is_geometric=True, only_if_true=True),
    Parameter("roi_start", ParameterKind.SCALES, None,
              "The start of the region that tf_crop_and_resize resizes; 0 and 1 are the first and the last cell.",
              id_prefix="from", is_geometric=True),
    Parameter("roi_end", ParameterKind.SCALES, None,
              "The end of the region that tf_crop_and_resize resizes; 0 and 1 are the first and the last cell.",
              id_prefix="until", is_geometric=True),
    Parameter("extrapolation_value", ParameterKind.NUMBER, 0,
              "The value of output cells whose coordinate is beyond an end, in tf_crop_and_resize.",
              id_prefix="v", only_with=("coordinates", Coordinates.TF_CROP_AND_RESIZE.value)),
    Parameter("padding_mode", ParameterKind.CHOICE, OutsideMode.ZEROS.value,
              "The cells outside x that points read: zeros, the last cell (border), x mirrored (reflection), or for "
              "deform_conv the last cell at points in [0, extent) and zeros at others (inside).",
              choices=tuple(OutsideMode), is_geometric=True),
    Parameter("align_corners", ParameterKind.FLAG, False,
              "Whether -1 and 1 are the centres of the first and the last cell, not their outer edges.",
              id_prefix="align", is_geometric=True),
    Parameter("x_scale", ParameterKind.CHANNEL_NUMBERS, None,
              "The number that a difference of 1 of quantized inputs stands for, rounded to float32.",
              required=True, id_prefix="xs", always_in_id=True),
    Parameter("x_zero_point", ParameterKind.CHANNEL_COUNTS, 0, "The quantized input that stands for 0.",
              id_prefix="xz"),
    Parameter("w_scale", ParameterKind.CHANNEL_NUMBERS, None,
              "The number that a difference of 1 of quantized weights stands for, rounded to float32.",
              required=True, id_prefix="ws", always_in_id=True),
    Parameter("w_zero_point", ParameterKind.CHANNEL_COUNTS, 0, "The quantized weight that stands for 0.",
              id_prefix="wz"),
    Parameter("y_scale", ParameterKind.CHANNEL_NUMBERS, None,
              "The number that a difference of 1 of quantized outputs stands for, rounded to float32.",
              required=True, id_prefix="ys", always_in_id=True),
    Parameter("y_zero_point", ParameterKind.CHANNEL_COUNTS, 0, "The quantized output that stands for 0.",
              id_prefix="yz"),
    Parameter("output_dtype", ParameterKind.CHOICE, QuantizedDtype.INT8.value, "The dtype of the quantized output.",
              choices=tuple(QuantizedDtype), id_prefix="to."),
    Parameter("round_mode", ParameterKind.CHOICE, RoundMode.HALF_EVEN.value,
              "The whole number to which quantization rounds. half_even, half_away and half_up are the nearest one, "
              "and of two equally near ones the even one, the one farther from 0, and the larger one.",
              choices=tuple(RoundMode)),
    Parameter("formula", ParameterKind.CHOICE, Formula.QUOTIENT.value,
              "The number that quantization rounds, computed in float32. quotient: x / scale; reciprocal: x times "
              "1 / scale; ..._plus_zero_point: with the zero point added before rounding, not after it; fused: as "
              "reciprocal_plus_zero_point, with product and sum rounded once.",
              choices=tuple(Formula)),
    Parameter("requantization", ParameterKind.CHOICE, Requantization.PRODUCT.value,
              "The number of an exact sum that is rounded, with m = x_scale · w_scale / y_scale. product: sum · m in "
              "float32; reciprocal: the same with 1 / y_scale; exact: sum · m without rounding; fixed_point: sum times "
              "31 binary digits of m, rounded, and then divided by a power of two. These add the zero point last. "
              "fused: sum · m + zero point, rounded once to float32; stepwise: sum · (x_scale · w_scale) · "
              "(1 / y_scale) + zero point in float32; float64: sum · m + zero point in float64.",
              choices=tuple(Requantization)),
    Parameter("value", ParameterKind.NUMBER, 0, "The value that constant padding writes.", id_prefix="v",
              only_with=("mode", PadMode.CONSTANT.value)),
    Parameter("ties", ParameterKind.CHOICE, Ties.FIRST.value, "Which of several equal values receives the gradient.",
              choices=tuple(Ties), id_prefix="ties.", always_in_id=True),
    Parameter("output", ParameterKind.OUTPUT, None,
              "Which of several results is checked: values or indices; for gradients x, kernel, bias, grid, offset or "
              "mask.",
              id_prefix="of.", always_in_id=True),
)
# fmt: on
INPUTS: Mapping[str, Input] = MappingProxyType({one.name: one for one in _INPUTS})
"""All inputs of all operators, in the order in which programs take them."""
PARAMETERS: Mapping[str, Parameter] = MappingProxyType({one.name: one for one in _PARAMETERS})
"""All parameters of all operators, in the order of ids of sweeps."""
WINDOW_PARAMETERS = ("window", "stride", "padding", "dilation", "rounding")
"""The parameters that determine the windows of pooling."""
WEIGHT_INPUTS = ("kernel", "bias")
"""Inputs that a network learns. Their gradients are also summed over the batch."""


def _parameters(*names: str, **defaults: object) -> tuple[Parameter, ...]:
    """Return parameters by name; defaults: defaults that differ from those in PARAMETERS."""
    return tuple(replace(PARAMETERS[name], default=defaults.get(name, PARAMETERS[name].default)) for name in names)


def _with_choices(parameter: Parameter, choices: Iterable[Word], **changed: Any) -> Parameter:
    """Return a parameter with some of its words only."""
    return replace(parameter, choices=tuple(choices), **changed)


def _combinations(terms: Array) -> Array:
    """Return the number of binary operations that combine the terms: one less, at least 0."""
    operations: Array = np.maximum(terms - 1, 0)
    return operations


def _comparisons(terms: Array) -> Mapping[Operation, Array]:
    return {Operation.COMPARISONS: _combinations(terms)}


def _mean_operations(terms: Array) -> Mapping[Operation, Array]:
    return {Operation.ADDITIONS: _combinations(terms), Operation.DIVISIONS: np.ones_like(terms)}


def _softmax_operations(terms: Array) -> Mapping[Operation, Array]:
    each = {Operation.EXPONENTIALS: terms, Operation.MULTIPLICATIONS: terms}
    return {**each, Operation.ADDITIONS: 2 * _combinations(terms), Operation.DIVISIONS: np.ones_like(terms)}


def _largest_sum_operations(terms: Array) -> Mapping[Operation, Array]:
    return {Operation.ADDITIONS: terms, Operation.COMPARISONS: _combinations(terms)}


def _product_operations(terms: Array) -> Mapping[Operation, Array]:
    return {Operation.MULTIPLICATIONS: terms, Operation.ADDITIONS: _combinations(terms)}


_POOLING, _OUTPUT_SIZE = _parameters(*WINDOW_PARAMETERS), _parameters("output_size")
_CONVOLUTION = _parameters("stride", "padding", "dilation", "groups", stride=1)
_CONVOLUTION_INPUTS = ("x", *WEIGHT_INPUTS)
_COLUMN_PARAMETERS = _parameters(
    "window", "stride", "padding", "dilation", "order", stride=1, order=BlockOrder.CRD.value
)
_PAD_PARAMETERS = (
    *_parameters("pads"),
    _with_choices(PARAMETERS["mode"], PadMode),
    *_parameters("value"),
)
SAMPLING_MODES = (ResizeMode.NEAREST, ResizeMode.LINEAR, ResizeMode.CUBIC)
"""The modes of sampling at the points of a grid."""
MATRIX_AXES = (2, 3)
"""Numbers of axes of a grid from matrices."""
REGION_PARAMETERS = ("roi_start", "roi_end")
"""The parameters of resizing that select a part of x."""
_RESIZE_PARAMETERS = (
    *_parameters("size", "scale"),
    _with_choices(PARAMETERS["mode"], ResizeMode, default=None, required=True),
    *_parameters("coordinates", "nearest_rounding", "cubic_a", "antialias", "exclude_outside"),
    *_parameters(*REGION_PARAMETERS, "extrapolation_value"),
)
GRID_OUTSIDE_MODES = (OutsideMode.ZEROS, OutsideMode.BORDER, OutsideMode.REFLECTION)
"""The cells outside x when sampling at the points of a grid."""
_GRID_PARAMETERS = (
    *_OUTPUT_SIZE,
    _with_choices(PARAMETERS["mode"], SAMPLING_MODES, default=None, required=True),
    _with_choices(PARAMETERS["padding_mode"], GRID_OUTSIDE_MODES),
    *_parameters("align_corners"),
)
_DEFORMED_PARAMETERS = (
    *_CONVOLUTION,
    *_parameters("offset_groups"),
    _with_choices(PARAMETERS["padding_mode"], (OutsideMode.ZEROS, OutsideMode.INSIDE)),
)
# fmt: off
_FORWARD_OPERATORS = (
    Operator("max_pool", "The maximum of each window. Padding is never the maximum.",
             Geometry.WINDOWS, Arithmetic.SELECTION, _POOLING,
             has_ties=True, has_disputed_geometry=True, operations=_comparisons),
    Operator("min_pool", "The minimum of each window.",
             Geometry.WINDOWS, Arithmetic.SELECTION, _POOLING,
             has_ties=True, has_disputed_geometry=True, operations=_comparisons),
    Operator("avg_pool", "The mean of each window. Whether padding counts is a parameter, and its default differs.",
             Geometry.WINDOWS, Arithmetic.AVERAGE, _POOLING + _parameters("count_include_pad", "divisor"),
             has_disputed_geometry=True, operations=_mean_operations),
    Operator("lp_pool",
             "The p-norm of each window: the p-th root of the sum of the p-th powers of the absolute values.",
             Geometry.WINDOWS, Arithmetic.POWERS, _POOLING + _parameters("p")),
    Operator("softmax_pool", "The average of each window, weighted by the softmax of its values.",
             Geometry.WINDOWS, Arithmetic.EXPONENTIALS, _POOLING, operations=_softmax_operations),
    Operator("max_pool_with_indices", "The maximum of each window, and its index in the flattened plane of the input.",
             Geometry.WINDOWS, Arithmetic.SELECTION, _POOLING + _parameters("output", output="values"),
             outputs=("values", "indices"), has_disputed_geometry=True),
    Operator("max_unpool", "The partial inverse of max pooling with indices: each value is placed at its index, all "
             "other cells are zero.",
             Geometry.UNPOOLING, Arithmetic.SELECTION, _OUTPUT_SIZE, inputs=("x", "indices")),
    Operator("global_max_pool", "The maximum of each channel.", Geometry.GLOBAL, Arithmetic.SELECTION, has_ties=True),
    Operator("global_avg_pool", "The mean of each channel.", Geometry.GLOBAL, Arithmetic.AVERAGE),
    Operator("adaptive_max_pool", "The maximum of each bin. The input is divided into as many bins as the output has "
             "cells; bins may overlap.", Geometry.BINS, Arithmetic.SELECTION, _OUTPUT_SIZE, has_ties=True),
    Operator("adaptive_avg_pool", "The mean of each bin. The input is divided into as many bins as the output has "
             "cells; bins may overlap.", Geometry.BINS, Arithmetic.AVERAGE, _OUTPUT_SIZE),
    Operator("fractional_max_pool", "The maximum of windows whose positions are random for each plane; the random "
             "samples are an input.",
             Geometry.FRACTIONS, Arithmetic.SELECTION, _parameters("window", "output_size"), inputs=("x", "samples")),
    Operator("stochastic_pool_probabilities", "Each value of a window divided by the sum of the window.",
             Geometry.WINDOWS, Arithmetic.PROBABILITIES, _POOLING, has_output_per_cell=True),
    Operator("stochastic_pool", "A random value of each window, with probability proportional to the value; the random "
             "samples are an input.",
             Geometry.WINDOWS, Arithmetic.PROBABILITIES, _POOLING, inputs=("x", "draws")),
    Operator("pad", "The input with cells added before and after each spatial axis. Negative padding crops.",
             Geometry.PADS, Arithmetic.SELECTION, _PAD_PARAMETERS,
             has_disputed_geometry=True, operations=lambda _terms: {}),
    Operator("resize", "The input at another size: each output cell interpolates the input cells around its "
             "coordinate.", Geometry.RESAMPLING, Arithmetic.AVERAGE, _RESIZE_PARAMETERS),
    Operator("grid_sample", "The input at the points of a grid: each output cell interpolates the input cells around "
             "its point.", Geometry.SAMPLING, Arithmetic.AVERAGE, _GRID_PARAMETERS, inputs=("x", "grid")),
    Operator("affine_grid", "The coordinates of the cells of a grid, multiplied by a matrix: points for grid_sample.",
             Geometry.POINTS, Arithmetic.AVERAGE, _parameters("grid_size", "align_corners")),
    Operator("depth_to_space", "The channels of each cell as a block of cells (pixel shuffle).",
             Geometry.TO_BLOCKS, Arithmetic.SELECTION, _parameters("block", "order")),
    Operator("space_to_depth", "Each block of cells as the channels of one cell (pixel unshuffle).",
             Geometry.FROM_BLOCKS, Arithmetic.SELECTION, _parameters("block", "order")),
    Operator("unfold", "The cells of each window as the channels of one cell (im2col). Padding is 0.",
             Geometry.TO_COLUMNS, Arithmetic.SELECTION, _COLUMN_PARAMETERS),
    Operator("fold", "The channels of each cell added to the cells of a window of the output (col2im).",
             Geometry.FROM_COLUMNS, Arithmetic.SUM, _parameters("output_size") + _COLUMN_PARAMETERS),
    Operator("lrn", "Each value divided by a power of the sum of squares of neighbouring channels (local response "
             "normalization).", Geometry.CHANNELS, Arithmetic.POWERS,
             _parameters("local_size", "alpha", "beta", "k", "alpha_over_size", "extra_channel")),
    Operator("conv", "The cross-correlation of the input with the kernel, plus the bias. The kernel is not flipped.",
             Geometry.WINDOWS, Arithmetic.SUM, _CONVOLUTION, inputs=_CONVOLUTION_INPUTS, optional_inputs=("bias",),
             operations=_product_operations),
    Operator("conv_transpose", "The transposed convolution: the gradient of a convolution with respect to its input.",
             Geometry.TRANSPOSED, Arithmetic.SUM, _CONVOLUTION + _parameters("output_padding"),
             inputs=_CONVOLUTION_INPUTS, optional_inputs=("bias",)),
    Operator("dilation2d", "The maximum of each window after its kernel is added to the cells (grey-scale dilation). "
             "Padding is never the maximum.",
             Geometry.WINDOWS, Arithmetic.LARGEST_SUM, _parameters("stride", "padding", "dilation", stride=1),
             inputs=("x", "kernel"), has_ties=True, has_channel_kernels=True, has_disputed_geometry=True,
             operations=_largest_sum_operations),
    Operator("deform_conv", "The convolution of values that are interpolated at the cells of each window, moved by "
             "offsets, and multiplied by a mask.",
             Geometry.DEFORMED, Arithmetic.AVERAGE, _DEFORMED_PARAMETERS,
             inputs=("x", "offset", "kernel", "mask", "bias"), optional_inputs=("mask", "bias")),
    Operator("quantize", "The input as numbers of eight bits: divided by a scale, rounded to whole numbers, and moved "
             "by a zero point.", Geometry.CELLS, Arithmetic.OTHER,
             _parameters("y_scale", "y_zero_point", "output_dtype", "round_mode", "formula"),
             is_differentiable=False),
    Operator("quantized_avg_pool", "The mean of each window of quantized numbers, with their scale and zero point.",
             Geometry.WINDOWS, Arithmetic.OTHER,
             _POOLING + _parameters("count_include_pad", "divisor", "x_zero_point", "round_mode", "formula"),
             is_differentiable=False),
    Operator("quantized_conv", "The convolution of quantized numbers and quantized weights, as numbers of eight bits "
             "with another scale and zero point.",
             Geometry.WINDOWS, Arithmetic.OTHER,
             _CONVOLUTION + _parameters("x_scale", "x_zero_point", "w_scale", "w_zero_point", "y_scale",
                                        "y_zero_point", "round_mode", "requantization"),
             inputs=_CONVOLUTION_INPUTS, optional_inputs=("bias",), is_differentiable=False,
             dtypes={"kernel": "int8", "bias": "int32"}),
    Operator("conv_integer", "The convolution of quantized numbers and quantized weights as sums of 32 bits, without a "
             "scale.", Geometry.WINDOWS, Arithmetic.OTHER, _CONVOLUTION + _parameters("x_zero_point", "w_zero_point"),
             inputs=("x", "kernel"), is_differentiable=False, dtypes={"kernel": "int8"}),
    Operator("dequantize", "Numbers of eight bits as floating-point numbers: the difference to a zero point, times "
             "a scale.", Geometry.CELLS, Arithmetic.OTHER, _parameters("x_scale", "x_zero_point"),
             is_differentiable=False),
)
# fmt: on


def gradient_operator(operator: Operator) -> Operator:
    """Return the gradient operator: `grad` is its first input. It has an output for each input with a gradient."""
    parameters = tuple(parameter for parameter in operator.parameters if parameter.name != "output")
    parameters += _parameters("ties") if operator.has_ties else ()
    inputs = tuple(name for name in operator.inputs if name == "x" or INPUTS[name].has_gradient)
    outputs = inputs if len(inputs) > 1 else ()
    parameters += _parameters("output", output=outputs[0]) if outputs else ()
    return replace(
        operator,
        name=operator.name + GRADIENT_SUFFIX,
        help=f"The gradient of {operator.name}.",
        parameters=parameters,
        inputs=("grad", *operator.inputs),
        outputs=outputs,
        has_ties=False,
        has_output_per_cell=False,
        # No convention covers the gradient of an average.
        has_disputed_geometry=operator.has_disputed_geometry and operator.arithmetic is Arithmetic.SELECTION,
        operations=None,
    )


def drawing_properties() -> dict[str, Any]:
    """Return the properties of each operator on which the drawing of its windows in the HTML report depends."""
    return {
        operator.name: {
            "geometry": operator.geometry.name.lower(),
            "gradient": operator.is_gradient,
            "per_cell": operator.has_output_per_cell,
        }
        for operator in OPERATORS.values()
    }


FORWARD_OPERATORS = tuple(operator.name for operator in _FORWARD_OPERATORS)
OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for forward in _FORWARD_OPERATORS
        for operator in (forward, *([gradient_operator(forward)] if forward.is_differentiable else []))
    }
)
