"""The severity of differences."""

import pytest
from msgspec.structs import replace

from reports.analysis.severity import SEVERITY_OF_KINDS, SEVERITY_RANKS, Severity, severity_of
from reports.analysis.summary import KIND_ACTIONS
from reports.results import Outcome, load_report
from tests.support import example_results as example


def test_every_kind_of_difference_has_a_severity():
    assert set(SEVERITY_OF_KINDS) == set(KIND_ACTIONS)


@pytest.mark.parametrize(
    ("case", "surface", "severity"),
    [
        ("avg_pool/three-channels", "beta.book", Severity.CRASH),
        ("avg_pool/large", "beta.keras.layers", Severity.HANG),
        ("max_pool/nan-in-the-window", "beta.keras.layers", Severity.FLAKY),
        ("max_pool/window-larger-than-input", "beta.book", Severity.ACCEPTS),
        ("conv/edge-detector", "beta.keras.layers", Severity.STALE),
        ("max_pool/padding-recipe-on-negative-input", "beta.book", Severity.VALUE),
    ],
)
def test_severity_follows_from_kind_outcome_and_status(tmp_path, case, surface, severity):
    report = load_report(example.write(tmp_path, example.beta()))
    [backend] = report.backends
    found = {
        severity_of(one, backend.cases[case]) for one in report.results if (one.case, one.surface) == (case, surface)
    }
    assert found == {severity}


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.TIMED_OUT])
def test_crash_of_a_call_that_must_be_rejected_is_less_grave_than_a_wrong_number(tmp_path, outcome):
    report = load_report(example.write(tmp_path, example.beta()))
    [backend] = report.backends
    case = backend.cases["max_pool/window-larger-than-input"]
    accepted = next(one for one in report.results if (one.case, one.surface) == (case.case, "beta.book"))
    result = replace(accepted, outcome=outcome, kind=None)
    assert severity_of(result, case) == Severity.INVALID_CALL
    valid = backend.cases["max_pool/padding-recipe-on-negative-input"]
    assert severity_of(result, valid) in (Severity.CRASH, Severity.HANG)
    assert SEVERITY_RANKS[Severity.VALUE] < SEVERITY_RANKS[Severity.INVALID_CALL] < SEVERITY_RANKS[Severity.ACCEPTS]
