"""Recorded arrays and expected results."""

import pytest

from reports.results import RecordedAnswers, RecordedArray, RecordedRejection
from reports.results.arrays import parse_expected

ARRAY = {"dtype": "float32", "shape": [2], "data": [1.5, "nan"]}
REJECTION = {"rejected": "WindowExceedsPaddedInput"}


@pytest.mark.parametrize(("shape", "size"), [((), 1), ((2, 3), 6), ((4, 0), 0)])
def test_size_is_the_product_of_the_shape(shape, size):
    assert RecordedArray("int8", shape).size == size


def test_number_of_elements_must_match_the_shape():
    with pytest.raises(ValueError, match=r"^1 elements, but the shape \[2\] has 2$"):
        RecordedArray("int8", (2,), (1,))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ARRAY, RecordedArray("float32", (2,), (1.5, "nan"))),
        (REJECTION, RecordedRejection("WindowExceedsPaddedInput")),
        (
            {"answers": {"first": ARRAY, "none": REJECTION}},
            RecordedAnswers(
                {
                    "first": RecordedArray("float32", (2,), (1.5, "nan")),
                    "none": RecordedRejection("WindowExceedsPaddedInput"),
                }
            ),
        ),
    ],
)
def test_expected_result_is_an_array_a_rejection_or_answers(value, expected):
    assert parse_expected(value) == expected


@pytest.mark.parametrize("value", [{"rejected": 1}, {"dtype": "int8"}, {"answers": {"first": 1}}, "text", None])
def test_other_value_is_rejected_with_its_path(value):
    with pytest.raises(ValueError, match=r"at `\$\.expected`$"):
        parse_expected(value)
