"""The Markdown page of operators and surfaces."""

import re

from reports.results import load_report
from reports.views.matrix import render_matrix
from tests.support import example_results as example


def page(folder, *runs):
    return render_matrix(load_report(example.write(folder, *runs)))


def rows(text, heading):
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in cells[2:]}


def test_every_operator_is_counted_on_every_surface(tmp_path):
    found = rows(page(tmp_path, example.beta()), "beta")
    assert found["`conv`"] == ["✗\u00a01 ?\u00a01", "–\u00a01"]
    heads = {"operator", "---"}  # the totals have a table of their own
    assert set(found) - heads == {"`avg_pool`", "`conv`", "`max_pool`", "**all**"}


def test_long_tables_are_folded_below_the_totals(tmp_path):
    text = page(tmp_path, example.beta())
    shown = re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL)
    assert "**all**" in shown
    assert "`avg_pool`" not in shown
    assert "## Differences by reason" in shown
    assert text.count("<details") == text.count("</details>") == 3


def test_differences_are_listed_by_reason_with_the_smallest_case(tmp_path):
    found = page(tmp_path, example.beta()).split("## Differences by reason")[1]
    line = next(line for line in found.splitlines() if "The recipe pads" in line)
    assert line.startswith(
        "| 2 | `max_pool` | `beta.book`, `beta.keras.layers` | `max_pool/padding-recipe-on-negative-input` |"
    )
    assert "https://example.org/issues/1" in line


def test_differences_without_a_reason_say_so(tmp_path):
    assert "no reason given" in page(tmp_path, example.beta())


def test_partial_run_says_so(tmp_path):
    assert "**Partial run.**" in page(tmp_path, example.gamma())


def test_same_results_make_the_same_page(tmp_path):
    runs = [example.alpha(), example.beta()]
    assert page(tmp_path, *runs) == page(tmp_path, *reversed(runs))


def test_hostile_text_is_escaped(tmp_path):
    text = page(tmp_path, example.beta(message=example.HOSTILE))
    assert "<script" not in text
    assert "<img" not in text
