"""The gravity of differences."""

import pytest

from reports.analysis.gravity import GRAVITY_OF_KINDS, Gravity, gravity_of
from reports.analysis.summary import KIND_ACTIONS
from reports.results import load_report
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
    assert {gravity_of(one) for one in report.results if (one.case, one.surface) == (case, surface)} == {gravity}
