"""The vocabulary of conditions: properties of one axis, defaults, and limits of sizes."""

import math
from fractions import Fraction
from itertools import pairwise, product

import pytest

from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Case, Value
from conformance.cases.features.case_features import case_features
from conformance.exploration.conditions.vocabulary import (
    AXIS_FEATURES,
    Axis,
    case_axes,
    condition_features,
    count_properties,
)


def case_of(shape=(1, 2, 6), operator="max_pool", **parameters):
    given = {"window": (3,), "stride": (3,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    if operator == "pad":
        given = {"pads": ((0, 0),), "mode": "constant", "value": 0}
    if operator == "adaptive_max_pool":
        given = {"output_size": (3,)}
    return Case(f"{operator}/a", operator, {"x": ArraySpec("arange", shape, "float32")}, given | parameters, Value())


PLANE = {"window": (2, 2), "stride": (1, 2), "padding": ((1, 0), (0, 0)), "dilation": (1, 1)}


@pytest.mark.parametrize(
    ("changes", "feature"),
    [
        ({"padding": ((1, 0),), "stride": (2,)}, "an axis with padding before only and a stride"),
        ({"stride": (2,)}, "a last axis with a stride"),
        ({"shape": (1, 1, 7), "stride": (2,), "padding": ((0, 1),)}, "an axis with different padding at its ends"),
        ({"shape": (1, 2, 9)}, "no cells left over on every axis"),
        ({"shape": (1, 2, 8)}, "an axis with cells left over"),
        ({"padding": "same_upper", "stride": (1,)}, "an axis with padding"),
        ({"shape": (1, 24, 6)}, "a number of channels that is a multiple of 8"),
        ({"shape": (1, 25, 6)}, "a number of channels that is not a multiple of 8"),
        ({"shape": (1, 2, 16)}, "at most 16 cells on the last axis"),
        ({"window": (6,)}, "more than 5 cells in a window"),
        ({}, "rounding = floor"),
        ({}, "one image"),
        ({"operator": "pad", "pads": ((-1, 2),)}, "an axis with padding after and a crop before"),
        ({"operator": "pad", "mode": "wrap", "pads": ((1, 0),)}, "an axis with padding before only"),
        ({"operator": "adaptive_max_pool", "output_size": (1,)}, "an axis with several cells and one bin"),
        ({"operator": "adaptive_max_pool", "output_size": (7,)}, "an axis with more bins than cells"),
        ({"operator": "adaptive_max_pool"}, "an axis with fewer bins than cells"),
        ({"padding": ((1, 0),)}, "an axis with an odd number of cells of padding"),
        ({"padding": ((1, 0),)}, "an axis with padding that is not spread evenly"),
        ({"padding": ((1, 1),)}, "an axis with the same padding at both ends"),
        ({"shape": (1, 2, 1), "padding": ((1, 0),)}, "an axis with padding before at least as wide as its cells"),
        ({"shape": (1, 2, 1), "padding": ((0, 2),)}, "an axis with padding after wider than its cells"),
        ({"operator": "pad", "pads": ((0, 5),)}, "an axis with padding as wide as its cells less one"),
        ({"stride": (2,)}, "an axis with windows that share one cell"),
        ({"shape": (1, 2, 3)}, "an axis with a window of all its cells"),
        ({"shape": (1, 2, 2), "padding": ((0, 1),)}, "an axis with a window larger than its cells"),
        ({"operator": "avg_pool", "divisor": 2}, "a divisor other than the number of cells in a window"),
        ({"operator": "avg_pool", "divisor": 3}, "a divisor equal to the number of cells in a window"),
    ],
)
def test_a_phrase_is_true_for_a_changed_case_and_not_for_all(changes, feature):
    assert feature in condition_features(case_of(**changes))
    others = [case_of(), case_of(shape=(2, 8, 40), stride=(2,), rounding="ceil"), case_of(operator="pad")]
    assert not all(feature in condition_features(other) for other in others)


def test_two_properties_of_different_axes_are_not_those_of_one_axis():
    features = condition_features(case_of((1, 2, 5, 6), **PLANE))
    assert {"an axis with padding before", "an axis with a stride", "a first axis with padding before"} <= features
    assert "an axis with padding before and a stride" not in features
    assert "a last axis with padding before" not in features
    assert "the same window on every axis" in features
    assert "the same stride on every axis" not in features


@pytest.mark.parametrize(("extent", "bins", "changes"), [(10, 4, False), (7, 3, False), (4, 28, True), (26, 22, True)])
def test_edges_of_bins_are_compared_with_multiples_of_the_rounded_size(extent, bins, changes):
    """In float32, 21 times 4 / 28 is more than 3."""
    assert Axis(extent, bins, bins=bins).has_rounded_bins is changes


def bin_edges(extent, bins):
    """Return the first cell of each bin, and the one after its last cell."""
    return [(number * extent // bins, -(-(number + 1) * extent // bins)) for number in range(bins)]


def test_bins_differ_in_size_or_distance_as_their_edges_do():
    for extent, bins in product(range(1, 25), range(1, 30)):
        edges, axis = bin_edges(extent, bins), Axis(extent, bins, bins=bins)
        assert axis.has_bins_of_different_sizes is (len({end - start for start, end in edges}) > 1)
        distances = {second[0] - first[0] for first, second in pairwise(edges)}
        assert AXIS_FEATURES["bins at different distances"](axis) is (len(distances) > 1)


def test_two_overlapping_bins_of_one_size_are_no_bins_of_different_sizes():
    """Cells 0 and 1, and cells 1 and 2."""
    features = condition_features(case_of((1, 2, 3), "adaptive_max_pool", output_size=(2,)))
    assert "an axis with a number of bins that does not divide its cells" in features
    assert not {"an axis with bins of different sizes", "an axis with bins at different distances"} & features
    assert "an axis with bins at different distances" in condition_features(
        case_of((1, 2, 5), "adaptive_max_pool", output_size=(3,))
    )


def starts_of_sampled_windows(extent, window, count, sample):
    """Return the first cell of each window of fractional pooling, for a sample that is a Fraction."""
    step = Fraction(extent - window, max(count - 1, 1))
    first = math.floor(sample * step)
    return [math.floor((number + sample) * step) - first for number in range(count - 1)] + [extent - window]


def test_windows_depend_on_a_sample_if_another_one_moves_them():
    for extent, window in product(range(1, 10), range(1, 10)):
        for count in range(1, extent - window + 2):
            starts = {tuple(starts_of_sampled_windows(extent, window, count, Fraction(one, 60))) for one in range(60)}
            axis = Axis(extent, count, window=window, bins=count, is_sampled=True)
            assert axis.depends_on_sample is (len(starts) > 1), (extent, window, count)


@pytest.mark.parametrize(
    ("samples", "window", "has_zero"), [([0.0, 0.5], 1, True), ([0.5, 0.0], 1, False), ([0.0, 0.5], 2, False)]
)
def test_a_sample_of_zero_is_named_where_windows_depend_on_it(samples, window, has_zero):
    """The first axis has three windows on six cells, and the second one has one. Windows of two cells are even."""
    numbers = ArraySpec("literal", (1, 1, 2), "float32", {"numbers": samples})
    inputs = {"x": ArraySpec("arange", (1, 1, 6, 4), "float32"), "samples": numbers}
    parameters = {"window": (window, 1), "output_size": (3, 1)}
    features = condition_features(Case("fractional_max_pool/a", "fractional_max_pool", inputs, parameters, Value()))
    assert ("a sample of zero on an axis with windows that depend on it" in features) is has_zero
    assert ("a first axis with windows that depend on its sample" in features) is (window == 1)
    assert not any("bins of different sizes" in one or "bins at different" in one for one in features)


@pytest.mark.parametrize(
    ("extent", "after", "stride", "is_behind"), [(4, 0, 4, True), (4, 0, 3, False), (5, 0, 3, False), (3, 2, 2, True)]
)
def test_a_partial_window_behind_an_axis_starts_after_its_last_cell(extent, after, stride, is_behind):
    """Windows of two cells. With four cells and stride 3, the second window would start at the last cell."""
    axis = Axis(extent, 1, after=after, window=2, stride=stride)
    assert axis.has_partial_window_behind is is_behind


def test_padding_with_the_odd_cell_after_is_spread_evenly():
    features = condition_features(case_of(padding=((0, 1),)))
    assert "an axis with an odd number of cells of padding" in features
    assert "an axis with padding that is not spread evenly" not in features


def test_the_middle_axis_and_several_axes_are_named():
    volume = {"window": (1, 2, 2), "stride": (1, 2, 2), "padding": ((0, 0), (1, 0), (0, 0)), "dilation": (1, 1, 1)}
    features = condition_features(case_of((1, 1, 4, 4, 6), **volume))
    assert "a middle axis with padding before" in features
    assert "several axes with a stride" in features
    assert "several axes with padding before" not in features
    assert "extents that differ between axes" in features
    plane = condition_features(case_of((1, 1, 5, 5), **PLANE))
    assert "extents that differ between axes" not in plane
    assert not any(feature.startswith("a middle axis") for feature in plane)


def test_the_vocabulary_contains_the_features_of_the_case():
    case = case_of((2, 3, 5, 6), **PLANE)
    assert condition_features(case) > {*case_features(case)}


def test_axes_have_the_computed_padding_of_a_word():
    (axis,) = case_axes(case_of((1, 1, 6), window=(3,), stride=(1,), padding="same_upper"))
    assert (axis.before, axis.after, axis.output) == (1, 1, 6)


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("an axis with padding", 1),
        ("an axis with padding and a stride", 2),
        ("a last axis with a stride", 2),
        ("a middle axis with a stride", 2),
        ("several axes with a stride", 2),
        ("a window with NaN and a zero", 2),
        ("several channels", 1),
        ("more than 5 cells in a window", 2),
        ("a number of channels that is a multiple of 8", 2),
        ("a divisor", 1),
        ("several cells as the divisor", 2),
    ],
)
def test_two_properties_are_counted(condition, count):
    assert count_properties(condition) == count
