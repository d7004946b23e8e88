"""How a surface carries an operator out: by its own call, padded first, in several calls, or not at all."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.adapters.api.surface import Surface, Unsupported
from conformance.cases.case import Case, Value
from conformance.cases.operators import GRADIENT_SUFFIX, OPERATORS
from conformance.translation.lowering import KINDS_OF_PROGRAM, translate

NOT_AVAILABLE = "–"
UnsupportedReason = tuple[str, str]
"""Why a surface has no way, and the upstream issue, "" where none is known."""


@dataclass
class Support:
    """How many cases are carried out how, and why others are not."""

    counts_by_kind: Counter[str] = field(default_factory=Counter)
    unsupported_reasons: Counter[UnsupportedReason] = field(default_factory=Counter)

    def add(self, case: Case, surface: Surface) -> None:
        """Count a case."""
        program = translate(case, surface)
        if isinstance(program, Unsupported):
            self.unsupported_reasons[program.reason, program.issue or ""] += 1
        else:
            self.counts_by_kind[program.how] += 1

    def counts(self) -> Iterator[tuple[str, int]]:
        """Yield each way with its number of cases, the own call first and what there is none for last."""
        yield from ((how, self.counts_by_kind[how]) for how in KINDS_OF_PROGRAM if self.counts_by_kind[how])
        if self.unsupported_reasons:
            yield NOT_AVAILABLE, sum(self.unsupported_reasons.values())


SupportTable = Mapping[str, Mapping[str, Support]]
"""For each operator the ways of each surface."""


def value_cases(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that ask for a value, and leave it to the surface how it gets there."""
    return [case for case in cases if isinstance(case.expect, Value) and not case.via and not case.then]


def support_table(cases: Iterable[Case], surfaces: Iterable[Surface]) -> SupportTable:
    """Return how surfaces carry cases out, operators in their own order, each before its gradient."""
    found: dict[str, dict[str, Support]] = {}
    surfaces = list(surfaces)
    for case in value_cases(cases):
        row = found.setdefault(case.operator, {surface.name: Support() for surface in surfaces})
        for surface in surfaces:
            row[surface.name].add(case, surface)
    return {operator: found[operator] for operator in OPERATORS if operator in found}


def unsupported_reasons(table: SupportTable, surface: str) -> list[tuple[UnsupportedReason, int, list[str]]]:
    """Return why a surface has no way, how often and for which operators, the most frequent first."""
    numbers: Counter[UnsupportedReason] = Counter()
    operators: dict[UnsupportedReason, list[str]] = {}
    for operator, row in table.items():
        for reason, number in row[surface].unsupported_reasons.items():
            numbers[reason] += number
            operators.setdefault(reason, []).append(operator)
    return [(reason, number, operators[reason]) for reason, number in numbers.most_common()]


SUPPORT_TABLE_WIDTH = 100
MAX_REASONS = 12  # of one surface, on the page
MAX_LISTED_OPERATORS = 4  # in one cell
PAGE_HEADER = """\
# What has to be written by hand

Made by `conformance surfaces --format markdown > docs/surfaces.md`; do not edit it.

How every surface carries out the cases of level standard that ask for a value: **native**, by its own call; **padded**,
the input is padded first; **composed**, in several calls; **–**, there is no translation, and below each table stands
why. `conformance translate CASE --surface SURFACE` prints what has to be written, `conformance surfaces --operator
avg_pool` this table for one operator on the terminal.
"""
SUPPORT_LEGEND = """\
`●` every case by its own call; `◐` every case, some padded first or composed; `○` some cases have no translation; `·`
none has. The second sign is the gradient's.
"""


def _counts_text(support: Support) -> str:
    return ", ".join(f"{number:,} {how}" for how, number in support.counts())


def terminal_lines(table: SupportTable, surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield the lines for a terminal: for each surface its operators, and all that it has no way for."""
    room = max(map(len, table))
    for surface in surfaces:
        yield from (surface.name, "=" * len(surface.name))
        for operator, row in table.items():
            yield f"  {operator:<{room}}  {_counts_text(row[surface.name])}"
        for (reason, issue), number, operators in unsupported_reasons(table, surface.name):
            why = f"{number:,} {NOT_AVAILABLE} {reason} ({', '.join(filter(None, [*operators, issue]))})"
            yield from textwrap.wrap(why, SUPPORT_TABLE_WIDTH, initial_indent="    ", subsequent_indent="      ")
        yield ""


def markdown_lines(table: SupportTable, backends: Mapping[str, Sequence[Surface]]) -> Iterator[str]:
    """Yield the lines of the page: one sign for each operator and surface, then a table for each backend."""
    yield from (PAGE_HEADER, "## At a glance", "", SUPPORT_LEGEND)
    yield from _overview_lines(table, [surface for surfaces in backends.values() for surface in surfaces])
    for name, surfaces in backends.items():
        yield from ("", f"## {name}", "")
        yield from _backend_lines(table, surfaces)


def _overview_lines(table: SupportTable, surfaces: Sequence[Surface]) -> Iterator[str]:
    forward = [operator for operator in table if not operator.endswith(GRADIENT_SUFFIX)]
    headings = [operator.removesuffix("_pool").replace("_pool_", "_").replace("_", " ") for operator in forward]
    yield from _table_header(["surface", *headings])
    for surface in surfaces:
        signs = (
            "".join(_support_sign(table, name, surface) for name in (one, one + GRADIENT_SUFFIX)) for one in forward
        )
        yield _table_row([f"`{surface.name}`", *signs])


def _support_sign(table: SupportTable, operator: str, surface: Surface) -> str:
    """Return the sign of one cell; nothing where no case is about it."""
    row = table.get(operator)
    if row is None:
        return ""
    ways = row[surface.name]
    if not ways.counts_by_kind:
        return "·"
    if ways.unsupported_reasons:
        return "○"
    return "●" if set(ways.counts_by_kind) == {"native"} else "◐"


def _backend_lines(table: SupportTable, surfaces: Sequence[Surface]) -> Iterator[str]:
    yield from _table_header(["operator", *(f"`{surface.name}`" for surface in surfaces)])
    for operator, row in table.items():
        yield _table_row([f"`{operator}`", *(_counts_text(row[surface.name]) for surface in surfaces)])
    rows = [line for surface in surfaces for line in _reason_lines(table, surface.name)]
    if rows:
        yield from ("", *_table_header(["surface", "cases", "operators", "why there is none"]), *rows)


def _reason_lines(table: SupportTable, surface: str) -> Iterator[str]:
    found = unsupported_reasons(table, surface)
    for (reason, issue), number, operators in found[:MAX_REASONS]:
        more = [f"and {len(operators) - MAX_LISTED_OPERATORS} more"] if len(operators) > MAX_LISTED_OPERATORS else []
        named = ", ".join([*(f"`{name}`" for name in operators[:MAX_LISTED_OPERATORS]), *more])
        yield _table_row(
            [f"`{surface}`", f"{number:,}", named, " ".join(filter(None, [_escape_markdown(reason), issue]))]
        )
    left = found[MAX_REASONS:]
    if left:
        cases = f"{sum(number for _, number, _ in left):,}"
        yield _table_row([f"`{surface}`", cases, "", f"{len(left)} more: `conformance surfaces --surface {surface}`"])


def _table_header(cells: Sequence[str]) -> Iterator[str]:
    yield _table_row(cells)
    yield _table_row(["---"] * len(cells))


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape_markdown(text: str) -> str:
    """Write a reason so that Markdown shows it as it is."""
    for sign in "\\|*_<[":
        text = text.replace(sign, f"\\{sign}")
    return text
