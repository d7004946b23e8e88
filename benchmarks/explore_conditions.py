"""Measure whether the conditions that exploration gives for a planted bug are those of the bug.

For each bug, cases of its operator are drawn until one shows the bug. This case is shrunk. Its neighbours, mixed cases,
the drawn cases and the tests of conditions then give the conditions, as in an exploration. No worker process is used,
and only whether the bug changes the outcome is evaluated, so that a bug takes seconds.

    python benchmarks/explore_conditions.py --part 1/8 --write conditions.json
    python benchmarks/explore_conditions.py --print conditions.json

The conditions are scored on 500 fresh cases, half of them draws with another seed, half mixed from the shrunk case and
other draws. Cases that show the bug and cases that do not count as equally many. Conditions are right if

- recall: at least 95 % of the cases that show the bug satisfy them;
- precision: at least 95 % of the cases that satisfy them show the bug. A case that does not is left out if one of five
  cases with other numbers satisfies them and shows the bug: the numbers hide it;
- no condition is superfluous: without it, the precision is lower.

`--part N/M` takes the bugs whose hash of the name is N modulo M.
"""

import argparse
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from explore_findings import SEEDED
from planted_calls import _can_check as can_check, differs, planted_bugs

from conformance.adapters import registry
from conformance.cases.case import Rejected
from conformance.catalogue import loading
from conformance.exploration.candidate import Candidate
from conformance.exploration.conditions import testing
from conformance.exploration.diagnosis import ShrunkSuspect, neighbours_of
from conformance.exploration.draws.numbers import draw_numbers
from conformance.exploration.evaluation import CandidateResult, SurfaceResult
from conformance.exploration.finding_conditions import Difference, Evidence, SurfaceRecord, find_conditions
from conformance.exploration.mixing import mixed_candidates
from conformance.exploration.rng import Rng
from conformance.exploration.shrinking import SHRINK_BATCH_SIZE, shrink
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import REFERENCE, Symptom
from reports.results.vocabulary import DifferenceKind, Status

DRAWN, MAX_DRAWN, FRESH = 120, 2000, 250
"""Number of drawn cases that give conditions, maximum number until a bug shows, and fresh cases of each kind."""
MAX_SHRINK_EVALUATIONS = 3000
FRESH_SEED, OTHER_NUMBERS = 99, 5
MIN_SHOWN, LEAST = 3, 0.95
"""Minimum number of fresh cases that show a scored bug, and minimum recall and precision."""
VALUE = Symptom(DifferenceKind.VALUE)
Item = tuple[Candidate, frozenset[str], bool]
"""A candidate, its features, and whether it shows the bug."""


@cache
def space_of(operator: str) -> OperatorSpace:
    """Return the space of an operator."""
    return OperatorSpace.from_sweeps(operator, loading.load_catalogue().sweeps)


def shows(surface: str, candidate: Candidate) -> bool | None:
    """Whether a candidate shows a bug; None if the suite does not check it."""
    if isinstance(candidate.case.expect, Rejected) or not can_check(candidate):
        return None
    return differs(surface, candidate)


def items_of(surface: str, candidates: Any) -> list[Item]:
    """Return the checked candidates with their features."""
    shown = [(one, shows(surface, one)) for one in candidates]
    return [(one, one.features, is_shown) for one, is_shown in shown if is_shown is not None]


@cache
def drawn(operator: str, seed: int, count: int) -> list[Candidate]:
    """Return drawn candidates."""
    return [space_of(operator).draw(Rng(seed, operator, number)) for number in range(count)]


def first_shown(bug: Any, operator: str) -> Candidate | None:
    """Return the simplest of the drawn candidates that show a bug, or the first of further ones."""
    shown = [one for one in drawn(operator, 0, DRAWN) if shows(bug.surface, one)]
    if shown:
        return min(shown, key=lambda one: one.shrink_key)
    further = (space_of(operator).draw(Rng(0, operator, number)) for number in range(DRAWN, MAX_DRAWN))
    return next((one for one in further if shows(bug.surface, one)), None)


def shrunk(surface: str, candidate: Candidate) -> Candidate:
    """Return the smallest candidate that shows a bug."""
    left = MAX_SHRINK_EVALUATIONS

    def show(candidates: Sequence[Candidate]) -> list[bool]:
        nonlocal left
        left -= len(candidates)
        return [left > 0 and bool(shows(surface, one)) for one in candidates]

    return shrink(candidate, show, SHRINK_BATCH_SIZE)


@dataclass(frozen=True)
class Split:
    """Features of the items that show a bug, and of the others."""

    differing: list[frozenset[str]]
    agreeing: list[frozenset[str]]

    @classmethod
    def of(cls, items: Sequence[Item]) -> "Split":
        """Return the features of items."""
        return cls([one for _, one, shown in items if shown], [one for _, one, shown in items if not shown])


def conditions_of(surface: str, smallest: Candidate) -> tuple[str, ...]:
    """Return the conditions that an exploration gives for the smallest case of a bug."""
    space, record = space_of(smallest.operator), SurfaceRecord()
    for one in Split.of(found := items_of(surface, drawn(smallest.operator, 0, DRAWN))).differing:
        record.add_differing(Difference(one, VALUE))
    for one in Split.of(found).agreeing:
        record.add_agreeing(REFERENCE, one)

    def run(candidates: Iterable[Candidate]) -> list[CandidateResult]:
        return [_result(surface, one, shows(surface, one)) for one in candidates]

    near, mixed = run(neighbours_of(smallest, space)), run(mixed_candidates(smallest, space))
    suspect = testing.with_tests(ShrunkSuspect(smallest, (), near, mixed), space, surface, VALUE, run)
    return find_conditions(Evidence.of(suspect, "", surface, VALUE), record, VALUE, lambda _: False).conditions or ()


def _result(surface: str, candidate: Candidate, shown: bool | None) -> CandidateResult:
    if shown is None:
        return CandidateResult(candidate)
    status, symptom = (Status.FAIL, VALUE) if shown else (Status.PASS, None)
    return CandidateResult(candidate, [SurfaceResult(surface, status, symptom)])


def with_other_numbers(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidate with generated and with drawn numbers."""
    generated = candidate.with_levels()
    for seed in range(OTHER_NUMBERS):
        if seed % 2:
            inputs = {
                name: {**options, "seed": seed} if options.get("values", "integers") in SEEDED else options
                for name, options in generated.inputs.items()
            }
            other = replace(generated, inputs=inputs)
        else:
            rng = Rng("other numbers", candidate.case.id, seed)
            other = draw_numbers(generated, space_of(candidate.operator).specials, rng)
        if other.is_valid():
            yield other


class Score:
    """Fresh cases of a bug, on which conjunctions are scored."""

    def __init__(self, surface: str, smallest: Candidate) -> None:
        self.surface = surface
        space, operator = space_of(smallest.operator), smallest.operator
        mixed = mixed_candidates(smallest, space, seed=FRESH_SEED, count=FRESH)
        items = items_of(surface, [*drawn(operator, FRESH_SEED, FRESH), *mixed])
        self.shown = [features for _, features, shown in items if shown]
        self.hidden = [(one, features) for one, features, shown in items if not shown]
        self._visible: dict[int, list[frozenset[str]]] = {}

    def of(self, conditions: frozenset[str]) -> tuple[float, float]:
        """Return precision and recall of a conjunction."""
        recall = sum(one >= conditions for one in self.shown) / len(self.shown)
        matching = [one for one, features in self.hidden if features >= conditions]
        wrong = sum(not self.is_masked(one, conditions) for one in matching)
        # The masked cases are neither right nor wrong.
        rate = wrong / max(len(self.hidden) - len(matching) + wrong, 1)
        return (recall / (recall + rate) if recall else 0.0), recall

    def is_masked(self, candidate: Candidate, conditions: frozenset[str]) -> bool:
        """Whether other numbers that satisfy the conditions show the bug."""
        if id(candidate) not in self._visible:
            others = (one for one in with_other_numbers(candidate) if shows(self.surface, one))
            self._visible[id(candidate)] = [one.features for one in others]
        return any(features >= conditions for features in self._visible[id(candidate)])

    def result(self, conditions: frozenset[str]) -> dict[str, Any]:
        """Return the scores of conditions, and the superfluous ones."""
        precision, recall = self.of(conditions) if conditions else (0.0, 0.0)
        right = min(precision, recall) >= LEAST
        superfluous = []
        if right and len(conditions) > 1:
            superfluous = [one for one in sorted(conditions) if self.of(conditions - {one})[0] >= precision]
        return {
            "conditions": sorted(conditions), "shown": len(self.shown), "precision": precision, "recall": recall,
            "superfluous": superfluous, "right": right and not superfluous,
        }  # fmt: skip


def measure(part: int, parts: int) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield the result of each bug of a part; None if no drawn case shows it, or too few fresh ones."""
    bugs = sorted(planted_bugs().values(), key=lambda bug: bug.operators)
    for bug in bugs:
        if zlib.crc32(bug.name.encode()) % parts != part or bug.rejected:
            continue
        first = first_shown(bug, bug.operators[0])
        smallest = shrunk(bug.surface, first) if first else None
        score = Score(bug.surface, smallest) if smallest else None
        if smallest is None or score is None or len(score.shown) < MIN_SHOWN:
            yield bug.name, None
        else:
            yield bug.name, score.result(frozenset(conditions_of(bug.surface, smallest)))


def summary(results: dict[str, Any]) -> str:
    """Return the counts of a part."""
    scored = [one for one in results.values() if one]
    separating = sum(min(one["precision"], one["recall"]) >= LEAST for one in scored)
    right = sum(one["right"] for one in scored)
    return (
        f"{len(results)} bugs, {len(scored)} scored: {separating} separate, {right} of them without superfluous terms"
    )


def main() -> None:
    """Parse the command line; measure or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="0/1", metavar="N/M", help="the part of the bugs that is measured")
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--print", type=Path, metavar="FILE", help="print the results of this file")
    arguments = parser.parse_args()
    if arguments.print:
        results, bugs = json.loads(arguments.print.read_text("utf-8")), planted_bugs()
        for name, one in results.items():
            print(f"{name}: {bugs[name].condition}\n    {one}")
        print(summary(results))
        return
    if not arguments.write:
        parser.error("--write FILE is missing")
    planted_bugs()
    registry.backend_names.cache_clear()
    results = {}
    for name, result in measure(*map(int, arguments.part.split("/"))):
        results[name] = result
        print(name, result, flush=True)
        arguments.write.write_text(json.dumps(results), "utf-8")
    print(summary(results))


if __name__ == "__main__":
    main()
