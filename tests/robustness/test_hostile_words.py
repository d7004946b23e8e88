"""Hostile texts of frameworks, programs and cases are shown literally: no markup, script or terminal escapes."""

import io
import json
from html.parser import HTMLParser

import pytest
from rich.console import Console

from reports.results import load_report
from reports.views.html import render_html
from reports.views.markdown import render_markdown
from reports.views.matrix import render_matrix
from reports.views.terminal import render_terminal
from tests.support import example_results as example
from tests.support.guarded_command import check_printable
from tests.support.mutated_documents import CODE, TEXTS

FOREIGN_KEYS = {
    "message",
    "reason",
    "about",
    "source",
    "issue",
    "observed",
    "declared",
    "platform",
    "python",
    "numpy",
    "text",
}
HOSTILE = [
    *(text for text in TEXTS if text and len(text) < 100),
    example.HOSTILE,
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "]]><!--",
    "</td></tr></table><h1>",
    "[x](javascript:alert(1))",
    "![x](http://example.org/x.png)",
    "<https://example.org>",
    "\x1b]8;;http://example.org\x07x\x1b]8;;\x07",
    "\u2066\u202ethis\u2069",
    f"{{% {CODE} %}}",
]


class Tags(HTMLParser):
    """Parser that collects the tags of a page with their attribute names, and the content of scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag != "wbr":
            self.tags.append((tag, [name for name, _ in attributes]))
        for name, value in attributes:
            assert name not in {"href", "src"} or not value.lower().startswith(("javascript:", "data:text")), value

    def handle_comment(self, data):
        self.tags.append(("comment", data))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(data)


def saying(part, text):
    """Return records in which each text from outside the suite is replaced by this one."""
    if isinstance(part, dict):
        replaced = {key: text for key, value in part.items() if key in FOREIGN_KEYS and isinstance(value, str)}
        return {**{key: saying(value, text) for key, value in part.items()}, **replaced}
    return [saying(item, text) for item in part] if isinstance(part, list) else part


def report(folder, text):
    records = saying(example.beta(), text)
    (folder / "beta.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return load_report([folder / "beta.jsonl"])


@pytest.fixture(scope="module")
def harmless(tmp_path_factory):
    """The page of each view for harmless texts."""
    found = report(tmp_path_factory.mktemp("harmless"), "harmless")
    return {render: render(found) for render in (render_html, render_markdown, render_matrix)}


@pytest.fixture(scope="module")
def harmless_tags(harmless, tmp_path_factory):
    """The tags of an HTML page of harmless texts. A card repeats a message only if it is longer than one line."""
    two_lines = render_html(report(tmp_path_factory.mktemp("harmless"), "harmless\nin two lines"))
    return [Tags(harmless[render_html]).tags, Tags(two_lines).tags]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_texts_are_escaped_in_the_html_report(tmp_path, text, harmless_tags):
    page = render_html(report(tmp_path, text))
    assert Tags(page).tags in harmless_tags
    check_printable("".join(page.split("\t")))


def tags(page):
    """Return the tags of a Markdown page without `code`, which marks names."""
    return [tag for tag in Tags(page).tags if tag[0] != "code"]


@pytest.mark.parametrize("render", [render_markdown, render_matrix])
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_texts_are_escaped_in_the_markdown_summary(tmp_path, text, render, harmless):
    page, tame = render(report(tmp_path, text)), harmless[render]
    check_printable(page)
    assert page.count("\n") == tame.count("\n")
    assert [line.replace(r"\|", "").count("|") for line in page.splitlines()] == [
        line.count("|") for line in tame.splitlines()
    ]
    assert tags(page) == tags(tame)
    assert "](" not in page.replace("\\](", "") or render is render_matrix


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_texts_are_escaped_in_the_terminal(tmp_path, text):
    console = Console(file=io.StringIO(), width=200, legacy_windows=False)
    console.print(render_terminal(report(tmp_path, text)))
    check_printable(console.file.getvalue())
