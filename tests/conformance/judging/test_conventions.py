"""The table of conventions, in all its forms."""

import json
import re
import sys

import pytest
from jsonschema import Draft202012Validator

from conformance.adapters import registry
from conformance.adapters.api import Declaration
from conformance.cli import main
from conformance.execution.run import Run
from conformance.judging.conventions import CONTRADICTORY_ANSWERS, find_conventions, processor_answers
from conformance.judging.ledger import Ledger
from tests import ROOT
from tests.support.fake_backends import backend, declares, load, surface

DOCS = ROOT / "docs"
X = "x: {values: arange, shape: [1, 1, 4, 4]}"
QUESTION = f"id: q, about: By how much, {X}, window: 3, answers: {{window: {{stride: 3}}, one: {{stride: 1}}}}"
WINDOW, ONE = "x = x[:, :, 2:3, 2:3]", "x = x[:, :, 2:, 2:]"


def said(capsys, *arguments, status=0):
    """Return the output of the command."""
    with pytest.raises(SystemExit) as caught:
        main(["conventions", *arguments])
    assert (caught.value.code or 0) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def run(tmp_path, known, *cases):
    """Run convention cases; return the catalogue file and the results file."""
    catalogue, path = load(tmp_path, *cases, section="questions"), tmp_path / "fake.jsonl"
    Run(known, catalogue, Ledger(), python=sys.executable).execute(path)
    return str(tmp_path / "file.yaml"), str(path)


def test_no_line_is_wider_than_a_terminal_and_every_question_is_there(capsys, catalogue, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    lines = said(capsys).splitlines()
    assert max(map(len, lines)) <= 80
    names = {case.convention_id.partition("/")[2] for case in catalogue.cases if case.convention_id}
    assert names <= set(lines)


def test_undocumented_answers_are_marked(capsys):
    table = " ".join(said(capsys, "--question", "max_pool/*").split())
    assert re.search(r"window: [^:]*\btorch\.nn,", table)
    assert re.search(r"passed-over: [^:]*\bmxnet\.npx°,", table)


def test_one_question_is_printed_in_full(capsys):
    text = said(capsys, "--question", "max_pool/stride-when-none-is-given", "--surface", "torch.nn")
    assert "window: the result with stride [3, 3]" in text
    assert "torch.nn: window" in text
    assert "Default value is" in text
    assert "https://docs.pytorch.org/" in text


def test_filters_that_match_nothing_are_reported(capsys):
    assert "no selected surface answers" in said(capsys, "--question", "nope/*", status=3)


def test_results_stand_beside_what_is_declared(tmp_path, capsys, fake_registry):
    known = fake_registry(
        surface("a", WINDOW, declarations=declares("window")),
        surface("b", ONE, declarations=declares("window")),
        surface("c", ONE),
    )
    again = QUESTION.replace("id: q, ", "id: r, question: q, ")
    file, results = run(tmp_path, known, QUESTION, again)
    text = said(capsys, results, "--cases", file, "--question", "*")
    assert "observed: one (max_pool/r)" in text
    found = json.loads(said(capsys, results, "--cases", file, "--format", "json"))["questions"]
    answers = found[0]["surfaces"]
    assert [(answers[name]["observed"], answers[name]["agrees"]) for name in "abc"] == [
        ("window", True),
        ("one", False),
        ("one", False),
    ]
    assert found[0]["cases"] == ["max_pool/q", "max_pool/r"]
    page = said(capsys, results, "--cases", file, "--format", "markdown")
    assert "| q | window | window !one | none declared !one |" in page


def test_surface_that_answers_twice_contradicts_itself(tmp_path):
    catalogue = load(tmp_path, QUESTION, section="questions")
    (found,) = find_conventions(catalogue.cases, {("max_pool/q", "numpy.loops"): {"a": "one", "b": "window"}})
    assert found.answers_by_surface["numpy.loops"].observed == CONTRADICTORY_ANSWERS
    assert found.answers_by_surface["numpy.loops"].matches_declaration is False


def test_json_is_what_its_schema_says(capsys):
    data = json.loads(said(capsys, "--format", "json"))
    schema = json.loads((DOCS / "conventions.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(data)
    one = {question["id"]: question for question in data["questions"]}["max_pool/stride-when-none-is-given"]
    assert one["surfaces"]["torch.nn"]["source"]["version"]
    assert one["surfaces"]["torch.nn"]["observed"] is None


def test_results_that_cannot_be_read_are_one_line(tmp_path, capsys):
    path = tmp_path / "no.jsonl"
    assert str(path) in said(capsys, str(path), status=2)


def test_there_are_thirty_questions_each_with_a_sentence_and_a_source(catalogue):
    found = find_conventions(catalogue.cases)
    assert len(found) >= 30
    for question in found:
        assert question.cases[0].id == question.id
        assert question.cases[0].about.endswith((".", "?"))
        assert question.cases[0].source


def test_page_is_current(capsys):
    page = (DOCS / "conventions.md").read_text("utf-8")
    made = said(capsys, "--format", "markdown")
    assert made == page, "conformance conventions --format markdown > docs/conventions.md"


def test_an_answer_that_depends_on_the_processor_is_said_with_the_feature(monkeypatch, capsys):
    declaration = Declaration("window", observed="1.0", cpu={"avx512_fp16": "one"})
    monkeypatch.setattr(registry, "backend_names", lambda: ["fake"])
    speaking = surface("s", declarations={"max_pool/stride-when-none-is-given": declaration})
    monkeypatch.setattr(registry, "get_backend", lambda *_: backend(speaking))
    assert "window (one with avx512_fp16)" in said(capsys, "--format", "markdown")
    found = json.loads(said(capsys, "--format", "json", "--question", "max_pool/stride-when-none-is-given"))
    assert found["questions"][0]["surfaces"]["s"]["cpu"] == {"avx512_fp16": "one"}


def test_answers_on_other_processors_are_returned_by_surface_also_with_a_label(fake_registry):
    on_avx = Declaration("window", observed="1.0", cpu={"avx512f": "one"})
    fake_registry(surface("a", declarations={"max_pool/q": on_avx, "max_pool/r": Declaration("own")}), surface("b"))
    found = {"max_pool/q": {"avx512f": "one"}}
    assert processor_answers(["a", "b", "a@old", "unknown"]) == {"a": found, "b": {}, "a@old": found}
