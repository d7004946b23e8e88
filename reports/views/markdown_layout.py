"""Markdown that says what it is to say, whatever texts stand in it, and that fits on a page."""

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
MIN_FENCE_LENGTH = 3  # signs around a block of code


@dataclass(frozen=True)
class PageSection:
    """A part of a page: what stands above, then items, most important first, then what closes it; all are lines."""

    before: Sequence[str]
    items: Sequence[str] = ()
    after: Sequence[str] = ("",)
    max_items: int = MAX_PAGE_LENGTH  # items shown

    @property
    def default_item_count(self) -> int:
        """How many items are shown where there is room."""
        return min(len(self.items), self.max_items)

    def lines(self, shown: int) -> list[str]:
        """Return the section with so many of its items, and in a line how many are left out."""
        left = len(self.items) - shown
        return [*self.before, *self.items[:shown], *(["", f"*and {left:,} more*"] if left else []), *self.after]

    def fit(self, room: int) -> tuple[list[str], int]:
        """Return what fits into so many characters, and how many items do not; nothing at all if not one does."""
        shown = self.default_item_count
        if _text_length(self.lines(shown)) > room:
            sizes = list(accumulate(len(item) + 1 for item in self.items))
            shown = min(shown, bisect_right(sizes, room - _text_length(self.lines(0))))
            if not shown:
                return [], max(len(self.items), 1)
        return self.lines(shown), len(self.items) - shown


def fit_sections(sections: Iterable[PageSection], elsewhere: str) -> str:
    """Write sections to a page of at most 60,000 characters; where lines are left out of it, it says how many.

    Where all is too long, no section takes more than half of the room that those before it have left, so that the first
    lines of each are seen. elsewhere: a sentence that says where all of them are.
    """
    sections = list(sections)
    if sum(_text_length(section.lines(section.default_item_count)) for section in sections) <= MAX_PAGE_LENGTH:
        return _joined_lines(chain.from_iterable(section.lines(section.default_item_count) for section in sections))
    room, left = MAX_PAGE_LENGTH - MAX_OMISSION_NOTE_LENGTH, 0
    lines: list[str] = []
    for section in sections:
        shown, missing = section.fit(room // 2)
        room -= _text_length(shown)
        left += missing
        lines += shown
    return f"{_joined_lines(lines)}\n*Cut here: {left:,} lines of this page are left out. {elsewhere}*\n"


def _joined_lines(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _text_length(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def table_section(
    above: Sequence[str], head: list[str], rows: list[list[str]], most: int = MAX_PAGE_LENGTH
) -> PageSection:
    """Return a section that is a table; the cells are Markdown already."""
    first, rule, *lines, last = table_lines(head, rows)
    return PageSection([*above, first, rule], lines, [last], most)


def folded_section(title: str, section: PageSection) -> PageSection:
    """Return a section that is closed until a reader opens it; title: Markdown, as everything."""
    above = ["<details>", f"<summary>{title}</summary>", "", *section.before]
    return replace(section, before=above, after=[*section.after, "</details>", ""])


def table_lines(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table; the cells are Markdown already."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)] + [""]


def fenced_lines(text: str, language: str) -> list[str]:
    """Return the lines of a text as a block of code, whatever stands in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, MIN_FENCE_LENGTH)
    lines = ["\t".join(map(summary.escape_control_characters, line.split("\t"))) for line in text.split("\n")]
    return [f"{fence}{language}", *lines[: -1 if not lines[-1] else None], fence]


def escape_markdown(text: str) -> str:
    """Write any text so that Markdown, HTML and GitHub's mentions leave it as it is, on one line."""
    return _html_safe_line(re.sub(r"([\\`*_{}\[\]#|~$!])", r"\\\1", _shorten(text)))


def code_span(text: str) -> str:
    """Write a name as code, whatever stands in it."""
    line = _shorten(text)
    if re.fullmatch(r"[\w./:, -]+", line):
        return f"`{line}`"
    spelt = re.sub(r"[|`*_~$\[\]]", lambda sign: f"&#{ord(sign[0])};", _html_safe_line(line))
    return f"<code>{spelt}</code>"


def _html_safe_line(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def _shorten(text: str) -> str:
    return summary.single_line(text, MAX_TEXT_LENGTH)
