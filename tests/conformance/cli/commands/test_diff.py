"""`conformance diff`: the comparison of two sets of results, its three output formats, and the exit status."""

import json
import re
import shutil

import pytest

from reports.analysis.circumstances import DifferingFact
from reports.analysis.comparison import Incomparable, compare_reports
from reports.analysis.comparison_text import change_groups, change_text
from reports.results.reader import load_report
from reports.views import comparison_json, comparison_markdown
from tests.support import example_results as example
from tests.support.example_results import array, convention, differing, rejected, result

NN = "alpha.nn"
POOL, TOO_LARGE, NAN = (
    f"max_pool/{name}" for name in ("stride-2-padding-1", "window-larger-than-input", "nan-in-the-window")
)
BORDER, LARGE, CONV = "avg_pool/divisor-at-the-border", "avg_pool/large", "conv/edge-detector"
WORST = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1}
WRONG = array([5, 7, 13, 14], [1, 1, 2, 2])


def alpha(*records, surfaces=(NN,), complete=True, **changes):
    return example.run("alpha", list(surfaces), [*records], complete=complete, **changes)


@pytest.fixture
def sides(tmp_path):
    """Return a function that writes old and new runs to two folders and returns the folders."""

    def write(old, new):
        shutil.rmtree(tmp_path / "old", ignore_errors=True)
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        for name, runs in (("old", old), ("new", new)):
            example.write(tmp_path / name, *([runs] if isinstance(runs[0], dict) else runs))
        return tmp_path / "old", tmp_path / "new"

    return write


@pytest.fixture
def compared(sides):
    def call(old, new):
        return compare_reports(*(load_report(sorted(folder.glob("*.jsonl"))) for folder in sides(old, new)))

    return call


@pytest.fixture
def diff(sides, conformance):
    """Return a function that runs `conformance diff` on old and new runs: (status, output, errors)."""

    def call(old, new, *options):
        return conformance("diff", *sides(old, new), *options)

    return call


def kinds(difference):
    return [
        (change.kind, change.case.case, change.surface, change.old_text, change.new_text)
        for change in difference.changes
    ]  # fmt: skip


def test_same_results_have_no_difference(diff):
    status, out, _ = diff(example.alpha(), example.alpha())
    assert status == 0
    assert out.splitlines() == ["18 results compared (alpha): all are the same.", "✓ Nothing changed"]


def test_times_and_the_order_of_results_are_no_difference(compared):
    records = example.all_pass(NN)
    late = [{**one, "seconds": 99.0} if "seconds" in one else one for one in records[::-1]]
    difference = compared(alpha(*records), alpha(*late, started="2027-01-01T00:00:00Z"))
    assert (difference.changes, difference.facts) == ((), {})


def test_changed_status_is_listed_with_case_surface_and_both_statuses(diff):
    failed = differing(POOL, NN, WRONG, WORST)
    status, out, _ = diff(alpha(result(POOL, NN)), alpha(failed))
    assert status == 1
    assert out.splitlines() == [
        "✓ pass → ✗ fail  max_pool, alpha: 1 result",
        f"  {POOL} on {NN}: value: at [0, 0, 1, 1] expected 15, got 14",
        "",
        "1 result compared (alpha): 1 changed status.",
        "✗ Something changed",
    ]


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


@pytest.mark.parametrize("status", ["pass", "fail", "known", "stale"])
def test_other_bits_with_the_same_status_are_a_changed_value(diff, status):
    status_, out, _ = diff(
        alpha(result(POOL, NN, status=status)),
        alpha(result(POOL, NN, status=status, digest="00", got=array([5, 7, 13, 15.000001], [1, 1, 2, 2]))),
    )
    assert status_ == 1
    assert f"  {POOL} on {NN}: 1 of 4 elements, most at [0, 0, 1, 1]: 15 → 15.000001" in out.splitlines()
    assert "1 changed value." in out


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


def test_bits_of_flaky_and_meaningless_results_are_not_compared(compared):
    flaky = differing(POOL, NN, WRONG, WORST, status="known", flaky=True, reason="so")
    senseless = result(TOO_LARGE, NN, status="fail", verdict="differ", kind="accepted", budget_used=None)
    old = alpha(flaky, senseless)
    assert kinds(compared(old, alpha({**flaky, "digest": "00"}, {**senseless, "digest": "00"}))) == []
    steady = {key: value for key, value in flaky.items() if key != "flaky"}
    assert kinds(compared(alpha(steady), alpha({**steady, "digest": "00"}))) == [("value", POOL, NN, "known", "known")]


def test_changed_answer_is_listed_once_although_the_output_changed_too(diff):
    old = alpha(result(BORDER, NN), convention(NN, None, "real-cells", "undocumented"))
    new = alpha(result(BORDER, NN, digest="00"), convention(NN, None, "whole-window", "undocumented"))
    status, out, _ = diff(old, new)
    assert status == 1
    assert f"  {BORDER} on {NN}: avg_pool-divisor-at-the-border: real-cells → whole-window" in out.splitlines()
    assert "1 changed the answer to a convention." in out


def test_missing_results_are_significant_and_new_ones_are_not(compared, diff):
    more, less = alpha(result(POOL, NN), result(CONV, NN)), alpha(result(POOL, NN))
    assert kinds(compared(more, less)) == [("removed", CONV, NN, "pass", None)]
    assert diff(more, less)[0] == 1
    assert kinds(compared(less, more)) == [("added", CONV, NN, None, "pass")]
    status, out, _ = diff(less, more)
    assert status == 0
    assert out.splitlines()[-2:] == ["1 result compared (alpha): 1 new.", "✓ Nothing changed"]


def test_missing_surface_is_listed_by_case_and_at_the_top(diff):
    old = alpha(result(POOL, NN), result(POOL, "alpha.f"), surfaces=(NN, "alpha.f"))
    status, out, _ = diff(old, alpha(result(POOL, NN)))
    assert status == 1
    assert out.splitlines()[0] == "surfaces: alpha.nn, alpha.f → alpha.nn"
    assert f"  {POOL} on alpha.f: pass" in out


@pytest.mark.parametrize("change", [{"parameters": {"window": [2, 2]}}, {"digest": "00"}, {"via": ["pad"]}])
def test_results_of_a_changed_case_are_not_compared(compared, change, diff):
    old, new = alpha(result(POOL, NN)), alpha(differing(POOL, NN, WRONG, WORST))
    new[1] = {**new[1], **change}
    assert kinds(compared(old, new)) == [("redefined", POOL, NN, "pass", "fail")]
    status, out, _ = diff(old, new)
    assert status == 1
    assert "different case with the same id, not compared  max_pool, alpha: 1 result" in out


def test_changed_description_of_a_case_is_no_difference(compared):
    old, new = alpha(result(POOL, NN)), alpha(result(POOL, NN))
    new[1] = {**new[1], "about": "Said better.", "source": "elsewhere", "level": "standard"}
    assert kinds(compared(old, new)) == []


def test_changed_program_alone_is_a_note_and_no_change(diff):
    old, new = alpha(result(POOL, NN), result(CONV, NN)), alpha(result(POOL, NN), result(CONV, NN, digest="00"))
    for record in new:
        if "program" in record:
            record["program"] += "-b"
    status, out, _ = diff(old, new)
    assert status == 1
    assert out.splitlines()[0] == "The program changed for 2 compared results."
    assert "(the program changed)" in out
    assert "1 changed value." in out


def environment(**changes):
    return {**example.header("alpha", [NN])["environment"], **changes}


def test_different_circumstances_are_listed_and_change_no_status(compared, diff):
    packages = {"alpha": "2.2.0", "beta": "1"}
    new = alpha(
        result(POOL, NN),
        environment=environment(
            packages=packages, python="3.12.1", instructions="avx2", setup={NN: "import alpha\nalpha.quick()\n"}
        ),
        catalogue={"version": "1.1.0", "digest": "0123456789abcdef", "cases": 3},
        ledger="aa",
        level="standard",
        repeat=3,
        selection={"surfaces": [], "operators": ["conv"], "cases": []},
    )
    old = alpha(result(POOL, NN))
    assert list(compared(old, new).facts) == [
        DifferingFact("alpha", "2.1.0", "2.2.0"),
        DifferingFact("numpy", "2.4.6", "none"),
        DifferingFact("Python", "3.11.7", "3.12.1"),
        DifferingFact("instructions", "unknown", "avx2"),
        DifferingFact("catalogue", "(5f1d0a4be6a9)", "1.1.0 (0123456789ab)"),
        DifferingFact("ledger", "none", "aa"),
        DifferingFact("level", "smoke", "standard"),
        DifferingFact("repeat", "1", "3"),
        DifferingFact("selected operators", "all", "conv"),
        DifferingFact("beta", "none", "1"),
        DifferingFact("setup of alpha.nn", "import numpy as np; alpha.set_num_threads(1)", "alpha.quick()"),
    ]
    status, out, _ = diff(old, new)
    assert (status, out.splitlines()[0]) == (0, "alpha: 2.1.0 → 2.2.0")


def test_missing_processor_instructions_are_listed_if_both_processors_are_known(compared):
    one, other, silent = (
        alpha(result(POOL, NN), environment=environment(**cpu))
        for cpu in ({"cpu": ["avx2", "fma"]}, {"cpu": ["fma", "amx"]}, {})
    )
    assert list(compared(one, other).facts) == [DifferingFact("processor has", "avx2", "amx")]
    assert list(compared(one, silent).facts) == []


def test_folders_are_compared_by_backend(diff, compared):
    gone = example.run("gamma", ["gamma.nn"], [result(POOL, "gamma.nn")])
    come = example.run("delta", ["delta.nn"], [result(POOL, "delta.nn")])
    old, new = [alpha(result(POOL, NN)), gone], [alpha(result(POOL, NN, digest="00")), come]
    assert [(change.kind, change.backend) for change in compared(old, new).changes] == [
        ("value", "alpha"), ("added", "delta"), ("removed", "gamma"),
    ]  # fmt: skip
    status, out, _ = diff(old, new)
    assert status == 1
    assert "1 result compared (alpha, delta, gamma): 1 changed value, 1 removed, 1 new." in out


def test_same_circumstance_of_several_backends_is_listed_once(compared):
    old, new = (
        [example.run(name, [f"{name}.nn"], [result(POOL, f"{name}.nn")], ledger=ledger) for name in ("alpha", "beta")]
        for ledger in ("aa", "bb")
    )
    assert compared(old, new).facts == {DifferingFact("ledger", "aa", "bb"): ("alpha", "beta")}


def test_output_folder_of_a_run_is_accepted(tmp_path, conformance):
    for name in ("old", "new"):
        example.write(tmp_path / name / "results", alpha(result(POOL, NN)))
    assert conformance("diff", tmp_path / "old", tmp_path / "new/results/alpha.jsonl")[0] == 0


def test_two_labels_of_one_backend_are_compared_by_surface(compared):
    old = [{**one, "backend": "alpha@2.3"} if one["record"] == "header" else one for one in alpha(result(POOL, NN))]
    difference = compared(old, alpha(result(POOL, NN, digest="00")))
    assert kinds(difference) == [("value", POOL, NN, "pass", "pass")]
    assert difference.changes[0].backend == "alpha@2.3 → alpha"
    same = compared(old, [{**old[0]}, *old[1:-2], {**old[-2], "digest": "00"}, old[-1]])
    assert kinds(same) == [("value", POOL, "alpha.nn@2.3", "pass", "pass")]


def test_backends_without_a_common_result_are_an_error_of_one_line(diff, compared):
    with pytest.raises(Incomparable):
        compared(alpha(result(POOL, NN)), example.delta())
    status, out, error = diff(alpha(result(POOL, NN)), example.delta())
    assert (status, out) == (2, "")
    assert error == ["conformance: no backend is in both: OLD contains alpha, NEW contains delta"]


@pytest.mark.parametrize("partial", ["old", "new"])
def test_results_that_an_incomplete_run_lacks_are_neither_missing_nor_new(diff, partial):
    whole, cut = alpha(result(POOL, NN), result(CONV, NN)), alpha(result(POOL, NN), complete=False)
    status, out, _ = diff(*((cut, whole) if partial == "old" else (whole, cut)))
    assert status == 3
    assert out.splitlines() == [
        "1 result compared (alpha): 1 waiting for a run to finish.",
        f"✗ alpha, {partial} results: partial run, stopped after 1 result (conformance run --resume)",
        "✗ The comparison is incomplete",
    ]


def test_change_in_an_incomplete_run_is_shown(diff):
    status, out, _ = diff(alpha(result(POOL, NN)), alpha(result(POOL, NN, digest="00"), complete=False))
    assert status == 3
    assert out.splitlines()[-1] == "✗ Something changed, and the comparison is incomplete"


def test_run_without_results_is_incomplete(diff):
    status, out, _ = diff(example.delta(), example.delta())
    assert status == 3
    assert "✗ delta, new results: nothing ran" in out


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a valid file, an invalid file, and folders that cannot be compared."""
    monkeypatch.chdir(tmp_path)
    example.write(tmp_path, alpha(result(POOL, NN)))
    (tmp_path / "bad.jsonl").write_text("oops\n", "utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "twice").mkdir()
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / "twice" / name).write_bytes((tmp_path / "alpha.jsonl").read_bytes())


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["diff"], 2, "Missing argument 'OLD'"),
        (["diff", "alpha.jsonl"], 2, "Missing argument 'NEW'"),
        (["diff", "alpha.jsonl", "nowhere.jsonl"], 2, "nowhere.jsonl: cannot be read"),
        (["diff", "alpha.jsonl", "bad.jsonl"], 2, "bad.jsonl:1: not JSON"),
        (["diff", "alpha.jsonl", "empty"], 3, "no results in empty"),
        (["diff", "alpha.jsonl", "twice"], 2, "the backend 'alpha' is also in"),
        (["diff", "alpha.jsonl", "alpha.jsonl", "--format", "html"], 2, "'html' is not one of"),
        (["diff", "alpha.jsonl", "alpha.jsonl", "--out", "bad.jsonl/x"], 2, "bad.jsonl"),
    ],
)
def test_wrong_usage_is_one_line(conformance, arguments, status, says):
    found, out, error = conformance(*arguments)
    assert (found, out, len(error)) == (status, "", 1)
    assert says in error[0]


def test_long_groups_are_shortened_on_the_terminal_and_complete_in_json(diff):
    names = [f"alpha.{number}" for number in range(30)]
    old, new = (
        alpha(*(result(POOL, name, digest=digest) for name in names), surfaces=names) for digest in ("00", "11")
    )
    _, out, _ = diff(old, new)
    assert out.count(f"  {POOL} on alpha.") == 10
    assert "  and 20 more (--format json lists all)" in out.splitlines()
    assert len(json.loads(diff(old, new, "--format", "json")[1])["changes"]) == 30


def test_terminal_shows_one_new_result_and_counts_the_others(diff):
    names = [f"alpha.{number}" for number in range(5)]
    old, new = (alpha(*(result(POOL, name) for name in some), surfaces=names) for some in (names[:1], names))
    _, out, _ = diff(old, new)
    assert out.splitlines()[:3] == [
        "new  max_pool, alpha: 4 results",
        f"  {POOL} on alpha.1: pass",
        "  and 3 more (--format json lists all)",
    ]


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_out_writes_the_printed_text_with_the_same_exit_status(diff, tmp_path, form):
    old, new = alpha(result(POOL, NN)), alpha(result(POOL, NN, digest="00"))
    path = tmp_path / "deep" / "diff.txt"
    assert diff(old, new, "--format", form, "--out", path)[:2] == (1, f"difference: {path}\n")
    assert path.read_text("utf-8") == diff(old, new, "--format", form, "--out", "-")[1]


def test_json_has_everything(diff):
    old, new = alpha(result(POOL, NN)), alpha(differing(POOL, NN, WRONG, WORST, digest="00", message="so"))
    said = json.loads(diff(old, new, "--format", "json")[1])
    assert {key: said[key] for key in ("format", "changed", "complete", "compared", "counts")} == {
        "format": 1, "changed": True, "complete": True, "compared": 1, "counts": {"status": 1},
    }  # fmt: skip
    (change,) = said["changes"]
    assert (change["case"], change["surface"], change["was"], change["now"]) == (POOL, NN, "pass", "fail")
    assert (change["new"]["digest"], change["new"]["budget_used"], change["new"]["message"]) == ("00", "inf", "so")
    packages = {"alpha": "2.1.0", "numpy": "2.4.6"}
    assert said["backends"][0]["old"] == {"backend": "alpha", "packages": packages, "results": 1}


def test_page_has_a_table_for_each_group(diff):
    old = alpha(result(POOL, NN), result(CONV, NN))
    new = alpha(differing(POOL, NN, WRONG, WORST), environment=environment(python="3.12.1"))
    status, out, _ = diff(old, new, "--format", "markdown")
    lines = out.splitlines()
    assert status == 1
    assert lines[0] == "## ❌ Something changed"
    assert "| Python | 3.11.7 | 3.12.1 | alpha |" in lines
    assert "### ✓ pass → ✗ fail: `max_pool`, alpha: 1 result" in lines
    assert f"| `{POOL}` | `{NN}` | value: at \\[0, 0, 1, 1\\] expected 15, got 14 |" in lines
    assert f"| `{CONV}` | `{NN}` | pass |" in lines


def test_page_has_a_limited_size(compared):
    names = [f"alpha.{'x' * 200}{number}" for number in range(300)]
    cases = list(example.CASES)
    old, new = (
        alpha(*(result(case, name, digest=digest) for name in names for case in cases), surfaces=names)
        for digest in ("00", "11")
    )
    text = comparison_markdown.render_difference_markdown(compared(old, new))
    assert len(text) <= 60_000
    assert text.endswith("`--format json` contains everything.*\n")


HOSTILE = example.HOSTILE + "\n| a | b |\n\ud800[red]x[/]"


@pytest.fixture
def hostile():
    """Old and new runs in which every text of a framework, package or file contains control characters and markup."""
    surfaces = (NN, HOSTILE)
    old = alpha(result(POOL, NN), result(POOL, HOSTILE), result(CONV, HOSTILE), surfaces=surfaces)
    died = example.died(POOL, NN, "crashed", HOSTILE)
    new = alpha(
        died,
        differing(POOL, HOSTILE, WRONG, None, kind="shape", message=HOSTILE),
        surfaces=surfaces,
        environment=environment(packages={"alpha": HOSTILE, HOSTILE: "1"}, platform=HOSTILE, setup={NN: HOSTILE}),
    )
    asked = alpha(result(BORDER, NN), convention(NN, None, "real-cells", "x"))
    answered = alpha(result(BORDER, NN), convention(NN, None, HOSTILE, "x"))
    return [(old, new), (asked, answered)]


@pytest.fixture
def pairs(hostile, tmp_path):
    """Write the hostile runs, including lone surrogates, which JSON allows; return the paths of old and new ones."""
    paths = []
    for number, runs in enumerate(hostile):
        paths.append([tmp_path / f"{name}{number}.jsonl" for name in ("old", "new")])
        for path, records in zip(paths[-1], runs, strict=True):
            path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return paths


def test_control_characters_in_texts_are_escaped_on_the_terminal(pairs, tmp_path, conformance):
    for paths in pairs:
        status, out, _ = conformance("diff", *paths)
        assert status == 1
        conformance("diff", *paths, "--out", tmp_path / "out.txt")
        for text in (out, (tmp_path / "out.txt").read_text("utf-8")):
            assert not re.search("[^\n -~]", re.sub("[✓✗!→…≈–~]", "", text))
            assert "\\x1b[31m" in text
            assert "[red]x[/]" in text


def test_markup_in_texts_is_escaped_on_the_page_and_in_json(pairs):
    for paths in pairs:
        difference = compare_reports(*(load_report([path]) for path in paths))
        page = comparison_markdown.render_difference_markdown(difference)
        assert not re.search("<img|@user|\x1b|\ud800", page)
        assert all(len(re.findall(r"(?<!\\)\|", line)) in {0, 4, 5} for line in page.splitlines())
        text = comparison_json.render_difference_json(difference)
        assert text.isascii()
        changes = json.loads(text)["changes"]
        assert HOSTILE in {change["now"] for change in changes} | {
            change["new"]["message"] for change in changes if change["new"]
        }
