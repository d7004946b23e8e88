"""The known deviations of the framework in which a model was made."""

import pytest
from packaging.specifiers import SpecifierSet

from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.models.geometry import checked_layer
from conformance.models.layer import ModelLayer
from conformance.models.questions import questions_of
from conformance.models.source_framework import source_framework
from tests.support.fake_backends import surface

SOURCE = surface("fake.source")
POOL = ModelLayer(
    "pool",
    "max_pool",
    {"window": (3,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "rounding": "ceil"},
    (1, 2, 8),
)


def entry(**changes):
    fields = {"cases": (), "surfaces": ("fake.*",), "kinds": ("value",), "reason": "It drops a cell.", "selector": {}}
    return LedgerEntry("drops", **{**fields, "selector": {"rounding": ("ceil",)}, **changes})


def deviation(one, versions=None):
    case = questions_of(checked_layer(POOL))[0].candidate.case
    return source_framework(SOURCE, Ledger((one,)), versions or {}).deviation(case)


def test_an_entry_for_the_layer_is_a_deviation():
    assert deviation(entry()).id == "drops"
    assert deviation(entry(selector={"rounding": ("floor",)})) is None
    assert deviation(entry(surfaces=("other.*",))) is None


def test_the_selector_for_generated_cases_counts():
    assert deviation(entry(cases=("max_pool/one",), exploration_selector={"partial": (True,)})).id == "drops"


@pytest.mark.parametrize("kind", ["crashed", "rejected", "convention", "flaky"])
def test_a_call_that_fails_is_no_other_result(kind):
    assert deviation(entry(kinds=(kind,))) is None


def test_the_version_counts_if_it_is_known():
    one = entry(versions={"fake": SpecifierSet("<=2"), "other": SpecifierSet("<1")})
    assert deviation(one) is not None
    assert deviation(one, {"fake": "1.5"}) is not None
    assert deviation(one, {"fake": "3.0"}) is None
