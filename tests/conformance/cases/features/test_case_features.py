"""Features of cases as phrases, and their agreement with the windows of the reference."""

import itertools
import math

import numpy as np
import pytest

import reference
from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Case, Value
from conformance.cases.features.case_features import FEATURES, CaseFeatures, case_features
from conformance.cases.parsing import parse_case

LATE_NAN = "a NaN that is not the first cell of its window"
PARTIAL = "a last window that reaches past all padding"


def case(x=(1, 2, 3, 4), operator="max_pool", dtype="float32", **raw):
    window = {} if operator in {"pad", "global_max_pool"} else {"window": 2, "stride": 2}
    values = {"values": x if isinstance(x[0], list) else [[list(x)]], "dtype": dtype}
    return parse_case({"operator": operator, "source": "-"}, {"id": "a", "x": values, **window, **raw}, "-")


@pytest.mark.parametrize(
    ("changes", "feature"),
    [
        ({"rounding": "ceil"}, "rounding = ceil"),
        ({"rounding": "full"}, "ceil or full"),
        ({"padding": [[0, 1]]}, "padding that differs before and after"),
        ({"padding": [[0, 1]]}, "more padding after than before"),
        ({"padding": [[1, 0]]}, "padding before"),
        ({"padding": 1}, "padding"),
        ({"padding": [[0, 1]]}, "a window that may extend past the input"),
        ({"x": (1, 2, 3, 4, 5), "dilation": 3}, "dilation"),
        ({"x": (1, 2, 3, 4, 5), "dilation": 3}, "dilation above 2"),
        ({"operator": "pad", "pads": [[-1, 0]]}, "cells cropped"),
        ({"x": [[[[1, 2], [3, 4]]]], "window": [2, 1]}, "windows that differ between axes"),
        ({"x": [[[[1, 2], [3, 4]]]]}, "2-D input"),
        ({"x": [[[[1, 2], [3, 4]]]]}, "several axes"),
        ({"operator": "avg_pool", "count_include_pad": True}, "count_include_pad"),
        ({"operator": "avg_pool", "divisor": 3}, "a divisor"),
        ({"x": (1, float("nan"), 3, 4)}, "NaN in x"),
        ({"x": (1, float("nan"), 3, 4)}, LATE_NAN),
        ({"operator": "pad", "pads": 1, "value": 7}, "value other than 0"),
        ({"x": (float("nan"), float("nan"), 3, 4)}, "a window of nan only"),
        ({"x": (1, float("-inf"), 3, 4)}, "an infinity in x"),
        ({"x": (1, float("-inf"), 3, 4)}, "minus infinity in x"),
        ({"x": (-1, -2)}, "only negative values in x"),
        ({"x": (-0.0, 1.0)}, "a negative zero in x"),
        ({"x": (0.5, 1.0)}, "fractions in x"),
        ({"x": [[[1, 2]], [[3, 4]]]}, "batch of 2 or more"),
        ({"x": [[[1, 2], [3, 4]]]}, "channels of 2 or more"),
        ({"x": (1, 2, 3, 4, 5)}, "an extent of 5 or more"),
        ({"stride": 3}, "stride > window"),
        ({"stride": 1}, "windows that overlap"),
        ({"window": 5, "padding": 1}, "a window that reaches beyond the input"),
        ({"window": 3}, "cells left over"),
        ({"window": 3, "rounding": "ceil"}, PARTIAL),
        ({"dtype": "int8"}, "8-bit numbers"),
        ({"dtype": "int8"}, "whole numbers"),
        ({"dtype": "bfloat16"}, "16-bit floats"),
        ({"dtype": "float64"}, "dtype float64"),
        ({"padding": 1, "via": ["pad", "max_pool"]}, "the composition pad → max_pool"),
    ],
)
def test_features_are_true_for_the_changed_case_only(changes, feature):
    assert feature in case_features(case(**changes))
    assert feature not in case_features(case())


@pytest.mark.parametrize(
    ("x", "changes", "late"),
    [
        (("nan", 2, 3, 4), {}, False),
        ((1, 2, "nan", 4), {}, False),
        ((1, 2, "nan", 4), {"padding": 1}, True),
        (("nan", 2, 3, 4), {"padding": 1}, False),  # only padding comes before it
        ((1, 2, "nan", 4), {"stride": 1}, True),
        ((1, 2, "nan", 4), {"dilation": 2}, True),
        ((1, 2, 3, 4, "nan"), {}, False),  # in no window
    ],
)
def test_late_nan_is_not_the_first_cell_of_its_window(x, changes, late):
    assert (LATE_NAN in case_features(case([float(number) for number in x], **changes))) is late


@pytest.mark.parametrize(
    "changes",
    [
        *({"window": window} for window in ((2, 2), (0,), (10**12,))),
        *({"padding": padding} for padding in ("same", (("a", "b"),), ((2.5, 0),))),
        {"stride": (0,)},
        {"stride": None},
        {"rounding": "sideways"},
    ],
)
def test_invalid_parameters_have_no_window_features(changes):
    parameters = {"window": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    x = ArraySpec("arange", (1, 1, 5), "float32")
    features = case_features(Case("max_pool/a", "max_pool", {"x": x}, parameters | changes, Value()))
    assert not {"cells left over", PARTIAL, "a window of padding only"} & {*features}


@pytest.mark.parametrize("rounding", ["ceil", "full"])
def test_partial_window_exists_if_the_reference_has_one_more_output(rounding):
    for window, stride, dilation, ends in itertools.product([1, 2, 3], [1, 2, 3], [1, 2], [(0, 0), (1, 0), (0, 2)]):
        x = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
        parameters = {"stride": stride, "dilation": dilation, "padding": [list(ends)]}
        try:
            sizes = [reference.max_pool(x, window, **parameters, rounding=one).size for one in (rounding, "floor")]
        except ValueError:
            continue
        features = case_features(case(range(7), window=window, **parameters, rounding=rounding))
        assert (PARTIAL in features) == (sizes[0] > sizes[1]), (window, parameters)


def test_every_case_of_the_catalogue_has_features_without_duplicates(catalogue):
    for one in catalogue.cases[::11]:
        features = case_features(one)
        assert f"dtype {one.dtype}" in features
        assert len(features) == len(set(features))


def test_phrases_agree_with_the_features_of_selectors(catalogue):
    for one in (case for case in catalogue.cases[::23] if math.prod(case.shape)):
        phrases, values = case_features(one), CaseFeatures(one)
        for feature in FEATURES:
            if feature.phrase:
                assert (feature.phrase in phrases) is values[feature.key], feature.key


def test_given_inputs_are_not_made_again(monkeypatch):
    one = case()
    inputs = {name: spec.make() for name, spec in one.inputs.items()}
    monkeypatch.setattr(ArraySpec, "make", lambda _spec: pytest.fail("the input was made again"))
    assert "NaN in x" not in case_features(one, inputs)
