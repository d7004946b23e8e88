"""Features of a case: properties that may explain why a backend fails on it.

`case_features` returns them as noun phrases that follow "cases with". Reports and `conformance explore` search these
for the conditions under which a backend fails. `CaseFeatures` returns them by the keys of selectors (`selectors`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from conformance.cases import geometry
from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, Array, dtype_kind, json_value
from conformance.cases.case import (
    ARRAYS_KEY,
    EXPECTATION_KINDS,
    FRAMEWORK_SAME,
    WORDS_KEY,
    Answers,
    ArrayUse,
    Case,
    Rejected,
)
from conformance.cases.features.numbers import (
    exceeds_float32,
    exceeds_int32,
    has_steep_numbers,
    is_negative,
    number_features,
)
from conformance.cases.features.sizes import exceeds_eight_channels, is_depthwise, output_channels, size_features
from conformance.cases.generators import DtypeKind, GeneratorName, SpecialValue
from conformance.cases.geometry import MIN_CROWDED_CELLS, WindowAxis, padding_pairs, parameter_per_axis
from conformance.cases.operators import OPERATORS, PARAMETERS, Rounding
from conformance.cases.selector_values import SelectorValue, compact_value, special_values_of

SIZE_THRESHOLDS = (2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 256, 257, 1024, 32_768, 65_536)
"""Sizes at which the behaviour of a framework may change, such as powers of two and vector widths."""
NAMED_VALUES = {
    *(GeneratorName.MANTISSAS, GeneratorName.WIDE, GeneratorName.CANCELLING, GeneratorName.EXTREMES),
    *(SpecialValue.SUBNORMAL, SpecialValue.NEGATIVE_SUBNORMAL),
}
UNNAMED_VALUES = {*GeneratorName, *SpecialValue} - NAMED_VALUES
"""Values of x that are no feature of their own: whole numbers, and special values that VALUE_FEATURES names."""
NAMED_PARAMETERS = tuple(one.name for one in PARAMETERS.values() if one.is_named_choice)
"""Parameters for which every value other than the default is a feature."""
ABSENT = object()
"""Value of a parameter that the operator does not have, or that a convention case omits. It equals no other value."""
NON_CONTIGUOUS_USES = frozenset(
    {ArrayUse.FORTRAN, ArrayUse.TRANSPOSED, ArrayUse.STRIDED, ArrayUse.EXPANDED, ArrayUse.VIEW}
)
MAX_EXACT_PRODUCT_EXTENT = 4097
"""Largest extent n for which float32 represents every product of two numbers below n."""
CONTIGUOUS = "contiguous"
"""Word for the arrays of a case that does not say how the program passes them."""


def _strides_and_windows(case: Case) -> Iterator[tuple[int, int]]:
    # Not strict: in a case that must be rejected, the lists may differ in length.
    return zip(parameter_per_axis(case, "stride"), parameter_per_axis(case, "window"), strict=False)


def _window_extents(case: Case) -> SelectorValue:
    if "window" in case.parameters:
        return compact_value(case.parameters["window"])
    return compact_value(case.inputs["kernel"].shape[2:]) if "kernel" in case.inputs else ABSENT


def _violations(case: Case) -> frozenset[str]:
    """Return the violation for which a case must be rejected, or those of the named rejections of a convention."""
    expected = case.expect.named.values() if isinstance(case.expect, Answers) else (case.expect,)
    return frozenset(one.violation for one in expected if isinstance(one, Rejected))


@dataclass(frozen=True)
class Feature:
    """A feature with a key in selectors.

    value: a function of a case that returns the value. If it returns a set, a selector may name any word in it.
    phrase: for a value that is true or false, the noun phrase for true.
    """

    key: str
    value: Callable[[Case], Any]
    phrase: str = ""


FEATURES = (
    Feature("operator", lambda case: case.operator),
    Feature("dtype", lambda case: case.dtype),
    Feature("rank", lambda case: len(case.shape) - 2),
    # The generator of x and its special values: nan, inf, -inf, -0.0, or any word in the options.
    Feature("values", lambda case: frozenset([case.inputs["x"].values]) | special_values_of(case.inputs["x"])),
    Feature(
        "negative",
        lambda case: geometry.is_inspected(case.inputs["x"]) and is_negative(case.inputs["x"].make()),
        "only negative values in x",
    ),
    Feature("long", lambda case: exceeds_int32(case.inputs["x"])),
    Feature("inexact", lambda case: exceeds_float32(case.inputs["x"])),
    Feature("steep", lambda case: has_steep_numbers(case.inputs["x"])),
    Feature("alone", geometry.specials_alone_in_window),
    Feature("window", _window_extents),
    Feature("padded", geometry.is_padded, "padding"),
    Feature("cropped", geometry.is_cropped, "cells cropped"),
    Feature("asymmetric", geometry.is_padded_unequally, "padding that differs before and after"),
    Feature("partial", geometry.has_partial_window, "a window that may extend past the input"),
    Feature("dropped", geometry.drops_last_window),
    Feature("outgrown", geometry.window_exceeds_input, "a window that reaches beyond the input"),
    Feature("bare", geometry.has_window_of_padding, "a window of padding only"),
    Feature("column", lambda case: geometry.output_shape(case)[-1:] == (1,), "an output of one column"),
    # An axis with one cell of output has phrases of its own.
    Feature("flat", lambda case: 1 in geometry.output_shape(case)[2:]),
    Feature("square", geometry.output_is_square, "as many columns as channels in the output"),
    Feature("crowded", geometry.has_crowded_windows, f"{MIN_CROWDED_CELLS:,} or more cells in all windows"),
    Feature("reciprocal", geometry.bins_differ_by_reciprocal, "bins that a rounded reciprocal changes"),
    Feature("whole", geometry.has_bin_of_whole_axis, "a bin that contains a whole axis"),
    # Its phrase is among those of _bin_features.
    Feature("unequal", geometry.has_unequal_bins),
    Feature("dilated", lambda case: any(step != 1 for step in parameter_per_axis(case, "dilation")), "dilation"),
    Feature(
        "overlapping",
        lambda case: any(stride < window for stride, window in _strides_and_windows(case)),
        "windows that overlap",
    ),
    Feature(
        "skipping",
        lambda case: any(stride > window for stride, window in _strides_and_windows(case)),
        "stride > window",
    ),
    Feature("disjoint", geometry.has_disjoint_windows),
    Feature("overpadded", geometry.crops_more_than_the_kernel),
    Feature("output_padded", lambda case: any(parameter_per_axis(case, "output_padding"))),
    Feature("unresized", geometry.keeps_an_extent),
    Feature("far", geometry.has_far_point),
    Feature("bias", lambda case: "bias" in case.inputs, "a bias"),
    Feature("out", output_channels),
    Feature("depthwise", is_depthwise),
    # The conditions of findings have phrases for each number of channels.
    Feature("many_channels", exceeds_eight_channels),
    Feature("composed", lambda case: bool(case.via or case.then), "a composition"),
    Feature("via", lambda case: frozenset(case.via)),
    Feature("then", lambda case: frozenset(following.operator for following in case.then)),
    Feature("arrays", lambda case: case.parameters.get(ARRAYS_KEY, CONTIGUOUS)),
    Feature("words", lambda case: WORDS_KEY in case.parameters or case.parameters.get("padding") == FRAMEWORK_SAME),
    Feature("expect", lambda case: EXPECTATION_KINDS[type(case.expect)]),
    Feature("violation", _violations),
    Feature("batch", lambda case: case.shape[0]),
    Feature("channels", lambda case: case.shape[1]),
    Feature("monochrome", lambda case: case.shape[1] == 1, "one channel"),
    Feature("empty", lambda case: 0 in case.shape),
    Feature("wide", lambda case: max(case.shape) > MAX_EXACT_PRODUCT_EXTENT),
    Feature("extent", lambda case: compact_value(case.shape[2:])),
    Feature("level", lambda case: case.level),
    Feature("convention", lambda case: frozenset(filter(None, [case.convention_id]))),
)
SELECTOR_FEATURES: Mapping[str, Callable[[Case], Any]] = MappingProxyType({one.key: one.value for one in FEATURES})
"""Features of a case other than its parameters, by their key in selectors. docs/ledger.md describes each."""


class CaseFeatures(dict[str, Any]):
    """The value of a case for each selector key, computed on first use: a value, a set of words, or ABSENT."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def __missing__(self, key: str) -> Any:
        if key in SELECTOR_FEATURES:
            value = SELECTOR_FEATURES[key](self.case)
        else:
            value = compact_value(self.case.parameters[key]) if key in self.case.parameters else ABSENT
        self[key] = value
        return value


def case_features(case: Case, inputs: Mapping[str, Array] | None = None) -> tuple[str, ...]:
    """Return the features of a case as noun phrases, without duplicates.

    inputs: the arrays of the case, if they have been made already.
    """
    small = {name: spec for name, spec in case.inputs.items() if geometry.is_inspected(spec)}
    arrays = {name: inputs[name] if inputs else spec.make() for name, spec in small.items()}
    return tuple(dict.fromkeys(_phrases(case, arrays)))


def _phrases(case: Case, arrays: Mapping[str, Array]) -> Iterator[str]:
    # `negative` is one of the value features, which read arrays that have been made already.
    flags = (feature for feature in FEATURES if feature.phrase and feature.key != "negative")
    yield from (feature.phrase for feature in flags if feature.value(case))
    yield from _dtype_features(case)
    yield from number_features(case, arrays)
    yield from (f"values {word}" for word in sorted(SELECTOR_FEATURES["values"](case) - UNNAMED_VALUES))
    yield from (f"a window of {special} only" for special in sorted(geometry.specials_alone_in_window(case)))
    yield from _threshold_size_features(case)
    yield from size_features(case)
    yield from _parameter_features(case)
    yield from _window_features(case, geometry.window_axes(case))
    yield from (
        phrase for phrase, is_true in PADDING_FEATURES.items() if any(map(is_true, geometry.number_pairs(case)))
    )
    yield from _bin_features(list(zip(case.shape[2:], parameter_per_axis(case, "output_size"), strict=False)))


def _dtype_features(case: Case) -> Iterator[str]:
    yield f"dtype {case.dtype}"
    yield from (f"{name} in {spec.dtype}" for name, spec in case.inputs.items() if spec.dtype != case.dtype)
    if case.dtype in SHORT_FLOATS:
        yield "16-bit floats"
    if NUMPY_DTYPES[case.dtype].itemsize == 1:
        yield "8-bit numbers"
    if dtype_kind(case.dtype) is not DtypeKind.FLOATING:
        yield "whole numbers"
    if NUMPY_DTYPES[case.dtype].kind == "u":
        yield "unsigned numbers"


def _threshold_features(what: str, size: int) -> Iterator[str]:
    yield from (f"{what} of {limit:,} or more" for limit in SIZE_THRESHOLDS if size >= limit)


def _threshold_size_features(case: Case) -> Iterator[str]:
    batch, channels, *extents = case.shape
    yield f"{len(extents)}-D input"
    if len(extents) > 1:
        yield "several axes"
    if 0 in case.shape:
        yield "an empty x"
    if min(extents, default=0) == 1:
        yield "an extent of 1"
    yield from _threshold_features("batch", batch)
    yield from _threshold_features("channels", channels)
    yield from _threshold_features("an extent", max(extents, default=0))
    if len(extents) > 1:
        yield from _threshold_features("cells of a padded plane", math.prod(geometry.padded_extents(case)))
    output = geometry.output_shape(case)
    if output:
        yield from _threshold_features("the terms of an output", geometry.terms_of_output(case, output))
        yield from _threshold_features("cells of output on an axis", max(output[2:], default=0))


def _parameter_features(case: Case) -> Iterator[str]:
    given = case.parameters
    defaults = OPERATORS[case.operator].defaults if case.operator in OPERATORS else {}
    if ARRAYS_KEY in given:
        yield f"arrays = {given[ARRAYS_KEY]}"
        if given[ARRAYS_KEY] in NON_CONTIGUOUS_USES:
            yield "arrays that are not contiguous"
    if case.via:
        yield f"the composition {' → '.join(case.via)}"
    if given.get("groups", 1) > 1:
        yield "groups"
    if given.get("count_include_pad"):
        yield "count_include_pad"
    if given.get("divisor") is not None:
        yield "a divisor"
    if given.get("value", 0) != 0:
        yield "value other than 0"
    if given.get("rounding", Rounding.FLOOR) != Rounding.FLOOR:
        yield "ceil or full"
    for name in ("window", "stride", "dilation"):
        if any(one != other for one, other in pairwise(parameter_per_axis(case, name))):
            yield f"{name}s that differ between axes"
    if any(one != other for one, other in pairwise(padding_pairs(case))):
        yield "padding that differs between axes"
    changed = (name for name in NAMED_PARAMETERS if name in given and given[name] != defaults.get(name))
    yield from (f"{name} = {json_value(given[name])}" for name in changed)
    # The default is the gradient of x, but it is not the usual one: other gradients have other code.
    if case.operator.startswith("conv") and given.get("output") == "x":
        yield "output = x"


AXIS_FEATURES: Mapping[str, Callable[[WindowAxis], bool]] = MappingProxyType(
    {
        "stride > 1": lambda axis: axis.stride > 1,
        "an even window": lambda axis: axis.window % 2 == 0,
        "an odd window above 1": lambda axis: axis.window % 2 == 1 and axis.window > 1,
        "stride beyond the window's reach": lambda axis: axis.stride > axis.reach,
        "stride within the window's reach": lambda axis: axis.stride < axis.reach,
        "1 < stride < window": lambda axis: 1 < axis.stride < axis.window,
        "a window with holes": lambda axis: axis.dilation > 1 and axis.window > 1,
        "dilation above 2": lambda axis: axis.dilation > 2 and axis.window > 1,  # noqa: PLR2004 - the text names it
        "dilation and stride on one axis": lambda axis: axis.dilation > 1 and axis.stride > 1,
        "a window larger than the extent": lambda axis: axis.window > axis.extent,
    }
)
PADDING_FEATURES: Mapping[str, Callable[[tuple[int, int]], bool]] = MappingProxyType(
    {
        "padding before": lambda pair: pair[0] > 0,
        "padding after": lambda pair: pair[1] > 0,
        "more padding before than after": lambda pair: pair[0] > pair[1],
        "more padding after than before": lambda pair: pair[1] > pair[0],
    }
)


def _window_features(case: Case, axes: list[WindowAxis]) -> Iterator[str]:
    if not axes:
        return
    yield from _threshold_features("a window", max(axis.window for axis in axes))
    yield from (phrase for phrase, is_true in AXIS_FEATURES.items() if any(map(is_true, axes)))
    is_transposed = geometry.is_transposed(case)
    if geometry.has_remainder(case):
        yield "output padding" if is_transposed else "cells left over"
    # The windows of a transposed convolution are on the output, so nothing reaches past the input.
    windows = None if is_transposed else geometry.case_windows(case)
    if windows and any(windows.overhang):
        yield "a last window that reaches past all padding"
    pairs = geometry.number_pairs(case)
    if any(2 * max(pair) > axis.window for pair, axis in zip(pairs, axes, strict=False)):
        yield "padding of more than half a window"


def _bin_features(axes: list[tuple[int, int]]) -> Iterator[str]:
    """Yield the features of an output size. axes: extent and output size of each axis."""
    if any(output < 1 or extent % output for extent, output in axes):
        yield "an output size that does not divide the extent"
    if any(output > extent for extent, output in axes):
        yield "an output larger than the input"
    if any(output > 1 for _, output in axes):
        yield "more than one cell of output"
