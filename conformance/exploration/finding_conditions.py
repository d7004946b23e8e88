"""The conditions of a finding: what its differing cases have in common, and cases that agree have not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from conformance.exploration.candidate import Candidate
from conformance.exploration.conditions.vocabulary import count_properties, number_phrases
from conformance.exploration.diagnosis import ShrunkSuspect
from conformance.exploration.evaluation import CandidateResult
from conformance.exploration.symptoms import OTHER_SURFACES, REFERENCE, OracleName, Symptom
from reports.analysis.conditions import (
    Preference,
    agreement,
    best_conjunction,
    certain_conjunction,
    how_condition,
    necessary_conditions,
    shortest_conjunction,
)
from reports.results.vocabulary import AGREEING_STATUSES, Status

MAX_CONDITIONS = 4
"""Maximum number of conditions of a finding."""
MIN_DIFFERING_SHARE = 0.4
"""Minimum share of the cases that satisfy the conditions and differ. A bug need not be visible in every output."""
MIN_NUMBERS_GAIN = 0.03
"""Minimum increase of the agreement by which conditions about numbers are justified. Numbers hide a bug in some
cases, so that conditions about them agree a little better even if the cause has nothing to do with them."""
MIN_EXPLAINED_GAIN, MIN_EXPLAINED_SHARE = 0.015, 0.5
"""The same, if conditions about numbers exclude most of the cases that differ with other numbers: they then explain
why these agree."""
MIN_NEIGHBOURS = 15
"""Number of neighbours that count even if fewer generated cases differ."""
MAX_REMEMBERED = 1000
"""Number of agreeing candidates remembered per operator, surface and oracle, and of differing ones."""
CORRECT_STATUSES = AGREEING_STATUSES | {Status.STALE}
"""Statuses of candidates that agree, also where the ledger expects a difference."""
NAN_PREFIX = "NaN in "
"""Start of the features of inputs with NaN. A NaN hides all other values of its window."""
T = TypeVar("T")


@dataclass(frozen=True)
class Difference:
    """A candidate that differs. features: conditions that are true for it and its program."""

    features: frozenset[str]
    symptom: Symptom


@dataclass(frozen=True)
class UnexplainedCandidate:
    """A candidate that differs and belongs to no finding yet.

    number: position among all generated cases. features: conditions that are true for it and its program.
    """

    number: int
    candidate: Candidate
    features: frozenset[str]


@dataclass
class SurfaceRecord:
    """Results of one operator on one surface.

    agreeing_by_oracle: features of agreeing candidates. They are separate for each oracle, because a candidate that
    satisfies one relation may violate another. differing: candidates that differ. unexplained: differing candidates
    without a finding, by symptom.
    """

    agreeing_by_oracle: dict[OracleName, list[frozenset[str]]] = field(default_factory=dict)
    differing: list[Difference] = field(default_factory=list)
    unexplained: dict[Symptom, list[UnexplainedCandidate]] = field(default_factory=dict)

    def agreeing_features(self, symptom: Symptom) -> list[frozenset[str]]:
        """Return the features of candidates that agreed with an oracle that would have shown the symptom.

        Comparing surfaces shows crashes and hangs too.
        """
        both = symptom.is_fatal and symptom.oracle == REFERENCE
        oracles = (REFERENCE, OTHER_SURFACES) if both else (symptom.oracle,)
        return [features for oracle in oracles for features in self.agreeing_by_oracle.get(oracle, [])]

    def add_agreeing(self, oracle: OracleName, features: frozenset[str]) -> None:
        """Remember a candidate that agrees with an oracle."""
        _remember(self.agreeing_by_oracle.setdefault(oracle, []), features)

    def add_differing(self, difference: Difference) -> None:
        """Remember a candidate that differs."""
        _remember(self.differing, difference)


def _remember(remembered: list[T], one: T) -> None:
    if len(remembered) < MAX_REMEMBERED:
        remembered.append(one)


@dataclass(frozen=True)
class Evidence:
    """The features of the smallest case of a finding, and those of cases near it that differ or agree.

    differing, agreeing: its neighbours. mixed_differing, mixed_agreeing: cases that have some of its levels.
    hidden: those that agree, but differ with other numbers. numbers: those of its features that are about numbers.
    """

    smallest: frozenset[str]
    differing: Sequence[frozenset[str]] = ()
    agreeing: Sequence[frozenset[str]] = ()
    mixed_differing: Sequence[frozenset[str]] = ()
    mixed_agreeing: Sequence[frozenset[str]] = ()
    hidden: Sequence[frozenset[str]] = ()
    numbers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, shrunk: ShrunkSuspect, how: str, surface: str, symptom: Symptom) -> Evidence:
        """Return the evidence for a shrunk suspect; how: native, padded or composed, of its smallest case."""
        near, mixed = shrunk.neighbour_results, shrunk.mixed_results
        visible = [[one for one in some if one.candidate.case.id not in shrunk.hidden] for some in (near, mixed)]
        neighbours, others = (_split(some, surface, symptom) for some in visible)
        _, hidden = _split((one for one in [*near, *mixed] if one.candidate.case.id in shrunk.hidden), surface, symptom)
        smallest = how_condition(how).union(shrunk.smallest.features)
        return cls(smallest, *neighbours, *others, hidden, numbers=number_phrases(shrunk.smallest.case))


def _split(
    results: Iterable[CandidateResult], surface: str, symptom: Symptom
) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """Return the features of the candidates that differ for the same reason, and of those that agree."""
    evaluated = [(one.candidate, one.result_on(surface)) for one in results]
    items = [(how_condition(item.how).union(one.features), item) for one, item in evaluated if item]
    return (
        [one for one, item in items if item.is_new and item.symptom and symptom.may_cause(item.symptom)],
        [one for one, item in items if item.status in CORRECT_STATUSES],
    )


@dataclass(frozen=True)
class FoundConditions:
    """Conditions of a finding; None if none describe it. agreeing_count: agreeing cases that satisfy them."""

    conditions: tuple[str, ...] | None
    agreeing_count: int = 0
    differing_share: float = 0.0


def find_conditions(
    evidence: Evidence, record: SurfaceRecord, symptom: Symptom, is_explained: Callable[[Difference], bool]
) -> FoundConditions:
    """Return the conditions that agree best with all cases: generated ones, and neighbours of the smallest case.

    is_explained: whether another finding explains a difference; these are left out.
    """
    drawn = [one.features for one in record.differing if _is_comparable(symptom, one.symptom) and not is_explained(one)]
    differing, agreeing = evidence_lists(evidence, drawn, record.agreeing_features(symptom))
    # A case whose numbers hide the difference says nothing about its parameters.
    hidden = _comparable_agreeing(evidence, evidence.hidden)
    found = _best_conditions(evidence.smallest - evidence.numbers, differing, agreeing)
    every = [*agreeing, *hidden]
    with_numbers = _best_conditions(evidence.smallest, differing, every) if evidence.numbers else ()
    gained = agreement(with_numbers, differing, every) - agreement(found, differing, agreeing)
    required = MIN_EXPLAINED_GAIN if _explains(with_numbers, evidence.numbers, hidden) else MIN_NUMBERS_GAIN
    if gained > required:
        found, agreeing = with_numbers, every
    result = _counted(found, differing, agreeing)
    if result.conditions and result.differing_share >= MIN_DIFFERING_SHARE:
        return result
    # The cases may differ for several reasons: then describe the smallest one alone.
    alone = shortest_conjunction([evidence.smallest], agreeing, _condition_rank)
    return _counted(alone or (), differing, agreeing)


def _explains(conditions: tuple[str, ...], numbers: frozenset[str], hidden: Sequence[frozenset[str]]) -> bool:
    """Whether conditions about numbers exclude most of the hidden cases that satisfy the other conditions."""
    others = [features for features in hidden if features.issuperset(frozenset(conditions) - numbers)]
    left = sum(features.issuperset(conditions) for features in others)
    return len(others) - left > MIN_EXPLAINED_SHARE * len(others)


def evidence_lists(
    evidence: Evidence, drawn_differing: Sequence[frozenset[str]] = (), drawn_agreeing: Sequence[frozenset[str]] = ()
) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """Return the features of the cases that differ, and of those that agree and whose numbers do not hide it."""
    # Neighbours show the limits of a cause, but are similar to each other: they must not outnumber the generated cases.
    limit = max(MIN_NEIGHBOURS, len(drawn_differing))
    near, others = _sample(evidence.differing, limit), _sample(evidence.agreeing, limit)
    differing = [evidence.smallest, *near, *evidence.mixed_differing, *drawn_differing]
    return differing, _comparable_agreeing(evidence, [*others, *evidence.mixed_agreeing, *drawn_agreeing])


def _comparable_agreeing(evidence: Evidence, agreeing: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    if _has_nan(evidence.smallest):
        return list(agreeing)
    return [features for features in agreeing if not _has_nan(features)]


def _best_conditions(
    candidates: frozenset[str], differing: Sequence[frozenset[str]], agreeing: Sequence[frozenset[str]]
) -> tuple[str, ...]:
    """Return the conjunction of some candidates that agrees best with all cases, without superfluous conditions."""
    found = best_conjunction(candidates, differing, agreeing, PREFERENCE)
    found = certain_conjunction(found, candidates, differing, agreeing, PREFERENCE)
    return necessary_conditions(found, differing, agreeing)


def _sample(items: Sequence[frozenset[str]], limit: int) -> Sequence[frozenset[str]]:
    """Return at most `limit` items, evenly distributed."""
    return items[:: max(1, -(-len(items) // limit))]


def _is_comparable(symptom: Symptom, other: Symptom) -> bool:
    """Whether two symptoms may have one cause and were shown by one oracle, whose agreeing cases are known."""
    return symptom.may_cause(other) and symptom.oracle == other.oracle


def _counted(
    conditions: tuple[str, ...], differing: Sequence[frozenset[str]], agreeing: Sequence[frozenset[str]]
) -> FoundConditions:
    if not conditions:
        return FoundConditions(None)
    matching, others = (sum(one.issuperset(conditions) for one in items) for items in (differing, agreeing))
    return FoundConditions(conditions, others, matching / max(matching + others, 1))


def _has_nan(features: frozenset[str]) -> bool:
    return any(feature.startswith(NAN_PREFIX) for feature in features)


LOWER_LIMIT = re.compile(r"(?:more than |.* of (?=.* or more$))(\d[\d,]*)")
"""Conditions that state a lower limit of a size, and the limit."""


@cache
def _condition_rank(condition: str) -> tuple[float | str, ...]:
    """Sort key of conditions: first those without a number, and dtypes last; then shorter conditions first.

    Of lower limits of a size the largest is first: cases with smaller sizes agreed while the smallest case was shrunk.
    """
    limit = LOWER_LIMIT.match(condition)
    least = int(limit.group(1).replace(",", "")) if limit else 0
    has_number = any(letter.isdigit() for letter in condition)
    return has_number, condition.startswith("dtype"), -least, len(condition), condition


PREFERENCE = Preference(_condition_rank, count_properties, MAX_CONDITIONS)
"""The preferred conjunctions: those with few properties, short phrases and no numbers."""
