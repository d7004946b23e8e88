"""How a surface carries an operator out: by its own call, padded first, in several calls, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from conformance.adapter import Surface, Unsupported
from conformance.cases import Case, Value
from conformance.operators import OPERATORS
from conformance.translate import HOW, translate

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
