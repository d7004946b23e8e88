"""The Markdown summary, and escaping and page lengths of Markdown."""

import jinja2
import pytest

from reports.analysis.comparison import compare_reports
from reports.results import Report, load_report
from reports.views.markdown import render_markdown
from reports.views.markdown_layout import (
    MAX_PAGE_LENGTH,
    PageSection,
    code_span,
    escape_markdown,
    escape_prose,
    fit_sections,
    folded_section,
    table_lines,
    table_section,
    table_text,
)
from reports.views.template_environment import render_markdown_template
from tests.support import example_results as example


def test_summary_lists_failures_first(tmp_path):
    page = render_markdown(load_report(example.write(tmp_path, example.alpha(), example.beta(), example.gamma())))
    assert page.startswith("## ❌ 9 unexpected results\n")
    assert "| beta 2.1.0 | `beta.book` | 1 | 1 |" in page
    assert page.index("### Unexpected") < page.index("## Surfaces") < page.index("<summary>Known differences: ")
    assert "The recipe pads with zeros" in page
    assert "❌ contradicted" in page
    assert "partial run" in page


def test_good_run_is_good(tmp_path):
    page = render_markdown(load_report(example.write(tmp_path, example.alpha())))
    assert page.startswith("## ✅ 18 of 18 judged agree\n")
    assert "### Unexpected" not in page


def test_same_results_give_the_same_text(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.beta(), example.gamma())
    assert render_markdown(load_report(paths)) == render_markdown(load_report(paths[::-1]))


def failing(backend, surfaces, message):
    died = [example.died("conv/edge-detector", name, "crashed", message(name)) for name in surfaces]
    return example.run(backend, surfaces, died)


def test_summary_of_thousands_of_failures_shows_the_worst_and_counts_omitted_lines(tmp_path):
    names = [f"n.{'x' * number}" for number in range(1, 3001)]
    old, new = (
        load_report(example.write(tmp_path / age, failing("n", names, message)))
        for age, message in (("old", lambda _: "signal 6"), ("new", lambda name: f"signal {name} {example.HOSTILE}"))
    )
    page = render_markdown(new, compare_reports(old, new))
    assert MAX_PAGE_LENGTH / 2 < len(page) <= MAX_PAGE_LENGTH
    assert page.startswith("## ❌ 3,000 unexpected results\n")
    parts = page.split("\n## ")
    assert [part.splitlines()[0] for part in parts[1:]] == ["✅ Nothing changed", "Surfaces"]
    shown = parts[0].count("\n| ! crashed |")
    assert shown > 10
    assert parts[0].endswith(f"\n*and {3000 - shown:,} more*\n")
    assert "\n| n 2.1.0 | `n.x` | 1 | 0 |\n" in parts[2]
    listed = parts[2].count("| n 2.1.0 |")
    assert page.endswith(
        f"*{6000 - shown - listed:,} lines of this page are omitted. The HTML report contains them.*\n"
    )


def test_page_is_never_too_long():
    for count in (1, 10, 100):
        for size in (1, 1000, 29_000, 100_000):
            sections = [PageSection([f"# {number}"], ["x" * size] * 100) for number in range(count)]
            page = fit_sections(sections, "Elsewhere.")
            shown, total = page.count("x" * size), count * 100
            assert len(page) <= MAX_PAGE_LENGTH
            assert (shown < total) == page.endswith(" lines of this page are omitted. Elsewhere.*\n")
            assert shown == total or f"*{total - shown:,} lines of this page are omitted" in page


def test_changes_come_after_failures_and_before_the_rest(tmp_path):
    old, new = (
        load_report(example.write(tmp_path / age, run)) for age, run in (("old", example.alpha()), ("new", worse()))
    )
    page = render_markdown(new, compare_reports(old, new))
    assert "1 changed status" in page
    order = ["### Unexpected", "## ❌ Something changed", "✓ pass → ✗ fail: `conv`, alpha: 1 result", "## Surfaces"]
    assert sorted(order, key=page.index) == order
    assert "Something changed" not in render_markdown(new)


def worse():
    """Return a run of alpha in which one more result fails."""
    wrong = {"status": "fail", "verdict": "differ", "kind": "value", "digest": "00", "got": None}
    records = [
        one | wrong if (one.get("surface"), one.get("case")) == ("alpha.nn", "conv/edge-detector") else one
        for one in example.alpha()[:-1]
    ]
    return [*records, example.footer(records)]


def test_expected_results_are_folded(tmp_path):
    page = render_markdown(load_report(example.write(tmp_path, example.alpha(), example.beta())))
    folds = [fold.partition("</summary>")[0] for fold in page.split('<details markdown="1"><summary>')[1:]]
    assert folds == ["Known differences: 1", "Surfaces that disagree: 3", "Conventions: 4", "Unsupported: 2"]
    assert page.count("<details") == page.count("</details>")


def test_folded_sections_are_closed_if_rows_are_omitted():
    row = ["x" * 999]
    page = fit_sections([folded_section("many", table_section([], ["a"], [row] * 999))] * 3, "Elsewhere.")
    assert page.count("<details") == page.count("</details>") == 3
    assert page.count("*and ") == 3


def test_table_has_a_maximum_number_of_rows():
    assert "\n| 9 |\n\n*and 90 more*\n" in fit_sections(
        [table_section([], ["n"], [[str(n)] for n in range(100)], most=10)], ""
    )


def test_empty_report_is_red():
    assert "❌ Nothing ran" in render_markdown(Report(()))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a|b", r"a\|b"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("@someone #1", r"&#64;someone \#1"),
        ("two\nlines", "two lines"),
        ("\x1b[31m", r"\\x1b\[31m"),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_text_is_escaped(text, written):
    assert escape_markdown(text) == written


def test_code_spans_are_readable_and_escaped():
    assert code_span("max_pool/a-b") == "`max_pool/a-b`"
    assert code_span("`<|@") == "<code>&#96;&lt;&#124;&#64;</code>"


def test_hostile_message_stays_in_its_row(tmp_path):
    page = render_markdown(load_report(example.write(tmp_path, example.beta(example.HOSTILE))))
    row = next(line for line in page.splitlines() if "SIGSEGV" in line)
    assert "<img" not in row
    assert row.replace(r"\|", "").count("|") == 8


def test_table_has_one_line_per_row():
    assert table_lines(["a", "b"], [["1", "2"]]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |", ""]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a_b of `count_include_pad`", "a\\_b of `count_include_pad`"),
        ("x [2, 3] < 4 | 5 > *", "x [2, 3] \\< 4 \\| 5 \\> \\*"),
        ("``a*b`` is `c` and_d", "``a*b`` is `c` and\\_d"),
        ("one ` alone_", "one ` alone\\_"),
    ],
)
def test_prose_is_escaped_outside_of_code(text, written):
    assert escape_prose(text) == written


def test_columns_of_numbers_are_aligned_to_the_right():
    assert table_text(["a", "b", "c"], [["x", "1", "2"]], 2) == "| a | b | c |\n| --- | ---: | ---: |\n| x | 1 | 2 |"


def test_undefined_names_in_templates_are_errors():
    with pytest.raises(jinja2.UndefinedError):
        render_markdown_template("conformance.cli", "surfaces.md.j2")


def test_slow_result_is_listed_and_the_verdict_is_good(tmp_path):
    run = example.run("alpha", ["alpha.nn"], example.slow_results("alpha.nn"))
    page = render_markdown(load_report(example.write(tmp_path, run)))
    assert page.startswith("## ✅ 2 of 2 judged agree; 1 slow\n")
    assert "- ⚠️ 1 result exceeded the time limit once and agreed in a second run" in page
