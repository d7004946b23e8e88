"""Classes of the changed answers of old releases, checked against the data."""

import pytest

from conformance import CatalogueError
from conformance.judging import ledger
from conformance.judging.release_answers import (
    AnswerRange,
    CaseHistory,
    CatalogueVersion,
    Evidence,
    Release,
    ReleaseData,
    read_release_data,
    release_data_files,
)
from conformance.judging.release_changes import (
    MEANINGS,
    ChangeClass,
    ChangeGroup,
    ReleaseChange,
    class_problem,
    grouped,
    groups_with_words,
    read_groups,
)
from conformance.judging.release_findings import findings_page
from docs.generate.compat import DOCS, finding_sections

FILES = release_data_files()
BOTH = "1.0 → 1.1"


@pytest.fixture(params=FILES, ids=lambda path: path.stem, scope="module")
def data(request):
    return read_release_data(request.param)


@pytest.fixture(scope="module")
def groups(data):
    return read_groups(data.backend)


def test_each_change_belongs_to_one_group_whose_class_is_possible(data, groups):
    found = grouped(data, groups)
    problems = [class_problem(groups[number], one) for number, changes in found.items() for one in changes]
    assert list(filter(None, problems)) == []


def test_each_group_has_changes_and_a_reason(data, groups):
    found = grouped(data, groups)
    assert [group for number, group in enumerate(groups) if not found[number] or not group.change] == []


def test_findings_of_groups_exist(data, groups):
    anchors = {
        link.partition("#")[2]
        for _, link, _ in finding_sections(DOCS / "findings" / f"{findings_page(data.backend)}.md")
    }
    assert {group.finding for group in groups if group.finding} <= anchors


def test_a_regression_that_persists_has_a_finding_or_a_ledger_entry(data, groups, catalogue):
    entries, newest = ledger.load_ledger(), data.releases[-1]
    missing = [
        f"{change.releases} {change.record.case} on {change.record.surface}"
        for number, changes in grouped(data, groups).items()
        if groups[number].class_ == ChangeClass.REGRESSION and not groups[number].finding
        for change in changes
        if change.persists
        and not entries.find_entry(
            catalogue.by_id[change.record.case], change.record.surface, newest.packages, data.cpu
        )
    ]
    assert missing == []


def test_an_answer_that_varies_has_a_ledger_entry_for_it(data, groups, catalogue):
    entries, newest = ledger.load_ledger(), data.releases[-1]
    missing = [
        f"{change.releases} {change.record.case} on {change.record.surface}"
        for number, changes in grouped(data, groups).items()
        if groups[number].class_ == ChangeClass.VARIES
        for change in changes
        if not (
            entry := entries.find_entry(
                catalogue.by_id[change.record.case], change.record.surface, newest.packages, data.cpu
            )
        )
        or not entry.is_flaky
    ]
    assert missing == []


def change(old, new, question=None, cause="release", observed=""):
    spans = (
        AnswerRange(old, None, "1.1", ("1.0",), Evidence("1.0", observed, cause=None)),
        AnswerRange(new, "1.1", None, ("1.1",), Evidence("1.1", "", cause=cause)),
    )
    return ReleaseChange(CaseHistory("s", "pad/a", question, "ab", spans), *spans)


def group(name, **changes):
    return ChangeGroup(
        **{"releases": BOTH, "class_": ChangeClass(name), "cases": ("pad/*",), "change": "why", **changes}
    )


@pytest.mark.parametrize(
    ("name", "one", "possible"),
    [
        ("fix", change("differ value", "agree"), True),
        ("fix", change("crashed", "rejected, agree"), True),
        ("fix", change("agree", "differ value"), False),
        ("fix", change("differ shape", "differ value"), False),
        ("fix", change("first", "last", "q"), True),
        ("fix", change("rejected", "crashed", "q"), False),
        ("regression", change("agree", "differ value"), True),
        ("regression", change("rejected, agree", "crashed"), True),
        ("regression", change("differ value", "agree"), False),
        ("regression", change("accepted", "rejected", "q"), False),
        ("stricter", change("crops", "rejected", "q"), True),
        ("stricter", change("rejected", "crops", "q"), False),
        ("supported", change("rejected, differ", "agree"), True),
        ("supported", change("agree", "rejected, differ"), False),
        ("supported", change("rejected, differ", "rejected, agree"), False),
        ("supported", change("crashed", "agree", observed="AttributeError: no attribute 'unfold'"), True),
        ("supported", change("other", "own", "q", observed="KeyError: dtype(bfloat16)"), True),
        ("supported", change("other", "own", "q", observed="two answers; RuntimeError: no rule"), True),
        ("supported", change("other", "own", "q", observed="returned float32 [[[1]]]"), False),
        ("supported", change("crashed", "agree", observed="signal 11"), False),
        ("program", change("agree", "differ value", cause="program"), True),
        ("program", change("agree", "differ value"), False),
        ("varies", change("agree", "crashed"), False),
        ("other", change("differ shape", "differ value"), True),
        ("other", change("agree", "differ value"), False),
        ("other", change("first", "last", "q"), True),
    ],
)
def test_class_must_fit_the_answers(name, one, possible):
    assert (class_problem(group(name), one) == "") == possible


def test_an_answer_that_varies_needs_a_finding():
    one = change("agree", "crashed")
    assert class_problem(group("varies", finding="two-answers"), one) == ""
    assert class_problem(group("varies", change="[why](findings/other.md#two-answers)"), one) == ""
    assert class_problem(group("varies"), one)


def test_the_expected_result_of_a_case_may_be_the_wrong_one():
    assert class_problem(group("fix", reversed=True), change("agree", "differ value")) == ""
    assert class_problem(group("fix", reversed=True), change("differ value", "agree"))


def test_a_change_of_no_group_or_of_two_is_an_error():
    records = (change("agree", "differ value").record,)
    releases = tuple(Release(version, "", "3.11", {}) for version in ("1.0", "1.1"))
    data = ReleaseData("fake", CatalogueVersion("1", "ab"), "Linux", (), releases, records)
    (found,) = grouped(data, [group("regression")]).values()
    assert [one.answers for one in found] == ["agree → differ value"]
    two = [group("regression"), group("regression", surfaces=("s",))]
    for wrong, number in (
        ([], 0),
        ([group("regression", answers="crashed → *")], 0),
        ([group("regression", releases="1.1 → 1.2")], 0),
        ([group("regression", surfaces=("t",))], 0),
        (two, 2),
    ):
        with pytest.raises(CatalogueError, match=f"belongs to {number} groups"):
            grouped(data, wrong)


@pytest.mark.parametrize("text", ["- {releases: a, class: bug, cases: [a], change: b}", "- {releases: a}", "a: 1"])
def test_file_with_other_keys_or_classes_is_an_error_of_one_line(tmp_path, text):
    (tmp_path / "fake.yaml").write_text(text, "utf-8")
    with pytest.raises(CatalogueError, match=r"^[^\n]*fake\.yaml[^\n]*$"):
        read_groups("fake", tmp_path)
    assert read_groups("none", tmp_path) == ()


def test_each_class_has_a_meaning():
    assert set(MEANINGS) == set(ChangeClass)


def test_groups_are_found_by_words_of_their_change():
    groups = [group("fix", change="the divisor in ceil mode"), group("fix", change="maxima")]
    assert groups_with_words(groups, "Ceil divisor") == groups[:1]
    assert groups_with_words(groups, "ceil maxima") == []
    assert groups_with_words(groups, " ") == []
