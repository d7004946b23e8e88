"""What the pages of translations show of each operator: what it does, and how it is commonly called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.translation.ad_hoc_case import CaseRequest


@dataclass(frozen=True)
class CommonCall:
    """One common way to call an operator: what it is called on the page, and its parameters."""

    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    bias: bool = False
    gradient: str | None = None

    def request(self, operator: str) -> CaseRequest:
        """Return the request, in two dimensions and float32."""
        return CaseRequest(operator, self.parameters, rank=2, bias=self.bias, gradient=self.gradient)


@dataclass(frozen=True)
class OperatorPage:
    """An operator: what it does, in a sentence or two, and how it is commonly called."""

    description: str
    common_calls: tuple[CommonCall, ...]


COMMON_WINDOW = {"window": 3, "stride": 2, "padding": 1}
COMMON_SAME_PADDING = {"window": 3, "stride": 1, "padding": "same_upper"}
COMMON_CEILING = {"window": 3, "stride": 2, "rounding": "ceil"}
OPERATOR_PAGES: Mapping[str, OperatorPage] = {
    "max_pool": OperatorPage(
        "The largest value of each window. Padding is never the largest.",
        (
            CommonCall("A window of 3, stride 2, padding 1", COMMON_WINDOW),
            CommonCall(
                "As many outputs as inputs: stride 1, same padding", {"window": 3, "stride": 1, "padding": "same_upper"}
            ),
            CommonCall("A last partial window counts", COMMON_CEILING),
            CommonCall("Windows with holes", {"window": 3, "stride": 1, "dilation": 2}),
            CommonCall("The gradient", COMMON_WINDOW, gradient="x"),
        ),
    ),
    "min_pool": OperatorPage(
        "The least value of each window.", (CommonCall("A window of 3, stride 2, padding 1", COMMON_WINDOW),)
    ),
    "avg_pool": OperatorPage(
        "The mean of each window. Whether padding counts is a parameter, and its default differs.",
        (
            CommonCall("Without padding", {"window": 2}),
            CommonCall("Padding does not count", COMMON_WINDOW),
            CommonCall("Padding counts, as zeros", {**COMMON_WINDOW, "count_include_pad": True}),
            CommonCall("A last partial window counts", COMMON_CEILING),
            CommonCall("Another divisor", {"window": 3, "stride": 2, "divisor": 5}),
        ),
    ),
    "lp_pool": OperatorPage(
        "The p-th root of the sum of the p-th powers of the sizes in each window.",
        (
            CommonCall("Squares", {"window": 3, "stride": 2}),
            CommonCall("Sizes themselves", {"window": 3, "stride": 2, "p": 1}),
        ),
    ),
    "softmax_pool": OperatorPage(
        "The values of each window, weighted by their softmax.", (CommonCall("A window of 2", {"window": 2}),)
    ),
    "max_pool_with_indices": OperatorPage(
        "The largest value of each window, and where it stands in the plane of the input, row by row.",
        (CommonCall("The indices", {**COMMON_WINDOW, "output": "indices"}),),
    ),
    "max_unpool": OperatorPage(
        "Zeros, and each value at its index: what max pooling with indices took away.",
        (CommonCall("Twice the extent", {"output_size": [8, 8]}),),
    ),
    "global_max_pool": OperatorPage("The largest value of each channel.", (CommonCall("Of planes"),)),
    "global_avg_pool": OperatorPage("The mean of each channel.", (CommonCall("Of planes"),)),
    "adaptive_max_pool": OperatorPage(
        "The largest values of as many bins as the output has cells; bins may overlap.",
        (CommonCall("Three bins an axis", {"output_size": 3}),),
    ),
    "adaptive_avg_pool": OperatorPage(
        "The means of as many bins as the output has cells; bins may overlap.",
        (CommonCall("Three bins an axis", {"output_size": 3}), CommonCall("One bin", {"output_size": 1})),
    ),
    "fractional_max_pool": OperatorPage(
        "The largest values of windows that start at places drawn for each plane; the draws are an input.",
        (CommonCall("Windows of 2 to five cells an axis", {"window": 2, "output_size": 5}),),
    ),
    "stochastic_pool_probabilities": OperatorPage(
        "Each cell of a window divided by the sum of the window.", (CommonCall("A window of 2", {"window": 2}),)
    ),
    "stochastic_pool": OperatorPage(
        "One cell of each window, drawn by its share of the sum; the draws are an input.",
        (CommonCall("A window of 2", {"window": 2}),),
    ),
    "pad": OperatorPage(
        "The input with cells added before and after each spatial axis; less than nothing crops.",
        (
            CommonCall("Zeros", {"pads": [[1, 1], [1, 1]]}),
            CommonCall("A value, uneven", {"pads": [[0, 1], [2, 1]], "value": -1}),
            CommonCall("Reflection without the edge", {"pads": [[1, 1], [1, 1]], "mode": "reflect"}),
            CommonCall("The edge repeated", {"pads": [[1, 1], [1, 1]], "mode": "edge"}),
            CommonCall("Round and round", {"pads": [[1, 1], [1, 1]], "mode": "wrap"}),
        ),
    ),
    "conv": OperatorPage(
        "The sum of each window times the kernel, which is not turned round, plus the bias.",
        (
            CommonCall("Kernel 3, padding 1, bias", {"window": 3, "padding": 1}, bias=True),
            CommonCall("Kernel 3, stride 2, same padding", {"window": 3, "stride": 2, "padding": "same_upper"}),
            CommonCall("Two groups", {"window": 3, "groups": 2}),
            CommonCall("A kernel with holes", {"window": 3, "dilation": 2}),
            CommonCall("The gradient of the kernel", {"window": 3, "padding": 1}, gradient="kernel"),
        ),
    ),
    "conv_transpose": OperatorPage(
        "The adjoint of the convolution: what its gradient does to the input.",
        (
            CommonCall("Kernel 3, stride 2, bias", {"window": 3, "stride": 2}, bias=True),
            CommonCall(
                "Twice the extent: kernel 3, stride 2, padding 1, output padding 1",
                {"window": 3, "stride": 2, "padding": 1, "output_padding": 1},
            ),
        ),
    ),
}
