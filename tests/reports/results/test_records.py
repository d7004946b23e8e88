"""Records of results files: lines, defaults and errors."""

import json
import math
from typing import get_args

import pytest
from msgspec.structs import replace

from reports.results import AnyRecord, Header, RecordError, WorstElementRecord, decode_line, encode_line, without_label
from reports.results.vocabulary import Status
from tests.support import example_results as example

RESULT = example.result("max_pool/plain", "alpha.nn")
NESTED_KEYS = ("catalogue", "environment")  # keys with default values are added to them
STATUSES = "fail, crashed, timed_out, flaky, stale, known, undeclared, refused, slow, unsupported, pass"


def decoded(values):
    return decode_line(json.dumps(values).encode())


def error_message(values):
    with pytest.raises(RecordError) as error:
        decoded(values)
    return str(error.value)


def test_lines_are_read_and_written_without_a_change():
    for values in example.beta():
        record = decoded(values)
        line = encode_line(record)
        assert decode_line(line.encode()) == record
        written = json.loads(line)
        assert all(written.get(key) == value for key, value in values.items() if key not in NESTED_KEYS)


def test_every_type_of_record_occurs_in_the_examples():
    assert {type(decoded(values)) for values in example.beta()} == set(get_args(AnyRecord))


@pytest.mark.parametrize(
    ("record", "key", "word", "words"),
    [
        ("result", "status", "good", STATUSES),
        ("result", "outcome", "ok", "returned, rejected, unsupported, crashed, timed_out"),
        ("result", "verdict", "same", "agree, differ"),
        ("result", "kind", "x", "shape, dtype, value, special, pinned, accepted, rejected, convention, changed"),
        ("result", "how", "emulated", "native, padded, composed"),
        ("program", "how", "", "native, padded, composed"),
        ("case", "level", "Smoke", "smoke, standard, exhaustive"),
        ("header", "level", "all", "smoke, standard, exhaustive"),
    ],
)
def test_error_about_an_unknown_word_lists_the_allowed_words(record, key, word, words):
    values = next(one for one in example.beta() if one["record"] == record)
    assert error_message(values | {key: word}) == f"{key}: unknown value {word!r}, not one of {words}"


@pytest.mark.parametrize(
    ("record", "key", "number", "message"),
    [
        ("header", "repeat", -1, "repeat: expected `int` >= 1"),
        ("header", "repeat", 0, "repeat: expected `int` >= 1"),
        ("case", "pinned", -1, "pinned: expected `int` >= 0"),
        ("case", "terms", -1, "terms: expected `int` >= 0"),
        ("result", "seconds", -0.5, "seconds: expected `float` >= 0.0"),
        ("result", "seconds", 1e308, "seconds: expected `float` <= 1000000000.0"),
        ("footer", "seconds", 1e308, "seconds: expected `float` <= 1000000000.0"),
        ("footer", "results", -1, "results: expected `int` >= 0"),
    ],
)
def test_impossible_number_is_an_error(record, key, number, message):
    values = next(one for one in example.beta() if one["record"] == record)
    assert error_message(values | {key: number}) == message


def test_error_about_an_unknown_status_in_the_footer_lists_the_statuses():
    footer = example.alpha()[-1] | {"by_status": {"good": 1}}
    assert error_message(footer) == f"by_status: unknown value 'good', not one of {STATUSES}"


@pytest.mark.parametrize("change", [{"status": "\ud800"}, {"record": "\ud800"}])
def test_lone_surrogate_instead_of_a_word_is_rejected(change):
    assert error_message(RESULT | change) == "unknown value '\\ud800'"


@pytest.mark.parametrize(("number", "text"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_special_number_is_written_as_a_string(number, text):
    record = replace(decoded(RESULT), budget_used=number, worst=WorstElementRecord(index=(0,), got=number))
    values = json.loads(encode_line(record))
    assert values["budget_used"] == values["worst"]["got"] == text
    assert str(decoded(values).budget_used) == text


def test_issue_is_written_only_with_a_reason():
    record = decoded(RESULT)
    assert "issue" not in record.json_values()
    assert replace(record, reason="a bug").json_values()["issue"] is None


def test_keys_of_a_device_are_written_only_for_a_device_other_than_the_cpu():
    header = decoded(example.alpha()[0])
    assert isinstance(header, Header)
    assert "device" not in header.json_values()["environment"]
    cuda = replace(header, environment=replace(header.environment, device="cuda"))
    assert cuda.json_values()["environment"]["device"] == "cuda"


def test_label_is_appended_to_all_surfaces_of_a_header():
    header = decoded(example.alpha()[0]).with_label("@old")
    assert header.surfaces == ("alpha.nn@old", "alpha.nn.functional@old")
    assert list(header.environment.setup) == ["alpha.nn@old", "alpha.nn.functional@old"]
    assert [without_label(surface) for surface in header.surfaces] == ["alpha.nn", "alpha.nn.functional"]


def test_case_of_an_older_file_has_no_features():
    case = next(one for one in example.alpha() if one["record"] == "case")
    assert decoded(case).features == ()
    assert decoded(case | {"features": ["padding"]}).features == ("padding",)


def test_words_of_a_record_are_members_of_their_enums():
    assert decoded(RESULT).status is Status.PASS


def test_command_reproduces_a_result_that_has_a_program():
    result = decoded({**RESULT, "surface": "alpha.nn@old"})
    assert result.command == ("conformance", "repro", "max_pool/plain", "--surface", "alpha.nn")
    # Outputs of a runtime without Python have no program.
    assert replace(result, program=None).command == ("conformance", "show", "max_pool/plain")


def test_source_of_a_program_starts_with_the_mode_of_the_process():
    values = example.program("alpha.nn")
    record = decoded({**values, "mode": "k.use_64_bits()"})
    assert record.source == f"k.use_64_bits()\n\n{values['text']}"
    assert json.loads(encode_line(record))["mode"] == "k.use_64_bits()"


def test_program_of_an_earlier_file_has_no_mode():
    record = decoded(example.program("alpha.nn"))
    assert record.source == record.text
    assert "mode" not in json.loads(encode_line(record))
