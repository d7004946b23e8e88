"""Conditions on cases, and windows compared with those of the reference."""

import itertools

import numpy as np
import pytest
from msgspec import convert

import reference
from reports.analysis.features import case_conditions, windows_per_axis
from reports.results import CaseRecord
from tests.support import example_results as example

OUT = example.array([1, 2], [1, 1, 2])
LATE_NAN = "a NaN that is not the first cell of its window"


def case(name="max_pool/a", values=(1, 2, 3, 4), shape=None, **parameters):
    all_parameters = {"window": [2], "stride": [2], "padding": [[0, 0]], "rounding": "floor"} | parameters
    x = example.array(values, shape or [1, 1, len(values)])
    return convert(example.case(name, x, OUT, parameters=all_parameters), CaseRecord)


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"rounding": "ceil"}, "rounding = ceil"),
        ({"stride": [1]}, "stride = [1]"),
        ({"padding": [[0, 1]]}, "different padding before and after"),
        ({"padding": [[1, 1]]}, "padding other than 0"),
        ({"dilation": [3]}, "dilation above 1"),
        ({"padding": [[-1, 0]]}, "padding below 0"),
        ({"window": [2, 1]}, "different window per axis"),
        ({"include": True}, "include = yes"),
        ({"divisor": None}, "divisor = none"),
        ({"values": (1, "nan", 3)}, "NaN in x"),
        ({"values": (1, "-inf", 3)}, "an infinity in x"),
        ({"values": (-1, -2)}, "only negative values in x"),
        ({"values": (-0.0, 1.0)}, "a negative zero in x"),
        ({"values": (0.5, 1.0)}, "fractions in x"),
        ({"values": (), "shape": [1, 0, 4]}, "an empty x"),
        ({"shape": [2, 1, 2]}, "more than one item in the batch"),
        ({"shape": [1, 2, 2]}, "more than one channel"),
        ({"stride": [3]}, "stride larger than the window"),
        ({"stride": [1]}, "overlapping windows"),
        ({"window": [5]}, "a window larger than x"),
        ({"window": [3]}, "cells after the last full window"),
        ({"window": [3], "rounding": "ceil"}, "a partial last window"),
        ({"values": (1, "nan", 3, 4)}, LATE_NAN),
        ({}, "2-D input"),
        ({}, "x in float32"),
    ],
)
def test_conditions_describe_a_case(changes, condition):
    shape = [1, 1, 2, 2] if condition == "2-D input" else changes.get("shape")
    assert condition in set(case_conditions(case(**{**changes, "shape": shape})))
    assert condition == "x in float32" or condition not in set(case_conditions(case()))


@pytest.mark.parametrize(
    ("values", "changes", "late"),
    [
        (("nan", 2, 3, 4), {}, False),
        ((1, 2, "nan", 4), {}, False),
        ((1, 2, "nan", 4), {"padding": [[1, 1]]}, True),
        (("nan", 2, 3, 4), {"padding": [[1, 1]]}, False),  # only padding comes before it
        ((1, 2, "nan", 4), {"stride": [1]}, True),
        ((1, 2, "nan", 4), {"dilation": [2]}, True),
        ((1, 2, 3, 4, "nan"), {}, False),  # in no window
    ],
)
def test_late_nan_is_not_the_first_cell_of_its_window(values, changes, late):
    assert (LATE_NAN in set(case_conditions(case(values=values, **changes)))) is late


def test_transposed_convolution_has_no_window_conditions():
    assert "overlapping windows" not in set(case_conditions(case("conv_transpose/a", stride=[1])))


@pytest.mark.parametrize(
    "changes",
    [
        *({"window": window} for window in ("x", [2, 2], [10**12])),
        *({"padding": padding} for padding in ([["a"]], 1, [[1e999, 0]])),
        {"stride": [0]},
    ],
)
def test_invalid_parameters_have_no_windows(changes):
    assert windows_per_axis(case(**changes)) == []


@pytest.mark.parametrize("rounding", ["ceil", "full"])
def test_partial_window_exists_if_the_reference_has_one_more_output(rounding):
    for window, stride, dilation, ends in itertools.product(
        [1, 2, 3], [1, 2, 3], [1, 2], [(0, 0), (1, 0), (0, 2), (-1, 1), "same_upper"]
    ):
        padding = ends if isinstance(ends, str) else [list(ends)]
        x = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
        parameters = {"stride": [stride], "dilation": [dilation], "padding": padding}
        try:
            sizes = [reference.max_pool(x, [window], **parameters, rounding=one).size for one in (rounding, "floor")]
        except ValueError:
            continue
        (axis,) = windows_per_axis(case(values=range(7), window=[window], **parameters, rounding=rounding))
        assert axis.has_partial_window == (sizes[0] > sizes[1]), (window, parameters)
