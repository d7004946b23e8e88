"""A case whose bound would hide another reading of its parameters is found out."""

import pytest
from fakes import load, one

from conformance import check
from conformance.expected import expected
from conformance.meanings import other_readings, too_near


def near(folder, text):
    case = one(folder, text, operator="avg_pool")
    return list(too_near(case, expected(case)))


def test_padding_on_the_wrong_side_hides_among_values_that_are_nearly_alike(tmp_path):
    text = "id: a, x: {{values: [[[{}]]]}}, window: 2, stride: 1, padding: [[1, 0]]"
    alike = text.format("1.0, 1.0000001, 1.0000002")
    assert near(tmp_path, alike) == ["with padding before and after swapped"]
    assert near(tmp_path, text.format("1.0, 2.0, 4.0")) == []
    found = [line for line in check.problems(load(tmp_path, alike, operator="avg_pool")) if "swapped" in line]
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
    assert f"with {name} in the other order of axes" in [words for words, _ in other_readings(case)]
