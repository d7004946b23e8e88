"""The known deviations of the framework in which a model was made."""

import pytest
from packaging.specifiers import SpecifierSet

from conformance.catalogue.describe import surfaces_by_name
from conformance.judging.ledger import Ledger, LedgerEntry, load_ledger
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


@pytest.mark.parametrize(("p", "is_known"), [(1.5, True), (2, False), (3, False)])
def test_a_fractional_power_of_negative_numbers_is_a_deviation(p, is_known):
    """torch.nn.functional.lp_pool2d raises the numbers themselves to p; a negative one gives NaN."""
    torch = surfaces_by_name()["torch.nn.functional"][1]
    layer = ModelLayer("p", "lp_pool", {"window": (2,), "stride": (2,), "p": p}, (1, 2, 8))
    case = questions_of(checked_layer(layer))[0].candidate.case
    found = source_framework(torch, Ledger(()), {}).deviation(case)
    assert (found is not None and "not even" in found.reason) is is_known


@pytest.mark.parametrize(
    ("window", "stride", "extent", "is_known"), [(3, 2, 112, False), (2, 2, 112, True), (64, 1, 64, True)]
)
def test_nan_in_many_numbers_is_lost_by_xla_unless_windows_overlap(window, stride, extent, is_known):
    jax = surfaces_by_name()["jax.lax"][1]
    parameters = {"window": (window,) * 2, "stride": (stride,) * 2, "dilation": (1, 1), "rounding": "floor"}
    layer = ModelLayer("p", "max_pool", parameters | {"padding": ((0, 0), (0, 0))}, (1, 8, extent, extent))
    framework = source_framework(jax, load_ledger(), {})
    cases = {str(one.numbers): one.candidate.case for one in questions_of(checked_layer(layer))}
    assert (framework.deviation(cases["NaN"], ["avx2"]) is not None) is is_known
