"""Examples on the pages of translations: a description and common calls of each operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.cases.operators import FORWARD_OPERATORS, OPERATORS, Operator
from conformance.translation.ad_hoc_case import CaseRequest


@dataclass(frozen=True)
class CommonCall:
    """A common call of an operator: its heading on the page, and its parameters."""

    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    bias: bool = False
    mask: bool = False
    gradient: str | None = None
    dtype: str = "float32"

    def request(self, operator: str) -> CaseRequest:
        """Return the request for the call with an input of two spatial axes."""
        given = {"bias": self.bias, "mask": self.mask, "gradient": self.gradient, "dtype": self.dtype}
        return CaseRequest(operator, self.parameters, rank=2, **given)


@dataclass(frozen=True)
class OperatorPage:
    """The content of an operator's page: a description of one or two sentences, and common calls."""

    description: str
    common_calls: tuple[CommonCall, ...]


POWERS_OF_TWO = {"x_scale": 0.5, "w_scale": 0.25, "y_scale": 2}
COMMON_WINDOW = {"window": 3, "stride": 2, "padding": 1}
COMMON_SAME_PADDING = {"window": 3, "stride": 1, "padding": "same_upper"}
COMMON_CEILING = {"window": 3, "stride": 2, "rounding": "ceil"}
COMMON_CALLS: Mapping[str, tuple[CommonCall, ...]] = {
    "max_pool": (
        CommonCall("A window of 3, stride 2, padding 1", COMMON_WINDOW),
        CommonCall("Output as large as the input: stride 1, same padding", COMMON_SAME_PADDING),
        CommonCall("Ceil rounding: a last partial window counts", COMMON_CEILING),
        CommonCall("A dilated window", {"window": 3, "stride": 1, "dilation": 2}),
        CommonCall("The gradient", COMMON_WINDOW, gradient="x"),
    ),
    "min_pool": (CommonCall("A window of 3, stride 2, padding 1", COMMON_WINDOW),),
    "avg_pool": (
        CommonCall("Without padding", {"window": 2}),
        CommonCall("Padding does not count", COMMON_WINDOW),
        CommonCall("Padding counts, as zeros", {**COMMON_WINDOW, "count_include_pad": True}),
        CommonCall("Ceil rounding: a last partial window counts", COMMON_CEILING),
        CommonCall("A given divisor", {"window": 3, "stride": 2, "divisor": 5}),
    ),
    "lp_pool": (
        CommonCall("p = 2", {"window": 3, "stride": 2}),
        CommonCall("p = 1", {"window": 3, "stride": 2, "p": 1}),
    ),
    "softmax_pool": (CommonCall("A window of 2", {"window": 2}),),
    "max_pool_with_indices": (CommonCall("The indices", {**COMMON_WINDOW, "output": "indices"}),),
    "max_unpool": (CommonCall("Twice the size", {"output_size": [8, 8]}),),
    "global_max_pool": (CommonCall("2-D input"),),
    "global_avg_pool": (CommonCall("2-D input"),),
    "adaptive_max_pool": (CommonCall("Three bins per axis", {"output_size": 3}),),
    "adaptive_avg_pool": (
        CommonCall("Three bins per axis", {"output_size": 3}),
        CommonCall("One bin", {"output_size": 1}),
    ),
    "fractional_max_pool": (CommonCall("A window of 2, output size 5", {"window": 2, "output_size": 5}),),
    "stochastic_pool_probabilities": (CommonCall("A window of 2", {"window": 2}),),
    "stochastic_pool": (CommonCall("A window of 2", {"window": 2}),),
    "resize": (
        CommonCall("Linear, twice the size", {"size": 16, "mode": "linear"}),
        CommonCall("Linear, half the size", {"size": 4, "mode": "linear"}),
        CommonCall("Linear, corners aligned", {"size": 16, "mode": "linear", "coordinates": "align_corners"}),
        CommonCall(
            "Nearest, the cell at the corner",
            {"size": 16, "mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"},
        ),
        CommonCall("Cubic", {"size": 16, "mode": "cubic"}),
    ),
    "grid_sample": (
        CommonCall("Linear, zeros outside", {"output_size": 4, "mode": "linear"}),
        CommonCall("Linear, the last cell outside", {"output_size": 4, "mode": "linear", "padding_mode": "border"}),
        CommonCall("Linear, mirrored outside", {"output_size": 4, "mode": "linear", "padding_mode": "reflection"}),
        CommonCall("Linear, corners aligned", {"output_size": 4, "mode": "linear", "align_corners": True}),
        CommonCall("Nearest", {"output_size": 4, "mode": "nearest"}),
        CommonCall("Cubic", {"output_size": 4, "mode": "cubic"}),
    ),
    "affine_grid": (
        CommonCall("A plane of 4 by 5 cells", {"grid_size": [4, 5]}),
        CommonCall("A plane, corners aligned", {"grid_size": [4, 5], "align_corners": True}),
        CommonCall("A volume", {"grid_size": [2, 3, 4]}),
    ),
    "deform_conv": (
        CommonCall("Version 1, without a mask", {"window": 3, "padding": 1}),
        CommonCall("Version 2, with a mask", {"window": 3, "padding": 1}, mask=True, bias=True),
        CommonCall("With the value 0 at points outside", {"window": 3, "padding": 1, "padding_mode": "inside"}),
        CommonCall("Offsets for each of two groups of channels", {"window": 3, "padding": 1, "offset_groups": 2}),
        CommonCall("The gradient of the offsets", {"window": 3, "padding": 1}, gradient="offset"),
    ),
    "depth_to_space": (
        CommonCall("Blocks of 2 by 2, the cells of a block first", {"block": 2, "order": "dcr"}),
        CommonCall("Blocks of 2 by 2, the output channels first", {"block": 2, "order": "crd"}),
    ),
    "space_to_depth": (
        CommonCall("Blocks of 2 by 2, the cells of a block first", {"block": 2, "order": "dcr"}),
        CommonCall("Blocks of 2 by 2, the input channels first", {"block": 2, "order": "crd"}),
    ),
    "unfold": (
        CommonCall(
            "Windows of 3 by 3, padding 1, the cells of a window in one channel first",
            {"window": 3, "padding": 1, "order": "crd"},
        ),
        CommonCall("Windows of 3 by 3, the channels of a cell first", {"window": 3, "order": "dcr"}),
        CommonCall("Patches of 4 by 4 without overlap", {"window": 4, "stride": 4, "order": "crd"}),
    ),
    "fold": (
        CommonCall("Windows of 3 by 3, padding 1", {"output_size": 8, "window": 3, "padding": 1}),
        CommonCall("Patches of 4 by 4 without overlap", {"output_size": 8, "window": 4, "stride": 4}),
    ),
    "quantize": (
        CommonCall("int8, one scale", {"y_scale": 0.1}),
        CommonCall("uint8, one scale and zero point", {"y_scale": 0.1, "y_zero_point": 3, "output_dtype": "uint8"}),
        CommonCall("A scale for each channel", {"y_scale": [0.1, 0.05], "y_zero_point": [0, -5]}),
        CommonCall(
            "The zero point added before rounding",
            {"y_scale": 0.1, "y_zero_point": 3, "formula": "quotient_plus_zero_point"},
        ),
        CommonCall("Half away from zero", {"y_scale": 0.5, "round_mode": "half_away"}),
    ),
    "dequantize": (
        CommonCall("int8, one scale and zero point", {"x_scale": 0.1, "x_zero_point": 3}, dtype="int8"),
        CommonCall("A scale for each channel", {"x_scale": [0.1, 0.05], "x_zero_point": [0, -5]}, dtype="int8"),
    ),
    "quantized_avg_pool": (
        CommonCall("int8", {**COMMON_WINDOW, "formula": "reciprocal_plus_zero_point"}, dtype="int8"),
        CommonCall(
            "With a zero point, padding counts",
            {"window": 2, "padding": 1, "count_include_pad": True, "x_zero_point": 3, "formula": "reciprocal"},
            dtype="int8",
        ),
    ),
    "quantized_conv": (
        CommonCall("uint8, scales that are powers of two", {"window": 3, "padding": 1, **POWERS_OF_TWO}, dtype="uint8"),
        CommonCall(
            "Zero points and a bias",
            {"window": 3, "padding": 1, **POWERS_OF_TWO, "x_zero_point": 128, "y_zero_point": 3},
            bias=True,
            dtype="uint8",
        ),
        CommonCall(
            "A zero point that is added before rounding",
            {"window": 3, **POWERS_OF_TWO, "y_zero_point": 3, "requantization": "fused"},
            dtype="uint8",
        ),
        CommonCall("int8", {"window": 3, **POWERS_OF_TWO}, dtype="int8"),
        CommonCall("Other scales", {"window": 3, "x_scale": 0.1, "w_scale": 0.07, "y_scale": 1.3}, dtype="uint8"),
        CommonCall(
            "A scale for each output channel",
            {"window": 3, "x_scale": 0.5, "w_scale": [0.25, 1], "y_scale": 2},
            dtype="uint8",
        ),
    ),
    "lrn": (
        CommonCall("A window of five channels", {"local_size": 5, "alpha": 0.0001, "beta": 0.75}),
        CommonCall(
            "The parameters of AlexNet: alpha is not divided by the size",
            {"local_size": 5, "alpha": 0.0001, "beta": 0.75, "k": 2, "alpha_over_size": False},
        ),
        CommonCall(
            "A window of four channels, one more after the own one",
            {"local_size": 4, "alpha": 0.0001, "extra_channel": "after"},
        ),
    ),
    "dilation2d": (
        CommonCall("Kernel 3", {"window": 3}),
        CommonCall("Kernel 3, stride 2, same padding", {"window": 3, "stride": 2, "padding": "same_upper"}),
        CommonCall("A dilated kernel", {"window": 3, "dilation": 2}),
        CommonCall("The gradient of the kernel", {"window": 3, "padding": "same_upper"}, gradient="kernel"),
    ),
    "conv_integer": (
        CommonCall("uint8, with a zero point", {"window": 3, "padding": 1, "x_zero_point": 128}, dtype="uint8"),
        CommonCall("int8", {"window": 3}, dtype="int8"),
        CommonCall("A zero point for each output channel", {"window": 3, "w_zero_point": [1, -1]}, dtype="uint8"),
    ),
    "pad": (
        CommonCall("Zeros", {"pads": [[1, 1], [1, 1]]}),
        CommonCall("A constant, asymmetric", {"pads": [[0, 1], [2, 1]], "value": -1}),
        CommonCall("Reflect mode", {"pads": [[1, 1], [1, 1]], "mode": "reflect"}),
        CommonCall("Edge mode", {"pads": [[1, 1], [1, 1]], "mode": "edge"}),
        CommonCall("Wrap mode", {"pads": [[1, 1], [1, 1]], "mode": "wrap"}),
    ),
    "conv": (
        CommonCall("Kernel 3, padding 1, bias", {"window": 3, "padding": 1}, bias=True),
        CommonCall("Kernel 3, stride 2, same padding", {"window": 3, "stride": 2, "padding": "same_upper"}),
        CommonCall("Two groups", {"window": 3, "groups": 2}),
        CommonCall("A dilated kernel", {"window": 3, "dilation": 2}),
        CommonCall("The gradient of the kernel", {"window": 3, "padding": 1}, gradient="kernel"),
    ),
    "conv_transpose": (
        CommonCall("Kernel 3, stride 2, bias", {"window": 3, "stride": 2}, bias=True),
        CommonCall(
            "Twice the size: kernel 3, stride 2, padding 1, output padding 1",
            {"window": 3, "stride": 2, "padding": 1, "output_padding": 1},
        ),
    ),
}


def _required_call(operator: Operator) -> CommonCall:
    """Return the call of an operator with its required parameters only."""
    names = {*operator.required_parameters, *(["window"] if operator.has_weights else [])}
    return CommonCall(
        "Required parameters", {name: [[1, 1], [1, 1]] if name == "pads" else 2 for name in sorted(names)}
    )


OPERATOR_PAGES: Mapping[str, OperatorPage] = {
    name: OperatorPage(OPERATORS[name].help, COMMON_CALLS.get(name, (_required_call(OPERATORS[name]),)))
    for name in FORWARD_OPERATORS
}
