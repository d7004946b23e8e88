"""Markdown that says what it is to say, whatever texts stand in it, and that fits on a page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from reports.analysis import summary

LONGEST = 60_000  # characters; GitHub cuts a comment at 65,536
LONGEST_NOTE = 200
LONGEST_TEXT = 300  # characters of one message or reason
SHORTEST_FENCE = 3  # signs around a block of code


@dataclass(frozen=True)
class Section:
    """A part of a page: what stands above, then items, most important first, then what closes it; all are lines."""

    above: Sequence[str]
    items: Sequence[str] = ()
    below: Sequence[str] = ("",)
    most: int = LONGEST  # items shown

    @property
    def usual(self) -> int:
        """How many items are shown where there is room."""
        return min(len(self.items), self.most)

    def lines(self, shown: int) -> list[str]:
        """Return the section with so many of its items, and in a line how many are left out."""
        left = len(self.items) - shown
        return [*self.above, *self.items[:shown], *(["", f"*and {left:,} more*"] if left else []), *self.below]

    def within(self, room: int) -> tuple[list[str], int]:
        """Return what fits into so many characters, and how many items do not; nothing at all if not one does."""
        shown = self.usual
        if _length(self.lines(shown)) > room:
            sizes = list(accumulate(len(item) + 1 for item in self.items))
            shown = min(shown, bisect_right(sizes, room - _length(self.lines(0))))
            if not shown:
                return [], max(len(self.items), 1)
        return self.lines(shown), len(self.items) - shown


def fit(sections: Iterable[Section], elsewhere: str) -> str:
    """Write sections to a page of at most 60,000 characters; where lines are left out of it, it says how many.

    Where all is too long, no section takes more than half of the room that those before it have left, so that the first
    lines of each are seen. elsewhere: a sentence that says where all of them are.
    """
    sections = list(sections)
    if sum(_length(section.lines(section.usual)) for section in sections) <= LONGEST:
        return _text(chain.from_iterable(section.lines(section.usual) for section in sections))
    room, left = LONGEST - LONGEST_NOTE, 0
    lines: list[str] = []
    for section in sections:
        shown, missing = section.within(room // 2)
        room -= _length(shown)
        left += missing
        lines += shown
    return f"{_text(lines)}\n*Cut here: {left:,} lines of this page are left out. {elsewhere}*\n"


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _length(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def tabular(above: Sequence[str], head: list[str], rows: list[list[str]], most: int = LONGEST) -> Section:
    """Return a section that is a table; the cells are Markdown already."""
    first, rule, *lines, last = table(head, rows)
    return Section([*above, first, rule], lines, [last], most)


def folded(title: str, section: Section) -> Section:
    """Return a section that is closed until a reader opens it; title: Markdown, as everything."""
    above = ["<details>", f"<summary>{title}</summary>", "", *section.above]
    return replace(section, above=above, below=[*section.below, "</details>", ""])


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table; the cells are Markdown already."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)] + [""]


def fenced(text: str, language: str) -> list[str]:
    """Return the lines of a text as a block of code, whatever stands in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, SHORTEST_FENCE)
    lines = ["\t".join(map(summary.printable, line.split("\t"))) for line in text.split("\n")]
    return [f"{fence}{language}", *lines[: -1 if not lines[-1] else None], fence]


def escaped(text: str) -> str:
    """Write any text so that Markdown, HTML and GitHub's mentions leave it as it is, on one line."""
    return _plain_html(re.sub(r"([\\`*_{}\[\]#|~$!])", r"\\\1", _shortened(text)))


def code(text: str) -> str:
    """Write a name as code, whatever stands in it."""
    line = _shortened(text)
    if re.fullmatch(r"[\w./:, -]+", line):
        return f"`{line}`"
    spelt = re.sub(r"[|`*_~$\[\]]", lambda sign: f"&#{ord(sign[0])};", _plain_html(line))
    return f"<code>{spelt}</code>"


def _plain_html(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def _shortened(text: str) -> str:
    return summary.one_line(text, LONGEST_TEXT)
