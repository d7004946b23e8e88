"""The data in the HTML report."""

import base64
import gzip
import json

import pytest

from reports.results import load_report
from reports.views.html_data import CHUNK_LENGTH, compress_json, report_payload
from tests.support import example_results as example


def test_data_is_compressed_json():
    value = {"a": [1, None, "é"], "b": {"c": 0.5}}
    assert gzip.decompress(base64.b64decode(compress_json(value))).decode() == '{"a":[1,null,"é"],"b":{"c":0.5}}'


def decompressed(value):
    return gzip.decompress(base64.b64decode(compress_json(value)))


def test_long_lists_are_encoded_in_chunks():
    for length in (0, 1, CHUNK_LENGTH, CHUNK_LENGTH + 1, 2 * CHUNK_LENGTH):
        value = {"a": list(range(length)), "b": []}
        assert json.loads(decompressed(value)) == value


def test_surrogates_are_escaped():
    assert decompressed({"a": ["\ud800"], "\udfff": 1}) == rb'{"a":["\ud800"],"\udfff":1}'


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2**53, -(2**53)], [2**53, -(2**53)]),
        ([2**53 + 1, 0.5], [str(2**53 + 1), 0.5]),
        ([-(2**60), "nan"], [str(-(2**60)), "nan"]),
    ],
)
def test_integers_that_javascript_would_round_are_strings(tmp_path, values, expected):
    case = example.case("conv/a", example.array(values, [2], "int64"), example.SQUARE)
    report = load_report(example.write(tmp_path, [example.header("k", ["k.nn"]), case, example.footer([])]))
    assert report_payload(report)["cases"][0]["inputs"]["x"]["data"] == expected


def test_same_text_of_several_results_is_in_the_table_once(tmp_path):
    (path,) = example.write(tmp_path, example.beta())
    data = report_payload(load_report([path]))
    assert len(data["texts"]) == len({*data["texts"]})
    assert data["texts"].count("The recipe pads with zeros, which win over negative values.") == 1
    assert data["surfaces"] == [{"name": "beta.keras.layers", "backend": 0}, {"name": "beta.book", "backend": 0}]


def test_infinite_budgets_are_strings_and_zero_is_left_out(tmp_path):
    (path,) = example.write(tmp_path, example.beta())
    data = report_payload(load_report([path]))
    budgets = {details.get("budget") for *_, details in data["results"]}
    assert {None, "none", "inf", 1.05} == budgets


def test_data_contain_the_properties_of_operators(tmp_path):
    report = load_report(example.write(tmp_path, example.alpha()))
    assert report_payload(report)["operators"] == {}
    assert (
        report_payload(report, operators={"max_pool": {"geometry": "windows"}})["operators"]["max_pool"]["geometry"]
        == "windows"
    )


def test_answers_have_their_colour_and_the_answers_on_other_processors(tmp_path):
    report = load_report(example.write(tmp_path, example.beta()))
    on_avx = {"beta.book": {"avg_pool-divisor-at-the-border": {"avx512f": "real-cells"}}}
    book, layers = report_payload(report, processor_answers=on_avx)["conventions"]
    assert (book["answer"], book["colour"], book["cpu"]) == ("", 0, {"avx512f": "real-cells"})
    assert (layers["answer"], layers["colour"], layers["cpu"]) == ("whole-window", 0, {})


def test_outcome_after_other_programs_is_a_text_of_the_result(tmp_path):
    lines = [{**one, "after_others": "returned 1"} if one["record"] == "result" else one for one in example.alpha()]
    data = report_payload(load_report(example.write(tmp_path, lines)))
    assert {data["texts"][details["after_others"]] for *_, details in data["results"]} == {"returned 1"}
