"""Markdown escaping, tables, code blocks, and pages of limited length."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from reports.analysis import summary

MAX_PAGE_LENGTH = 60_000  # characters; GitHub cuts a comment at 65,536
MAX_OMISSION_NOTE_LENGTH = 200
MAX_TEXT_LENGTH = 300  # characters of one message or reason
MIN_FENCE_LENGTH = 3  # backticks before and after a code block


@dataclass(frozen=True)
class PageSection:
    """A section of a page, as lines: a beginning, items (most important first) and an end."""

    before: Sequence[str]
    items: Sequence[str] = ()
    after: Sequence[str] = ("",)
    max_items: int = MAX_PAGE_LENGTH  # items shown

    @property
    def default_item_count(self) -> int:
        """Number of items shown if the page has enough space."""
        return min(len(self.items), self.max_items)

    def lines(self, shown: int) -> list[str]:
        """Return the section with `shown` items and a line with the number of omitted ones."""
        omitted = len(self.items) - shown
        return [*self.before, *self.items[:shown], *(["", f"*and {omitted:,} more*"] if omitted else []), *self.after]

    def fit(self, space: int) -> tuple[list[str], int]:
        """Return the lines that fit into `space` characters, and the number of omitted items.

        Omits the section completely if not a single item fits.
        """
        shown = self.default_item_count
        if _text_length(self.lines(shown)) > space:
            sizes = list(accumulate(len(item) + 1 for item in self.items))
            shown = min(shown, bisect_right(sizes, space - _text_length(self.lines(0))))
            if not shown:
                return [], max(len(self.items), 1)
        return self.lines(shown), len(self.items) - shown


def fit_sections(sections: Iterable[PageSection], hint: str) -> str:
    """Write sections to a page of at most 60,000 characters, with the number of omitted lines at the end.

    If the sections do not fit, each uses at most half of the remaining space, so that every section shows its first
    items. hint: a sentence that says where the omitted lines can be found.
    """
    sections = list(sections)
    if sum(_text_length(section.lines(section.default_item_count)) for section in sections) <= MAX_PAGE_LENGTH:
        return _joined_lines(chain.from_iterable(section.lines(section.default_item_count) for section in sections))
    space, omitted = MAX_PAGE_LENGTH - MAX_OMISSION_NOTE_LENGTH, 0
    lines: list[str] = []
    for section in sections:
        shown, missing = section.fit(space // 2)
        space -= _text_length(shown)
        omitted += missing
        lines += shown
    return f"{_joined_lines(lines)}\n*{omitted:,} lines of this page are omitted. {hint}*\n"


def _joined_lines(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _text_length(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def table_section(
    above: Sequence[str], head: list[str], rows: list[list[str]], most: int = MAX_PAGE_LENGTH
) -> PageSection:
    """Return a section with a table. head, rows: cells in Markdown."""
    first, rule, *lines, last = table_lines(head, rows)
    return PageSection([*above, first, rule], lines, [last], most)


def folded_section(title: str, section: PageSection) -> PageSection:
    """Return a copy of a section that is collapsed at first. title: Markdown."""
    start, _, end, _ = folded_lines(title, [])
    return replace(section, before=[start, "", *section.before], after=[*section.after, end, ""])


def table_lines(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> list[str]:
    """Return the lines of a table, the last one empty.

    head, rows: cells in Markdown. numbers: number of columns at the end that are aligned to the right.
    """
    rule = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)] + [""]


def folded_lines(title: str, lines: Sequence[str]) -> list[str]:
    """Return lines that are collapsed at first, on GitHub and on the documentation site. title: HTML."""
    return [f'<details markdown="1"><summary>{title}</summary>', "", *lines, "</details>", ""]


def table_text(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return a table as text without a final newline."""
    return "\n".join(table_lines(head, rows, numbers)[:-1])


def fenced_lines(text: str, language: str) -> list[str]:
    """Return a text as the lines of a code block. The fence is longer than any run of backticks in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, MIN_FENCE_LENGTH)
    lines = ["\t".join(map(summary.escape_control_characters, line.split("\t"))) for line in text.split("\n")]
    return [f"{fence}{language}", *lines[: -1 if not lines[-1] else None], fence]


def escape_markdown(text: str) -> str:
    """Return a text as one line, escaped against Markdown, HTML and GitHub mentions."""
    return _html_safe_line(re.sub(r"([\\`*_{}\[\]#|~$!])", r"\\\1", _shorten(text)))


def escape_prose(text: str) -> str:
    """Escape a text of this project, in which backticks mark code. escape_markdown is for texts of unknown origin."""
    return re.sub(r"(`+)[^`]+\1|([\\*_<>|])", lambda match: f"\\{match[2]}" if match[2] else match[0], text)


def code_span(text: str) -> str:
    """Return a name as inline code. Uses HTML if the name contains characters that backticks do not protect."""
    line = _shorten(text)
    if re.fullmatch(r"[\w./:, -]+", line):
        return f"`{line}`"
    escaped = re.sub(r"[|`*_~$\[\]]", lambda sign: f"&#{ord(sign[0])};", _html_safe_line(line))
    return f"<code>{escaped}</code>"


def _html_safe_line(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def _shorten(text: str) -> str:
    return summary.single_line(text, MAX_TEXT_LENGTH)
