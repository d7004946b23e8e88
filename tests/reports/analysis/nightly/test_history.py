"""Findings and wrong results of earlier nights."""

import pytest

from reports.analysis.nightly.history import History, ReportedFinding, WrongResult

FIELDS = {
    "backend": "alpha",
    "operator": "max_pool",
    "symptom": "value",
    "surfaces": ("alpha.nn",),
    "conditions": ("stride",),
    "true": ("one axis", "stride"),
    "case": "max_pool/a",
    "since": "2026-11-20",
}


def found(**changes):
    return ReportedFinding(**FIELDS | changes)


FOUND = found()


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
        ({"symptom": "shape"}, False),
        ({"backend": "beta"}, False),
    ],
)
def test_findings_are_the_same_if_one_explains_the_other(changes, same):
    other = found(**changes)
    assert (FOUND.is_same(other), other.is_same(FOUND)) == (same, same)


def test_key_depends_on_the_case_only_if_there_are_conditions():
    assert found(case="max_pool/b").issue_key != FOUND.issue_key
    keys = {found(conditions=None, case=case).issue_key for case in ("max_pool/a", "max_pool/b")}
    assert len(keys) == 1


def test_same_finding_is_remembered_once():
    history = History().with_findings([FOUND]).with_findings([found(since="2026-11-21")])
    assert history.findings == (FOUND,)


def test_history_survives_its_file():
    wrong = frozenset({WrongResult("alpha", "alpha.nn", "max_pool/a", "fail")})
    history = History((FOUND,), frozenset({("alpha.nn", "max_pool/a")}), wrong)
    assert History.parse(history.to_json()) == history
