"""The audit of a model in each format of `conformance audit`. Only what the model meets is written."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from conformance.cases.operators import drawing_properties
from reports.analysis.audits import heading, notes_of, remarks_of, smallest_lines, smallest_title, target_line
from reports.results.audits import AuditRecord, encode_audit
from reports.views.audit_page import render_audit_page

TERMINAL_WIDTH = 100
NAME_WIDTH, VERDICT_WIDTH = 24, 12
EXAMPLE_INDENT: Mapping[str, Any] = {
    "initial_indent": "    ",
    "subsequent_indent": "        ",
    "break_on_hyphens": False,
}
MAX_COLUMNS = 4
"""Number of targets in one table."""


def terminal_lines(audit: AuditRecord, width: int = TERMINAL_WIDTH) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield from textwrap.wrap(heading(audit), width)
    yield ""
    for start in range(0, len(audit.surfaces), MAX_COLUMNS):
        yield from _table_lines(audit, audit.surfaces[start : start + MAX_COLUMNS], width)
    for target in audit.surfaces:
        yield from textwrap.wrap(target_line(audit, target), width)
    target = ""
    for remark in remarks_of(audit):
        if remark.target != target:
            target = remark.target
            yield from ("", target)
        text = f"{remark.verdict.value}: {remark.sentence} [{remark.names}]"
        yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        if remark.smallest:
            lines = [smallest_title(remark.smallest), *(f"  {line}" for line in smallest_lines(remark.smallest))]
            yield from (line for text in lines for line in textwrap.wrap(text, width, **EXAMPLE_INDENT))
    for note in notes_of(audit):
        yield ""
        yield from textwrap.wrap(note, width, break_on_hyphens=False)


def _table_lines(audit: AuditRecord, targets: Sequence[str], width: int) -> Iterator[str]:
    """Yield the table of some targets: a row for each layer, its geometry in as many lines as it needs."""
    left = width - len(targets) * (VERDICT_WIDTH + 2)
    name_width = min(NAME_WIDTH, left * 2 // 5)
    text_width = left - name_width - 2
    widths = [name_width, text_width, *[VERDICT_WIDTH] * len(targets)]
    yield _row(["layer", "geometry", *(_cut_middle(target, VERDICT_WIDTH) for target in targets)], widths)
    yield "-" * width
    for one in audit.layers:
        words = [str(one.verdicts[target].verdict.value) for target in targets]
        lines = textwrap.wrap(one.text or "unknown", text_width) or [""]
        yield _row([_cut_middle(one.label, name_width), lines[0], *words], widths)
        yield from (f"{'':{name_width}}  {line}" for line in lines[1:])
    yield "-" * width


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell[:size]:{size}}" for cell, size in zip(cells, widths, strict=True)).rstrip()


def _cut_middle(text: str, width: int) -> str:
    """Return a text of at most this width. The end of a name of a layer says more than its middle."""
    return text if len(text) <= width else f"{text[: width // 3]}…{text[-(width - width // 3 - 1) :]}"


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
            if remark.smallest:
                lines = map(_escaped, [smallest_title(remark.smallest), *smallest_lines(remark.smallest)])
                yield f"  {'<br>'.join(lines)}"
    for note in notes_of(audit):
        yield from ("", _escaped(note))


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is. Names of layers are chosen by whoever wrote the model."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def _json_lines(audit: AuditRecord) -> Iterator[str]:
    yield encode_audit(audit)


def _page_lines(audit: AuditRecord) -> Iterator[str]:
    # `reports` imports nothing of the suite, so the properties of operators are passed.
    yield from render_audit_page(audit, drawing_properties()).splitlines()


WRITERS: Mapping[str, Callable[[AuditRecord], Iterator[str]]] = {
    "terminal": terminal_lines,
    "markdown": markdown_lines,
    "json": _json_lines,
    "html": _page_lines,
}
"""Writers of an audit, by the value of --format."""
