"""Measure after how many generated cases exploration shows each published bug of docs/replay/bugs.yaml.

    python benchmarks/explore_replay.py --python onnxruntime=.tox/onnxruntime/bin/python --write docs/replay/explored.json
    python benchmarks/explore_replay.py --python onnxruntime@1.24.4=DIR/bin/python --fixed onnxruntime=... --write ...

For each bug of the backend, the operator and the surface of its case are explored with the draws of
`conformance explore --operator O --surface S --seed N`, until a difference is attributed to the bug or the limit is
reached. Ledger entries that match the case of the bug are removed, so that its difference is not a known one. The
metamorphic relations are not checked. A difference counts for the bug if its symptom may have the same cause as that of
the case, and

- the removed ledger entries describe the drawn case, or
- the release without the bug (--fixed) agrees, or
- `judged` in the file says so: a person compared the case with the report.

Differences of none of these are written as `unattributed`, for a person to compare.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.adapters.registry import backend_of_release
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.execution.job import Limits
from conformance.execution.targets import RunTarget, ledger_for
from conformance.exploration.candidate import Candidate
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult, make_requests
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, Explorer
from conformance.exploration.oracles import ReferenceOrSurfacesOracle
from conformance.exploration.space import OperatorSpace
from conformance.judging.ledger import Ledger
from docs.generate.replay import Bug, Replay, answers_by_key, read_bugs, replays, run_data
from reports.results.vocabulary import DifferenceKind, Outcome

CHUNK = 20
"""Number of cases after which the search can stop."""
MAX_DIFFERENCES = 12
"""Number of differences of the kind of the bug that are written, if no ledger entry describes them."""
FURTHER_CASES = 300
"""Number of cases after the first difference in which further ones are searched."""
LEDGER, FIXED = "ledger ", "the fixed release agrees"
TIMEOUT = 30.0
"""Time limit of a case in seconds."""


@dataclass(frozen=True)
class Environments:
    """Interpreters of a backend: the release to explore, and one without the bug ("" for none)."""

    backend: str
    release: str
    python: str
    fixed: str = ""


@dataclass
class Search:
    """A search for a bug, and what it has found."""

    bug: Bug
    case: Case
    removed: Ledger
    differences: list[dict[str, Any]] = field(default_factory=list)
    cases: int = 0
    checked: int = 0
    others: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether a ledger entry describes a difference, or there are enough differences for a person to compare."""
        if not self.differences:
            return False
        enough = len(self.differences) == MAX_DIFFERENCES or self.cases >= self.differences[0]["number"] + FURTHER_CASES
        return enough or any(one["by"].startswith(LEDGER) for one in self.differences)


def bugs_in(release: str, surfaces: Iterable[str], found: Iterable[Replay], match: str, *, fixed: bool) -> list[Bug]:
    """Return the bugs that a release has, on surfaces, whose report or case contains a text.

    fixed: only those that a later release has no more.
    """
    names = set(surfaces)
    return [
        one.bug
        for one in found
        if one.had and release in one.had.span.run and one.bug.surface in names
        if match in f"{one.bug.report} {one.bug.case}" and (one.fixed or not fixed)
    ]


WRONG_OUTPUTS = (DifferenceKind.VALUE, DifferenceKind.SPECIAL, DifferenceKind.SHAPE)
WRONG_ANSWERS = (*WRONG_OUTPUTS, DifferenceKind.ACCEPTED)


def may_show(bug: Bug, one: SurfaceResult) -> bool:
    """Whether a difference has the kind of the bug: a wrong result, a call accepted or rejected wrongly, or a crash.

    The answers to conventions have other words. A difference from them is a wrong result, or an accepted call.
    """
    assert one.symptom is not None  # noqa: S101 - of a difference
    word, _, kind = bug.answer.partition(" ")
    expected: tuple[Any, ...] = WRONG_ANSWERS
    if word == Outcome.CRASHED:
        expected = (Outcome.CRASHED, DifferenceKind.ACCEPTED) if "rejects/" in bug.case else (Outcome.CRASHED,)
    elif word.startswith("rejected"):
        expected = (DifferenceKind.REJECTED,)
    elif word == "differ":
        expected = WRONG_OUTPUTS if kind in WRONG_OUTPUTS else (kind,)
    return one.symptom.failure in expected


def divide_ledger(ledger: Ledger, case: Case, surface: str) -> tuple[Ledger, Ledger]:
    """Return the ledger without the entries of a case on a surface, and these entries alone."""
    own = {
        entry.id
        for entry in ledger.entries
        if entry.matches_surface(surface) and Ledger((replace(entry, versions={}, cpu=(), device=()),)).find_entry(case, surface, {})
    }
    parts = (tuple(e for e in ledger.entries if (e.id in own) == wanted) for wanted in (False, True))
    others, removed = (Ledger(entries) for entries in parts)
    return others, removed.for_generated_cases()


def explore_bug(bug: Bug, case: Case, where: Environments, seed: int, limit: int) -> dict[str, Any]:
    """Explore until the bug is found; return the row of the data file."""
    start, cpu = time.monotonic(), cpu_seconds()
    target = RunTarget(where.backend, where.python)
    backend = backend_of_release(where.backend, where.release) if where.fixed else target.backend
    others, removed = divide_ledger(ledger_for(backend), case, bug.surface)
    space = OperatorSpace.from_sweeps(case.operator, loading.load_catalogue().sweeps)
    search = Search(bug, case, removed)
    with LocalEvaluator(
        backend, where.python, others, surfaces=[bug.surface], limits=Limits(case_seconds=TIMEOUT)
    ) as evaluator:
        packages = dict(evaluator.pool.environment["packages"])
        cpu_features = evaluator.pool.environment["cpu"]
        fixed = LocalEvaluator(target.backend, where.fixed, others, surfaces=[bug.surface], limits=Limits(case_seconds=TIMEOUT))
        with fixed if where.fixed else _nothing() as other:
            for result in draw(evaluator, Explorer(evaluator, {case.operator: space}, seed), limit):
                search.cases += 1
                search.checked += bool(result.surface_results)
                judge(search, result, packages, cpu_features, other)
                if search.is_complete:
                    break
    return {
        "report": bug.report, "case": bug.case, "surface": bug.surface, "release": release_of(where.backend, packages),
        "seed": seed, "limit": limit, "cases": search.cases, "checked": search.checked, "differences": search.differences,
        "others": search.others, "removed": sorted(one.id for one in removed.entries),
        "cpu_seconds": round(cpu_seconds() - cpu, 1), "seconds": round(time.monotonic() - start, 1),
    }  # fmt: skip


class _nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def draw(evaluator: LocalEvaluator, explorer: Explorer, limit: int) -> Iterator[CandidateResult]:
    """Yield the results of the cases that `conformance explore` draws, in their order."""
    while explorer.counts.cases < limit:
        size = min(CANDIDATES_PER_GENERATION, limit - explorer.counts.cases)
        candidates, results = explorer.draw_generation(size), []
        while chunk := list(itertools.islice(candidates, CHUNK)):
            for one in evaluator.evaluate(make_requests(ReferenceOrSurfacesOracle(), chunk)):
                results.append(one)
                yield one
        explorer.record_results(results)


def judge(search: Search, result: CandidateResult, packages: Any, cpu: Any, fixed: LocalEvaluator | None) -> None:
    """Attribute the difference of a result to the bug, or note it."""
    for one in result.surface_results:
        if not one.is_new or one.symptom is None:
            continue
        if not may_show(search.bug, one):
            search.others += 1
            continue
        row = {"number": search.cases, "status": str(one.status), "case": result.candidate.case.id, "symptom": str(one.symptom), "message": one.message[:300]}
        row["by"] = attribution(search, result.candidate, one, packages, cpu, fixed)
        search.differences.append(row)


def attribution(
    search: Search, candidate: Candidate, one: SurfaceResult, packages: Any, cpu: Any, fixed: LocalEvaluator | None
) -> str:
    """Return what attributes a difference to the bug; "" if nothing does."""
    entry = search.removed.find_entry(candidate.case, one.surface, packages, cpu)
    if entry:
        return f"{LEDGER}{entry.id}"
    if fixed:
        (again,) = fixed.evaluate(make_requests(ReferenceOrSurfacesOracle(), [candidate]))
        if again.surface_results and not any(item.symptom for item in again.surface_results):
            return FIXED
    return ""


def release_of(backend: str, packages: dict[str, str]) -> str:
    """Return the version of the framework of a backend."""
    return next(iter(packages.values()))


def cpu_seconds() -> float:
    """Return the processor time of this process and its ended children in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, metavar="BACKEND=PYTHON")
    parser.add_argument("--fixed", default="", metavar="PYTHON")
    parser.add_argument("--release", required=True)
    parser.add_argument("--match", default="")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, required=True)
    a = parser.parse_args(arguments)
    name, _, python = a.python.partition("=")
    where = Environments(name, a.release, python, a.fixed)
    cases = {one.id: one for one in loading.load_catalogue().cases}
    surfaces = [one.name for one in RunTarget(name, python).backend.surfaces]
    found = replays(read_bugs(), answers_by_key(run_data()))
    for bug in bugs_in(a.release, surfaces, found, a.match, fixed=bool(a.fixed)):
        row = explore_bug(bug, cases[bug.case], where, a.seed, a.cases)
        with a.write.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row, indent=1), flush=True)


if __name__ == "__main__":
    sys.exit(main())
