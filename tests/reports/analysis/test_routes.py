"""Summaries of routes: counts, conventions, changes and refusals, and their files."""

import json
from dataclasses import dataclass

import pytest

from reports.analysis.routes import (
    Arrival,
    ArrivalCounts,
    ChangeGroup,
    ConventionArrival,
    OperatorArrivals,
    arrival,
    read_route,
    route_file_name,
    route_json,
    route_summaries,
)
from reports.results import Outcome, Part, RecordError, load_report
from tests.support import example_results as example

ROUTE, OTHER_ROUTE = "alpha→one", "alpha→two"
VALUE, QUESTION, REJECTED = "max_pool/stride-2-padding-1", "avg_pool/divisor-at-the-border", "avg_pool/three-channels"
CONVENTION = "avg_pool-divisor-at-the-border"
WORST = {"index": [0, 0], "expected": 1, "got": 2, "absolute": 1, "ulp": 1}
LEDGER = {"status": "known", "reason": "The exporter leaves the divisor out.", "issue": "https://example.org/issues/2"}


def summaries(folder, *records, **changes):
    run = example.run("routes", [ROUTE, OTHER_ROUTE], records, **changes)
    return route_summaries(load_report(example.write(folder, run)))


def changed(part, case=VALUE, **changes):
    got = example.array([1], [1, 1, 1, 1])
    return example.differing(case, ROUTE, got, WORST, changed_by=part, **changes)


def refused(surface, part, case=REJECTED, message="SomeError: no kernel"):
    judged = {"status": "refused", "verdict": "differ", "kind": "rejected", "changed_by": part}
    return example.rejected(case, surface, **judged, message=message, reason="refused")


@dataclass
class OneResult:
    outcome: Outcome
    changed_by: Part | None = None


@pytest.mark.parametrize(
    ("outcome", "part", "expected"),
    [
        (Outcome.RETURNED, None, Arrival.UNCHANGED),
        (Outcome.RETURNED, Part.SOURCE, Arrival.UNCHANGED),
        (Outcome.RETURNED, Part.EXPORTER, Arrival.CHANGED),
        (Outcome.CRASHED, Part.RUNTIME, Arrival.CHANGED),
        (Outcome.REJECTED, Part.EXPORTER_OR_RUNTIME, Arrival.REFUSED),
        (Outcome.UNSUPPORTED, None, Arrival.NOT_WRITTEN),
    ],
)
def test_arrival_follows_from_the_outcome_and_the_part(outcome, part, expected):
    assert arrival(OneResult(outcome, part)) == expected


def test_results_without_a_route_have_no_summary(tmp_path):
    assert not route_summaries(load_report(example.write(tmp_path, example.alpha())))


def test_route_without_results_has_no_summary(tmp_path):
    assert [one.route for one in summaries(tmp_path, example.result(VALUE, OTHER_ROUTE))] == [OTHER_ROUTE]


def test_operators_are_counted_by_dtype_and_by_what_became_of_the_result(tmp_path):
    (one,) = summaries(
        tmp_path,
        changed("exporter"),
        refused(ROUTE, "runtime"),
        example.result("conv/wraps-in-int64", ROUTE),
        example.unsupported("conv/edge-detector", ROUTE),
        example.unsupported("max_pool/nan-in-the-window", ROUTE),
    )
    assert one.operators == (
        OperatorArrivals(operator="avg_pool", float32=ArrivalCounts(refused=1)),
        OperatorArrivals(operator="conv", float32=ArrivalCounts(not_written=1), other=ArrivalCounts(unchanged=1)),
        OperatorArrivals(operator="max_pool", float32=ArrivalCounts(changed=1, not_written=1)),
    )
    assert one.total("float32") == ArrivalCounts(refused=1, changed=1, not_written=2)
    assert one.cases == 5


def test_operator_without_a_program_is_left_out(tmp_path):
    (one,) = summaries(tmp_path, example.unsupported("conv/edge-detector", ROUTE))
    assert not one.operators


def test_calls_that_are_rejected_without_the_route_are_not_counted(tmp_path):
    records = example.rejected("max_pool/window-larger-than-input", ROUTE), example.rejected(QUESTION, ROUTE)
    (one,) = summaries(tmp_path, *records)
    assert not one.operators


def test_conventions_have_the_answer_of_the_source_or_others_with_their_cause(tmp_path):
    answers = [
        example.convention(surface, None, observed, "undocumented")
        for surface, observed in ((ROUTE, "whole-window"), (OTHER_ROUTE, "real-cells"))
    ]
    first, second = summaries(
        tmp_path, *answers, example.result(QUESTION, ROUTE, changed_by="runtime"), example.result(QUESTION, OTHER_ROUTE)
    )
    assert first.conventions == (ConventionArrival(convention=CONVENTION, changed=("whole-window (runtime)",)),)
    assert second.conventions == (ConventionArrival(convention=CONVENTION, same=True),)


def test_changes_are_grouped_by_operator_and_reason_with_the_smallest_case(tmp_path):
    (one,) = summaries(
        tmp_path, changed("exporter", **LEDGER), changed("runtime", "max_pool/nan-in-the-window", **LEDGER)
    )
    assert one.changes == (
        ChangeGroup(
            operator="max_pool",
            text=LEDGER["reason"],
            issue=LEDGER["issue"],
            results=2,
            parts=(Part.EXPORTER, Part.RUNTIME),
            case="max_pool/nan-in-the-window",
            size=8,
        ),
    )
    assert not one.refusals


def test_change_that_the_ledger_does_not_explain_has_no_text(tmp_path):
    (one,) = summaries(tmp_path, changed("exporter"))
    assert [group.text for group in one.changes] == [""]


def test_changed_answer_to_a_convention_is_no_changed_value(tmp_path):
    (one,) = summaries(tmp_path, changed("exporter", QUESTION))
    assert not one.changes


def test_refusals_are_grouped_by_exception_with_a_message(tmp_path):
    (one,) = summaries(tmp_path, refused(ROUTE, "runtime"), refused(ROUTE, "exporter", VALUE, "OtherError: x"))
    assert [(group.operator, group.text, group.results) for group in one.refusals] == [
        ("avg_pool", "SomeError", 1),
        ("max_pool", "OtherError", 1),
    ]
    assert one.refusals[0].message == "no kernel"


def test_message_has_no_path_of_a_machine(tmp_path):
    message = "SomeError: [ONNXRuntimeError] : 9 : /build/source/a.cc:12 in void f() failed"
    (one,) = summaries(tmp_path, refused(ROUTE, "runtime", message=message))
    assert one.refusals[0].message == "[ONNXRuntimeError] : 9 : … in void f() failed"


def test_run_with_a_filter_of_cases_is_partial_and_one_of_surfaces_is_not(tmp_path):
    for selection, complete in (({"surfaces": [ROUTE]}, True), ({"cases": ["max_pool/*"]}, False)):
        selected = {"surfaces": [], "operators": [], "cases": []} | selection
        folder = tmp_path / str(complete)
        folder.mkdir()
        (one,) = summaries(folder, example.result(VALUE, ROUTE), selection=selected)
        assert one.complete is complete


def test_run_without_an_end_is_partial(tmp_path):
    (one,) = summaries(tmp_path, example.result(VALUE, ROUTE), complete=False)
    assert not one.complete


def test_file_has_the_summary(tmp_path):
    (one,) = summaries(tmp_path, changed("exporter", **LEDGER), refused(ROUTE, "runtime"))
    path = tmp_path / route_file_name(ROUTE)
    assert path.name == "alpha--one.json"
    path.write_text(route_json(one), "utf-8")
    assert read_route(path) == one


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": "all"}, "level: unknown"),
        ({"route": "alpha→three"}, "route: 'alpha→three' belongs to alpha--three.json"),
        ({"format": 2}, "format: "),
    ],
)
def test_invalid_file_is_an_error_that_names_the_key(tmp_path, change, message):
    (one,) = summaries(tmp_path, example.result(VALUE, ROUTE))
    path = tmp_path / route_file_name(ROUTE)
    path.write_text(json.dumps(json.loads(route_json(one)) | change), "utf-8")
    with pytest.raises(RecordError, match=message) as error:
        read_route(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
