"""Tests of conformance.exploration.shrinking."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from conformance.cases.case import Rejected
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from conformance.execution.worker_process import Worker
from conformance.exploration.draws.invalid_calls import Violation, violations_for
from conformance.exploration.evaluation import make_requests
from conformance.exploration.oracles import ReferenceOracle, evaluate
from conformance.exploration.rng import Rng
from conformance.exploration.shrinking import shrink
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import Symptom
from reports.results.vocabulary import DifferenceKind, Outcome
from tests.support.nightly import NIGHTLY
from tests.support.planted_evaluator import evaluator_of


def test_shrinking_reaches_the_smallest_candidate_that_differs(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)

    def differs(candidates):
        return [max(one.per_axis("window")) > 1 and max(one.per_axis("stride")) > 2 for one in candidates]

    for number in range(8):
        drawn = next(one for seed in range(999) if differs([one := space.draw(Rng(number, seed))])[0])
        smallest = shrink(drawn, differs)
        assert sorted(smallest.non_default_factors()) == ["stride", "window"]
        assert (smallest.per_axis("window"), smallest.per_axis("stride"), smallest.rank) == ((2,), (3,), 1)
        assert smallest.written_numbers["x"] == [[[0.0, 0.0]]]


def has_tie(candidate):
    """Check whether the largest number of a window occurs twice in it."""
    x, step = candidate.case.inputs["x"].make(), case_step(candidate.case)
    if any(map(any, step.padding)) or max(step.dilation) > 1:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(x, step.window, axis=tuple(range(2, x.ndim)))
    flat = windows.reshape(-1, math.prod(step.window))
    return bool(((flat == flat.max(axis=1, keepdims=True)).sum(axis=1) > 1).any())


def test_shrinking_removes_numbers_that_are_not_needed(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    drawn = (space.draw(Rng("ties", number)).valid for number in range(999))
    tied = list(itertools.islice((one for one in drawn if one.levels["dtype"] == "float32" and has_tie(one)), 8))
    smallest = [shrink(one, lambda candidates: list(map(has_tie, candidates))) for one in tied]
    assert [one.written_numbers["x"] for one in smallest] == [[[[0.0, 0.0]]]] * 8
    assert {one.per_axis("window") for one in smallest} == {(2,)}


@pytest.mark.usefixtures("planted")
def test_a_crash_is_not_repeated_while_shrinking(sweeps, monkeypatch):
    def run_again(*_):
        raise AssertionError("run again")

    space = OperatorSpace.from_sweeps("conv", sweeps)
    drawn = [space.draw(Rng("crash", number)) for number in range(150)]
    with evaluator_of("crash-of-two-channels-for-one") as evaluator:
        results = (one for one in evaluator.evaluate(make_requests(ReferenceOracle(), drawn)) if one.surface_results)
        first = next(one.candidate for one in results if one.surface_results[0].status == "crashed")
        monkeypatch.setattr(Worker, "_run_in_new_process", run_again)
        (once,) = evaluate(evaluator, Symptom(Outcome.CRASHED, "signal"), [first])
        assert once.surface_results[0].status == "crashed"
        with pytest.raises(AssertionError, match="run again"):
            evaluate(evaluator, Symptom(DifferenceKind.VALUE), [first])


def differing_draw(space, differs, *seeds):
    return next(one for seed in range(999) if differs([one := space.draw(Rng(*seeds, seed)).valid])[0])


def test_an_odd_number_of_channels_shrinks_to_three(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)

    def differs(candidates):
        return [one.levels["channels"] % 2 == 1 < one.levels["channels"] for one in candidates]

    assert (
        shrink(
            differing_draw(space, lambda c: [c[0].levels["channels"] > 30 and differs(c)[0]], "odd"), differs
        ).levels["channels"]
        == 3
    )


def test_a_pad_as_wide_as_its_axis_shrinks_together_with_it(sweeps):
    space = OperatorSpace.from_sweeps("pad", sweeps)

    def differs(candidates):
        axes = [list(zip(one.per_axis("extent"), one.per_axis("pads"), strict=True)) for one in candidates]
        return [any(pair[0] == extent for extent, pair in some) for some in axes]

    drawn = differing_draw(space, lambda c: [max(c[0].per_axis("extent")) in range(5, 10) and differs(c)[0]], "wide")
    smallest = shrink(drawn, differs)
    assert (smallest.per_axis("extent"), smallest.per_axis("pads")) == ((1,), ((1, 0),))


def test_cases_with_draws_are_cut(sweeps):
    space = OperatorSpace.from_sweeps("stochastic_pool", sweeps)

    def differs(candidates):
        return [bool((one.case.inputs["draws"].make() == 0).any()) and one.is_valid() for one in candidates]

    drawn = differing_draw(space, lambda c: [c[0].case.inputs["draws"].shape[-1] > 1 and differs(c)[0]], "draws")
    assert math.prod(shrink(drawn, differs).case.inputs["draws"].shape) == 1


def test_an_invalid_call_shrinks_to_the_boundary_of_its_violation(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    valid = (space.draw(Rng("boundary", seed)).valid for seed in range(99))
    violation = Violation("WindowExceedsPaddedInput", 0, 1000)
    drawn = next(one for some in valid if (one := replace(some, following=None, violation=violation)).is_valid())
    smallest = shrink(drawn, lambda candidates: [one.violation is not None for one in candidates])
    assert (smallest.case.parameters["window"], smallest.case.shape) == ((2,), (1, 1, 1))


# Every number of groups divides the outputs of a transposed convolution: they are its multiple.
NEVER_DRAWN = {
    ("fractional_max_pool", "WindowExceedsPaddedInput"),
    *((operator, "GroupsDoNotDivideOutputs") for operator in ("conv_transpose", "conv_transpose_grad")),
}
INVALID_CALLS = [(operator, name) for operator in OPERATORS for name in violations_for(operator)]
DRAWN_CALLS = [one for one in INVALID_CALLS if one not in NEVER_DRAWN]


@pytest.mark.parametrize(("operator", "name"), DRAWN_CALLS if NIGHTLY else DRAWN_CALLS[::5], ids=lambda value: value)
def test_every_invalid_call_shrinks_to_an_invalid_call(sweeps, operator, name):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    valid = (space.draw(Rng("shrink", seed)).valid for seed in range(999))
    changed = (replace(one, following=None, array_use="", violation=Violation(name)) for one in valid)
    drawn = next(one for one in changed if one.is_valid())
    smallest = shrink(drawn, lambda candidates: [isinstance(one.case.expect, Rejected) for one in candidates])
    assert smallest.case.expect.violation == name
    assert smallest.shrink_key <= drawn.shrink_key
