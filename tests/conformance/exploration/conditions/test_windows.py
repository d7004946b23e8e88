"""Places of properties: two in one window, in a later image, in the last channel, or in the last cell."""

import math

import pytest

from conformance.cases.parsing import parse_case
from conformance.exploration.conditions.windows import place_features

NAN, INF = math.nan, math.inf


def places(values, operator="max_pool", **parameters):
    given = {"window": [2], "stride": [2]} if operator in {"max_pool", "avg_pool"} else {}
    raw = {"id": "a", "x": {"values": values, "dtype": "float32"}, **given, **parameters}
    return {*place_features(parse_case({"operator": operator, "source": "-"}, raw, "a"))}


@pytest.mark.parametrize(
    ("feature", "true", "false"),
    [
        ("a window with NaN and a zero", [[[NAN, 0, 1, 1]]], [[[NAN, 1, 0, 1]]]),
        ("a window with NaN in its last cell", [[[1, NAN]]], [[[NAN, 1]]]),
        ("a window of the last channel with NaN", [[[1, 1], [NAN, 1]]], [[[NAN, 1], [1, 1]]]),
        ("a window after the first image with NaN", [[[1, 1]], [[NAN, 1]]], [[[NAN, 1]], [[1, 1]]]),
        ("a last window with only zeros", [[[1, 1, 0, 0]]], [[[0, 0, 1, 1]]]),
        ("NaN in the last cell only of a plane of x", [[[1, NAN]]], [[[NAN, NAN]]]),
        ("a window with its largest value last", [[[1, 2]]], [[[2, 2]]]),
        ("a window with its smallest value first", [[[1, 2]]], [[[2, 1]]]),
        ("a window with only NaN or minus infinity", [[[NAN, -INF]]], [[[NAN, INF]]]),
        ("equal values in a plane of x after its first image", [[[1, 2]], [[3, 3]]], [[[3, 3]], [[1, 2]]]),
    ],
)
def test_a_place_is_named_only_where_the_property_is(feature, true, false):
    assert feature in places(true)
    assert feature not in places(false)


def test_padding_and_values_are_compared_in_one_window():
    feature = "a window with padding and only negative values"
    assert feature in places([[[-1, 1, 1]]], padding=[[1, 0]])
    assert feature not in places([[[1, -1, -1]]], padding=[[1, 0]])


@pytest.mark.parametrize(
    ("parameters", "is_whole"),
    [
        ({}, True),
        ({"divisor": 4}, False),
        ({"padding": [[1, 1]], "count_include_pad": True}, False),
        ({"padding": [[1, 1]]}, True),
    ],
)
def test_an_average_is_divided_by_what_the_parameters_say(parameters, is_whole):
    found = places([[[-1, -5]]], "avg_pool", **parameters)
    assert ("a window with an average that is not a whole number" in found) is not is_whole
    assert "a window with a negative average" in found
    assert not any("average" in one for one in places([[[-1, -5]]]))


def test_the_windows_of_adaptive_pooling_are_its_bins():
    """Three cells in two bins: cells 0 and 1, and cells 1 and 2."""
    found = places([[[2, 1, 3]]], "adaptive_max_pool", output_size=[2])
    assert {"a window with its largest value first", "a last window with its largest value last"} <= found
    assert "a last window with its largest value first" not in found
    assert "a window with one cell" in places([[[2, 1]]], "adaptive_max_pool", output_size=[2])
    # Bins of two, three and two cells have no padding.
    assert not any("padding" in one for one in places([[[5, 1, 2, 3, 4]]], "adaptive_max_pool", output_size=[3]))
