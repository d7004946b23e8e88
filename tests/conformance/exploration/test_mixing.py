"""Mixed candidates: each has some levels of a shrunk case, and others of new draws."""

from dataclasses import replace
from itertools import count

import pytest

from conformance.cases.compositions import plan_steps
from conformance.exploration.candidate import Candidate, FollowingPool
from conformance.exploration.draws.invalid_calls import violations_for
from conformance.exploration.mixing import MIXED_CANDIDATES, mixed_candidates
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace, is_affordable

LEVELS = {
    "rank": 1, "batch": 2, "channels": 3, "extent": (7,), "window": (3,), "stride": (2,), "padding": ((1, 0),),
    "dilation": (2,), "rounding": "floor", "values": "integers", "dtype": "float16",
}  # fmt: skip
INPUTS = {"x": {"values": "integers"}}


@pytest.fixture(scope="module")
def space(sweeps):
    return OperatorSpace.from_sweeps("max_pool", sweeps)


def test_mixed_candidates_are_different_affordable_and_always_the_same(space):
    mixed = list(mixed_candidates(Candidate("max_pool", LEVELS, INPUTS), space))
    assert len(mixed) == len({one.name for one in mixed}) == MIXED_CANDIDATES
    assert all(map(is_affordable, mixed))
    again = mixed_candidates(Candidate("max_pool", LEVELS, INPUTS), space)
    assert [one.name for one in again] == [one.name for one in mixed]


@pytest.mark.parametrize("name", ["batch", "channels", "dtype", "stride", "dilation"])
def test_each_level_is_kept_in_some_candidates_only(space, name):
    smallest = Candidate("max_pool", LEVELS, INPUTS)
    mixed = list(mixed_candidates(smallest, space))
    kept = sum({*one.per_axis(name)} == {*LEVELS[name]} if name in {"stride", "dilation"} else
               one.levels[name] == LEVELS[name] for one in mixed)  # fmt: skip
    assert MIXED_CANDIDATES / 3 < kept < MIXED_CANDIDATES * 0.95


def test_numbers_of_the_shrunk_case_are_in_some_candidates_in_another_order(space):
    smallest = Candidate("max_pool", {**LEVELS, "extent": (5,)}, INPUTS)
    smallest = smallest.with_numbers(x=[[[float("nan"), 77, 0, 1, 2]] * 3] * 2)
    mixed = list(mixed_candidates(smallest, space))
    with_number = [one for one in mixed if "77" in str(one.written_numbers.get("x"))]
    assert MIXED_CANDIDATES / 4 < len(with_number) < MIXED_CANDIDATES
    assert len({one.case.shape for one in with_number}) > 5


def test_no_operator_reads_the_output_of_an_invalid_call(space):
    smallest = Candidate("max_pool", LEVELS, INPUTS, following=FollowingPool("avg_pool", 2))
    mixed = list(mixed_candidates(smallest, space))
    assert {bool(one.violation) for one in mixed if not one.following} == {True, False}
    for one in mixed:
        if one.following:
            assert len(plan_steps(one.case)) == 2
    violation = next(one.violation for one in mixed if one.violation)
    assert violation.name in violations_for("max_pool")
    assert not replace(smallest, violation=violation).is_valid()
    assert replace(smallest, violation=violation, following=None).is_valid()


def test_a_draw_is_repeated_after_hundreds_of_invalid_ones(space, monkeypatch):
    draw_once, attempts = OperatorSpace._draw_once, count()
    monkeypatch.setattr(
        OperatorSpace, "_draw_once", lambda *given, **more: draw_once(*given, **more) if next(attempts) > 1000 else None
    )
    assert is_affordable(space.draw(Rng("rarely valid")))
