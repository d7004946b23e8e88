"""Surfaces that give their declared answer in the case of a convention, and another one in a variant."""

import sys
from dataclasses import replace

import pytest

from conformance.adapters.api import Declaration, Unsupported
from conformance.catalogue import loading
from conformance.execution.job import Limits
from conformance.exploration.declared_answers.comparison import Count, compare_declared_answers
from conformance.exploration.declared_answers.variants import variants_of
from conformance.exploration.evaluation import LocalEvaluator
from conformance.judging.ledger import Ledger
from tests.support.fake_backends import backend, declares, right_maximum, surface

CONVENTION = "max_pool/window-of-nan"
WITHOUT_NAN = "x = np.where(np.isnan(x), -np.inf, x).astype(x.dtype)"


def compared(*lines, answer="nan", cases=(), **keywords):
    """Return the comparison of the correct maximum, followed by lines that change it, in the case of a convention."""
    (case,) = [one for one in loading.load_convention_cases("max_pool") if one.id == CONVENTION]
    fake = surface("fake.surface", **{"declarations": declares(answer, CONVENTION), **keywords})
    fake.lowerings["max_pool"] = lambda step: (*right_maximum(step), *lines)
    with LocalEvaluator(backend(fake), sys.executable, Ledger(), limits=Limits(10), jobs=1) as evaluator:
        return compare_declared_answers(evaluator, cases or [case])


def test_a_surface_that_gives_its_answer_in_every_variant_has_no_contradictions():
    found = compared()
    assert not found.contradictions
    assert found.counts[Count.AGREED] > 20


@pytest.mark.parametrize(
    ("condition", "part"),
    [("x.shape[1] > 4", "channel"), ("x.ndim > 4", "rank 3"), ("x.dtype == np.float64", "float64")],
)
def test_an_answer_that_depends_on_a_condition_is_contradicted_where_it_holds(condition, part):
    found = compared(f"if {condition}:", f"    {WITHOUT_NAN}")
    assert found.contradictions
    assert all(part in one.variant for one in found.contradictions)
    assert {one.observed for one in found.contradictions} == {"minus-infinity"}
    assert {one.declared for one in found.contradictions} == {"nan"}
    assert found.counts[Count.AGREED] > 0


def test_an_answer_within_the_declared_condition_is_no_contradiction():
    condition = Declaration("nan", depends_on="the dtype", by_case={f"{CONVENTION}-in-float64": "minus-infinity"})
    lines = ("if x.dtype == np.float64:", f"    {WITHOUT_NAN}")
    found = compared(*lines, declarations={CONVENTION: condition})
    assert not found.contradictions
    assert found.counts[Count.WITHIN_CONDITION] == 1


def test_a_variant_with_the_call_of_another_case_is_not_compared():
    (case,) = [one for one in loading.load_convention_cases("max_pool") if one.id == CONVENTION]
    variant = next(one for one in variants_of(case) if one.name == "float64")
    alone, both = compared(), compared(cases=[case, replace(variant.case, id=f"{CONVENTION}-in-float64")])
    names = [*variants_of(case), *variants_of(variant.case)]
    assert sum(alone.counts.values()) == len(list(variants_of(case)))
    assert sum(both.counts.values()) < len(names)


def test_parts_with_several_answers_are_observed_together():
    found = compared("if x.shape[0] > 1:", "    x[0] = -np.inf")
    assert "minus-infinity, nan" in {one.observed for one in found.contradictions}


def test_a_crash_is_an_observed_answer():
    found = compared("if x.dtype == np.float64:", "    os.abort()")
    assert [one.observed for one in found.contradictions] == ["crashed"]


def test_a_surface_is_not_compared_if_it_has_another_answer_in_the_case_itself():
    found = compared(answer="minus-infinity")
    assert not found.contradictions
    assert not found.counts[Count.AGREED]


def test_dtypes_that_the_surface_does_not_support_are_not_compared():
    found = compared(
        "if x.dtype == np.float64:", f"    {WITHOUT_NAN}", unsupported_dtypes={"": {"float64": Unsupported("no")}}
    )
    assert not found.contradictions


def test_a_rejection_in_another_dtype_is_no_answer():
    found = compared("if x.dtype == np.float64:", "    raise ValueError('no float64')")
    assert not found.contradictions
    assert found.counts[Count.UNSUPPORTED] > 0


@pytest.mark.parametrize(("dtype", "is_answer"), [("float32", True), ("float64", False)])
def test_a_rejection_with_more_axes_is_an_answer_in_float32_only(dtype, is_answer):
    """A framework may support a dtype for fewer axes than float32."""
    convention = "max_pool/empty-channels"
    (case,) = [one for one in loading.load_convention_cases("max_pool") if one.id == convention]
    if dtype != case.dtype:
        case = next(one.case for one in variants_of(case) if one.name == dtype)
    rejected = ("if x.ndim > 4:", "    raise ValueError('no volumes')")
    found = compared(*rejected, cases=[case], declarations=declares("accepted", convention))
    assert {one.observed for one in found.contradictions} == ({"rejected"} if is_answer else set())
    assert found.counts[Count.AGREED] > 0
