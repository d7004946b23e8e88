import pytest
import results_example as example

from reports.markdown import LONGEST, code, escaped, render_markdown, table
from reports.reading import Report, load


def test_summary_says_what_failed_first(tmp_path):
    page = render_markdown(load(example.write(tmp_path, example.alpha(), example.beta(), example.gamma())))
    assert page.startswith("## ❌ 9 unexpected results\n")
    assert "| beta 2.1.0 | `beta.book` | 1 | 1 |" in page
    assert page.index("### Unexpected") < page.index("### Known differences") < page.index("### Conventions")
    assert "The recipe pads with zeros" in page
    assert "❌ contradicted" in page
    assert "partial run" in page


def test_good_run_is_good(tmp_path):
    page = render_markdown(load(example.write(tmp_path, example.alpha())))
    assert page.startswith("## ✅ All agree\n")
    assert "### Unexpected" not in page


def test_same_results_give_the_same_text(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.beta(), example.gamma())
    assert render_markdown(load(paths)) == render_markdown(load(paths[::-1]))


def test_summary_never_grows_beyond_what_a_page_takes(tmp_path):
    names = [f"n.{number}.{'surface' * 9}" for number in range(1500)]
    page = render_markdown(load(example.write(tmp_path, example.run("n", names, []))))
    assert len(page) <= LONGEST
    assert page.endswith("*Cut here: the whole is longer than this page takes. See the HTML report.*\n")
    assert all(line.count("|") in (0, page.splitlines()[6].count("|")) for line in page.splitlines())


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
def test_any_text_stays_text(text, written):
    assert escaped(text) == written


def test_code_keeps_names_readable_and_hostile_ones_harmless():
    assert code("max_pool/a-b") == "`max_pool/a-b`"
    assert code("`<|@") == "<code>&#96;&lt;&#124;&#64;</code>"


def test_hostile_message_keeps_its_row(tmp_path):
    page = render_markdown(load(example.write(tmp_path, example.beta(example.HOSTILE))))
    row = next(line for line in page.splitlines() if "SIGSEGV" in line)
    assert "<img" not in row
    assert row.replace(r"\|", "").count("|") == 8


def test_table_has_a_line_for_its_head_and_one_for_each_row():
    assert table(["a", "b"], [["1", "2"]]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |", ""]
