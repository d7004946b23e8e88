"""The schedule of operators."""

from collections import Counter

from conformance.exploration.coverage import OperatorScheduler


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
