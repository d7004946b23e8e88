"""Findings: new differences, shrunk, and grouped by the conditions under which they appear."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from conformance.cases.features import case_features
from conformance.exploration.candidate import Candidate
from conformance.exploration.diagnosis import ShrunkSuspect, Suspect, shrink_suspect
from conformance.exploration.evaluation import CandidateResult, Evaluator, SurfaceResult
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import OTHER_SURFACES, REFERENCE, OracleName, Symptom
from reports.analysis.conditions import how_condition, shortest_conjunction
from reports.results.vocabulary import AGREEING_STATUSES, Status

MAX_FINDINGS_PER_SYMPTOM = 4
"""Maximum number of findings per operator, surface and symptom. Further differences are only counted."""
MAX_EXCEPTION_RATIO = 3
"""For this number of differing candidates that satisfy the conditions, one agreeing candidate may satisfy them too. The
reason is that a bug need not be visible in every output."""
MAX_SHRUNK_PER_GENERATION = 6
"""Maximum number of candidates shrunk per generation, for one operator, surface and symptom."""
MAX_AGREEING_CANDIDATES = 1000
"""Number of agreeing candidates remembered per operator, surface and oracle. Conditions are tested on them."""
CORRECT_STATUSES = AGREEING_STATUSES | {Status.STALE}
"""Statuses of candidates that agree, also where the ledger expects a difference."""


@dataclass
class ExplorationFinding:
    """A group of differences that probably have the same cause.

    symptom: how the results differ. candidate: the smallest candidate found. surfaces: where it differs.
    conditions: conditions under which the difference appears; None if no conditions describe it.
    agreeing_count: number of agreeing cases that satisfy the conditions. explained_count: number of differing cases.
    message: message for the smallest candidate. how: native, padded or composed.
    """

    operator: str
    symptom: Symptom
    candidate: Candidate
    surfaces: tuple[str, ...]
    conditions: tuple[str, ...] | None
    first_number: int
    agreeing_count: int = 0
    explained_count: int = 0
    message: str = ""
    how: str = ""

    @property
    def features(self) -> frozenset[str]:
        """All conditions that are true for the smallest candidate and its program."""
        return how_condition(self.how).union(case_features(self.candidate.case))

    @property
    def id(self) -> str:
        """Identifier, which depends only on the operator, the symptom and the smallest case."""
        text = f"{self.operator} {self.symptom} {self.candidate.raw_case['id']}"
        return f"{self.operator}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        subject = f"{self.operator} on {', '.join(self.surfaces)}: {self.symptom.description_with(self.message)}"
        if self.conditions is None:
            return f"{subject}; no simple condition describes when."
        share = "most" if self.agreeing_count else "all"
        return f"{subject} in {share} tested cases with {' and '.join(self.conditions)}."

    def explains(self, operator: str, surface: str, symptom: Symptom, features: frozenset[str]) -> bool:
        """Whether a difference belongs to this finding, by the features of its candidate."""
        if operator != self.operator or surface not in self.surfaces or symptom != self.symptom:
            return False
        return self.conditions is not None and features.issuperset(self.conditions)


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
    satisfies one relation may violate another. unexplained: differing candidates without a finding, by symptom.
    """

    agreeing_by_oracle: dict[OracleName, list[frozenset[str]]] = field(default_factory=dict)
    unexplained: dict[Symptom, list[UnexplainedCandidate]] = field(default_factory=dict)

    def agreeing_features(self, symptom: Symptom) -> list[frozenset[str]]:
        """Return the features of candidates that agreed with an oracle that would have shown the symptom.

        Comparing surfaces shows crashes and hangs too.
        """
        both = symptom.is_fatal and symptom.oracle == REFERENCE
        oracles = (REFERENCE, OTHER_SURFACES) if both else (symptom.oracle,)
        return [features for oracle in oracles for features in self.agreeing_by_oracle.get(oracle, [])]


class FindingCollector:
    """Collects the findings of an exploration of one backend.

    uncounted: number of differences beyond the limits. passing_candidates: number of differences that were not
    confirmed.
    """

    def __init__(self, evaluator: Evaluator, spaces: Mapping[str, OperatorSpace]) -> None:
        self.evaluator = evaluator
        self.spaces = spaces
        self.findings: list[ExplorationFinding] = []
        self.uncounted = 0
        self.passing_candidates = 0
        self._surface_records: dict[tuple[str, str], SurfaceRecord] = {}

    def add(self, tried: Iterable[CandidateResult], done: int) -> list[ExplorationFinding]:
        """Add the results of candidates and return new findings; done: number of candidates added before."""
        for number, one in enumerate(tried, done + 1):
            if one.surface_results:
                features = frozenset(case_features(one.candidate.case))
                # Surfaces share these sets, because many of them stay in memory.
                features_by_how = {item.how: features | how_condition(item.how) for item in one.surface_results}
                for item in one.surface_results:
                    self._record_result(UnexplainedCandidate(number, one.candidate, features_by_how[item.how]), item)
        return self._explain_waiting()

    def _record_result(self, one: UnexplainedCandidate, result: SurfaceResult) -> None:
        record = self._surface_records.setdefault((one.candidate.operator, result.surface), SurfaceRecord())
        agreeing = record.agreeing_by_oracle.setdefault(result.oracle, [])
        if result.status in CORRECT_STATUSES and len(agreeing) < MAX_AGREEING_CANDIDATES:
            agreeing.append(one.features)
        if result.is_new and result.symptom and not self._is_explained(result.surface, result.symptom, one):
            record.unexplained.setdefault(result.symptom, []).append(one)

    def _is_explained(self, surface: str, symptom: Symptom, one: UnexplainedCandidate) -> bool:
        for finding in self.findings:
            if finding.explains(one.candidate.operator, surface, symptom, one.features):
                finding.explained_count += 1
                return True
        return False

    def _explain_waiting(self) -> list[ExplorationFinding]:
        """Turn unexplained candidates into findings; return the new ones.

        Each round shrinks one suspect per operator in parallel, as findings of different operators are independent.
        """
        before = len(self.findings)
        queues = [self._suspects(operator) for operator in sorted({operator for operator, _ in self._surface_records})]
        while suspects := [suspect for queue in queues if (suspect := next(queue, None))]:
            pieces = [(one, self.spaces[one.candidate.operator], self._known_cases(one.symptom)) for one in suspects]
            for suspect, shrunk in zip(suspects, self.evaluator.map(shrink_suspect, pieces), strict=True):
                self._add_shrunk(suspect, shrunk)
        # The order of rounds depends on the other operators; the report does not.
        self.findings[before:] = sorted(self.findings[before:], key=lambda one: one.operator)
        return self.findings[before:]

    def _suspects(self, operator: str) -> Iterator[Suspect]:
        """Yield the candidates of an operator to shrink, smallest first, until all are explained or a limit is reached.

        The caller must add the result of each suspect before it requests the next one: a new finding may explain the
        remaining candidates.
        """
        for (of, surface), record in sorted(self._surface_records.items()):
            for symptom in sorted(record.unexplained, key=str) if of == operator else ():
                waiting = sorted(record.unexplained.pop(symptom), key=lambda one: one.candidate.shrink_key)
                remaining = MAX_SHRUNK_PER_GENERATION
                while waiting := [one for one in waiting if not self._is_explained(surface, symptom, one)]:
                    similar = [one for one in self.findings if (one.operator, one.symptom) == (operator, symptom)]
                    if not remaining or sum(surface in one.surfaces for one in similar) >= MAX_FINDINGS_PER_SYMPTOM:
                        self.uncounted += len(waiting)
                        break
                    remaining -= 1  # also for a suspect without a finding, so that flaky results end too
                    one = waiting.pop(0)
                    yield Suspect(one.candidate, surface, symptom, one.number)

    def _known_cases(self, symptom: Symptom) -> frozenset[str]:
        """Return the ids of the smallest cases of findings with a symptom."""
        return frozenset(one.candidate.case.id for one in self.findings if one.symptom == symptom)

    def _add_shrunk(self, suspect: Suspect, shrunk: ShrunkSuspect) -> None:
        """Add a finding for a suspect, or extend the finding that has the same smallest case."""
        surface, symptom, smallest = suspect.surface, suspect.symptom, shrunk.smallest
        same = {item.surface: item for item in shrunk.surface_results if item.is_new and item.symptom == symptom}
        if surface not in same:  # an earlier program may have corrupted the memory
            self.passing_candidates += 1
            return
        known = next(
            (one for one in self.findings if (one.symptom, one.candidate.case.id) == (symptom, smallest.case.id)), None
        )
        if known:
            known.surfaces = tuple(sorted({*known.surfaces, surface}))
            known.explained_count += 1
            return
        result = same[surface]
        conditions, agreeing_count = self._conditions(shrunk, suspect, result.how)
        finding = ExplorationFinding(
            smallest.operator,
            symptom,
            smallest,
            surfaces=tuple(same),
            conditions=conditions,
            first_number=suspect.number,
            agreeing_count=agreeing_count,
            explained_count=1,
            message=result.message,
            how=result.how,
        )
        self.findings.append(finding)

    def _conditions(self, shrunk: ShrunkSuspect, suspect: Suspect, how: str) -> tuple[tuple[str, ...] | None, int]:
        """Return the fewest conditions for a difference, and the number of agreeing candidates that satisfy them.

        All differing neighbours satisfy the conditions, and few agreeing candidates do. None if there are no such
        conditions. how: native, padded or composed, of the smallest candidate.
        """
        surface, symptom = suspect.surface, suspect.symptom
        evaluated = [(one.candidate, one.result_on(surface)) for one in shrunk.neighbour_results]
        neighbours = [(how_condition(item.how).union(case_features(one.case)), item) for one, item in evaluated if item]
        differing = [features for features, item in neighbours if item.is_new and item.symptom == symptom]
        agreeing = [features for features, item in neighbours if item.status in CORRECT_STATUSES]
        record = self._surface_records[shrunk.smallest.operator, surface]
        agreeing += record.agreeing_features(symptom)
        covered = [how_condition(how).union(case_features(shrunk.smallest.case)), *differing]
        exceptions = len(covered) // MAX_EXCEPTION_RATIO
        conditions = shortest_conjunction(covered, agreeing, _condition_rank, exceptions=exceptions)
        # Neighbours may differ for another reason: then describe the smallest candidate alone.
        conditions = conditions or shortest_conjunction(covered[:1], agreeing, _condition_rank)
        return conditions, sum(features.issuperset(conditions) for features in agreeing) if conditions else 0


def _condition_rank(condition: str) -> tuple[float | str, ...]:
    """Sort key of conditions: first those without a number, and dtypes last; then shorter conditions first."""
    return any(letter.isdigit() for letter in condition), condition.startswith("dtype"), len(condition), condition
