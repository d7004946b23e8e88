"""Findings: new differences, shrunk, and grouped by the conditions under which they appear."""

from __future__ import annotations

import hashlib
import operator as operator_module
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.exploration.candidate import Candidate
from conformance.exploration.conditions.testing import diagnose
from conformance.exploration.diagnosis import ShrunkSuspect, Suspect
from conformance.exploration.evaluation import CandidateResult, Evaluator, SurfaceResult
from conformance.exploration.finding_conditions import (
    CORRECT_STATUSES,
    Difference,
    Evidence,
    SurfaceRecord,
    UnexplainedCandidate,
    find_conditions,
)
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import REFERENCE, Symptom
from reports.analysis.conditions import how_condition

MAX_FINDINGS_PER_SYMPTOM = 12
"""Maximum number of findings per operator, surface and symptom. Further differences are only counted."""
MAX_SHRUNK_PER_GENERATION = 12
"""Maximum number of candidates shrunk per generation, for one operator, surface and symptom."""
MAX_SHRUNK_WITHOUT_FINDING = 3
"""Number of candidates shrunk in a row without a new finding, after which the remaining ones are only counted."""
SHARP_SHARE = 0.95
"""Share of differing cases among those that satisfy the conditions, from which the conditions describe one cause."""


@dataclass
class ExplorationFinding:
    """A group of differences that probably have the same cause.

    symptom: how the results differ. candidate: the smallest candidate found. surfaces: where it differs.
    conditions: conditions under which the difference appears; None if no conditions describe it.
    agreeing_count: number of agreeing cases that satisfy the conditions. explained_count: number of differing cases.
    differing_share: share of differing cases among those that satisfy the conditions.
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
    differing_share: float = 0.0
    message: str = ""
    how: str = ""

    @property
    def features(self) -> frozenset[str]:
        """All conditions that are true for the smallest candidate and its program."""
        return how_condition(self.how).union(self.candidate.features)

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
        if operator != self.operator or surface not in self.surfaces or not self.symptom.may_cause(symptom):
            return False
        return self.conditions is not None and features.issuperset(self.conditions)


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
        self._evidence: dict[int, _Fit] = {}
        self._repeated: dict[str, ExplorationFinding | None] = {}

    def add(self, tried: Iterable[CandidateResult], done: int) -> list[ExplorationFinding]:
        """Add the results of candidates and return new findings; done: number of candidates added before."""
        for number, one in enumerate(tried, done + 1):
            if one.surface_results:
                features = one.candidate.features
                # Surfaces share these sets, because many of them stay in memory.
                features_by_how = {item.how: features | how_condition(item.how) for item in one.surface_results}
                for item in one.surface_results:
                    self._record_result(UnexplainedCandidate(number, one.candidate, features_by_how[item.how]), item)
        return self._explain_waiting()

    def _record_result(self, one: UnexplainedCandidate, result: SurfaceResult) -> None:
        record = self._surface_records.setdefault((one.candidate.operator, result.surface), SurfaceRecord())
        if result.status in CORRECT_STATUSES:
            record.add_agreeing(result.oracle, one.features)
        if result.is_new and result.symptom:
            record.add_differing(Difference(one.features, result.symptom))
            if not self._is_explained(result.surface, result.symptom, one):
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
            for suspect, shrunk in zip(suspects, self.evaluator.map(diagnose, pieces), strict=True):
                self._add_shrunk(suspect, shrunk)
        # The order of rounds depends on the other operators; the report does not.
        self.findings[before:] = sorted(self.findings[before:], key=lambda one: one.operator)
        new = self.findings[before:]
        self._refit()
        return [one for one in new if one in self.findings]

    def _suspects(self, operator: str) -> Iterator[Suspect]:
        """Yield the candidates of an operator to shrink, until all are explained or a limit is reached.

        The caller must add the result of each suspect before it requests the next one: a new finding may explain the
        remaining candidates.
        """
        for (of, surface), record in sorted(self._surface_records.items()):
            for symptom in sorted(record.unexplained, key=_symptom_order) if of == operator else ():
                yield from self._suspects_with(operator, surface, symptom, record.unexplained.pop(symptom))

    def _suspects_with(
        self, operator: str, surface: str, symptom: Symptom, waiting: list[UnexplainedCandidate]
    ) -> Iterator[Suspect]:
        """Yield the candidates with a symptom: first the smallest, then those that share least with earlier ones."""
        shrunk: list[frozenset[str]] = []
        fruitless = 0
        while waiting := [one for one in waiting if not self._is_explained(surface, symptom, one)]:
            before = self._count_findings(operator, surface, symptom)
            limits = (MAX_SHRUNK_PER_GENERATION, MAX_SHRUNK_WITHOUT_FINDING, MAX_FINDINGS_PER_SYMPTOM)
            if any(map(operator_module.ge, (len(shrunk), fruitless, before), limits)):
                self.uncounted += len(waiting)
                break
            one = min(waiting, key=lambda one: (_similarity(one.features, shrunk), one.candidate.shrink_key))
            waiting.remove(one)
            shrunk.append(one.features)
            suspect = Suspect(one.candidate, surface, symptom, one.number)
            yield suspect
            repeated = self._repeated.pop(operator, None)
            if repeated and repeated.differing_share >= SHARP_SHARE:
                # The candidate does not satisfy the conditions of the finding, so it may have another cause.
                yield replace(suspect, avoided=frozenset(repeated.conditions or ()))
                self._repeated.pop(operator, None)
            is_new = self._count_findings(operator, surface, symptom) > before
            fruitless = 0 if is_new else fruitless + 1

    def _count_findings(self, operator: str, surface: str, symptom: Symptom) -> int:
        return sum(
            (one.operator, one.symptom) == (operator, symptom) and surface in one.surfaces for one in self.findings
        )

    def _known_cases(self, symptom: Symptom) -> frozenset[str]:
        """Return the ids of the smallest cases of findings with a symptom."""
        return frozenset(one.candidate.case.id for one in self.findings if one.symptom.may_cause(symptom))

    def _add_shrunk(self, suspect: Suspect, shrunk: ShrunkSuspect) -> None:
        """Add a finding for a suspect, or extend the finding that has the same smallest case."""
        surface, symptom, smallest = suspect.surface, suspect.symptom, shrunk.smallest
        same = {item.surface: item for item in shrunk.surface_results if item.is_new and item.symptom == symptom}
        if surface not in same:  # an earlier program may have corrupted the memory
            self.passing_candidates += 1
            return
        known = self._finding_with_case(symptom, smallest)
        if known:
            if not suspect.avoided:
                known.surfaces = tuple(sorted({*known.surfaces, surface}))
                known.explained_count += 1
                self._fit(known)
                features = self._features_of(suspect)
                explained = known.explains(smallest.operator, surface, symptom, features)
                self._repeated[smallest.operator] = None if explained else known
            return
        result = same[surface]
        finding = ExplorationFinding(
            smallest.operator,
            symptom,
            smallest,
            surfaces=tuple(same),
            conditions=None,
            first_number=suspect.number,
            explained_count=1,
            message=result.message,
            how=result.how,
        )
        evidence = Evidence.of(shrunk, result.how, surface, symptom)
        self._evidence[id(finding)] = _Fit(evidence, surface)
        self._fit(finding)
        self.findings.append(finding)

    def _features_of(self, suspect: Suspect) -> frozenset[str]:
        return suspect.candidate.features

    def _finding_with_case(self, symptom: Symptom, smallest: Candidate) -> ExplorationFinding | None:
        """Return the finding that has the same smallest case; None if there is none."""
        same_cause = (one for one in self.findings if one.symptom.may_cause(symptom))
        return next((one for one in same_cause if one.candidate.case.id == smallest.case.id), None)

    def _fit(self, finding: ExplorationFinding) -> None:
        """Find the conditions of a finding from all cases so far."""
        fit = self._evidence[id(finding)]
        record = self._surface_records[finding.operator, fit.surface]
        fit.differing_count = len(record.differing)
        others = [one for one in self.findings if one is not finding]

        def is_explained(one: Difference) -> bool:
            return any(other.explains(finding.operator, fit.surface, one.symptom, one.features) for other in others)

        found = find_conditions(fit.evidence, record, finding.symptom, is_explained)
        finding.conditions, finding.agreeing_count = found.conditions, found.agreeing_count
        finding.differing_share = found.differing_share

    def _refit(self) -> None:
        """Fit findings again whose cases have doubled, and merge those that another finding then explains."""
        for finding in self.findings:
            fit = self._evidence[id(finding)]
            record = self._surface_records[finding.operator, fit.surface]
            if len(record.differing) >= 2 * fit.differing_count:
                self._fit(finding)
        for finding in list(self.findings):
            for other in list(self.findings):
                if other is not finding and finding in self.findings and self._includes(finding, other):
                    finding.explained_count += other.explained_count
                    self.findings.remove(other)

    def _includes(self, finding: ExplorationFinding, other: ExplorationFinding) -> bool:
        """Whether a finding explains the smallest case of a later one on all its surfaces."""
        if other.first_number < finding.first_number and other.conditions is not None:
            return False
        features = self._evidence[id(other)].evidence.smallest
        return all(finding.explains(other.operator, one, other.symptom, features) for one in other.surfaces)


@dataclass
class _Fit:
    """The evidence of a finding; differing_count: number of differing cases when its conditions were last found."""

    evidence: Evidence
    surface: str
    differing_count: int = 0


def _symptom_order(symptom: Symptom) -> tuple[bool, str]:
    """Sort key of symptoms: those of the reference first, because their findings explain violated relations."""
    return symptom.oracle != REFERENCE, str(symptom)


def _similarity(features: frozenset[str], others: Iterable[frozenset[str]]) -> float:
    """Return the largest share of features that a candidate has in common with another one; 0 without others."""
    return max((len(features & other) / max(len(features | other), 1) for other in others), default=0.0)
