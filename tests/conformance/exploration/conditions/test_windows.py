"""Places of properties: two in one window, in a later image, in the last channel, or in the last cell."""

import math
from itertools import combinations

import numpy as np
import pytest

from conformance.cases.features.numbers import window_cells
from conformance.cases.parsing import parse_case
from conformance.exploration.conditions.windows import (
    MAX_SAMPLED_CELLS,
    WINDOW_PROPERTIES,
    _sampled as sampled_windows,
    place_features,
)

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
        ("a window with its largest value twice", [[[NAN, NAN]]], [[[NAN, 1]]]),
        ("a window with zeros of both signs", [[[-0.0, 0.0]]], [[[-0.0, 1.0, 0.0, 1.0]]]),
        ("a window with zero as its largest value", [[[-1, 0]]], [[[0, 1]]]),
        ("a window with its smallest value first", [[[1, 2]]], [[[2, 1]]]),
        ("a window with only NaN or minus infinity", [[[NAN, -INF]]], [[[NAN, INF]]]),
        ("a value of at most zero in x", [[[0, 1]]], [[[1, 2]]]),
        ("an even number of NaN in a plane of x", [[[NAN, NAN, 1, 1]]], [[[NAN, NAN, NAN, 1]]]),
        ("different values in a plane of x", [[[1, 2]]], [[[1, 1], [2, 2]]]),
        ("equal values in a plane of x after its first image", [[[1, 2]], [[3, 3]]], [[[3, 3]], [[1, 2]]]),
    ],
)
def test_a_place_is_named_only_where_the_property_is(feature, true, false):
    assert feature in places(true)
    assert feature not in places(false)


@pytest.mark.parametrize(
    ("values", "upper", "both"),
    [([1, 200], True, True), ([200, 201], True, False), ([1, 127], False, False), ([1, 128], True, True)],
)
def test_integers_are_compared_with_half_of_their_range(values, upper, both):
    raw = {"id": "a", "x": {"values": [[values]], "dtype": "uint8"}, "window": [1]}
    found = {*place_features(parse_case({"operator": "max_pool", "source": "-"}, raw, "a"))}
    assert ("a number in the upper half of its range in x" in found) is upper
    assert ("numbers in both halves of their range in a plane of x" in found) is both


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


@pytest.mark.parametrize(("dtype", "is_zero"), [("int64", True), ("float32", False)])
def test_an_average_of_integers_is_rounded_toward_zero(dtype, is_zero):
    raw = {"id": "a", "x": {"values": [[[0, 1]]], "dtype": dtype}, "window": [2]}
    found = {*place_features(parse_case({"operator": "avg_pool", "source": "-"}, raw, "a"))}
    assert "a window with an average of several cells" in found
    assert ("a window with an average other than zero" in found) is not is_zero
    single = {*place_features(parse_case({"operator": "avg_pool", "source": "-"}, {**raw, "window": [1]}, "a"))}
    assert "a window with an average of several cells" not in single


def test_two_properties_are_named_if_one_window_has_both():
    """The pairs are those of a search of all windows."""
    x = np.random.default_rng(0).choice([NAN, -INF, -1.0, 0.0, 2.0], size=(2, 2, 40))
    case = parse_case(
        {"operator": "max_pool", "source": "-"}, {"id": "a", "x": {"values": x.tolist()}, "window": [2]}, "a"
    )
    cells = window_cells(case, x)
    masks = {name: np.broadcast_to(is_true(cells), (2, 2, 20)) for name, is_true in WINDOW_PROPERTIES.items()}
    expected = {
        f"a window with {first} and {second}"
        for first, second in combinations(masks, 2)
        if (masks[first] & masks[second]).any()
    }
    named = {f"a window with {first} and {second}" for first, second in combinations(masks, 2)}
    assert expected
    assert named & places(x.tolist()) == expected


def test_windows_of_many_cells_are_sampled_with_the_first_and_the_last():
    x = np.ones((2, 3, 20_000))
    x[-1, -1, -1] = -2
    windows, selected = sampled_windows(window_cells_of(x))
    assert MAX_SAMPLED_CELLS / 2 < windows.cells.size <= MAX_SAMPLED_CELLS
    assert {selected[0], selected[-1]} == {0, 19_999}
    assert windows.cells[-1, -1, -1] == [-2]
    few = window_cells_of(np.ones((2, 3, 20)))
    assert sampled_windows(few)[0].cells.shape == few.cells.shape
    assert windows.inside.shape == (len(selected), 1)


def window_cells_of(x):
    raw = {"id": "a", "x": {"values": "integers", "shape": list(x.shape)}, "window": [1]}
    return window_cells(parse_case({"operator": "max_pool", "source": "-"}, raw, "a"), x)


@pytest.mark.parametrize("divisor", [None, 2])
def test_averages_of_many_windows_have_properties(divisor):
    x = {"values": "integers", "low": -1, "high": -1, "shape": [1, 1, 100_000]}
    raw = {"id": "a", "x": x, "window": [1], "count_include_pad": True, "divisor": divisor}
    found = {*place_features(parse_case({"operator": "avg_pool", "source": "-"}, raw, "a"))}
    assert {"a window with only negative values", "a window with a negative average"} <= found
    assert ("a window with an average that is not a whole number" in found) is (divisor is not None)


def test_the_windows_of_adaptive_pooling_are_its_bins():
    """Three cells in two bins: cells 0 and 1, and cells 1 and 2."""
    found = places([[[2, 1, 3]]], "adaptive_max_pool", output_size=[2])
    assert {"a window with its largest value first", "a last window with its largest value last"} <= found
    assert "a last window with its largest value first" not in found
    assert "a window with one cell" in places([[[2, 1]]], "adaptive_max_pool", output_size=[2])
    # Bins of two, three and two cells have no padding.
    assert not any("padding" in one for one in places([[[5, 1, 2, 3, 4]]], "adaptive_max_pool", output_size=[3]))
