"""Places of properties: two in one window, in a later image, in the last channel, or in the last cell."""

import math

import pytest

from conformance.cases.parsing import parse_case
from conformance.exploration.conditions.windows import place_features

NAN, INF = math.nan, math.inf


def places(values, **parameters):
    raw = {"id": "a", "x": {"values": values, "dtype": "float32"}, "window": [2], "stride": [2], **parameters}
    return {*place_features(parse_case({"operator": "max_pool", "source": "-"}, raw, "a"))}


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
