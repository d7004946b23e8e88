"""Findings: differences that nobody knew of, shrunk, with the condition under which they show, and grouped by it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from conformance.exploration.candidate import Candidate
from conformance.exploration.cross_surface import SURFACES_PREFIX
from conformance.exploration.diagnosis import ShrunkSuspect, Suspect, shrink_suspect
from conformance.exploration.evaluation import FLAKY_SYMPTOM, CandidateResult, Evaluator, SurfaceResult
from conformance.exploration.features import candidate_conditions, how_condition
from conformance.exploration.oracles import FATAL_SYMPTOMS, REFERENCE_ORACLE, oracle_of
from conformance.exploration.space import OperatorSpace
from reports.analysis.conditions import shortest_conjunction

MAX_FINDINGS_PER_SYMPTOM = 4
"""Findings of one operator on one surface that differ in the same way; what is beyond them is counted only."""
MAX_EXCEPTION_RATIO = 3
"""One in so many may agree where conditions say that it differs: what is wrong need not show everywhere."""
MAX_SHRUNK_PER_GENERATION = 6
"""Recipes of one operator on one surface that differ in the same way and are shrunk in one generation."""
MAX_AGREEING_CANDIDATES = 1000
"""Recipes of an operator on a surface that agreed with one oracle and are kept, to hold statements against."""
AGREEING_STATUSES = frozenset({"pass", "stale"})


@dataclass
class ExplorationFinding:
    """One cause, as far as can be told.

    way: how it differs; recipe: the smallest that was found; conditions: under which it shows, None where none was
    found that tells; agreed: how many cases agreed in spite of them; surfaces: on which; covers: cases that it
    explains; message: what was said of the smallest; how: it was carried out, as programs say it.
    """

    operator: str
    symptom: str
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
        """All that may be said of the smallest, and of how it was carried out."""
        return candidate_conditions(self.candidate) | how_condition(self.how)

    @property
    def id(self) -> str:
        """What it is called: the same wherever and whenever the same smallest case is found."""
        said = f"{self.operator} {self.symptom} {self.candidate.raw_case['id']}"
        return f"{self.operator}-{hashlib.blake2b(said.encode(), digest_size=4).hexdigest()}"

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        where = ", ".join(self.surfaces)
        if self.conditions is None:
            return f"{self.operator} on {where}: {_symptom_text(self.symptom)}; no plain condition tells when."
        when = (
            f"where there is {' and '.join(self.conditions)}, but for some"
            if self.agreeing_count
            else (f"whenever there is {' and '.join(self.conditions)}")
        )
        return f"{self.operator} on {where}: {_symptom_text(self.symptom)} {when}."

    def explains(self, operator: str, surface: str, symptom: str, true: frozenset[str]) -> bool:
        """Whether a difference is one of this finding, by the conditions that hold for its recipe."""
        if operator != self.operator or surface not in self.surfaces or symptom != self.symptom:
            return False
        return self.conditions is not None and true.issuperset(self.conditions)


SYMPTOM_TEXTS: Mapping[str, str] = {
    "value": "numbers are off by more than rounding allows",
    "special": "NaN or infinity stands where another number belongs, or the other way round",
    "shape": "the output has another shape",
    "dtype": "the output has another dtype",
    "timed_out": "the call does not come back in time",
    FLAKY_SYMPTOM: "the outcome is not the same every time",
}


DISAGREEMENT_TEXTS: Mapping[str, str] = {
    "value": "numbers are further apart than rounding allows",
    "shape": "outputs have other shapes",
    "dtype": "outputs have other dtypes",
}


def _symptom_text(symptom: str) -> str:
    kind, _, said = symptom.partition(": ")
    if kind == "rejected":
        return f"the call is refused ({said})"
    if kind == "surfaces":
        return f"the surfaces of the backend do not agree ({DISAGREEMENT_TEXTS[said]})"
    if kind == "law":
        law, _, ended = said.partition(": ")
        return f"in another call of the law of {law} {_symptom_text(ended)}" if ended else f"the law of {law} is broken"
    return f"the process ends ({said})" if kind == "crashed" else SYMPTOM_TEXTS.get(symptom, symptom)


@dataclass(frozen=True)
class UnexplainedCandidate:
    """A recipe that differs and is yet to be explained: its number, and what is true of it and of its program."""

    number: int
    candidate: Candidate
    features: frozenset[str]


@dataclass
class SurfaceRecord:
    """What is known of one operator on one surface: recipes that agreed, by oracle, and those that differ and wait.

    What keeps one law may well break another.
    """

    agreeing_by_oracle: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    unexplained: dict[str, list[UnexplainedCandidate]] = field(default_factory=dict)

    def agreeing_features(self, symptom: str) -> list[frozenset[str]]:
        """Return what is true of those that agreed where a way of differing would have shown.

        An end of the process would have, too, where surfaces were held against each other.
        """
        oracles = (REFERENCE_ORACLE, SURFACES_PREFIX) if symptom.startswith(FATAL_SYMPTOMS) else (oracle_of(symptom),)
        return [true for one in oracles for true in self.agreeing_by_oracle.get(one, [])]


class FindingCollector:
    """All findings of an exploration of one backend."""

    def __init__(self, evaluator: Evaluator, spaces: Mapping[str, OperatorSpace]) -> None:
        self.evaluator = evaluator
        self.spaces = spaces
        self.findings: list[ExplorationFinding] = []
        self.uncounted = 0
        self.passing_candidates = 0
        self._surface_records: dict[tuple[str, str], SurfaceRecord] = {}

    def add(self, tried: Iterable[CandidateResult], done: int) -> list[ExplorationFinding]:
        """Take in what came of recipes, `done` of them before; return the findings that are new."""
        for number, one in enumerate(tried, done + 1):
            if one.surface_results:
                true = candidate_conditions(one.candidate)
                ways = {
                    seen.how: true | how_condition(seen.how) for seen in one.surface_results
                }  # many are kept: surfaces share them
                for seen in one.surface_results:
                    self._record_result(UnexplainedCandidate(number, one.candidate, ways[seen.how]), seen)
        return self._explain_waiting()

    def _record_result(self, one: UnexplainedCandidate, seen: SurfaceResult) -> None:
        pile = self._surface_records.setdefault((one.candidate.operator, seen.surface), SurfaceRecord())
        agreed = pile.agreeing_by_oracle.setdefault(oracle_of(seen.kind), [])
        if seen.status in AGREEING_STATUSES and len(agreed) < MAX_AGREEING_CANDIDATES:
            agreed.append(one.features)
        if seen.is_new and not self._is_explained(seen.surface, seen.symptom, one):
            pile.unexplained.setdefault(seen.symptom, []).append(one)

    def _is_explained(self, surface: str, symptom: str, one: UnexplainedCandidate) -> bool:
        for finding in self.findings:
            if finding.explains(one.candidate.operator, surface, symptom, one.features):
                finding.explained_count += 1
                return True
        return False

    def _explain_waiting(self) -> list[ExplorationFinding]:
        """Make findings of what waits, operators side by side: what is found of one says nothing of another."""
        before = len(self.findings)
        waiting = [self._suspects(operator) for operator in sorted({operator for operator, _ in self._surface_records})]
        while suspects := [one for of_one in waiting if (one := next(of_one, None))]:
            pieces = [(one, self.spaces[one.candidate.operator], self._known_cases(one.symptom)) for one in suspects]
            for suspect, trace in zip(suspects, self.evaluator.map(shrink_suspect, pieces), strict=True):
                self._add_trace(suspect, trace)
        self.findings[before:] = sorted(self.findings[before:], key=lambda one: one.operator)
        return self.findings[before:]

    def _suspects(self, operator: str) -> Iterator[Suspect]:
        """Yield what is to be shrunk, the smallest first, until everything is explained or there is too much.

        When one is asked for, the last must have been taken in.
        """
        for (of, surface), pile in sorted(self._surface_records.items()):
            for way in sorted(pile.unexplained) if of == operator else ():
                waiting = sorted(pile.unexplained.pop(way), key=lambda one: one.candidate.shrink_key)
                left = MAX_SHRUNK_PER_GENERATION
                while waiting := [one for one in waiting if not self._is_explained(surface, way, one)]:
                    alike = [one for one in self.findings if (one.operator, one.symptom) == (operator, way)]
                    if not left or sum(surface in one.surfaces for one in alike) >= MAX_FINDINGS_PER_SYMPTOM:
                        self.uncounted += len(waiting)
                        break
                    left -= 1
                    one = waiting.pop(0)
                    yield Suspect(one.candidate, surface, way, one.number)

    def _known_cases(self, symptom: str) -> frozenset[str]:
        """Return the ids of cases that findings have shrunk to in a way."""
        return frozenset(one.candidate.case.id for one in self.findings if one.symptom == symptom)

    def _add_trace(self, suspect: Suspect, trace: ShrunkSuspect) -> None:
        """Make a finding of a suspect, or add it to the one that has the same smallest case."""
        surface, way, smallest = suspect.surface, suspect.symptom, trace.smallest
        same = {seen.surface: seen for seen in trace.surface_results if seen.is_new and seen.symptom == way}
        if surface not in same:  # what ran before it may have spoilt the memory
            self.passing_candidates += 1
            return
        known = next(
            (one for one in self.findings if (one.symptom, one.candidate.case.id) == (way, smallest.case.id)), None
        )
        if known:
            known.surfaces = tuple(sorted({*known.surfaces, surface}))
            known.explained_count += 1
            return
        here = same[surface]
        told, agreed = self._conditions(trace, here)
        finding = ExplorationFinding(
            smallest.operator, way, smallest, tuple(same), told, suspect.number, agreed, 1, here.message, here.how
        )
        self.findings.append(finding)

    def _conditions(self, trace: ShrunkSuspect, here: SurfaceResult) -> tuple[tuple[str, ...] | None, int]:
        """Return the fewest conditions that hold where it differs, around the smallest, and hardly where it agrees.

        With them, how many cases agree in spite of them: few of those that differ, or there are no conditions.
        """
        smallest = trace.smallest
        tried = [(one.candidate, one.result_on(here.surface)) for one in trace.neighbour_results]
        told = [(candidate_conditions(recipe) | how_condition(seen.how), seen) for recipe, seen in tried if seen]
        differ = [true for true, seen in told if seen.is_new and seen.symptom == here.symptom]
        pile = self._surface_records[smallest.operator, here.surface]
        others = [true for true, seen in told if seen.status in AGREEING_STATUSES] + pile.agreeing_features(
            here.symptom
        )
        covered = [candidate_conditions(smallest) | how_condition(here.how), *differ]
        when = shortest_conjunction(
            covered, others, _condition_rank, exceptions=len(covered) // MAX_EXCEPTION_RATIO
        ) or shortest_conjunction(covered[:1], others, _condition_rank)
        return when, sum(one.issuperset(when) for one in others) if when else 0


def _condition_rank(condition: str) -> tuple[float | str, ...]:
    """Rank what says most of a cause before sizes, and these before the number of axes and the dtype."""
    return any(letter.isdigit() for letter in condition), condition.startswith("dtype"), len(condition), condition
