"""A case that crashes or hangs is run again in a separate process; a case with varying outcomes is flaky."""

import numpy as np
import pytest

from conformance import ConformanceError
from conformance.judging.repeats import SAME_IN_NEW_PROCESS, combine_repeats, combine_retry
from conformance.judging.verdict import ProgramOutcome
from reports.analysis import contradictions, differences, summary
from tests.conformance.execution.test_run import ANSWERS, PLAIN, QUESTION, known, results, run
from tests.support.fake_backends import ALWAYS_WRONG, CRASHES, surface
from tests.support.started_workers import outcomes

RIGHT = "x = x[:, :, 1::2, 1::2]"
FIRST = "flag = {flag!r}\nif not os.path.exists(flag):\n    open(flag, 'w').close()\n    {deed}\n{then}"
COUNTS = "np.runs = getattr(np, 'runs', 0) + 1\n"


def once(folder, deed, then=RIGHT):
    """Return a program that behaves differently at its first run."""
    return FIRST.format(flag=str(folder / "flag"), deed=deed, then=then)


@pytest.mark.parametrize(
    ("deed", "outcome", "told"),
    [
        ("os.abort()", "crashed", "crashed (signal 6 (Aborted))"),
        ("os._exit(0)", "crashed", "crashed (the process exited with status 0)"),
        ("raise MemoryError('all gone')", "crashed", "crashed (MemoryError: all gone)"),
        ("raise SystemExit(3)", "crashed", "crashed (SystemExit: 3)"),
    ],
)
def test_case_that_does_it_once_only_is_flaky_and_its_neighbours_are_not(tmp_path, deed, outcome, told):
    surfaces = surface("r"), surface("s", once(tmp_path, deed)), surface("t")
    cases = [PLAIN, PLAIN.replace("id: a", "id: b")]
    report, records = run(tmp_path, *surfaces, cases=cases, limit=2, trusted=True)
    found = {(one["case"], one["surface"]): one for one in results(records)}
    flaky = found.pop(("max_pool/a", "s"))
    assert (flaky["status"], flaky["outcome"], flaky["verdict"]) == ("flaky", outcome, None)
    assert flaky["message"].startswith(f"{told}, then, in a separate process, returned (")
    assert {one["status"] for one in found.values()} == {"pass"}
    assert not summary.report_verdict(report).is_good


@pytest.mark.parametrize(
    ("then", "status", "verdict"),
    [(RIGHT, "slow", "agree"), (ALWAYS_WRONG, "fail", "differ"), ("raise ValueError('no')", "fail", "differ")],
)
def test_second_outcome_counts_after_a_single_timeout(tmp_path, then, status, verdict):
    report, records = run(tmp_path, surface("s", once(tmp_path, "time.sleep(60)", then)), limit=2)
    (found,) = results(records)
    assert (found["status"], found["verdict"], found["slow"]) == (status, verdict, True)
    assert "timed out (no answer within 2 s), then, in a separate process, re" in found["message"]
    assert summary.report_verdict(report).is_good == (status == "slow")


def test_timeout_that_is_followed_by_a_crash_is_flaky(tmp_path):
    report, records = run(tmp_path, surface("s", once(tmp_path, "time.sleep(60)", "os.abort()")), limit=2)
    (found,) = results(records)
    assert (found["status"], found["outcome"]) == ("flaky", "timed_out")
    assert not summary.report_verdict(report).is_good


@pytest.mark.parametrize(
    ("entry", "status"), [(known("flaky"), "slow"), (known("value"), "stale"), (known("timed_out"), "known")]
)
def test_ledger_entry_applies_to_a_slow_case(tmp_path, entry, status):
    _, records = run(tmp_path, surface("s", once(tmp_path, "time.sleep(60)")), entries=[entry], limit=2)
    assert results(records)[0]["status"] == status


@pytest.mark.parametrize(("body", "status"), [(CRASHES, "crashed"), ("time.sleep(60)", "timed_out")])
def test_case_that_does_it_again_is_no_flaky_one(tmp_path, body, status):
    _, records = run(tmp_path, surface("s", body), surface("t"), limit=1)
    first, second = results(records)
    assert (first["status"], second["status"]) == (status, "pass")
    assert first["message"].endswith(SAME_IN_NEW_PROCESS)


def test_crash_that_only_comes_after_other_programs_is_reported_as_such():
    poison, dies = "np.poison = True", "if hasattr(np, 'poison'):\n    os.abort()"
    _, died, _ = outcomes(poison, dies, "x = x + 1", trusted=True)
    assert "signal 6" in died.flakiness
    assert "in a separate process, returned" in died.flakiness


def test_case_is_run_again_alone(tmp_path):
    """Programs queued behind a crashing one run once, after it."""
    note = tmp_path / "note"
    tell = f"open({str(note)!r}, 'a').write('%s')\n"
    outcomes(tell % "a", tell % "b" + "os.abort()", tell % "c", tell % "d")
    assert note.read_text() == "abbcd"


def test_error_of_the_program_is_not_tried_again(tmp_path):
    note = tmp_path / "note"
    (found,) = outcomes(f"open({str(note)!r}, 'a').write('a')\nnope()")
    assert (found.kind, found.flakiness, note.read_text()) == ("crashed", "", "a")


def test_every_case_is_run_as_often_as_asked_and_written_once(tmp_path):
    note = tmp_path / "note"
    body = f"open({str(note)!r}, 'a').write('a')\n{RIGHT}"
    _, records = run(tmp_path, surface("s", body), surface("t"), repeat=5)
    assert note.read_text() == "aaaaa"
    assert [one["status"] for one in results(records)] == ["pass", "pass"]
    assert records[0]["repeat"] == 5


@pytest.mark.parametrize(
    ("wrong", "kind", "told"),
    [
        ("x = x[:, :, ::2, ::2]", "value", "of 4 runs: returned ({right}) 2 times, then returned ({wrong}), then"),
        (
            "raise ValueError('not now')",
            "rejected",
            "returned ({right}) 2 times, then rejected (ValueError: not now), then",
        ),
        ("os.abort()", None, "of 4 runs: returned ({right}) 2 times, then crashed (signal 6 (Aborted)), then returned"),
    ],
)
def test_case_that_is_not_the_same_every_time_is_flaky_and_shows_what_is_wrong(tmp_path, wrong, kind, told):
    body = f"{COUNTS}if np.runs == 3:\n    {wrong}\nelse:\n    {RIGHT}"
    report, records = run(tmp_path, surface("s", body), surface("t"), repeat=4)
    flaky, passed = results(records)
    assert (flaky["status"], flaky["kind"], passed["status"]) == ("flaky", kind, "pass")
    assert told.format(right=passed["digest"], wrong=flaky["digest"]) in flaky["message"]
    assert report.backends[0].footer.by_status == {"flaky": 1, "pass": 1}


def test_case_whose_bits_change_is_flaky_though_each_of_them_would_agree(tmp_path):
    text = "id: a, x: {values: [[[0.0, -0.0]]]}, window: 2"
    body = f"{COUNTS}x = np.array([[[0.0]]], np.float32) if np.runs % 2 else np.array([[[-0.0]]], np.float32)"
    _, records = run(tmp_path, surface("s", body), cases=[text], repeat=3)
    (found,) = results(records)
    assert (found["status"], found["verdict"]) == ("flaky", "agree")


def test_words_of_an_exception_may_change(tmp_path):
    _, records = run(tmp_path, surface("s", "raise ValueError(str(time.time()))"), repeat=3)
    assert results(records)[0]["status"] == "fail"


def test_wrong_every_time_is_a_failure_and_nothing_more(tmp_path):
    _, records = run(tmp_path, surface("s", ALWAYS_WRONG), repeat=3)
    assert results(records)[0]["status"] == "fail"
    assert "runs" not in results(records)[0]["message"]


def test_question_that_is_answered_in_two_ways_is_flaky(tmp_path):
    body = f"{COUNTS}if np.runs % 2:\n    {ANSWERS['window']}\nelse:\n    {ANSWERS['one']}"
    _, records = run(tmp_path, surface("s", body), cases=[QUESTION], section="questions", repeat=2)
    assert results(records)[0]["status"] == "flaky"


def test_crash_that_is_known_is_not_tried_again(tmp_path):
    note = tmp_path / "note"
    body = f"open({str(note)!r}, 'a').write('a')\nos.abort()"
    _, records = run(tmp_path, surface("s", body), entries=[known("crashed")])
    assert [one["status"] for one in results(records)] == ["known"]
    assert note.read_text() == "a"


def test_what_is_feared_comes_last_and_what_is_sure_to_end_its_process_at_the_very_end(tmp_path):
    entries = [known("crashed", cases="*/sure"), known("crashed", "flaky", cases="*/unsteady")]
    cases = [PLAIN.replace("id: a", f"id: {name}") for name in ("sure", "unsteady", "plain")]
    _, records = run(tmp_path, surface("s", "os.abort()"), cases=cases, entries=entries)
    assert [one["case"] for one in results(records)] == [f"max_pool/{name}" for name in ("plain", "unsteady", "sure")]


@pytest.mark.parametrize(("kinds", "status"), [(("flaky",), "known"), (("value",), "flaky"), (("crashed",), "known")])
def test_ledger_knows_a_flaky_case_where_it_says_so(tmp_path, kinds, status):
    _, records = run(tmp_path, surface("s", once(tmp_path, "os.abort()")), entries=[known(*kinds)])
    assert results(records)[0]["status"] == status


def test_views_say_that_it_flickers_and_show_what_was_seen(tmp_path):
    report, _ = run(tmp_path, surface("s", once(tmp_path, "os.abort()")), surface("t"))
    (group,) = differences.difference_groups(report)
    assert (group.status, group.kind, group.action) == ("flaky", "flaky", "is flaky")
    assert "then, in a separate process, returned" in group.reason
    assert "differed between repetitions (flaky)" in " ".join(summary.report_problems(report))
    (one,) = contradictions.find_contradictions(report)
    assert "is flaky" in [words for words, _ in one.behaviours]


def test_run_with_other_repeats_is_not_resumed(tmp_path):
    run(tmp_path, surface("s"), repeat=2)
    with pytest.raises(ConformanceError, match="cannot resume, repeat differs from this run"):
        run(tmp_path, surface("s"), repeat=3, resume=True)


def test_two_trials_are_reported_in_the_order_in_which_they_were_seen():
    one = np.ones(1)
    came = combine_retry(ProgramOutcome("crashed", message="signal 6"), ProgramOutcome("returned", (one,)))
    assert came.kind == "crashed"
    assert came.flakiness.startswith("crashed (signal 6), then, in a separate process, returned (")
    assert combine_repeats([ProgramOutcome("returned", (one,))] * 3, lambda _: True).flakiness == ""


def test_repeated_case_is_slow_only_if_a_single_run_exceeds_the_limit_and_the_others_are_equal():
    late, right = ProgramOutcome("timed_out", message="no answer"), ProgramOutcome("returned", (np.ones(1),))
    other = ProgramOutcome("returned", (np.zeros(1),))
    slow = combine_repeats([right, late, right], lambda _: True)
    assert (slow.kind, slow.flakiness) == ("returned", "")
    assert slow.slowness.startswith("of 3 runs: returned (")
    for outcomes_of_runs in ([late, late, right], [late, right, other]):
        combined = combine_repeats(outcomes_of_runs, lambda _: True)
        assert (combined.kind, combined.slowness) == ("timed_out", "")
        assert combined.flakiness.startswith("of 3 runs: timed out (no answer)")
