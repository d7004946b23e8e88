"""A case is reported if its error bound would hide another reading of its parameters."""

import pytest

from conformance.catalogue import check
from conformance.catalogue.other_readings import indistinguishable_readings, other_readings
from conformance.judging.expected import compute_expected
from tests.support.fake_backends import load, one


def near(folder, text):
    case = one(folder, text, operator="avg_pool")
    return list(indistinguishable_readings(case, compute_expected(case)))


def test_padding_on_the_wrong_side_hides_among_values_that_are_nearly_equal(tmp_path):
    text = "id: a, x: {{values: [[[{}]]]}}, window: 2, stride: 1, padding: [[1, 0]]"
    alike = text.format("1.0, 1.0000001, 1.0000002")
    assert near(tmp_path, alike) == ["with padding before and after swapped"]
    assert near(tmp_path, text.format("1.0, 2.0, 4.0")) == []
    found = [line for line in check.check_problems(load(tmp_path, alike, operator="avg_pool")) if "swapped" in line]
    assert len(found) == 1
    assert found[0].startswith(f"{tmp_path}/file.yaml:4: case avg_pool/a: with padding before and after swapped")


def test_a_reading_that_gives_the_same_result_is_no_other(tmp_path):
    assert near(tmp_path, "id: a, x: {values: arange, shape: [1, 1, 6]}, window: 3") == []


def test_a_float16_bound_hides_what_a_float32_bound_does_not(tmp_path):
    text = (
        "id: a, x: {{values: arange, shape: [1, 1, 9], start: 100, dtype: {}}}, window: 3, stride: 2, padding: [[1, 0]]"
    )
    assert near(tmp_path, text.format("float32")) == []
    assert "with padding before and after swapped" in near(tmp_path, text.format("float16"))


@pytest.mark.parametrize("parameter", ["window: [2, 1]", "window: 2, stride: [2, 1]", "window: 2, dilation: [2, 1]"])
def test_axes_in_the_other_order_are_another_reading(tmp_path, parameter):
    case = one(tmp_path, f"id: a, x: {{values: arange, shape: [1, 1, 6, 6]}}, {parameter}")
    name = parameter.split(": [")[0].split(", ")[-1]
    assert f"with {name} in reverse order of axes" in [reading.description for reading in other_readings(case)]


def test_a_kernel_turned_round_is_another_reading_that_shows(tmp_path):
    text = "id: a, x: {{values: [[[1, 2, 3]]]}}, kernel: {{values: [[[{}]]]}}"
    for kernel in ("1, 5", "1.0, 1.0000001"):
        case = one(tmp_path, text.format(kernel), operator="conv")
        hidden = ["with the kernel flipped"] if "." in kernel else []
        assert list(indistinguishable_readings(case, compute_expected(case))) == hidden


def test_holes_and_powers_have_other_readings(tmp_path):
    case = one(tmp_path, "id: a, x: {values: arange, shape: [1, 1, 9]}, window: 2, dilation: 2", operator="lp_pool")
    words = [reading.description for reading in other_readings(case)]
    assert words == ["without dilation", "with the dilation increased by 1", "with p increased by 1"]
