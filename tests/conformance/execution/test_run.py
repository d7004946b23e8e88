import json
import sys
from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet

from conformance import IncompleteRun
from conformance.adapters.api import Declaration, Surface, Unsupported
from conformance.execution import job as job_module, run as run_module
from conformance.execution.job import Limits
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.execution.worker_process import Worker
from conformance.judging.ledger import Ledger, LedgerEntry
from reports.analysis import summary
from reports.results import reader
from tests.support.fake_backends import ALWAYS_WRONG, CRASHES, HANGS, RAISES, backend, declares, load, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
PLAIN = f"id: a, {X}, window: 2"
QUESTION = f"id: q, about: By how much, {X}, window: 3, answers: {{window: {{stride: 3}}, one: {{stride: 1}}}}"
ANSWERS = {"window": "x = x[:, :, 2:3, 2:3]", "one": "x = x[:, :, 2:, 2:]", "other": "x = x[:, :, :3]"}


def run(
    tmp_path,
    *surfaces,
    cases=(PLAIN,),
    entries=(),
    section="cases",
    limit=10.0,
    repeat=1,
    jobs=1,
    resume=False,
    **texts,
):
    """Run cases on fake surfaces; return the loaded report of the results file, and its records."""
    path = tmp_path / "fake.jsonl"
    catalogue = load(tmp_path, *cases, section=section)
    ledger, options = Ledger(tuple(entries)), RunOptions(limits=Limits(case_seconds=limit), repeat=repeat, jobs=jobs)
    job = Run(backend(*surfaces, **texts), catalogue, ledger, options, python=sys.executable)
    job.execute(path, resume=resume)
    records = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
    return reader.load_report([path]), records


def results(records):
    return [record for record in records if record["record"] == "result"]


def known(*kinds, cases="*", versions=None):
    return LedgerEntry("e", (cases,), ("*",), kinds, "it is known", "https://example.org/2", versions or {})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (None, ("pass", "returned", "agree", None)),
        (ALWAYS_WRONG, ("fail", "returned", "differ", "shape")),
        ("x = x[:, :, ::2, ::2]", ("fail", "returned", "differ", "value")),
        ("x = x[:, :, 1::2, 1::2] * np.nan", ("fail", "returned", "differ", "special")),
        ("x = x[:, :, 1::2, 1::2].astype(np.float64)", ("fail", "returned", "differ", "dtype")),
        ("x = x.tolist()", ("fail", "returned", "differ", "shape")),
        ("x = (x[:, :, 1::2, 1::2],) * 2", ("fail", "returned", "differ", "shape")),
        ("x = ()", ("fail", "returned", "differ", "shape")),
        ("x = x[:, :, 1::2, 1::2].astype(object)", ("fail", "returned", "differ", "shape")),
        (RAISES, ("fail", "rejected", "differ", "rejected")),
        (CRASHES, ("crashed", "crashed", None, None)),
        ("nope()", ("crashed", "crashed", None, None)),
        (HANGS, ("timed_out", "timed_out", None, None)),
    ],
)
def test_status_follows_from_the_outcome(tmp_path, body, expected):
    report, records = run(tmp_path, surface("s", body), limit=1)
    (found,) = results(records)
    assert tuple(found[key] for key in ("status", "outcome", "verdict", "kind")) == expected
    assert summary.report_verdict(report).is_good is (expected[0] == "pass")


@pytest.mark.parametrize(
    ("body", "kinds", "status"),
    [
        ("x = x[:, :, ::2, ::2]", ("value",), "known"),
        ("x = x[:, :, ::2, ::2]", ("shape", "value"), "known"),
        ("x = x[:, :, ::2, ::2]", ("shape",), "fail"),
        (RAISES, ("rejected",), "known"),
        (CRASHES, ("crashed",), "known"),
        (CRASHES, ("value",), "crashed"),
        (HANGS, ("timed_out",), "known"),
        (None, ("value",), "stale"),
        (CRASHES, ("crashed", "flaky"), "known"),
        (None, ("crashed", "flaky"), "pass"),
    ],
)
def test_ledger_entry_makes_known_or_stale(tmp_path, body, kinds, status):
    report, records = run(tmp_path, surface("s", body), entries=[known(*kinds)], limit=1)
    (found,) = results(records)
    assert found["status"] == status
    assert summary.report_verdict(report).is_good is (status in {"known", "pass"})
    if status in {"known", "stale"}:
        assert (found["reason"], found["issue"]) == ("it is known", "https://example.org/2")
    else:
        assert "reason" not in found


def test_cases_with_a_flaky_entry_run_last(tmp_path):
    _, records = run(tmp_path, surface("s"), surface("t"), entries=[replace(known("flaky"), surfaces=("s",))])
    assert [found["surface"] for found in results(records)] == ["t", "s"]


def test_entry_for_other_versions_is_ignored(tmp_path):
    entry = known("value", versions={"numpy": SpecifierSet("<1")})
    _, records = run(tmp_path, surface("s"), surface("t", ALWAYS_WRONG), entries=[entry])
    assert [found["status"] for found in results(records)] == ["pass", "fail"]


def test_unsupported_case_has_a_reason_and_its_own_count(tmp_path):
    lacking = Surface("s", {"max_pool": lambda _step: Unsupported("has no such thing", "https://example.org/3")})
    report, records = run(tmp_path, lacking, surface("t"))
    found = results(records)[0]
    assert (found["status"], found["reason"], found["issue"]) == (
        "unsupported",
        "has no such thing",
        "https://example.org/3",
    )
    assert found["program"] is found["how"] is found["digest"] is None
    assert report.backends[0].footer.by_status == {"pass": 1, "unsupported": 1}


def test_entry_does_not_make_an_unsupported_case_stale(tmp_path):
    lacking = Surface("s", {})
    _, records = run(tmp_path, lacking, surface("t", "x = x[:, :, ::2, ::2]"), entries=[known("value")])
    assert [found["status"] for found in results(records)] == ["unsupported", "known"]


def test_accepted_call_fails_where_it_must_be_rejected(tmp_path):
    text = f"id: a, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}"
    _, records = run(tmp_path, surface("s", "pass"), surface("t", RAISES), surface("u", CRASHES), cases=[text])
    found = results(records)
    assert [(one["status"], one["kind"]) for one in found] == [("fail", "accepted"), ("pass", None), ("crashed", None)]
    assert "StrideIsZero" in found[0]["message"]


@pytest.mark.parametrize("observed", ANSWERS)
@pytest.mark.parametrize("declared", ["window", "one", None])
def test_convention_passes_if_the_observed_answer_is_declared(tmp_path, observed, declared):
    answering = surface("s", ANSWERS[observed], declarations=declares(declared) if declared else {})
    report, records = run(tmp_path, answering, cases=[QUESTION], section="questions")
    (answer,) = report.backends[0].conventions
    assert (answer.declared, answer.observed, answer.about) == (declared, observed, "By how much")
    (found,) = results(records)
    assert (found["status"] == "pass") is (observed == declared)
    assert (found["status"] == "undeclared") is (declared is None and observed != "other")
    assert (found["kind"] == "convention") is (found["status"] == "fail")
    if found["status"] != "pass":
        assert observed in found["message"]
    assert summary.report_verdict(report).is_good is (found["status"] != "fail")


def test_ledger_entry_for_the_convention_covers_an_undeclared_answer(tmp_path):
    answering = surface("s", ANSWERS["one"])
    entries = [replace(known("convention"), cases=("max_pool/q",))]
    _, records = run(tmp_path, answering, cases=[QUESTION], section="questions", entries=entries)
    assert results(records)[0]["status"] == "known"


def test_two_answers_to_one_convention_are_a_contradiction(tmp_path):
    again = QUESTION.replace("id: q, ", "id: r, question: q, ").replace("[1, 1, 4, 4]", "[1, 1, 6, 6]")
    body = ANSWERS["window"] + " if x.shape[2] == 4 else x[:, :, 2:, 2:]"
    answering = surface("s", body, declarations={"max_pool/q": Declaration("window", observed="1.0")})
    report, records = run(tmp_path, answering, cases=[QUESTION, again], section="questions")
    first, second = results(records)
    assert (first["status"], second["status"], second["kind"]) == ("pass", "fail", "convention")
    assert "contradicts itself: it answered 'window' in max_pool/q" in second["message"]
    assert [answer.question for answer in report.backends[0].conventions] == ["max_pool/q"] * 2
    assert summary.answers_by_convention(report)["max_pool/q"]["s"].case == "max_pool/r"


def test_answer_that_differs_from_the_observed_one_has_changed(tmp_path):
    answering = surface("s", ANSWERS["one"], declarations={"max_pool/q": Declaration("window", observed="1.0")})
    _, records = run(tmp_path, answering, cases=[QUESTION], section="questions")
    (found,) = results(records)
    assert (found["status"], found["kind"]) == ("fail", "changed")
    assert "in version 1.0" in found["message"]


@pytest.mark.parametrize("here", [True, False])
def test_declared_answer_may_depend_on_the_processor(tmp_path, monkeypatch, here):
    monkeypatch.setattr(Worker, "start", with_features(["avx2", "avx512_fp16"] if here else ["avx2"]))
    declared = Declaration("window", observed="1.0", cpu={"avx512_fp16": "one"})
    answering = surface("s", ANSWERS["one"], declarations={"max_pool/q": declared})
    report, records = run(tmp_path, answering, cases=[QUESTION], section="questions")
    (found,) = results(records)
    assert (found["status"], found["kind"]) == (("pass", None) if here else ("fail", "changed"))
    assert report.backends[0].conventions[0].declared == ("one" if here else "window")
    assert ("avx512_fp16" in records[0]["environment"]["cpu"]) is here


def with_features(features):
    """Return a replacement of Worker.start that reports these processor features."""
    start = Worker.start

    def started(worker):
        start(worker)
        worker.environment["cpu"] = features

    return started


def test_convention_case_that_crashes_is_observed_as_crashed(tmp_path):
    report, records = run(tmp_path, surface("s", CRASHES), cases=[QUESTION], section="questions")
    assert report.backends[0].conventions[0].observed == "crashed"
    assert results(records)[0]["status"] == "crashed"


def test_wrong_result_is_recorded_with_its_worst_element(tmp_path):
    _, records = run(tmp_path, surface("s", "x = x[:, :, ::2, ::2]"))
    (found,) = results(records)
    assert found["got"] == {"dtype": "float32", "shape": [1, 1, 2, 2], "data": [0, 2, 8, 10]}
    assert found["worst"]["index"] == [0, 0, 0, 0]
    assert (found["worst"]["expected"], found["worst"]["got"], found["worst"]["absolute"]) == (5, 0, 5)
    assert found["budget_used"] == "inf"


@pytest.mark.parametrize("body", ["x = x[:, :, 1::2, 1::2] / 0", "x = -x[:, :, 1::2, 1::2] / 0", "x = np.nan * x"])
def test_infinities_and_nan_can_be_written_and_read(tmp_path, body):
    report, _ = run(tmp_path, surface("s", body), setup="import warnings\nimport numpy as np\n")
    assert [result.status for result in report.results] == ["fail"]


@pytest.mark.parametrize("text", ["a\\nb", "\\u2028 and \\x85", "\\udc80", "\\x1b[31m", "é" * 3000])
def test_any_exception_message_is_one_line_of_json(tmp_path, text):
    report, _ = run(tmp_path, surface("s", f"raise ValueError('{text}')"))
    assert [result.status for result in report.results] == ["fail"]


def test_integers_beyond_2_to_53_are_written_exactly(tmp_path):
    text = f"id: a, x: {{values: [[[{2**60 + 1}, {2**60}]]], dtype: int64}}, window: 2"
    answering = surface("s", "x = x[:, :, 1:]", dtypes={"": frozenset({"int64"})})
    _, records = run(tmp_path, answering, cases=[text])
    (found,) = results(records)
    assert found["worst"]["expected"] - found["worst"]["got"] == 1
    assert found["worst"]["absolute"] == 1


def test_crash_or_timeout_does_not_affect_other_cases(tmp_path):
    cases = [f"id: {name}, x: {{values: [[[{n}, 9, {n}]]]}}, window: 3" for n, name in enumerate("abcdef")]
    body = (
        "if x[0, 0, 0] == 2:\n    os.abort()\nif x[0, 0, 0] == 4:\n    time.sleep(60)\nx = x.max(axis=2, keepdims=True)"
    )
    _, records = run(tmp_path, surface("s", body), cases=cases, limit=1)
    statuses = [found["status"] for found in results(records)]
    assert statuses == ["pass", "pass", "crashed", "pass", "timed_out", "pass"]


@pytest.mark.parametrize(
    ("kind", "tag", "seconds"), [("timed_out", "", 1), ("crashed", "", 3), ("timed_out", "compiled", 3)]
)
def test_known_hang_has_a_shorter_limit(tmp_path, monkeypatch, kind, tag, seconds):
    monkeypatch.setattr(job_module, "KNOWN_TIMEOUT_SECONDS", 1.0)
    cases = ["id: a, x: {values: [[[1, 9, 1]]]}, window: 3, tags: [compiled]"]
    for jobs in (1, 2):
        hanging = surface("s", HANGS, slow_tag=tag)
        _, records = run(tmp_path, hanging, cases=cases, entries=[known(kind)], limit=3, jobs=jobs)
        (found,) = results(records)
        assert found["message"].startswith(f"no answer within {seconds} s")


def test_several_workers_write_the_same_results_as_one(tmp_path):
    cases = [f"id: a{n}, x: {{values: [[[{n}, 9, {n}]]]}}, window: 3" for n in range(12)]
    files = []
    for jobs in (1, 3):
        job = Run(backend(), load(tmp_path, *cases), Ledger(), RunOptions(jobs=jobs), python=sys.executable)
        path = tmp_path / f"{jobs}.jsonl"
        job.execute(path)
        records = results([json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]])
        files.append([{key: value for key, value in record.items() if key != "seconds"} for record in records])
    assert files[0] == files[1]
    assert len(files[0]) == 12


@pytest.mark.parametrize(
    ("level", "slow", "expected"),
    [
        ("smoke", False, ["b"]),
        ("standard", False, ["a", "b", "c"]),
        ("exhaustive", False, ["a", "b", "c"]),
        ("smoke", True, ["a", "b"]),
        ("standard", True, ["a", "b", "c", "d"]),
    ],
)
def test_slow_surface_runs_tagged_cases_and_one_level_less(tmp_path, level, slow, expected):
    more = [f"id: b, {X}, window: 2, tags: [compiled]"]
    more += [
        f"id: {name}, {X}, window: 2, level: standard{tag}" for name, tag in (("c", ", tags: [compiled]"), ("d", ""))
    ]
    fake = backend(surface("s", max_level="smoke", slow_tag="compiled"))
    run_ = Run(
        fake, load(tmp_path, PLAIN, *more), Ledger(), RunOptions(Selection(level, slow=slow)), python=sys.executable
    )
    assert [task.case.id for task in run_.tasks()] == [f"max_pool/{name}" for name in expected]


@pytest.mark.parametrize("seconds", [0, 60])
def test_first_programs_run_while_later_tasks_are_translated(tmp_path, monkeypatch, seconds):
    monkeypatch.setattr(run_module, "MIN_TRANSLATION_SECONDS", seconds)
    cases = load(tmp_path, *(f"id: a{number}, {X}, window: 2" for number in range(200)))
    first = Worker(backend(surface("s")), sys.executable)
    first.launch()
    assert first.reply_arrived.wait(60)
    run_ = Run(first.backend, cases, Ledger(), python=sys.executable, first_worker=first)
    translated, after_each_result = [], []
    translate = run_.translate
    run_.translate = lambda case, on: translated.append(case.id) or translate(case, on)
    run_.execute(tmp_path / "fake.jsonl", progress=lambda *_: after_each_result.append(len(translated)))
    assert (after_each_result[0] < 200) == (seconds == 0)
    assert translated == [case.id for case in cases.cases]


def test_surface_is_not_run_above_its_level(tmp_path):
    path, texts = tmp_path / "fake.jsonl", [PLAIN, f"id: b, {X}, window: 2, level: standard"]
    fake = backend(surface("s"), surface("t", max_level="smoke"))
    run_ = Run(fake, load(tmp_path, *texts), Ledger(), RunOptions(Selection("standard")), python=sys.executable)
    run_.execute(path)
    assert sorted((r.case, r.surface) for r in reader.load_report([path]).results) == [
        ("max_pool/a", "s"),
        ("max_pool/a", "t"),
        ("max_pool/b", "s"),
    ]


def test_case_and_program_records_are_written_once(tmp_path):
    cases = [PLAIN, f"id: b, {X}, window: 2"]
    _, records = run(tmp_path, surface("s"), surface("t"), cases=cases)
    kinds = [record["record"] for record in records]
    assert (kinds.count("case"), kinds.count("program"), kinds.count("result")) == (2, 1, 4)
    assert (kinds[0], kinds[-1]) == ("header", "footer")


def test_header_describes_the_run_and_its_environment(tmp_path):
    _, records = run(tmp_path, surface("s"))
    header = records[0]
    assert (header["backend"], header["surfaces"], header["level"]) == ("fake", ["s"], "smoke")
    assert header["catalogue"].keys() == {"version", "digest", "cases"}
    assert header["environment"]["packages"].keys() == {"numpy"}
    assert "import numpy" in header["environment"]["setup"]["s"]


def test_backend_whose_setup_fails_is_an_incomplete_run(tmp_path):
    with pytest.raises(IncompleteRun, match="backend fake: setup: ModuleNotFoundError"):
        run(tmp_path, surface("s"), setup="import nope_nope")
    assert not (tmp_path / "fake.jsonl").exists()


def test_run_without_any_program_is_incomplete(tmp_path):
    with pytest.raises(IncompleteRun, match="nothing to run"):
        run(tmp_path, Surface("s", {}))


def test_worker_that_cannot_be_replaced_leaves_a_partial_file(tmp_path):
    flag = tmp_path / "flag"
    setup = f"import os\nimport numpy as np\nassert not os.path.exists({str(flag)!r})\nopen({str(flag)!r}, 'w').close()"
    cases = [PLAIN, f"id: b, {X}, window: 2"]
    with pytest.raises(IncompleteRun, match="cannot restart its worker"):
        run(tmp_path, surface("s", CRASHES), cases=cases, setup=setup)
    assert not reader.load_report([tmp_path / "fake.jsonl"]).backends[0].complete


def test_progress_counts_each_result(tmp_path):
    seen = []
    job = Run(backend(surface("s"), surface("t")), load(tmp_path, PLAIN), Ledger(), python=sys.executable)
    job.execute(tmp_path / "fake.jsonl", progress=lambda *event: seen.append((*event[:2], event[2].status)))
    assert seen == [(1, 2, "pass"), (2, 2, "pass")]


def test_surface_with_a_missing_requirement_is_unsupported(tmp_path):
    lacking = surface("fake.compiled", CRASHES, missing_requirement=lambda: "there is no compiler here")
    _, records = run(tmp_path, surface("fake.right"), lacking, cases=[PLAIN, PLAIN.replace("id: a", "id: b")])
    found = {(record["surface"], record["status"], record.get("reason")) for record in results(records)}
    assert found == {("fake.right", "pass", None), ("fake.compiled", "unsupported", "there is no compiler here")}


def test_surface_without_a_missing_requirement_is_run(tmp_path):
    _, records = run(tmp_path, surface("fake.compiled", missing_requirement=lambda: None))
    assert [record["status"] for record in results(records)] == ["pass"]


DOUBLE = "x: {values: arange, shape: [1, 1, 4, 4], dtype: float64}"
MODE = "sys.mode = 64\n"
# In a process in the wrong mode, the maximum is wrong.
RIGHT_IN_ITS_MODE = """\
expected = 64 if x.dtype == np.float64 else 32
x = x[:, :, 1::2, 1::2] + (getattr(sys, 'mode', 32) != expected)
"""


def mode_of(case):
    return MODE if case.dtype == "float64" else ""


def test_cases_run_in_the_mode_that_the_surface_selects(tmp_path):
    cases = [f"id: a{number}, {DOUBLE if number % 2 else X}, window: 2" for number in range(6)]
    _, records = run(tmp_path, surface("fake.a", RIGHT_IN_ITS_MODE, select_mode=mode_of), cases=cases)
    assert [one["status"] for one in results(records)] == ["pass"] * 6
    modes = {one["program"]: one.get("mode") for one in records if one["record"] == "program"}
    assert [modes[one["program"]] for one in results(records)] == [None, "sys.mode = 64"] * 3


def test_reset_restores_the_mode_of_the_process(tmp_path):
    cases = [f"id: a{number}, {one}, window: 2" for number, one in enumerate([X, DOUBLE] * 3)]
    fake = surface("fake.a", f"{RIGHT_IN_ITS_MODE}sys.mode = 0\n", select_mode=mode_of)
    _, records = run(tmp_path, fake, cases=cases, reset="sys.mode = 32\n")
    assert [one["status"] for one in results(records)] == ["pass"] * 6
