"""The values that the cases of a convention have."""

from conformance.judging.tested_values import MAX_LISTED, describe_values
from tests.support.fake_backends import load


def cases(tmp_path, *entries, operator="max_pool"):
    return load(tmp_path, *entries, operator=operator).cases


def test_values_are_listed_without_those_between_them(tmp_path):
    found = cases(
        tmp_path,
        "id: a, x: {values: integers, shape: [1, 1, 7]}, window: 2",
        "id: b, x: {values: integers, shape: [1, 4, 9, 7], dtype: float64}, window: [3, 5]",
    )
    assert describe_values(found) == (
        "2 cases; float32, float64; dimensions 1, 2; channels 1, 4; extents 7, 9; windows 2, 3, 5"
    )


def test_operators_without_windows_have_none(tmp_path):
    one = "id: a, x: {values: integers, shape: [1, 2, 3000]}, pads: [[1, 1]], mode: edge"
    assert describe_values(cases(tmp_path, one, operator="pad")) == (
        "1 case; float32; dimensions 1; channels 2; extents 3,000"
    )


def test_kernels_are_windows(tmp_path):
    one = "id: a, x: {values: integers, shape: [1, 1, 8]}, kernel: {values: integers, shape: [1, 1, 3]}"
    assert describe_values(cases(tmp_path, one, operator="conv")).endswith("extents 8; windows 3")


def test_of_many_values_the_middle_is_counted(tmp_path):
    count = MAX_LISTED + 2
    found = cases(
        tmp_path,
        *(f"id: a{size}, x: {{values: integers, shape: [1, 1, {size}]}}, window: 2" for size in range(4, 4 + count)),
    )
    assert f"extents 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, … 2 more …, {3 + count};" in describe_values(found)
