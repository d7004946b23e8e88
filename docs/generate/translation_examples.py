"""What the pages of translations show of each operator: what it does, and how it is commonly called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.translation.ad_hoc_case import Request


@dataclass(frozen=True)
class Common:
    """One common way to call an operator: what it is called on the page, and its parameters."""

    title: str
    given: Mapping[str, Any] = field(default_factory=dict)
    bias: bool = False
    gradient: str | None = None

    def request(self, operator: str) -> Request:
        """Return the request, in two dimensions and float32."""
        return Request(operator, self.given, rank=2, bias=self.bias, gradient=self.gradient)


@dataclass(frozen=True)
class Page:
    """An operator: what it does, in a sentence or two, and how it is commonly called."""

    meaning: str
    cases: tuple[Common, ...]


WALK = {"window": 3, "stride": 2, "padding": 1}
SAME = {"window": 3, "stride": 1, "padding": "same_upper"}
CEILING = {"window": 3, "stride": 2, "rounding": "ceil"}
PAGES: Mapping[str, Page] = {
    "max_pool": Page(
        "The largest value of each window. Padding is never the largest.",
        (
            Common("A window of 3, stride 2, padding 1", WALK),
            Common(
                "As many outputs as inputs: stride 1, same padding", {"window": 3, "stride": 1, "padding": "same_upper"}
            ),
            Common("A last partial window counts", CEILING),
            Common("Windows with holes", {"window": 3, "stride": 1, "dilation": 2}),
            Common("The gradient", WALK, gradient="x"),
        ),
    ),
    "min_pool": Page("The least value of each window.", (Common("A window of 3, stride 2, padding 1", WALK),)),
    "avg_pool": Page(
        "The mean of each window. Whether padding counts is a parameter, and its default differs.",
        (
            Common("Without padding", {"window": 2}),
            Common("Padding does not count", WALK),
            Common("Padding counts, as zeros", {**WALK, "count_include_pad": True}),
            Common("A last partial window counts", CEILING),
            Common("Another divisor", {"window": 3, "stride": 2, "divisor": 5}),
        ),
    ),
    "lp_pool": Page(
        "The p-th root of the sum of the p-th powers of the sizes in each window.",
        (Common("Squares", {"window": 3, "stride": 2}), Common("Sizes themselves", {"window": 3, "stride": 2, "p": 1})),
    ),
    "softmax_pool": Page(
        "The values of each window, weighted by their softmax.", (Common("A window of 2", {"window": 2}),)
    ),
    "max_pool_with_indices": Page(
        "The largest value of each window, and where it stands in the plane of the input, row by row.",
        (Common("The indices", {**WALK, "output": "indices"}),),
    ),
    "max_unpool": Page(
        "Zeros, and each value at its index: what max pooling with indices took away.",
        (Common("Twice the extent", {"output_size": [8, 8]}),),
    ),
    "global_max_pool": Page("The largest value of each channel.", (Common("Of planes"),)),
    "global_avg_pool": Page("The mean of each channel.", (Common("Of planes"),)),
    "adaptive_max_pool": Page(
        "The largest values of as many bins as the output has cells; bins may overlap.",
        (Common("Three bins an axis", {"output_size": 3}),),
    ),
    "adaptive_avg_pool": Page(
        "The means of as many bins as the output has cells; bins may overlap.",
        (Common("Three bins an axis", {"output_size": 3}), Common("One bin", {"output_size": 1})),
    ),
    "fractional_max_pool": Page(
        "The largest values of windows that start at places drawn for each plane; the draws are an input.",
        (Common("Windows of 2 to five cells an axis", {"window": 2, "output_size": 5}),),
    ),
    "stochastic_pool_probabilities": Page(
        "Each cell of a window divided by the sum of the window.", (Common("A window of 2", {"window": 2}),)
    ),
    "stochastic_pool": Page(
        "One cell of each window, drawn by its share of the sum; the draws are an input.",
        (Common("A window of 2", {"window": 2}),),
    ),
    "pad": Page(
        "The input with cells added before and after each spatial axis; less than nothing crops.",
        (
            Common("Zeros", {"pads": [[1, 1], [1, 1]]}),
            Common("A value, uneven", {"pads": [[0, 1], [2, 1]], "value": -1}),
            Common("Reflection without the edge", {"pads": [[1, 1], [1, 1]], "mode": "reflect"}),
            Common("The edge repeated", {"pads": [[1, 1], [1, 1]], "mode": "edge"}),
            Common("Round and round", {"pads": [[1, 1], [1, 1]], "mode": "wrap"}),
        ),
    ),
    "conv": Page(
        "The sum of each window times the kernel, which is not turned round, plus the bias.",
        (
            Common("Kernel 3, padding 1, bias", {"window": 3, "padding": 1}, bias=True),
            Common("Kernel 3, stride 2, same padding", {"window": 3, "stride": 2, "padding": "same_upper"}),
            Common("Two groups", {"window": 3, "groups": 2}),
            Common("A kernel with holes", {"window": 3, "dilation": 2}),
            Common("The gradient of the kernel", {"window": 3, "padding": 1}, gradient="kernel"),
        ),
    ),
    "conv_transpose": Page(
        "The adjoint of the convolution: what its gradient does to the input.",
        (
            Common("Kernel 3, stride 2, bias", {"window": 3, "stride": 2}, bias=True),
            Common(
                "Twice the extent: kernel 3, stride 2, padding 1, output padding 1",
                {"window": 3, "stride": 2, "padding": 1, "output_padding": 1},
            ),
        ),
    ),
}
