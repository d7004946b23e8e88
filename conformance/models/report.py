"""The audit of a model in each format of `conformance audit`. Only what the model meets is written."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from conformance.cases.operators import drawing_properties
from reports.analysis.audits import (
    heading,
    notes_of,
    programs_of,
    remarks_of,
    shortened,
    smallest_lines,
    smallest_title,
    target_line,
)
from reports.results.audits import AuditRecord, encode_audit
from reports.views.audit_page import render_audit_page

TERMINAL_WIDTH = 100
VERDICT_WIDTH = 12
EXAMPLE_INDENT: Mapping[str, Any] = {
    "initial_indent": "    ",
    "subsequent_indent": "        ",
    "break_on_hyphens": False,
}
MAX_COLUMNS = 4
"""Number of targets in one table."""


def terminal_lines(audit: AuditRecord, width: int = TERMINAL_WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal. The summary is last, where a terminal shows it."""
    yield from textwrap.wrap(heading(audit), width)
    yield ""
    for start in range(0, len(audit.surfaces), MAX_COLUMNS):
        yield from _table_lines(audit, audit.surfaces[start : start + MAX_COLUMNS], width)
    for program in programs_of(audit):
        yield from ("", f"# {program.target}: {', '.join(program.names)}", *program.text.splitlines())
    target = ""
    for remark in remarks_of(audit):
        if remark.target != target:
            target = remark.target
            yield from ("", target)
        text = f"{remark.verdict.value}: {shortened(remark.sentence)} [{remark.names}]"
        yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        if remark.smallest:
            lines = [
                smallest_title(remark.smallest),
                *(f"  {shortened(line)}" for line in smallest_lines(remark.smallest)),
            ]
            yield from (line for text in lines for line in textwrap.wrap(text, width, **EXAMPLE_INDENT))
    for note in notes_of(audit):
        yield ""
        yield from textwrap.wrap(shortened(note), width, break_on_hyphens=False)
    yield ""
    for target in audit.surfaces:
        yield from textwrap.wrap(target_line(audit, target), width)


def _table_lines(audit: AuditRecord, targets: Sequence[str], width: int) -> Iterator[str]:
    """Yield the table of some targets: a row for each layer, each cell in as many lines as it needs."""
    width = min(width, TERMINAL_WIDTH)
    left = width - len(targets) * (VERDICT_WIDTH + 2)
    longest = max((len(one.label) for one in audit.layers), default=0)
    name_width = min(max(longest, len("layer")), left * 2 // 5)
    widths = [name_width, left - name_width - 2, *[VERDICT_WIDTH] * len(targets)]
    yield from _rows([["layer"], ["geometry"], *(_wrapped_name(target, VERDICT_WIDTH) for target in targets)], widths)
    yield "-" * width
    for one in audit.layers:
        words = [[str(one.verdicts[target].verdict.value)] for target in targets]
        geometry = textwrap.wrap(one.text or "unknown", widths[1])
        yield from _rows([_wrapped_name(one.label, name_width), geometry, *words], widths)
    yield "-" * width


def _rows(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for lines in itertools.zip_longest(*cells, fillvalue=""):
        yield "  ".join(f"{line:{size}}" for line, size in zip(lines, widths, strict=True)).rstrip()


def _wrapped_name(name: str, width: int) -> list[str]:
    """Return a name in lines that end after a separator where they can, so that no part of it is lost."""
    lines = [""]
    for part in re.findall(r"[^./_\-\s]*[./_\-\s]?", name):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [line[start : start + width] for line in lines for start in range(0, max(len(line.rstrip()), 1), width)]


def markdown_lines(audit: AuditRecord) -> Iterator[str]:
    """Yield the lines of a Markdown page."""
    yield from (f"# Audit of {_escaped(audit.model)}", "", f"{_escaped(heading(audit))}.", "")
    yield from (f"- {_escaped(target_line(audit, target))}" for target in audit.surfaces)
    yield from ("", f"| layer | geometry | {' | '.join(audit.surfaces)} |", "|---|---|" + "---|" * len(audit.surfaces))
    for one in audit.layers:
        words = (str(one.verdicts[target].verdict.value) for target in audit.surfaces)
        yield f"| {' | '.join(map(_escaped, [one.label, one.text, *words]))} |"
    for target in audit.surfaces:
        found = [one for one in remarks_of(audit) if one.target == target]
        if found:
            yield from ("", f"## {target}", "")
        for remark in found:
            yield f"- **{remark.verdict.value}**: {_escaped(remark.sentence)} ({_escaped(remark.names)})"
            if remark.message:
                yield f"  <br>message of the target: {_escaped(remark.message)}"
            if remark.smallest:
                lines = map(_escaped, [smallest_title(remark.smallest), *smallest_lines(remark.smallest)])
                yield f"  {'<br>'.join(lines)}"
            if remark.smallest and remark.smallest.program:
                yield from ("", *_code_lines(remark.smallest.program, "  "), "")
    programs = programs_of(audit)
    if programs:
        yield from ("", "## What to write")
    for program in programs:
        names = _escaped(", ".join(program.names))
        yield from ("", f"### {_escaped(program.target)}: {names}", "", *_code_lines(program.text))
    for note in notes_of(audit):
        yield from ("", _escaped(note))


def _code_lines(text: str, indent: str = "") -> Iterator[str]:
    """Yield a block of code. Its fence is longer than any in the text, which may have a name of the model."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{indent}{line}".rstrip() for line in (f"{fence}python", *text.splitlines(), fence))


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is. The author of the model chooses the names of layers."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def _json_lines(audit: AuditRecord) -> Iterator[str]:
    yield encode_audit(audit)


def _page_lines(audit: AuditRecord) -> Iterator[str]:
    # `reports` imports nothing of the suite, so the properties of operators are passed.
    yield from render_audit_page(audit, drawing_properties()).splitlines()


WRITERS: Mapping[str, Callable[[AuditRecord, int], Iterator[str]]] = {
    "terminal": terminal_lines,
    "markdown": lambda audit, _width: markdown_lines(audit),
    "json": lambda audit, _width: _json_lines(audit),
    "html": lambda audit, _width: _page_lines(audit),
}
"""Writers of an audit with the width of the terminal, by the value of --format."""
