"""Findings and wrong results of earlier nights."""

from dataclasses import replace

import pytest

from reports.analysis.history import History, ReportedFinding, WrongResult

FOUND = ReportedFinding(
    backend="alpha",
    operator="max_pool",
    way="value",
    surfaces=("alpha.nn",),
    conditions=("stride",),
    true=("one axis", "stride"),
    case="max_pool/a",
    since="2026-11-20",
)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"since": "2026-11-21"}, True),
        ({"conditions": ("odd",), "true": ("odd",)}, True),
        ({"case": "max_pool/b"}, True),
        ({"case": "max_pool/b", "conditions": ("odd",), "true": ("odd",)}, False),
        ({"case": "max_pool/b", "conditions": None, "true": ()}, False),
        ({"surfaces": ("alpha.other",)}, False),
        ({"surfaces": ("alpha.other", "alpha.nn")}, True),
        ({"way": "shape"}, False),
        ({"backend": "beta"}, False),
    ],
)
def test_findings_are_the_same_if_one_explains_the_other(changes, same):
    other = replace(FOUND, **changes)
    assert (FOUND.is_same(other), other.is_same(FOUND)) == (same, same)


def test_key_depends_on_the_case_only_if_there_are_conditions():
    assert replace(FOUND, case="max_pool/b").issue_key != FOUND.issue_key
    without = replace(FOUND, conditions=None)
    assert replace(without, case="max_pool/b").issue_key == without.issue_key


def test_same_finding_is_remembered_once():
    history = History().with_findings([FOUND]).with_findings([replace(FOUND, since="2026-11-21")])
    assert history.findings == (FOUND,)


def test_history_survives_its_file():
    wrong = frozenset({WrongResult("alpha", "alpha.nn", "max_pool/a", "fail")})
    history = History((FOUND,), frozenset({("alpha.nn", "max_pool/a")}), wrong)
    assert History.parse(history.to_json()) == history
