"""The description and the order of the changes between two sets of results."""

import pytest

from reports.analysis.comparison_text import change_groups, change_text
from tests.support.compared_runs import (
    BORDER,
    CONV,
    LARGE,
    NAN,
    NN,
    POOL,
    WORST,
    WRONG,
    alpha,
    kinds,
)
from tests.support.example_results import array, differing, rejected, result


def test_fixed_result_has_its_earlier_message(compared):
    difference = compared(alpha(differing(POOL, NN, WRONG, WORST)), alpha(result(POOL, NN)))
    assert kinds(difference) == [("status", POOL, NN, "fail", "pass")]
    assert change_text(difference.changes[0]) == "value: at [0, 0, 1, 1] expected 15, got 14"


def test_changes_are_grouped_by_severity_with_the_smallest_case_first(compared):
    names = [LARGE, "avg_pool/three-channels", POOL, CONV]
    old = [result(name, NN) for name in (*names, NAN)]
    new = [
        *(result(name, NN, status="known", reason="so") for name in (POOL,)),
        *(differing(name, NN, None, None) for name in (LARGE, "avg_pool/three-channels", CONV)),
        result(NAN, NN, digest="00"),
    ]
    found = change_groups(compared(alpha(*old), alpha(*new)))
    assert [(group.heading, [change.case.case for change in group.changes]) for group in found] == [
        ("✓ pass → ✗ fail", [CONV]),
        ("✓ pass → ✗ fail", ["avg_pool/three-channels", LARGE]),
        ("✓ pass → ≈ known", [POOL]),
        ("different values, same status", [NAN]),
    ]


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (array([5, 7, "nan", 16], [1, 1, 2, 2]), "2 of 4 elements, most at [0, 0, 1, 0]: 13 → nan"),
        (array([5, 7, 10**400, 16], [1, 1, 2, 2]), f"2 of 4 elements, most at [0, 0, 1, 0]: 13 → {10**400}"),
        (array([5, 7, 13], [1, 1, 3]), "float32 [1, 1, 2, 2] → float32 [1, 1, 3]"),
        (array(None, [80, 80]), "different bits, largest error 0 → 0.25 error bounds"),
        (None, "different bits, largest error 0 → 0.25 error bounds"),
    ],
)
def test_changed_value_describes_the_change_from_the_files(compared, got, words):
    new = result(POOL, NN, digest="00", budget_used=0.25, **({"got": got} if got else {"verdict": "differ"}))
    difference = compared(alpha(result(POOL, NN)), alpha(new))
    assert [change_text(change) for change in difference.changes] == [words]


def test_another_sign_of_zero_is_a_changed_value(compared):
    one, other = (array([zero, 4], [1, 2]) for zero in (0.0, -0.0))
    difference = compared(alpha(result(BORDER, NN, got=one)), alpha(result(BORDER, NN, got=other, digest="00")))
    assert [change_text(change) for change in difference.changes] == ["1 of 2 elements, most at [0, 0]: 0.0 → -0.0"]


def test_known_rejection_after_a_wrong_value_is_a_change(compared):
    old = differing(POOL, NN, WRONG, WORST, status="known", reason="so")
    new = rejected(POOL, NN, status="known", verdict="differ", kind="rejected", reason="so")
    difference = compared(alpha(old), alpha(new))
    assert [(change.kind, change_text(change)) for change in difference.changes] == [("value", "returned → rejected")]
