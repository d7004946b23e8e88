"""Compare surfaces with each other: answers to conventions, known deviations, and how each operator is written.

Nothing is run: the data are the declared answers, the ledger and the programs of the catalogue's cases, and optionally
answers observed in earlier runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conformance.adapters.api import Surface
from conformance.cases.case import Case
from conformance.judging.conventions import Convention, find_conventions
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.translation.support import Support, SupportTable, support_table


@dataclass(frozen=True)
class SurfaceDeviation:
    """A ledger entry, and the compared surfaces that it applies to, in some version."""

    entry: LedgerEntry
    surfaces: tuple[str, ...]


@dataclass(frozen=True)
class SurfaceComparison:
    """The differences between two or more surfaces.

    differing: conventions that at least two surfaces answer, with different answers. same_count: number of conventions
    that at least two surfaces answer, with the same answer. unanswered: conventions that only one surface answers, for
    example because the others do not have the operator.
    deviations: ledger entries that apply to some of the surfaces only. common_deviations: number of the other entries.
    support: number of cases by kind of program, for operators whose numbers differ.
    """

    surfaces: tuple[str, ...]
    differing: tuple[Convention, ...]
    same_count: int
    unanswered: tuple[Convention, ...]
    deviations: tuple[SurfaceDeviation, ...]
    common_deviations: int
    support: SupportTable


def compare_surfaces(
    surfaces: Sequence[Surface],
    cases: Iterable[Case],
    ledger: Ledger,
    observations: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
) -> SurfaceComparison:
    """Compare surfaces on cases. The conventions, ledger entries and operators are those of these cases.

    observations: for each convention and surface, the observed answers by case.
    """
    cases = list(cases)
    names = tuple(surface.name for surface in surfaces)
    conventions = find_conventions(cases, observations, surfaces=names)
    answered = [one for one in conventions if len(one.answers_by_surface) > 1]
    differing = tuple(one for one in answered if _has_different_answers(one))
    deviations = _surface_deviations(ledger, names, {case.operator for case in cases})
    return SurfaceComparison(
        names,
        differing,
        len(answered) - len(differing),
        tuple(one for one in conventions if len(one.answers_by_surface) == 1),
        tuple(one for one in deviations if one.surfaces != names),
        sum(one.surfaces == names for one in deviations),
        {
            operator: row
            for operator, row in support_table(cases, surfaces).items()
            if len({_support_key(support) for support in row.values()}) > 1
        },
    )


def _has_different_answers(convention: Convention) -> bool:
    """Whether the answers differ, on any processor if they depend on it."""
    answers = convention.answers_by_surface.values()
    by_processor = {tuple(sorted(one.declaration.cpu.items())) if one.declaration else () for one in answers}
    return len({one.name for one in answers}) > 1 or len(by_processor) > 1


def _surface_deviations(ledger: Ledger, names: Sequence[str], operators: Iterable[str]) -> list[SurfaceDeviation]:
    known = sorted(operators)
    found = [SurfaceDeviation(entry, tuple(filter(entry.matches_surface, names))) for entry in ledger.entries]
    return [one for one in found if one.surfaces and any(map(one.entry.may_match_operator, known))]


def _support_key(support: Support) -> frozenset[tuple[str, int]]:
    return frozenset(support.counts())
