"""The comparison of results as a Markdown page."""

import re

from reports.analysis.comparison import compare_reports
from reports.results import load_report
from reports.views import comparison_markdown
from tests.support import example_results as example
from tests.support.compared_runs import (
    CONV,
    NN,
    POOL,
    WORST,
    WRONG,
    alpha,
    environment,
    write_hostile_runs,
)
from tests.support.example_results import differing, result


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


def test_markup_in_texts_is_escaped(tmp_path):
    for paths in write_hostile_runs(tmp_path):
        difference = compare_reports(*(load_report([path]) for path in paths))
        page = comparison_markdown.render_difference_markdown(difference)
        assert not re.search("<img|@user|\x1b|\ud800", page)
        assert all(len(re.findall(r"(?<!\\)\|", line)) in {0, 4, 5} for line in page.splitlines())
