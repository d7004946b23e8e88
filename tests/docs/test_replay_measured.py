"""The measured data on the page of replayed bugs: each row cites a bug, each sampled difference has a verdict."""

import re
from collections import Counter

import pytest

from conformance import ConformanceError
from conformance.judging.ledger import load_ledger
from docs.generate import replay, replay_measured as measured
from docs.generate.replay_measured import DifferenceKindOfRun, DifferenceVerdict, Explored, Found, HowRead, Scope

BUGS = {bug.key: bug for bug in replay.read_bugs()}
EXPLORED = measured.read_explored()
SAMPLE = measured.read_sample()
VERDICTS = measured.read_verdicts()
LISTS = measured.read_lists()
MIN_BUGS = 60
MIN_REPLAYED = 25
SAMPLE_SIZE = 100
MIN_REPRODUCED = 20
MIN_RUN_AGAIN = 80
REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+")


@pytest.fixture(scope="module")
def runs():
    """Releases with each bug that were run, by key of the bug."""
    found = replay.replays(BUGS.values(), replay.answers_by_key(replay.run_data()))
    return {one.bug.key: one.had.span.run for one in found if one.had}


def test_the_catalogue_of_bugs_is_large_enough(runs):
    assert len(BUGS) >= MIN_BUGS
    assert len(runs) >= MIN_REPLAYED


def test_every_search_is_of_a_listed_bug_in_a_release_that_has_it(runs):
    assert [one.key for one in EXPLORED if one.release not in runs.get(one.key, ())] == []


def test_no_search_is_listed_twice():
    counts = Counter((*one.key, one.seed) for one in EXPLORED)
    assert [key for key, count in counts.items() if count > 1] == []


def test_a_bug_is_found_within_the_cases_that_were_drawn():
    wrong = [one.key for one in EXPLORED if one.found and not 1 <= one.found.number <= one.cases]
    assert wrong == []
    assert [one.key for one in EXPLORED if not one.checked <= one.cases <= one.limit] == []


def test_the_drawn_case_has_the_operator_of_the_bug():
    operators = {(one.case.partition("/")[0], one.found.case.partition("/")[0]) for one in EXPLORED if one.found}
    assert {pair for pair in operators if pair[0] != pair[1]} == set()


def test_a_difference_without_a_ledger_entry_has_a_note():
    by_hand = [one for one in EXPLORED if one.found and not one.found.by.startswith("ledger ")]
    assert [one.key for one in by_hand if not one.note] == []


def test_every_removed_entry_is_in_the_ledger():
    known = {entry.id for entry in load_ledger().entries}
    assert {name for one in EXPLORED for name in one.removed} - known == set()


def test_the_sample_has_the_stated_size_and_no_difference_twice():
    assert len({(one.case, one.surface) for one in SAMPLE.items}) == len(SAMPLE.items) == SAMPLE_SIZE
    assert sum(SAMPLE.population.values()) > SAMPLE_SIZE


def test_every_sampled_difference_has_one_verdict():
    judged = Counter((one.case, one.surface) for one in VERDICTS)
    assert judged == Counter((one.case, one.surface) for one in SAMPLE.items)


def test_every_verdict_has_a_reason_of_one_line():
    assert [one.case for one in VERDICTS if not one.reason or "\n" in one.reason] == []


def test_enough_differences_were_reproduced():
    assert sum(one.reproduced for one in VERDICTS) >= MIN_REPRODUCED


def test_most_sampled_differences_were_run_again_with_the_same_status():
    run = [one for one in SAMPLE.items if one.status]
    assert len(run) >= MIN_RUN_AGAIN
    expected = {DifferenceKindOfRun.KNOWN: "known", DifferenceKindOfRun.CONVENTION: "pass"}
    assert [one.case for one in run if one.status != expected[one.kind]] == []


def test_reports_of_lists_are_in_the_catalogue_or_have_a_reason():
    listed = {report for bug in BUGS.values() for report in (bug.report, *bug.also)}
    reports = [one for of_list in LISTS for one in of_list.reports]
    assert [one.report for one in reports if not REPORT.fullmatch(one.report)] == []
    assert [one.report for one in reports if (one.report in listed) != (one.kind == Scope.IN_CATALOGUE)] == []
    assert [one.report for one in reports if bool(one.reason) != (one.kind != Scope.IN_CATALOGUE)] == []


def test_a_list_that_was_not_read_says_why():
    assert [one.name for one in LISTS if one.read != HowRead.TITLES and not one.note] == []


def test_every_fuzzer_with_a_list_has_figures():
    assert {one.name for one in measured.read_fuzzers()} == {one.name for one in LISTS}


@pytest.mark.parametrize(
    ("count", "size", "low", "high"),
    # Wilson intervals: 0 of 100 ends at z² / (100 + z²).
    [(0, 100, 0.0, 0.0370), (100, 100, 0.9630, 1.0), (50, 100, 0.4038, 0.5962), (3, 100, 0.0103, 0.0845)],
)
def test_interval(count, size, low, high):
    assert measured.interval(count, size) == pytest.approx((low, high), abs=1e-4)


def test_share_text():
    assert measured.share_text(3, 100) == "3 of 100, 3 % (95 % interval 1 to 8 %)"


def explored(**fields):
    values = {"report": "a/b#1", "case": "pad/a", "surface": "s", "release": "1.0", "seed": 0, "limit": 2000}
    return Explored(**{**values, "cases": 1200, "checked": 1000, "cpu_seconds": 1800.0, **fields})


def test_result_of_a_search():
    assert explored().result == "not found in 1,200 cases (1.0)"
    found = Found(1100, "pad/explored/b", "value", "ledger c")
    assert explored(found=found).result == "found in case 1,100 (1.0)"


def test_hours_include_searches_without_a_result():
    assert measured.explored_hours([explored(), explored(found=Found(1, "pad/c", "value", "ledger d"))]) == 1.0


def test_an_unknown_verdict_is_an_error(tmp_path):
    path = tmp_path / "verdicts.yaml"
    path.write_text("- {case: pad/a, surface: s, verdict: perhaps, reason: because}\n", "utf-8")
    with pytest.raises(ConformanceError, match=r"verdicts\.yaml: .*perhaps"):
        measured.read_data(path, tuple[measured.Judged, ...])


def difference(case, kind):
    return measured.Difference("torch", case, "s", kind, "entry")


def test_verdicts_are_counted_by_kind():
    kinds = measured.DifferenceKindOfRun
    items = (difference("pad/a", kinds.KNOWN), difference("pad/b", kinds.KNOWN), difference("pad/c", kinds.CONVENTION))
    sample = measured.Sample(0, {"torch known": 1200, "jax known": 34, "torch convention": 5}, items)
    words = (DifferenceVerdict.REAL, DifferenceVerdict.FALSE_ALARM, DifferenceVerdict.DOCUMENTED)
    verdicts = [measured.Judged(one.case, "s", word, "because") for one, word in zip(items, words, strict=True)]
    lines = measured.verdict_summary(sample, verdicts).splitlines()
    assert lines[2] == "| known | 1,234 | 2 | 1 | 0 | 1 | 9 to 91 % |"
    assert lines[3] == "| convention | 5 | 1 | 0 | 1 | 0 | 0 to 79 % |"
    assert measured.not_real_share(sample, verdicts) == "1 of 2, 50 % (95 % interval 9 to 91 %)"
