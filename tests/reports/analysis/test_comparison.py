"""The changes between two sets of results."""

from tests.support import example_results as example
from tests.support.compared_runs import (
    BORDER,
    NN,
    POOL,
    TOO_LARGE,
    WORST,
    WRONG,
    alpha,
    kinds,
)
from tests.support.example_results import differing, result


def test_times_and_the_order_of_results_are_no_difference(compared):
    records = example.all_pass(NN)
    late = [{**one, "seconds": 99.0} if "seconds" in one else one for one in records[::-1]]
    difference = compared(alpha(*records), alpha(*late, started="2027-01-01T00:00:00Z"))
    assert (difference.changes, difference.facts) == ((), {})


def test_bits_of_flaky_and_meaningless_results_are_not_compared(compared):
    flaky = differing(POOL, NN, WRONG, WORST, status="known", flaky=True, reason="so")
    senseless = result(TOO_LARGE, NN, status="fail", verdict="differ", kind="accepted", budget_used=None)
    old = alpha(flaky, senseless)
    assert kinds(compared(old, alpha({**flaky, "digest": "00"}, {**senseless, "digest": "00"}))) == []
    steady = {key: value for key, value in flaky.items() if key != "flaky"}
    assert kinds(compared(alpha(steady), alpha({**steady, "digest": "00"}))) == [("value", POOL, NN, "known", "known")]


def test_changed_description_of_a_case_is_no_difference(compared):
    old, new = alpha(result(POOL, NN)), alpha(result(POOL, NN))
    new[1] = {**new[1], "about": "Said better.", "source": "elsewhere", "level": "standard"}
    assert kinds(compared(old, new)) == []


def test_two_labels_of_one_backend_are_compared_by_surface(compared):
    old = [{**one, "backend": "alpha@2.3"} if one["record"] == "header" else one for one in alpha(result(POOL, NN))]
    difference = compared(old, alpha(result(POOL, NN, digest="00")))
    assert kinds(difference) == [("value", POOL, NN, "pass", "pass")]
    assert difference.changes[0].backend == "alpha@2.3 → alpha"
    same = compared(old, [{**old[0]}, *old[1:-2], {**old[-2], "digest": "00"}, old[-1]])
    assert kinds(same) == [("value", POOL, "alpha.nn@2.3", "pass", "pass")]


def test_slow_result_is_compared_like_one_that_passes(compared):
    late = result(POOL, NN, status="slow", slow=True, message=example.SLOW_MESSAGE)
    assert kinds(compared(alpha(result(POOL, NN)), alpha(late))) == []
    assert kinds(compared(alpha(result(POOL, NN)), alpha({**late, "digest": "00"}))) == [
        ("value", POOL, NN, "pass", "slow")
    ]
    hung = example.died(POOL, NN, "timed_out", "no answer")
    (change,) = compared(alpha(late), alpha(hung)).changes
    assert change.is_regression


def test_undeclared_answer_is_worse_than_a_pass_and_better_than_a_failure(compared):
    _, undeclared = example.undeclared(BORDER, NN)
    answered = result(BORDER, NN)
    (change,) = compared(alpha(answered), alpha(undeclared)).changes
    assert change.is_regression
    (change,) = compared(alpha({**answered, "status": "fail"}), alpha(undeclared)).changes
    assert not change.is_regression
