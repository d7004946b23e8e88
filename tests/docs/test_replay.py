"""The list of published bugs and its generated page: each bug that counts as detected cites a run that shows it."""

import re
from collections import Counter

import pytest

from conformance import ConformanceError
from conformance.cases.schema import catalogue_folder
from conformance.catalogue.lock import LOCK_FILE, read_lock_file
from conformance.judging.release_answers import AnswerRange, Evidence, read_release_data
from docs.generate import replay
from docs.generate.replay import Answer, Bug, Replay, ReplayStatus
from reports.results.vocabulary import Level

BUGS = replay.read_bugs()
REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+")


@pytest.fixture(scope="module")
def data():
    return replay.run_data()


@pytest.fixture(scope="module")
def found(data):
    return replay.replays(BUGS, replay.answers_by_key(data))


def test_page_is_the_generated_one():
    assert replay.PAGE.read_text("utf-8") == replay.replay_page(), "python -m docs.generate.replay"


def test_every_bug_has_a_report_and_is_listed_once():
    assert [report for bug in BUGS for report in (bug.report, *bug.also) if not REPORT.fullmatch(report)] == []
    counts = Counter((bug.report, bug.case, bug.surface) for bug in BUGS)
    assert [key for key, count in counts.items() if count > 1] == []


def test_every_case_runs_at_level_standard(catalogue):
    levels = {case.id: case.level for case in catalogue.cases}
    wrong = {bug.case: levels.get(bug.case) for bug in BUGS if bug.case}
    assert {case: level for case, level in wrong.items() if level not in (Level.SMOKE, Level.STANDARD)} == {}


def test_every_named_release_was_run_and_answered_as_listed(found):
    for one in found:
        assert bool(one.bug.had) == bool(one.had), one.bug
        assert bool(one.bug.fixed) == bool(one.fixed), one.bug
        assert one.bug.answer == (one.had.span.answer if one.had else ""), one.bug


def test_every_fixed_release_is_right(found):
    assert [one.bug.report for one in found if one.fixed and one.fixed.differs] == []


def test_every_detected_bug_cites_what_the_release_returned(found):
    detected = [one for one in found if one.status in (ReplayStatus.DETECTED, ReplayStatus.DETECTED_CONVENTION)]
    assert [one.bug.report for one in detected if not one.had.span.evidence.observed] == []


def test_only_a_bug_that_was_not_detected_has_a_reason(found):
    detected = (ReplayStatus.DETECTED, ReplayStatus.DETECTED_CONVENTION)
    assert [one.bug.report for one in found if bool(one.bug.reason) == (one.status in detected)] == []


def test_every_case_is_still_the_one_that_was_run(data):
    """A case whose inputs or expected output have changed is run again on the releases."""
    named = {(bug.surface, bug.case) for bug in BUGS if bug.had}
    run = {(one.surface, one.case): one.digest for file in data for one in file.records}
    frozen = read_lock_file(catalogue_folder() / LOCK_FILE).records
    assert {key for key in named if run[key] != frozen[key[1]].digest} == set()


def test_release_data_has_only_records_that_a_bug_names(tmp_path):
    """The records of docs/replay: all are named, so that removing the others changes nothing."""
    for path in replay.BUGS_FILE.parent.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    replay.remove_unnamed_records(BUGS, tmp_path)
    for path in tmp_path.glob("*.json"):
        assert path.read_text("utf-8") == (replay.BUGS_FILE.parent / path.name).read_text("utf-8")
    replay.remove_unnamed_records(BUGS[:1], tmp_path)
    assert all(read_release_data(path).records == () for path in tmp_path.glob("keras*.json"))


def bug(**fields):
    return Bug("a/b#1", "wrong", **fields)


def answer(text, declared=None):
    return Answer(AnswerRange(text, None, None, ("1.0",), Evidence("1.0", "", None)), declared)


@pytest.mark.parametrize(
    ("one", "status"),
    [
        (Replay(bug(), None, None), "out of scope"),
        (Replay(bug(case="pad/a"), None, None), "not run"),
        (Replay(bug(case="pad/a"), answer("agree"), None), "not detected"),
        (Replay(bug(case="pad/a"), answer("differ value"), None), "detected"),
        (Replay(bug(case="pad/a"), answer("crashed"), None), "detected"),
        (Replay(bug(case="pad/a"), answer("rejected, agree"), None), "not detected"),
        (Replay(bug(case="pad/a"), answer("first", "last"), None), "detected as a convention"),
        (Replay(bug(case="pad/a"), answer("last", "last"), None), "not detected"),
    ],
)
def test_status(one, status):
    assert one.status == status


def test_an_unknown_key_is_an_error(tmp_path):
    path = tmp_path / "bugs.yaml"
    path.write_text("- report: a/b#1\n  problem: wrong\n  detected: true\n", "utf-8")
    with pytest.raises(ConformanceError, match=r"bugs\.yaml: .*unknown field `detected`"):
        replay.read_bugs(path)


@pytest.mark.parametrize(
    ("texts", "expected"), [(["20"], "20"), (["20", "500"], "20 or 500"), (["20", "500", "2,000"], "20, 500 or 2,000")]
)
def test_alternatives(texts, expected):
    assert replay.alternatives(texts) == expected
