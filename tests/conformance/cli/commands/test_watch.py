"""`conformance watch`: new items of a nightly run, their likely causes, and items that were reported before."""

import json

import pytest
from msgspec import convert

from conformance.cli.commands import watch
from reports.analysis.nightly.history import History, ReportedFinding, WrongResult
from reports.results import FindingRecord
from tests.support import example_results as example

NN = "alpha.nn"
FUNCTIONAL = "alpha.nn.functional"
POOL = "max_pool/stride-2-padding-1"
WORST = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1}
WRONG = example.array([5, 7, 13, 14], [1, 1, 2, 2])
NEWER = {"alpha": "2.2.0", "numpy": "2.4.6"}
OTHER = "max_pool/explored/1d-n1-c1-i3-w1-s3"


def environment(**changes):
    return example.header("alpha", [NN])["environment"] | changes


BUMP = {"environment": environment(packages=NEWER)}


def unchanged(**changes):
    return example.run("alpha", [NN], example.all_pass(NN), **changes)


def with_pool(record, **changes):
    """Return a run with another result for one case."""
    records = [one for one in example.all_pass(NN) if one["case"] != POOL]
    return example.run("alpha", [NN], [*records, record], **changes)


def broken(**changes):
    return with_pool(example.differing(POOL, NN, WRONG, WORST), **changes)


def other_seed(found, seed=8, code=None, **changes):
    """Return an exploration with another seed and, if given, another version of the suite."""
    records = example.exploration(findings=found, **changes)
    records[0]["explored"] |= {"seed": seed} | ({"code": code} if code else {})
    return records


@pytest.fixture
def night(tmp_path):
    """Return a function that writes the files of a nightly run and returns their folder."""

    def write(name, *runs, explored=()):
        example.write(tmp_path / name / "results", *runs)
        example.write(tmp_path / name / "explored" / "results", *explored)
        return tmp_path / name

    return write


@pytest.fixture
def watched(conformance, tmp_path):
    """Return a function that runs the command: (status, issues, texts, summary, errors, output)."""

    def call(tonight, last=None):
        out = tmp_path / "watch"
        status, said, errors = conformance(
            "watch", tonight, *(["--against", last] if last else []), "--out", out
        )  # fmt: skip
        issues = json.loads((out / "issues.json").read_text("utf-8"))
        texts = [(out / one["file"]).read_text("utf-8") for one in issues]
        return status, issues, texts, (out / "summary.md").read_text("utf-8"), errors, said

    return call


@pytest.fixture
def with_history(tmp_path):
    """Return a function that copies the seen.json of the last command to the folder of a nightly run."""

    def put(folder):
        folder.mkdir(exist_ok=True)
        (folder / "seen.json").write_text((tmp_path / "watch" / "seen.json").read_text("utf-8"), "utf-8")
        return folder

    return put


def test_a_run_like_the_previous_one_has_nothing_new(night, watched):
    last = night("last", broken(), explored=[example.exploration()])
    tonight = night("tonight", broken(), explored=[example.exploration()])
    status, issues, _, summary, errors, said = watched(tonight, last)
    assert (status, issues, errors) == (0, [], [])
    assert "## ✅ Nothing new" in summary
    assert "Findings that were reported before: 1." in summary
    assert said.startswith("Nothing new")


def test_in_the_first_run_every_failure_is_new(night, watched):
    status, issues, texts, summary, *_ = watched(night("tonight", broken(), explored=[example.exploration()]))
    assert status == 1
    assert [one["why"] for one in issues] == ["first", "first"]
    assert "## ❌ 2 new differences" in summary
    assert all("There is no earlier night of this backend" in text for text in texts)


def test_an_issue_has_the_smallest_case_its_result_versions_and_a_script(night, watched):
    _, (found, differs), texts, *_ = watched(night("tonight", broken(), explored=[example.exploration()]))
    assert found["title"].startswith(
        "alpha: max_pool on alpha.nn: numbers are wrong by more than rounding allows in all"
    )
    assert found["title"].endswith(f"[{found['key']}]")
    for said in (
        "values: [[[0, 1]]]",
        "print(alpha.pool([[[0, 1]]]))",
        "at \\[0, 0, 0\\] expected 0, got 1",
        "alpha 2.1.0",
    ):
        assert said in texts[0], said
    assert differs["title"].startswith(f"alpha: max_pool returns other values on alpha.nn: 1 result, first {POOL} [")
    assert "expected 15, got 14" in texts[1]


def test_an_issue_about_a_catalogue_case_has_its_script(night, watched, monkeypatch):
    monkeypatch.setattr("conformance.cli.commands.watch._case_script", lambda case, surface: f"# {case} on {surface}\n")
    _, _, (text,), *_ = watched(night("tonight", broken()))
    assert f"```python\n# {POOL} on {NN}\n```" in text
    assert f"`conformance repro {POOL} --surface {NN}`" in text


def test_script_is_that_of_the_case(conformance):
    case = "max_pool/book-1d"
    status, printed, _ = conformance("repro", case, "--surface", "numpy.loops")
    assert (status, watch._case_script(case, "numpy.loops@old")) == (0, printed)
    assert watch._case_script("pad/no-such", "numpy.loops") == ""
    assert watch._case_script(case, "no.such") == ""


@pytest.mark.parametrize(
    ("changes", "why", "said"),
    [
        ({"environment": environment(packages=NEWER)}, "versions", "alpha: 2.1.0 → 2.2.0"),
        ({"environment": environment(python="3.12.1")}, "versions", "Python: 3.11.7 → 3.12.1"),
        ({"ledger": "1" * 32}, "suite", "ledger: none → 111111111111"),
        ({"environment": environment(platform="Linux-9")}, "suite", "→ Linux-9"),
        ({"environment": environment(suite={"nn-conformance": "9.9"})}, "suite", "suite: nn-conformance: 0.1.0 → 9.9"),
        ({}, "flaky", "The result is not always the same, but nothing differs."),
    ],
)
def test_a_new_difference_has_its_likely_cause(night, watched, changes, why, said):
    status, (issue,), (text,), summary, *_ = watched(night("tonight", broken(**changes)), night("last", unchanged()))
    assert (status, issue["why"]) == (1, why)
    assert said in text.replace("\\", "")
    assert said in summary.replace("\\", "")


def test_another_catalogue_is_a_cause_in_the_suite(night, watched):
    newer = {"catalogue": {"digest": "00" * 16, "version": "2.0.0", "cases": 9}}
    _, (issue,), (text,), *_ = watched(night("tonight", broken(**newer)), night("last", unchanged()))
    assert issue["why"] == "suite"
    assert "2.0.0 (000000000000)" in text


def test_another_program_is_a_cause_in_the_suite(night, watched):
    records = example.all_pass(NN)
    differs = example.differing(POOL, NN, WRONG, WORST, program=f"{NN}-padded", how="padded")
    told = [differs if one["case"] == POOL else one for one in records]
    run = example.run("alpha", [NN], told)
    run.insert(1, example.program(NN, how="padded"))
    _, (issue,), (text,), *_ = watched(night("tonight", run), night("last", unchanged()))
    assert issue["why"] == "suite"
    assert "the program: alpha.nn-native → alpha.nn-padded" in text


@pytest.mark.parametrize("versions", [{}, {"environment": environment(packages=NEWER)}])
def test_result_that_differs_when_repeated_is_flaky(night, watched, versions):
    flaky = example.differing(POOL, NN, WRONG, WORST, status="flaky", flaky=True, message="of 3 runs: two and one")
    _, (issue,), *_ = watched(night("tonight", with_pool(flaky, **versions)), night("last", unchanged()))
    assert issue["why"] == "flaky"


def test_flaky_result_is_reported_once(night, watched, with_history):
    flaky = example.differing(POOL, NN, WRONG, WORST, status="flaky", flaky=True)
    first = night("first", with_pool(flaky))
    assert watched(first, night("zeroth", unchanged()))[0] == 1
    calm = with_history(night("calm", unchanged()))
    assert watched(night("again", with_pool(flaky)), calm)[0] == 0


def test_flaky_result_that_then_always_crashes_is_reported(night, watched, with_history):
    watched(
        night("first", with_pool(example.result(POOL, NN, status="flaky", flaky=True))), night("zeroth", unchanged())
    )
    dead = with_pool(example.died(POOL, NN, "crashed", "SIGSEGV"), **BUMP)
    status, (issue,), *_ = watched(night("tonight", dead), with_history(night("last", unchanged())))
    assert (status, issue["why"]) == (1, "versions")
    assert "max_pool crashes the process" in issue["title"]


def test_flaky_result_that_then_has_other_values_is_reported(night, watched, with_history):
    watched(
        night("first", with_pool(example.result(POOL, NN, status="flaky", flaky=True))), night("zeroth", unchanged())
    )
    moved = with_pool(example.result(POOL, NN, digest="0" * 32), **BUMP)
    summary = watched(night("tonight", moved), with_history(night("last", unchanged())))[3]
    assert "## ❌ 1 changed value" in summary


CRASHES = example.died(POOL, NN, "crashed", "SIGSEGV")
STALE = example.result(POOL, NN, status="stale", reason="It was wrong up to version 2.0.")
FLICKERS = example.result(POOL, NN, status="flaky", flaky=True)


@pytest.mark.parametrize(
    ("was", "now", "does"),
    [
        (example.differing(POOL, NN, WRONG, WORST), CRASHES, "crashes the process"),
        (example.differing(POOL, NN, WRONG, WORST), example.died(POOL, NN, "timed_out", "60 s"), "times out on"),
        (STALE, example.differing(POOL, NN, WRONG, WORST), "returns other values"),
        (FLICKERS, CRASHES, "crashes the process"),
    ],
    ids=["fails, then crashes", "fails, then hangs", "stale, then fails", "flickers, then crashes"],
)
def test_failure_of_another_kind_is_reported_again(night, watched, was, now, does):
    last = night("last", with_pool(was))
    status, (issue,), *_ = watched(night("tonight", with_pool(now, **BUMP)), last)
    assert status == 1
    assert f"max_pool {does}" in issue["title"]


def test_changed_case_of_a_known_failure_is_not_reported(night, watched):
    other = with_pool(CRASHES)
    for one in other:
        if one["record"] == "case" and one["case"] == POOL:
            other[other.index(one)] = one | {"digest": "ff" * 16}
    assert watched(night("tonight", other), night("last", broken()))[0] == 0


def test_fixed_failure_is_listed_and_nothing_is_new(night, watched):
    status, issues, _, summary, *_ = watched(night("tonight", unchanged()), night("last", broken()))
    assert (status, issues) == (0, [])
    assert "### Fixed: these results pass now" in summary
    assert f"`{POOL}`" in summary


def test_changed_values_are_counted_and_open_no_issue(night, watched):
    moved = with_pool(example.result(POOL, NN, digest="0" * 32), environment=environment(packages=NEWER))
    status, issues, _, summary, *_ = watched(night("tonight", moved), night("last", unchanged()))
    assert (status, issues) == (1, [])
    assert "## ❌ 1 changed value" in summary
    assert "| version bump | alpha | `max_pool` | value, 1 result |" in summary


SAME = {
    "another smallest case that the conditions hold for": {"case": OTHER, "true": ["stride", "odd"]},
    "another smallest case, whose conditions hold for the old one": {"case": OTHER, "conditions": ["one axis"]},
    "the same smallest case under other conditions": {"conditions": ["odd"]},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_a_finding_of_another_seed_is_recognized(night, watched, change):
    again = example.finding(id="max_pool-ffffffff", **{"true": ["odd"], **change})
    last = night("last", explored=[example.exploration()])
    status, issues, _, summary, *_ = watched(night("tonight", explored=[other_seed([again])]), last)
    assert (status, issues) == (0, [])
    assert "Findings that were reported before: 1." in summary
    assert "not found again" not in summary


OTHERS = {
    "way": {"way": "shape"},
    "operator": {"operator": "min_pool"},
    "surface": {"surfaces": ["alpha.other"]},
    "conditions": {"case": OTHER, "conditions": ["NaN"], "true": ["NaN"]},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_another_cause_is_new_and_the_old_one_was_not_generated_again(night, watched, change):
    last = night("last", explored=[example.exploration()])
    tonight = night("tonight", explored=[other_seed([example.finding(id="max_pool-ffffffff", **change)])])
    status, (issue,), (text,), summary, *_ = watched(tonight, last)
    assert (status, issue["why"]) == (1, "drawn")
    assert "Other cases were generated: seed: 7 → 8" in text
    assert "not found again" in summary
    assert "`max_pool-0a1b2c3d`" in summary


def test_finding_of_another_suite_version_is_not_attributed_to_chance(night, watched):
    found = example.finding(id="max_pool-ffffffff", operator="min_pool")
    last = night("last", explored=[other_seed([], seed=7, code="00ff" * 8)])
    tonight = night("tonight", explored=[other_seed([found], code="ff00" * 8)])
    status, (issue,), (text,), *_ = watched(tonight, last)
    assert (status, issue["why"]) == (1, "suite")
    assert "source of the suite: 00ff00ff → ff00ff00" in text


def test_findings_without_conditions_cannot_be_distinguished(night, watched):
    found = [example.finding(id=f"max_pool-{name}", case=case, conditions=None, true=[]) for name, case in
             (("aaaaaaaa", example.FOUND), ("bbbbbbbb", OTHER))]  # fmt: skip
    status, (issue,), (text,), *_ = watched(night("tonight", explored=[example.exploration(findings=found)]))
    assert status == 1
    assert "- `max_pool-bbbbbbbb` counts as the same finding" in text
    third = example.finding(id="max_pool-cccccccc", case="max_pool/explored/third", conditions=None, true=[])
    tonight = night("next", explored=[other_seed([third])])
    assert watched(tonight, night("tonight"))[0] == 0
    assert issue["key"] == ReportedFinding.of("alpha", _parsed(third), "").issue_key


def _parsed(record):
    return convert(record, FindingRecord)


def test_a_finding_may_be_of_a_new_version(night, watched):
    tonight = other_seed([example.finding()], environment=environment(packages=NEWER))
    last = night("last", explored=[example.exploration(findings=[])])
    _, (issue,), (text,), summary, *_ = watched(night("tonight", explored=[tonight]), last)
    assert issue["why"] == "versions"
    assert "alpha: 2.1.0 → 2.2.0; seed: 7 → 8" in text
    assert "| alpha 2.2.0, numpy 2.4.6 | alpha 2.1.0, numpy 2.4.6 |" in summary


@pytest.mark.parametrize(("way", "why"), [("value", "flaky"), ("law: shift", "drawn"), ("surfaces: value", "drawn")])
def test_a_missing_finding_is_flaky_unless_the_reference_was_not_its_oracle(night, watched, way, why):
    records = other_seed([example.finding(way=way)])
    last = night("last", explored=[example.exploration(findings=[])])
    for number, one in enumerate(records):
        if one["record"] == "result":
            records[number] = example.result(one["case"], one["surface"])
    records[-1] = example.footer(records)
    _, (issue,), *_ = watched(night("tonight", explored=[records]), last)
    assert issue["why"] == why


def test_a_finding_of_the_run_before_the_previous_one_is_known(night, watched, with_history):
    first = night("first", explored=[example.exploration()])
    assert watched(first)[0] == 1
    second = with_history(night("second", explored=[other_seed([])]))
    assert watched(night("third", explored=[other_seed([example.finding()], 9)]), second)[0] == 0


def test_a_missing_backend_makes_the_run_incomplete(night, watched):
    last = night("last", unchanged(), example.beta(), explored=[example.exploration()])
    status, _, _, summary, errors, _ = watched(night("tonight", unchanged()), last)
    assert status == 3
    assert errors == [
        "beta: no results in this night, but in the previous one.",
        "alpha: no exploration in this night, but in the previous one.",
    ]
    assert "❌ beta: no results in this night" in summary


def incomplete():
    """Return a run that ended before the case."""
    return example.run("alpha", [NN], [one for one in example.all_pass(NN) if one["case"] != POOL], complete=False)


@pytest.mark.parametrize("kept", [True, False], ids=["with its memory", "without it"])
def test_a_failure_after_an_incomplete_run_is_reported_once(night, watched, with_history, kept):
    remember = with_history if kept else lambda folder: folder
    assert watched(night("second", incomplete()), night("first", unchanged()))[:2] == (3, [])
    status, (issue,), (text,), *_ = watched(night("third", broken()), remember(night("second", incomplete())))
    assert (status, issue["why"]) == (1, "suite")
    assert "the result: missing, the run was interrupted → exists" in text
    assert watched(night("fourth", broken()), remember(night("third", broken())))[0] == 0


def test_a_failure_before_an_incomplete_run_is_not_reported_again(night, watched, with_history):
    assert watched(night("first", broken()))[0] == 1
    assert watched(night("second", incomplete()), with_history(night("first", broken())))[:2] == (3, [])
    last = with_history(night("second", incomplete()))
    assert watched(night("tonight", broken()), last)[0] == 0
    status, (issue,), *_ = watched(night("tonight", with_pool(CRASHES)), last)
    assert (status, "crashes the process" in issue["title"]) == (1, True)


def test_a_failure_fixed_before_an_incomplete_run_is_reported_again(night, watched, with_history):
    watched(night("second", unchanged()), night("first", broken()))
    watched(night("third", incomplete()), with_history(night("second", unchanged())))
    assert watched(night("tonight", broken()), with_history(night("third", incomplete())))[0] == 1


def test_known_failures_of_a_returning_backend_are_not_new(night, watched, with_history):
    first = night("first", broken(), example.beta())
    watched(first)
    watched(night("second", example.beta()), with_history(first))
    status, issues, *_ = watched(
        night("third", broken(), example.beta()), with_history(night("second", example.beta()))
    )
    assert (status, issues) == (0, [])


def test_alternating_failure_and_flakiness_are_each_reported_once(night, watched, with_history):
    last, told = night("0", unchanged()), []
    for name, one in zip("12345", (broken(), with_pool(FLICKERS)) * 3, strict=False):
        told.append(watched(night(name, one), last)[0])
        last = with_history(night(name, one))
    assert told == [1, 1, 0, 0, 0]


def test_an_incomplete_results_file_makes_the_run_incomplete(night, watched):
    status, *_ = watched(night("tonight", example.gamma()), night("last", example.gamma()))
    assert status == 3


def test_texts_of_frameworks_are_escaped(night, watched):
    texts = dict.fromkeys(("sentence", "said", "case_text", "script"), example.HOSTILE + "\n```\n<b>")
    runs = example.exploration(findings=[example.finding(**texts)], message=example.HOSTILE)
    _, issues, (text,), summary, *_ = watched(night("tonight", explored=[runs]))
    blocks = text.split("````")
    outside = "".join(blocks[::2])
    assert len(blocks) == 5
    for told in (outside, summary):
        assert "<img" not in told
        assert "@user" not in told
        assert "\x1b" not in told
    assert len(issues[0]["title"]) <= 256
    assert "\n" not in issues[0]["title"]


def test_findings_without_conditions_on_other_surfaces_have_separate_issues(night, watched):
    other = example.finding(id="max_pool-bbbbbbbb", case=OTHER, surfaces=["alpha.other"], conditions=None, true=[])
    found = [example.finding(conditions=None, true=[]), other]
    _, issues, texts, *_ = watched(night("tonight", explored=[example.exploration(findings=found)]))
    assert len({one["key"] for one in issues}) == len({*texts}) == 2


def twice(*records, **changes):
    """Return a run with two surfaces that passes except for the given results."""
    bad = {(one["case"], one["surface"]) for one in records}
    good = [one for surface in (NN, FUNCTIONAL) for one in example.all_pass(surface)]
    rest = [one for one in good if (one["case"], one["surface"]) not in bad]
    return example.run("alpha", [NN, FUNCTIONAL], [*rest, *records], **changes)


def rejected(surface, message, **changes):
    return example.rejected(POOL, surface, status="fail", verdict="differ", kind="rejected", message=message, **changes)


REFUSALS = {
    "for other reasons": [rejected(NN, "no kernel"), rejected(FUNCTIONAL, "bad padding")],
    "one flickers": [rejected(NN, "no kernel"), rejected(FUNCTIONAL, "no kernel", flaky=True)],
}


@pytest.mark.parametrize("records", REFUSALS.values(), ids=REFUSALS)
def test_differences_of_one_case_have_separate_issues(night, watched, records):
    _, issues, texts, *_ = watched(night("tonight", twice(*records, **BUMP)), night("last", twice()))
    assert len({one["key"] for one in issues}) == len({*texts}) == 2


def test_another_message_has_a_separate_issue_and_another_number_has_not(night, watched):
    messages = ("no kernel of 3 axes at 0x7f3ac0", "no kernel of 2 axes at 0x7e01ff", "bad padding")
    keys = [watched(night("tonight", with_pool(rejected(NN, message))))[1][0]["key"] for message in messages]
    assert keys[0] == keys[1] != keys[2]


def test_equal_keys_are_made_distinct_in_every_run(night, watched):
    runs = [broken(), [one | {"backend": "alpha@new"} if one["record"] == "header" else one for one in broken()]]
    first, second = (watched(night("tonight", *runs))[1:3] for _ in range(2))
    assert first == second
    assert len({one["key"] for one in first[0]}) == len({*first[1]}) == 2


def test_an_issue_has_a_limited_length(night, watched):
    found = example.finding(script="x = 1\n" * 20_000)
    _, _, (text,), *_ = watched(night("tonight", explored=[example.exploration(findings=[found])]))
    assert len(text) < 61_000
    assert "*1 lines of this page are omitted. The results file contains everything.*" in text
    assert "values: [[[0, 1]]]" in text


def test_reported_items_remain_known_without_the_results(night, watched, with_history, tmp_path):
    assert watched(night("tonight", broken(), explored=[example.exploration()]))[0] == 1
    assert watched(tmp_path / "tonight", with_history(tmp_path / "last"))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["none"], 2, "does not exist"),
        (["empty"], 3, "no results in empty, neither in results nor in explored/results"),
        (["tonight", "--against", "empty"], 3, "no results in empty"),
    ],
)
def test_missing_run_is_an_error_of_one_line(conformance, night, folder, arguments, status, said):  # noqa: PLR0917
    night("tonight", unchanged())
    (folder / "empty").mkdir()
    found, _, errors = conformance("watch", *arguments)
    assert found == status
    assert len(errors) == 1
    assert said in errors[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "expected `object`, got `array`"),
        ('{"format": 2}', "format: unknown value 2"),
        ('{"format": 1, "findings": [{}], "flickering": []}', "[0]: object missing required field `backend`"),
        (
            '{"format": 1, "findings": [], "flickering": [{"surface": 3}]}',
            "flickering[0].surface: expected `str`, got `int`",
        ),
        (
            '{"format": 1, "findings": [], "flickering": [], "wrong": [{}]}',
            "[0]: object missing required field `backend`",
        ),
    ],
)
def test_invalid_history_is_an_error_of_one_line(conformance, night, text, said):
    last, tonight = night("last", unchanged()), night("tonight", unchanged())
    (last / "seen.json").write_text(text, "utf-8")
    status, _, errors = conformance("watch", tonight, "--against", last)
    assert status == 2
    assert len(errors) == 1
    assert said in errors[0]


def test_history_can_be_parsed():
    seen = ReportedFinding.of("alpha", _parsed(example.finding()), "2026-11-20")
    memory = History((seen,), frozenset({(NN, POOL)}), frozenset({WrongResult("alpha", NN, POOL, "fail")}))
    assert History.parse(memory.to_json()) == memory
    assert History.parse('{"format": 1, "findings": [], "flickering": []}') == History()
    assert memory.with_findings([seen]) == memory
