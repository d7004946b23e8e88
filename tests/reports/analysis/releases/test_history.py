import json
from dataclasses import replace

import jsonschema
import pytest
from msgspec import structs

from reports.analysis.releases.history import (
    Change,
    Span,
    changed_with_program,
    changes_markdown,
    history_json,
    release_changes,
    release_data,
    release_data_json,
    release_spans,
)
from reports.results import load_report
from tests import ROOT
from tests.support import example_results as example

KEY = ("s", "case")
ANSWERS = {"1.0": {KEY: "a"}, "1.1": {KEY: "a"}, "1.2": {KEY: "b"}, "1.3": {}, "1.4": {KEY: "b"}}


def test_spans_end_where_the_answer_changes_or_is_missing():
    assert release_spans(ANSWERS) == [
        Span(*KEY, "a", "1.0", "1.1"),
        Span(*KEY, "b", "1.2", "1.2"),
        Span(*KEY, "b", "1.4", "1.4"),
    ]


def test_a_change_needs_an_answer_of_both_releases():
    assert release_changes(ANSWERS) == [Change(*KEY, "1.1", "1.2", "a", "b")]


def test_json_names_the_releases_that_add_and_remove_an_answer():
    records = history_json("fake", ANSWERS)["records"]
    assert [(one["answer"], one["version_added"], one["version_removed"]) for one in records] == [
        ("a", None, "1.2"),
        ("b", "1.2", "1.3"),
        ("b", "1.4", None),
    ]


def test_the_page_lists_changes_or_says_that_there_are_none():
    assert "| 1.1 → 1.2 | s | `case` | a | b |" in changes_markdown("fake", list(ANSWERS), release_changes(ANSWERS))
    assert "No answer changed." in changes_markdown("fake", ["1.0"], [])


CASE, QUESTION = "max_pool/stride-2-padding-1", "avg_pool/divisor-at-the-border"
NAN = "max_pool/nan-in-the-window"
WRONG = example.differing(CASE, "alpha.nn", None, {"index": [0, 0, 1, 1], "expected": 15, "got": 14})
RIGHT = example.result(CASE, "alpha.nn")
CHANGED = "answered 'whole-window', but it answered 'real-cells' in version 1.2"


def loaded(tmp_path, version, *records, **changes):
    paths = example.write(tmp_path, example.run(f"alpha@{version}", ["alpha.nn"], records, **changes))
    return load_report(paths).runs[0]


def ranges(tmp_path, *results):
    """Return the ranges of one case from its results in the releases 1.0, 1.1 and so on."""
    runs = {f"1.{n}": loaded(tmp_path, f"1.{n}", *records) for n, records in enumerate(results)}
    data = release_data(runs)
    jsonschema.validate(data, json.loads((ROOT / "docs" / "compat" / "schema.json").read_text("utf-8")))
    (record,) = data["records"]
    return record["ranges"]


def test_data_has_the_releases_and_the_evidence_of_each_answer(tmp_path):
    old, new = ranges(tmp_path, [WRONG], [WRONG], [RIGHT])
    assert old == {
        "answer": "differ value",
        "version_removed": "1.2",
        "observed": "at [0, 0, 1, 1] expected 15, got 14",
    }
    assert new == {"answer": "agree", "version_added": "1.2", "cause": "release"}


def with_program(run, program):
    return replace(run, results=[structs.replace(one, program=program) for one in run.results])


@pytest.mark.parametrize(
    ("program", "mixed", "cause"),
    [
        ("alpha.nn-native", None, "release"),
        ("another", None, "unknown"),
        ("another", RIGHT, "release"),
        ("another", WRONG, "program"),
    ],
)
def test_cause_of_a_change_is_the_release_or_its_program(tmp_path, program, mixed, cause):
    old, new = loaded(tmp_path, "1.0", WRONG), with_program(loaded(tmp_path, "1.1", RIGHT), program)
    older = {("1.0", "1.1"): loaded(tmp_path, "1.1-with-1.0", mixed)} if mixed else {}
    (record,) = release_data({"1.0": old, "1.1": new}, older)["records"]
    assert [one.get("cause") for one in record["ranges"]] == [None, cause]
    assert changed_with_program(old, new) == ({CASE} if program == "another" else set())


def test_equal_answers_need_no_older_program(tmp_path):
    old = loaded(tmp_path, "1.0", RIGHT)
    assert changed_with_program(old, with_program(loaded(tmp_path, "1.1", RIGHT), "another")) == set()


def test_answer_to_a_convention_does_not_depend_on_the_declaration(tmp_path):
    of_old = example.result(
        QUESTION, "alpha.nn", status="fail", verdict="differ", kind="changed", message=CHANGED,
        got=example.array([1.5, 2], [1, 2]),
    )  # fmt: skip
    rejected = example.rejected(
        QUESTION,
        "alpha.nn",
        verdict="differ",
        kind="changed",
        message=f"{CHANGED}; it raised in /home/u/.cache/a/b.cpp:7",
    )
    first, second = ranges(
        tmp_path,
        [of_old, example.convention("alpha.nn", "real-cells", "whole-window", "undocumented")],
        [rejected, example.convention("alpha.nn", "real-cells", "rejected", "undocumented")],
    )
    assert (first["answer"], first["observed"]) == ("whole-window", "returned float32 [[1.5, 2]]")
    assert (second["answer"], second["observed"]) == ("rejected", "it raised in b.cpp:7")


def test_release_without_an_answer_ends_a_range(tmp_path):
    without = example.unsupported(CASE, "alpha.nn")
    old, new = ranges(tmp_path, [RIGHT], [without], [RIGHT])
    assert (old["version_removed"], new["version_added"]) == ("1.1", "1.2")


def test_runs_of_different_origin_make_no_data(tmp_path):
    one = loaded(tmp_path, "1.0", RIGHT)
    other = loaded(tmp_path, "1.1", RIGHT, catalogue={"digest": "ab" * 16, "cases": 1})
    with pytest.raises(ValueError, match="of 2 catalogues, not of one"):
        release_data({"1.0": one, "1.1": other})


def test_json_has_a_line_for_each_release_and_record(tmp_path):
    data = release_data({"1.0": loaded(tmp_path, "1.0", RIGHT, example.result(NAN, "alpha.nn"))})
    text = release_data_json(data)
    assert json.loads(text) == data
    assert sum(line.startswith('{"surface"') for line in text.splitlines()) == 2
