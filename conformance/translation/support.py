"""How a surface carries an operator out: by its own call, padded first, in several calls, or not at all."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.adapters.api.surface import Surface, Unsupported
from conformance.cases.case import Case, Value
from conformance.cases.operators import GRADIENT, OPERATORS
from conformance.translation.lowering import HOW, translate

NONE = "–"
Reason = tuple[str, str]
"""Why a surface has no way, and the upstream issue, "" where none is known."""


@dataclass
class Ways:
    """How many cases are carried out how, and why others are not."""

    done: Counter[str] = field(default_factory=Counter)
    lacking: Counter[Reason] = field(default_factory=Counter)

    def add(self, case: Case, surface: Surface) -> None:
        """Count a case."""
        program = translate(case, surface)
        if isinstance(program, Unsupported):
            self.lacking[program.reason, program.issue or ""] += 1
        else:
            self.done[program.how] += 1

    def counts(self) -> Iterator[tuple[str, int]]:
        """Yield each way with its number of cases, the own call first and what there is none for last."""
        yield from ((how, self.done[how]) for how in HOW if self.done[how])
        if self.lacking:
            yield NONE, sum(self.lacking.values())


Table = Mapping[str, Mapping[str, Ways]]
"""For each operator the ways of each surface."""


def asked(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that ask for a value, and leave it to the surface how it gets there."""
    return [case for case in cases if isinstance(case.expect, Value) and not case.via and not case.then]


def ways(cases: Iterable[Case], surfaces: Iterable[Surface]) -> Table:
    """Return how surfaces carry cases out, operators in their own order, each before its gradient."""
    found: dict[str, dict[str, Ways]] = {}
    surfaces = list(surfaces)
    for case in asked(cases):
        row = found.setdefault(case.operator, {surface.name: Ways() for surface in surfaces})
        for surface in surfaces:
            row[surface.name].add(case, surface)
    return {operator: found[operator] for operator in OPERATORS if operator in found}


def reasons(table: Table, surface: str) -> list[tuple[Reason, int, list[str]]]:
    """Return why a surface has no way, how often and for which operators, the most frequent first."""
    numbers: Counter[Reason] = Counter()
    operators: dict[Reason, list[str]] = {}
    for operator, row in table.items():
        for reason, number in row[surface].lacking.items():
            numbers[reason] += number
            operators.setdefault(reason, []).append(operator)
    return [(reason, number, operators[reason]) for reason, number in numbers.most_common()]


WIDTH = 100
MOST_REASONS = 12  # of one surface, on the page
MOST_OPERATORS = 4  # in one cell
HEAD = """\
# What has to be written by hand

Made by `conformance surfaces --format markdown > docs/surfaces.md`; do not edit it.

How every surface carries out the cases of level standard that ask for a value: **native**, by its own call; **padded**,
the input is padded first; **composed**, in several calls; **–**, there is no translation, and below each table stands
why. `conformance translate CASE --surface SURFACE` prints what has to be written, `conformance surfaces --operator
avg_pool` this table for one operator on the terminal.
"""
LEGEND = """\
`●` every case by its own call; `◐` every case, some padded first or composed; `○` some cases have no translation; `·`
none has. The second sign is the gradient's.
"""


def _counted(ways: Ways) -> str:
    return ", ".join(f"{number:,} {how}" for how, number in ways.counts())


def terminal(table: Table, surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield the lines for a terminal: for each surface its operators, and all that it has no way for."""
    room = max(map(len, table))
    for surface in surfaces:
        yield from (surface.name, "=" * len(surface.name))
        for operator, row in table.items():
            yield f"  {operator:<{room}}  {_counted(row[surface.name])}"
        for (reason, issue), number, operators in reasons(table, surface.name):
            why = f"{number:,} {NONE} {reason} ({', '.join(filter(None, [*operators, issue]))})"
            yield from textwrap.wrap(why, WIDTH, initial_indent="    ", subsequent_indent="      ")
        yield ""


def markdown(table: Table, backends: Mapping[str, Sequence[Surface]]) -> Iterator[str]:
    """Yield the lines of the page: one sign for each operator and surface, then a table for each backend."""
    yield from (HEAD, "## At a glance", "", LEGEND)
    yield from _glance(table, [surface for surfaces in backends.values() for surface in surfaces])
    for name, surfaces in backends.items():
        yield from ("", f"## {name}", "")
        yield from _backend(table, surfaces)


def _glance(table: Table, surfaces: Sequence[Surface]) -> Iterator[str]:
    forward = [operator for operator in table if not operator.endswith(GRADIENT)]
    headings = [operator.removesuffix("_pool").replace("_pool_", "_").replace("_", " ") for operator in forward]
    yield from _head(["surface", *headings])
    for surface in surfaces:
        signs = ("".join(_sign(table, name, surface) for name in (one, one + GRADIENT)) for one in forward)
        yield _row([f"`{surface.name}`", *signs])


def _sign(table: Table, operator: str, surface: Surface) -> str:
    """Return the sign of one cell; nothing where no case is about it."""
    row = table.get(operator)
    if row is None:
        return ""
    ways = row[surface.name]
    if not ways.done:
        return "·"
    if ways.lacking:
        return "○"
    return "●" if set(ways.done) == {"native"} else "◐"


def _backend(table: Table, surfaces: Sequence[Surface]) -> Iterator[str]:
    yield from _head(["operator", *(f"`{surface.name}`" for surface in surfaces)])
    for operator, row in table.items():
        yield _row([f"`{operator}`", *(_counted(row[surface.name]) for surface in surfaces)])
    rows = [line for surface in surfaces for line in _reasons(table, surface.name)]
    if rows:
        yield from ("", *_head(["surface", "cases", "operators", "why there is none"]), *rows)


def _reasons(table: Table, surface: str) -> Iterator[str]:
    found = reasons(table, surface)
    for (reason, issue), number, operators in found[:MOST_REASONS]:
        more = [f"and {len(operators) - MOST_OPERATORS} more"] if len(operators) > MOST_OPERATORS else []
        named = ", ".join([*(f"`{name}`" for name in operators[:MOST_OPERATORS]), *more])
        yield _row([f"`{surface}`", f"{number:,}", named, " ".join(filter(None, [_escaped(reason), issue]))])
    left = found[MOST_REASONS:]
    if left:
        cases = f"{sum(number for _, number, _ in left):,}"
        yield _row([f"`{surface}`", cases, "", f"{len(left)} more: `conformance surfaces --surface {surface}`"])


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _row(cells)
    yield _row(["---"] * len(cells))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Write a reason so that Markdown shows it as it is."""
    for sign in "\\|*_<[":
        text = text.replace(sign, f"\\{sign}")
    return text
