"""The chart of the history of a surface."""

import re

from reports.analysis.circumstances import DifferingFact
from reports.analysis.past_runs import SurfaceHistory, SurfaceRun
from reports.results import Status
from reports.views.history_chart import CHART_HEIGHT, MARK_HEIGHT, chart_label, history_chart

FACT = DifferingFact("alpha", "2.0", "2.1")


def run(unexpected, known, *facts, started="2026-11-01"):
    counts = {Status.FAIL: unexpected, Status.KNOWN: known, Status.PASS: 100}
    return SurfaceRun(started, "2.0", counts, is_current=False, facts=facts)


def heights(chart):
    """Return the name and height of each part by column."""
    return [
        [(name, int(size)) for name, size in re.findall(r'class="(\w+)" [^>]*height="(\d+)"', column)]
        for column in chart.split("<g>")[1:]
    ]


def test_each_run_has_a_column_and_counts_have_the_same_scale():
    chart = history_chart(SurfaceHistory("a", (run(0, 0), run(20, 20), run(0, 10))))
    empty, full, quarter = heights(chart)
    assert empty == [("none", 1)]
    assert [name for name, _ in full] == ["none", "known", "fail"]
    assert full[1][1] == full[2][1] == 2 * quarter[1][1]
    assert all(float(top) >= MARK_HEIGHT for top in re.findall(r'y="([\d.]+)"', chart))


def test_a_single_result_is_visible_beside_many():
    assert heights(history_chart(SurfaceHistory("a", (run(1, 500),))))[0][2][1] >= 3
    assert sum(size for _, size in heights(history_chart(SurfaceHistory("a", (run(1, 500),))))[0]) <= CHART_HEIGHT + 1


def test_other_circumstances_are_marked():
    assert history_chart(SurfaceHistory("a", (run(0, 0), run(0, 0, FACT)))).count("<path") == 1


def test_control_characters_are_escaped():
    chart = history_chart(SurfaceHistory("a\x1b", (run(0, 3), run(2, 3, started="\u202e"))))
    assert "\\x1b" in chart
    assert not {"\x1b", "\u202e"} & {*chart}


def test_label_has_the_first_and_the_last_numbers_and_texts_are_escaped():
    history = SurfaceHistory("<a>", (run(0, 3), run(2, 3, started='"<b>')))
    assert chart_label(history) == "<a>, 2 runs: unexpected results 0 → 2, known deviations 3 → 3"
    assert "&lt;a&gt;, 2 runs" in history_chart(history)
    assert "<b>" not in history_chart(history)
