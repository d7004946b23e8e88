"""Cases that leave the range of normal numbers of their dtype are reported."""

import pytest

from conformance.catalogue.value_range import out_of_range
from conformance.judging.expected import compute_expected
from tests.support.fake_backends import one


def found(folder, text, operator="avg_pool"):
    case = one(folder, text, operator=operator)
    return list(out_of_range(case, compute_expected(case)))


def test_a_sum_that_may_overflow_is_named(tmp_path):
    text = "id: a, x: {{values: integers, low: {0}, high: {0}, shape: [1, 1, 4], dtype: float16}}, window: 4"
    assert found(tmp_path, text.format(9)) == []
    assert found(tmp_path, text.format(60000)) == ["sums may reach 2.4e+05, beyond the largest float16"]


def test_what_cancellation_leaves_must_be_normal(tmp_path):
    text = "id: a, x: {{values: mantissas, spread: {}, shape: [1, 1, 40], dtype: float16}}, window: 2"
    assert found(tmp_path, text.format(1)) == []
    assert "below the normal numbers of float16" in found(tmp_path, text.format(5))[0]


def test_products_count_as_intermediates(tmp_path):
    text = "id: a, x: {{values: integers, low: {0}, high: {0}, shape: [1, 1, 4], dtype: float16}}, "
    text += "kernel: {{values: integers, low: {0}, high: {0}, shape: [1, 1, 1], dtype: float16}}"
    assert found(tmp_path, text.format(9), "conv") == []
    assert found(tmp_path, text.format(300), "conv") == ["sums may reach 9e+04, beyond the largest float16"]


def test_powers_count_as_intermediates(tmp_path):
    text = "id: a, x: {{values: integers, low: 100, high: 100, shape: [1, 1, 4], dtype: float16}}, window: 2, p: {}"
    assert found(tmp_path, text.format(2), "lp_pool") == []
    assert found(tmp_path, text.format(3), "lp_pool") == ["sums may reach 2e+06, beyond the largest float16"]


@pytest.mark.parametrize(
    "x", ["{values: [[[60000, 60000]]], dtype: float16}", "{values: arange, shape: [1, 1, 4], dtype: int8}"]
)
def test_literals_and_whole_dtypes_are_left_alone(tmp_path, x):
    operator = "avg_pool" if "float16" in x else "max_pool"
    assert found(tmp_path, f"id: a, x: {x}, window: 2", operator) == []
