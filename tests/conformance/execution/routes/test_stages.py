"""The part of a route that changes a result, on a route of NumPy programs."""

import json
import sys
from dataclasses import replace

import pytest

from conformance.adapters.api import RouteStages
from conformance.execution.job import Limits
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.judging.ledger import Ledger, LedgerEntry
from reports.results import Part
from tests.support.fake_backends import backend, declares, load, right_maximum, surface

CASE = "id: a, x: {values: arange, shape: [1, 1, 4, 4]}, window: 2"
QUESTION = (
    "id: q, about: Which answer?, x: {values: arange, shape: [1, 1, 4, 4]}, window: 2, "
    "answers: {right: {}, less: {values: [[[[4, 6], [12, 14]]]]}}"
)
RIGHT, WRONG, LESS, REFUSES = "", "x = x + 7", "x = x - 1", "raise ValueError('no such operator')"


def route(runtime, *, source=RIGHT, export=RIGHT, evaluator=RIGHT, is_independent=True, mode=""):
    """Return a route whose stages add lines to the correct maximum. An export also runs in the later stages.

    mode: statements that set the mode of every process.
    """

    def with_lines(*further):
        def lowering(step):
            return (*right_maximum(step), *(line for line in further if line))

        return replace(surface("exporter→runtime"), lowerings={"max_pool": lowering}, select_mode=lambda _: mode)

    stages = RouteStages(
        "source",
        "runtime",
        source=with_lines(source),
        export=with_lines(source, export),
        evaluator=None if evaluator is None else with_lines(source, export, evaluator),
        is_independent=is_independent,
    )
    return replace(with_lines(source, export, runtime), route=stages)


def result(tmp_path, surface_of_route, case=CASE, entries=(), section="cases"):
    path = tmp_path / "fake.jsonl"
    options = RunOptions(limits=Limits(case_seconds=5))
    run = Run(
        backend(surface_of_route),
        load(tmp_path, case, section=section),
        Ledger(tuple(entries)),
        options,
        python=sys.executable,
    )
    run.execute(path)
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return next(record for record in records if record["record"] == "result")


@pytest.mark.parametrize(
    ("route_of_case", "part"),
    [
        (route(RIGHT), None),
        (route(RIGHT, source=WRONG), Part.SOURCE),
        (route(RIGHT, export=WRONG), Part.EXPORTER),
        (route(WRONG), Part.RUNTIME),
        (route(WRONG, evaluator=LESS), Part.EXPORTER_OR_RUNTIME),
        (route(WRONG, evaluator=REFUSES), Part.EXPORTER_OR_RUNTIME),
        (route(WRONG, evaluator=WRONG), Part.EXPORTER),
        (route(WRONG, evaluator=WRONG, is_independent=False), Part.EXPORTER_OR_RUNTIME),
        (route(WRONG, evaluator=None), Part.EXPORTER_OR_RUNTIME),
    ],
)
def test_first_part_that_is_not_right_changes_a_value(tmp_path, route_of_case, part):
    found = result(tmp_path, route_of_case)
    assert found.get("changed_by") == part
    assert found["status"] == ("pass" if part is None else "fail")


@pytest.mark.parametrize(
    ("route_of_case", "part"),
    [
        (route(RIGHT, export=REFUSES), Part.EXPORTER),
        (route(REFUSES), Part.RUNTIME),
        (route(RIGHT, source=WRONG, export=REFUSES), Part.EXPORTER),
    ],
)
def test_exception_of_a_part_is_refused(tmp_path, route_of_case, part):
    found = result(tmp_path, route_of_case)
    assert (found["status"], found["changed_by"]) == ("refused", part)
    assert found["reason"] == f"refused by the {part}: ValueError: no such operator"


def test_stages_run_in_the_mode_of_their_program(tmp_path):
    needs_mode = "x = x + number_of_the_mode"
    found = result(tmp_path, route(WRONG, source=needs_mode, mode="number_of_the_mode = 0\n"))
    assert found["changed_by"] == Part.RUNTIME


def test_exception_of_the_source_fails(tmp_path):
    assert result(tmp_path, route(RIGHT, source=REFUSES))["status"] == "fail"


def test_ledger_entry_of_the_source_applies_to_what_the_source_changes(tmp_path):
    entry = LedgerEntry("e", ("*",), ("source",), ("value",), "it is known", None, {})
    assert result(tmp_path, route(RIGHT, source=WRONG), entries=[entry])["status"] == "known"
    assert result(tmp_path, route(WRONG), entries=[entry])["status"] == "fail"
    assert result(tmp_path, route(RIGHT), entries=[entry])["status"] == "pass"


@pytest.mark.parametrize(
    ("route_of_case", "status"),
    [
        (route(WRONG), "known"),
        (route(WRONG, evaluator=None), "known"),
        (route(RIGHT, export=WRONG), "fail"),
        (route(RIGHT, source=WRONG), "fail"),
        (route(RIGHT), "pass"),
    ],
)
def test_ledger_entry_of_the_runtime_applies_to_what_the_runtime_may_change(tmp_path, route_of_case, status):
    entry = LedgerEntry("e", ("*",), ("runtime",), ("value",), "it is known", None, {})
    assert result(tmp_path, route_of_case, entries=[entry])["status"] == status


def test_ledger_entry_of_the_runtime_is_not_stale_where_the_route_agrees_with_its_declaration(tmp_path):
    entry = LedgerEntry("e", ("*",), ("runtime",), ("convention",), "it is known", None, {})
    declared = replace(route(LESS), declarations=declares("less"))
    found = result(tmp_path, declared, QUESTION, entries=[entry], section="questions")
    assert (found["status"], found["changed_by"]) == ("pass", "runtime")


@pytest.mark.parametrize(
    ("route_of_case", "part"),
    [
        (route(RIGHT, source=LESS), None),  # the answer of the source
        (route(RIGHT, export=LESS), Part.EXPORTER),
        (route(LESS), Part.RUNTIME),
        (route(REFUSES), Part.RUNTIME),
        (route(LESS, evaluator=WRONG), Part.EXPORTER_OR_RUNTIME),
    ],
)
def test_answer_to_a_convention_is_compared_with_that_of_the_source(tmp_path, route_of_case, part):
    assert result(tmp_path, route_of_case, QUESTION, section="questions").get("changed_by") == part
