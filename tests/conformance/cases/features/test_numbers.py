"""Features of the numbers of a case."""

import pytest

from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Case, Value
from conformance.cases.features.case_features import case_features

NAN, INFINITY = float("nan"), float("inf")


def features_of(numbers, operator="max_pool", dtype="float32", **parameters):
    x = ArraySpec("literal", (1, 1, len(numbers)), dtype, {"numbers": tuple(numbers)})
    given = {"window": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    return case_features(
        Case(f"{operator}/a", operator, {"x": x}, {} if "global" in operator else given | parameters, Value())
    )


@pytest.mark.parametrize(
    ("numbers", "feature"),
    [
        ([1, 1, 0, 2], "a window whose largest value occurs twice"),
        ([1, 1, 0, 2], "a window of equal values"),
        ([0, 0, 1, 2], "a window of zeros only"),
        ([0, 2, 1, 3], "a window that starts with a zero"),
        ([-0.0, 0, 1, 3], "a window with zeros of both signs"),
        ([-1, -2, 3, 1], "a window of negative values only"),
        ([NAN, INFINITY, 1, 2], "a window with NaN and an infinity"),
        ([INFINITY, -INFINITY, 1, 2], "a window with both infinities"),
        ([1, NAN, 1, 2], "a window with NaN in its second half only"),
        ([0, 2, 1, 3], "a window whose last cell alone is not zero"),
        ([NAN, NAN, 1, 2], "several NaN in a window"),
        ([1, NAN, 1, 2], "a window with NaN in its last cell only"),
        ([100, 2, 1, 3], "a number above 88 in x"),
        ([-1, 2, 1, 3], "a negative value in x"),
    ],
)
def test_a_window_has_a_feature_and_ordinary_numbers_do_not(numbers, feature):
    assert feature in features_of(map(float, numbers) and [float(number) for number in numbers])
    assert feature not in features_of([1.0, 2.0, 4.0, 3.0])


def test_padding_is_no_value_of_a_window():
    padded = features_of([0.0, 1.0, 2.0, 3.0], stride=(1,), padding=((1, 1),))
    assert "a window of zeros only" in padded  # the first window has padding and one zero
    assert "a window whose largest value occurs twice" not in padded


def test_a_plane_is_the_window_of_a_global_operator():
    assert "a window whose largest value occurs twice" in features_of([3.0, 1.0, 3.0], "global_max_pool")


def test_a_sum_that_leaves_the_range_of_the_dtype_is_a_feature():
    feature = "the sum of a window beyond the range of the dtype"
    assert feature in features_of([60000.0, 60000.0], "avg_pool", "float16")
    assert feature not in features_of([60000.0, 60000.0], "avg_pool", "float32")
