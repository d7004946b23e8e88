"""The gravity of differences."""

import pytest
from msgspec.structs import replace

from reports.analysis.gravity import GRAVITY_OF_KINDS, GRAVITY_RANKS, Gravity, gravity_of
from reports.analysis.summary import KIND_ACTIONS
from reports.results import Outcome, load_report
from tests.support import example_results as example


def test_every_kind_of_difference_has_a_gravity():
    assert set(GRAVITY_OF_KINDS) == set(KIND_ACTIONS)


@pytest.mark.parametrize(
    ("case", "surface", "gravity"),
    [
        ("avg_pool/three-channels", "beta.book", Gravity.CRASH),
        ("avg_pool/large", "beta.keras.layers", Gravity.HANG),
        ("max_pool/nan-in-the-window", "beta.keras.layers", Gravity.FLAKY),
        ("max_pool/window-larger-than-input", "beta.book", Gravity.ACCEPTS),
        ("conv/edge-detector", "beta.keras.layers", Gravity.STALE),
        ("max_pool/padding-recipe-on-negative-input", "beta.book", Gravity.VALUE),
    ],
)
def test_gravity_follows_from_kind_outcome_and_status(tmp_path, case, surface, gravity):
    report = load_report(example.write(tmp_path, example.beta()))
    [backend] = report.backends
    found = {
        gravity_of(one, backend.cases[case]) for one in report.results if (one.case, one.surface) == (case, surface)
    }
    assert found == {gravity}


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.TIMED_OUT])
def test_crash_of_a_call_that_must_be_rejected_is_less_grave_than_a_wrong_number(tmp_path, outcome):
    report = load_report(example.write(tmp_path, example.beta()))
    [backend] = report.backends
    case = backend.cases["max_pool/window-larger-than-input"]
    accepted = next(one for one in report.results if (one.case, one.surface) == (case.case, "beta.book"))
    result = replace(accepted, outcome=outcome, kind=None)
    assert gravity_of(result, case) == Gravity.INVALID_CALL
    valid = backend.cases["max_pool/padding-recipe-on-negative-input"]
    assert gravity_of(result, valid) in (Gravity.CRASH, Gravity.HANG)
    assert GRAVITY_RANKS[Gravity.VALUE] < GRAVITY_RANKS[Gravity.INVALID_CALL] < GRAVITY_RANKS[Gravity.ACCEPTS]
