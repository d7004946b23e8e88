"""The terminal summary of a run."""

import io

from rich.console import Console

from reports.results import Report, load_report
from reports.views.terminal import render_terminal
from tests.support import example_results as example


def printed(report, colour=False):
    system = "standard" if colour else None
    console = Console(file=io.StringIO(), width=120, force_terminal=colour, color_system=system, legacy_windows=False)
    console.print(render_terminal(report))
    return console.file.getvalue()


def test_verdict_is_the_last_line(tmp_path):
    text = printed(
        load_report(example.write(tmp_path, example.alpha(), example.beta(), example.gamma(), example.delta()))
    )
    assert text.splitlines()[-1] == "✗ 9 unexpected results"
    assert text.index("max_pool/stride-2-padding-1 on beta.keras.layers: value: at [0, 0, 1, 1]") > 0
    assert "gamma: partial run" in text
    assert "delta: nothing ran." in text


def test_counts_are_listed_by_surface(tmp_path):
    lines = printed(load_report(example.write(tmp_path, example.alpha()))).splitlines()
    assert lines[0].split() == ["surface", "✓", "pass"]
    assert lines[1].split() == ["alpha.nn", "9"]
    assert lines[-1] == "✓ 18 of 18 judged agree"


def test_bad_verdict_is_red_and_good_verdict_is_green(tmp_path):
    bad = printed(load_report(example.write(tmp_path, example.gamma())), colour=True)
    good = printed(load_report(example.write(tmp_path, example.alpha())), colour=True)
    assert "\x1b[1;31m✗ The run is incomplete" in bad
    assert "\x1b[1;32m✓ 18 of 18 judged agree" in good


def test_control_characters_are_escaped(tmp_path):
    report = load_report(example.write(tmp_path, example.beta("\x1b[2J\x07[red]x[/]")))
    text = printed(report)
    assert "\\x1b[2J\\x07[red]x[/]" in text
    assert "\x1b" not in text


def test_long_list_of_failures_is_shortened(tmp_path):
    names = [f"n.{number}" for number in range(50)]
    failed = [example.died("conv/edge-detector", name, "crashed", "signal 6") for name in names]
    text = printed(load_report(example.write(tmp_path, example.run("n", names, failed))))
    assert text.count("! crashed conv/edge-detector") == 40
    assert "and 10 more" in text


def test_empty_report_is_red():
    assert printed(Report(()), colour=True).count("\x1b[1;31m✗ Nothing ran") == 1


def test_slow_result_is_listed_and_the_verdict_is_good(tmp_path):
    run = example.run("alpha", ["alpha.nn"], example.slow_results("alpha.nn"))
    lines = printed(load_report(example.write(tmp_path, run))).splitlines()
    assert lines[0].split() == ["surface", "◷", "slow", "✓", "pass"]
    assert lines[-2:] == [
        "1 result exceeded the time limit once and agreed in a second run (slow): alpha.nn (1).",
        "✓ 2 of 2 judged agree; 1 slow",
    ]


def test_undeclared_conventions_are_listed_and_the_verdict_is_good(tmp_path):
    records = example.undeclared("avg_pool/divisor-at-the-border", "alpha.nn")
    lines = printed(load_report(example.write(tmp_path, example.run("alpha", ["alpha.nn"], records)))).splitlines()
    assert lines[0].split() == ["surface", "○", "undeclared", "✓", "pass"]
    assert "1 convention without a declared answer on alpha.nn: avg_pool-divisor-at-the-border" in " ".join(lines)
    assert lines[-1] == "✓ 0 of 0 judged agree; 1 undeclared"
