"""The schedule of operators, and candidates that no surface supports."""

import itertools
from collections import Counter

import pytest

from conformance.exploration.candidate import Candidate
from conformance.exploration.coverage import (
    DRAWS_PER_CHOICE,
    MAX_ROUNDS,
    MIN_UNSUPPORTED,
    Coverage,
    OperatorScheduler,
    SupportHistory,
)

LEVELS = {
    "rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (1,), "stride": (1,), "dilation": (1,),
    "padding": 0, "rounding": "floor", "values": "integers", "dtype": "float32",
}  # fmt: skip
FLOAT32 = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})
FLOAT16 = FLOAT32.with_levels(dtype="float16")


def turns(scheduler, novelty, count):
    drawn = []
    for _ in range(count):
        drawn.append(scheduler.next())
        scheduler.record_novelty(drawn[-1], novelty[drawn[-1]])
    return drawn


def test_operators_of_equal_novelty_take_turns():
    assert turns(OperatorScheduler(["a", "b", "c"]), {"a": 1, "b": 1, "c": 1}, 6) == ["a", "b", "c"] * 2


def test_operators_whose_candidates_are_new_get_more_turns():
    counted = Counter(turns(OperatorScheduler(["old", "new"]), {"old": 0.0, "new": 1.0}, 1000))
    assert counted["new"] > 2 * counted["old"]
    assert counted["old"] > 0


def test_operators_without_a_supported_candidate_get_few_turns():
    scheduler, counted = OperatorScheduler(["unsupported", "supported"]), Counter()
    for _ in range(1000):
        operator = scheduler.next()
        counted[operator] += 1
        if operator == "unsupported":
            scheduler.record_unsupported(operator)
        else:
            scheduler.record_novelty(operator, 0.5)
    assert 5 <= counted["unsupported"] <= 15


@pytest.mark.parametrize(("count", "is_unsupported"), [(MIN_UNSUPPORTED - 1, False), (MIN_UNSUPPORTED, True)])
def test_a_factor_kind_that_was_never_supported_is_unsupported(count, is_unsupported):
    history = SupportHistory()
    for _ in range(count):
        history.record(FLOAT32, is_supported=True)
        history.record(FLOAT16, is_supported=False)
    assert history.is_unsupported(FLOAT16) == is_unsupported
    assert not history.is_unsupported(FLOAT32)
    assert not history.is_operator_unsupported
    history.record(FLOAT16, is_supported=True)
    assert not history.is_unsupported(FLOAT16)


@pytest.mark.parametrize(("count", "is_unsupported"), [(MIN_UNSUPPORTED - 1, False), (MIN_UNSUPPORTED, True)])
def test_an_operator_without_a_supported_candidate_is_unsupported(count, is_unsupported):
    history = SupportHistory()
    for candidate in itertools.islice(itertools.cycle((FLOAT16, FLOAT32)), count):
        history.record(candidate, is_supported=False)
    assert history.is_operator_unsupported == is_unsupported


def test_a_wanted_candidate_is_chosen_even_if_others_are_more_novel():
    coverage = Coverage()
    coverage.count(FLOAT32)
    drawn = itertools.chain([FLOAT16] * DRAWS_PER_CHOICE, [FLOAT32], itertools.repeat(FLOAT16))
    assert coverage.choose(lambda: next(drawn), FLOAT32.__eq__) == FLOAT32
    assert coverage.choose(lambda: next(drawn), lambda _: True) == FLOAT16


def test_draws_end_if_no_candidate_is_wanted():
    drawn = itertools.repeat(FLOAT16, DRAWS_PER_CHOICE * MAX_ROUNDS)
    assert Coverage().choose(lambda: next(drawn), lambda _: False) == FLOAT16
    assert next(drawn, None) is None
