"""Support table: number of cases of each operator that are native, padded, composed or unsupported on each surface."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.adapters.api import Surface, Unsupported
from conformance.cases.case import Case, Value
from conformance.cases.operators import OPERATORS
from conformance.translation.lowering import translate
from reports.results.vocabulary import How

NOT_AVAILABLE = "–"
"""Sign of cases that are unsupported."""
UnsupportedReason = tuple[str, str]
"""The reason why cases are unsupported, and the upstream issue, "" if it is not known."""


@dataclass
class Support:
    """Number of cases by kind of program, and by the reason why they are unsupported."""

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
        """Yield each kind of program with its number of cases: native first, unsupported last."""
        yield from ((how, self.counts_by_kind[how]) for how in How if self.counts_by_kind[how])
        if self.unsupported_reasons:
            yield NOT_AVAILABLE, sum(self.unsupported_reasons.values())


SupportTable = Mapping[str, Mapping[str, Support]]
"""The support of each surface, by operator and surface."""


def value_cases(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that require a value and prescribe no composition."""
    return [case for case in cases if isinstance(case.expect, Value) and not case.via and not case.then]


def support_table(cases: Iterable[Case], surfaces: Iterable[Surface]) -> SupportTable:
    """Return the support of surfaces for cases; operators in the order of OPERATORS, each before its gradient."""
    table: dict[str, dict[str, Support]] = {}
    surfaces = list(surfaces)
    for case in value_cases(cases):
        row = table.setdefault(case.operator, {surface.name: Support() for surface in surfaces})
        for surface in surfaces:
            row[surface.name].add(case, surface)
    # The cases are in the order of files; the table has the order of operators.
    return {operator: table[operator] for operator in OPERATORS if operator in table}


def unsupported_reasons(table: SupportTable, surface: str) -> list[tuple[UnsupportedReason, int, list[str]]]:
    """Return each reason of a surface, with its number of cases and its operators, the most frequent first."""
    numbers: Counter[UnsupportedReason] = Counter()
    operators: dict[UnsupportedReason, list[str]] = {}
    for operator, row in table.items():
        for reason, number in row[surface].unsupported_reasons.items():
            numbers[reason] += number
            operators.setdefault(reason, []).append(operator)
    return [(reason, number, operators[reason]) for reason, number in numbers.most_common()]


SUPPORT_TABLE_WIDTH = 100
"""Maximum width of reasons on a terminal, in characters."""


def counts_text(support: Support) -> str:
    """Return the number of cases of each kind of program as text."""
    return ", ".join(f"{number:,} {how}" for how, number in support.counts())


def terminal_lines(
    table: SupportTable, surfaces: Sequence[Surface], max_width: int = SUPPORT_TABLE_WIDTH
) -> Iterator[str]:
    """Yield the lines for a terminal: the operators of each surface, and the reasons for unsupported cases."""
    width = max(map(len, table))
    for surface in surfaces:
        yield from (surface.name, "=" * len(surface.name))
        for operator, row in table.items():
            yield f"  {operator:<{width}}  {counts_text(row[surface.name])}"
        for (reason, issue), number, operators in unsupported_reasons(table, surface.name):
            text = f"{number:,} {NOT_AVAILABLE} {reason} ({', '.join(filter(None, [*operators, issue]))})"
            yield from textwrap.wrap(text, max_width, initial_indent="    ", subsequent_indent="      ")
        yield ""
