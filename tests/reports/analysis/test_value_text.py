"""Texts of numbers, arrays and calls."""

import pytest

from reports.analysis.value_text import array_text, call_text, number_pair, number_text
from reports.results import CaseRecord, RecordedArray, load_report
from tests.support import example_results as example


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (0.1, "0.1"), (-0.0, "-0"), (float("nan"), "nan"), (float("-inf"), "-inf"), ("nan", "nan"),
     (1e-7, "1e-7"), (3.4028234663852886e38, "3.40282347e38"), (2**63, str(2**63)), (True, "True")],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("expected", "got", "pair"),
    [(15, 14, ("15", "14")), (1.0, 1.4142135, ("1", "1.414")), (1.0, 1.000001, ("1", "1.000001")),
     (1.0, 1.0000000000000002, ("1", "1.0000000000000002")), (2.5, 2.5, ("2.5", "2.5"))],
)  # fmt: skip
def test_pairs_have_the_digits_that_distinguish_them(expected, got, pair):
    assert number_pair(expected, got) == pair


@pytest.mark.parametrize(
    ("shape", "data", "text"),
    [((), (3,), "float32 3"), ((2, 2), (1.0, 2.0, 3.0, 4.5), "float32 [[1, 2], [3, 4.5]]"),
     ((0, 2), (), "float32 [0, 2]"),
     ((5, 5), tuple(range(25)), "float32 [5, 5]"), ((2,), None, "float32 [2]")],
)  # fmt: skip
def test_small_arrays_are_written_out(shape, data, text):
    assert array_text(RecordedArray("float32", shape, data)) == text


def case_of(folder, **changes) -> CaseRecord:
    one = example.case("max_pool/a", example.array([1, 2], [1, 1, 2]), example.array([2], [1, 1, 1]), **changes)
    results = [example.result("max_pool/a", "k.nn")]
    records = [example.header("k", ["k.nn"]), one, example.program("k.nn"), *results, example.footer(results)]
    return load_report(example.write(folder, records)).case("max_pool/a")


def test_calls_omit_parameters_without_effect(tmp_path):
    neutral = {"dilation": [1, 1], "padding": [[0, 0]], "groups": 1, "rounding": "floor", "bias": None, "flip": False}
    parameters = {"window": [2], **neutral, "output_padding": [-1], "count": True}
    assert call_text(case_of(tmp_path, parameters=parameters, via=["pad", "max_pool"])) == (
        "x = float32 [[[1, 2]]]; window [2]; output_padding [-1]; count yes; computed as pad → max_pool"
    )
