"""Measure after how many generated cases exploration shows each published bug of docs/replay/bugs.yaml.

    python benchmarks/explore_replay.py search --backend torch --release 2.13.0 --python PYTHON --rows rows.jsonl
    python benchmarks/explore_replay.py search --backend onnxruntime --release 1.24.4 --python OLD --fixed NEW ...
    python benchmarks/explore_replay.py collect rows.jsonl

`search` explores the operator and the surface of each bug of a release, with the draws of
`conformance explore --operator O --surface S --seed N`, until the bug is found or the limit is reached. Ledger entries
that match the case of the bug or name its report are removed, so that its difference is not a known one. Metamorphic
relations are not checked. With --fixed, the programs are those for the release, and only bugs with a fixed release are
searched. Each search adds a line to the file of rows.

A difference may be the bug if it has its kind: a wrong result, a call that is accepted or rejected wrongly, or a crash.
It is the bug if a removed ledger entry describes the drawn case. Other differences of this kind are written, up to a
limit, for a person to compare with the report; docs/replay/attributions.yaml has the answers. `collect` writes
docs/replay/measured/explored.json from rows and answers.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from conformance import ConformanceError
from conformance.adapters.api import Backend
from conformance.adapters.registry import backend_of_release
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.execution.job import Limits
from conformance.execution.targets import RunTarget
from conformance.exploration.candidate import Candidate
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult, make_requests
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, Explorer
from conformance.exploration.oracles import ReferenceOrSurfacesOracle
from conformance.exploration.space import OperatorSpace
from conformance.judging.ledger import Ledger
from docs.generate.replay import TRACKER, Bug, Replay, answers_by_key, read_bugs, replays, run_data
from docs.generate.replay_measured import EXPLORED_FILE, FOLDER, Explored, Found, read_data
from reports.results.vocabulary import DifferenceKind, Outcome

CHUNK = 20
"""Number of cases after which a search can stop."""
MAX_DIFFERENCES = 12
"""Number of differences of the kind of the bug that are written, if no ledger entry describes them."""
FURTHER_CASES = 300
"""Number of cases after the first difference in which further ones are searched."""
LIMITS = Limits(case_seconds=30.0)
LEDGER, FIXED = "ledger ", "the fixed release agrees"
"""What attributes a difference: a removed ledger entry, or the agreement of a release without the bug."""
BY_HAND = "comparison with the report"
ATTRIBUTIONS_FILE = FOLDER / "attributions.yaml"
WRONG_OUTPUTS = (DifferenceKind.VALUE, DifferenceKind.SPECIAL, DifferenceKind.SHAPE)
WRONG_ANSWERS = (*WRONG_OUTPUTS, DifferenceKind.ACCEPTED)


class Attribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person says of the differences of a search. number: the first one that is the bug, None for none."""

    report: str
    case: str
    number: int | None
    note: str


@dataclass(frozen=True)
class Environments:
    """The release of a backend to explore, its interpreter, and that of a release without the bug ("" for none)."""

    backend: str
    release: str
    python: str
    fixed: str = ""


@dataclass
class Search:
    """A search for a bug.

    others: number of differences that do not have its kind. every: whether it continues to the limit, because other
    bugs have the same kind and show more often.
    """

    bug: Bug
    removed: Ledger
    packages: Mapping[str, str]
    cpu: Sequence[str]
    differences: list[dict[str, Any]] = field(default_factory=list)
    cases: int = 0
    checked: int = 0
    others: int = 0
    every: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether a ledger entry describes a difference, or there are enough differences for a person to compare."""
        if not self.differences or self.every:
            return False
        enough = len(self.differences) >= MAX_DIFFERENCES or self.cases >= self.differences[0]["number"] + FURTHER_CASES
        return enough or any(one["by"].startswith(LEDGER) for one in self.differences)

    def add(self, result: CandidateResult, fixed: LocalEvaluator | None) -> None:
        """Add the result of the next case."""
        self.cases += 1
        self.checked += bool(result.surface_results)
        for one in result.surface_results:
            if one.is_new and one.symptom is not None:
                if may_show(self.bug, one):
                    by = self._attribution(result.candidate, one, fixed)
                    self.differences.append(difference_row(self.cases, result.candidate, one, by))
                else:
                    self.others += 1

    def _attribution(self, candidate: Candidate, one: SurfaceResult, fixed: LocalEvaluator | None) -> str:
        """Return what attributes a difference to the bug, or gives a hint; "" if nothing does."""
        entry = self.removed.find_entry(candidate.case, one.surface, self.packages, self.cpu)
        if entry:
            return f"{LEDGER}{entry.id}"
        return FIXED if fixed and agrees(fixed, candidate) else ""


def agrees(evaluator: LocalEvaluator, candidate: Candidate) -> bool:
    """Whether a release agrees with the expected result of a case."""
    (again,) = evaluator.evaluate(make_requests(ReferenceOrSurfacesOracle(), [candidate]))
    return bool(again.surface_results) and not any(item.symptom for item in again.surface_results)


def difference_row(number: int, candidate: Candidate, one: SurfaceResult, by: str) -> dict[str, Any]:
    """Return a difference as in a file of rows."""
    symptom = str(one.symptom)
    return {"number": number, "case": candidate.case.id, "symptom": symptom, "message": one.message[:300], "by": by}


def may_show(bug: Bug, one: SurfaceResult) -> bool:
    """Whether a difference has the kind of the bug: a wrong result, a call accepted or rejected wrongly, or a crash.

    The answers to conventions have other words. A difference from them is a wrong result, or an accepted call.
    """
    assert one.symptom is not None
    word, _, kind = bug.answer.partition(" ")
    expected: tuple[str, ...] = WRONG_ANSWERS
    if word == Outcome.CRASHED:
        expected = (Outcome.CRASHED, DifferenceKind.ACCEPTED) if "/rejects/" in bug.case else (Outcome.CRASHED,)
    elif word.startswith(Outcome.REJECTED):
        expected = (DifferenceKind.REJECTED,)
    elif word == "differ":
        expected = WRONG_OUTPUTS if kind in WRONG_OUTPUTS else (kind,)
    return one.symptom.failure in expected


def bugs_in(release: str, surfaces: Iterable[str], found: Iterable[Replay], match: str, *, fixed: bool) -> list[Bug]:
    """Return the bugs that a release has, on surfaces, whose report, case and surface contain a text.

    fixed: only those that a later release has no more.
    """
    names = set(surfaces)
    return [
        one.bug
        for one in found
        if one.had and release in one.had.span.run and one.bug.surface in names
        if match in " ".join(one.bug.key) and (one.fixed or not fixed)
    ]


def divide_ledger(ledger: Ledger, bug: Bug, case: Case) -> tuple[Ledger, Ledger]:
    """Return the ledger without the entries of a bug, and these entries for generated cases.

    They are those of its surface that match its case or name one of its reports. Versions, processor and device do not
    matter.
    """
    reports = {TRACKER.format(*report.split("#")) for report in (bug.report, *bug.also)}

    def matches(entry: Any) -> bool:
        anywhere = Ledger((replace(entry, versions={}, cpu=(), device=()),))
        issue = (entry.issue or "").replace("/pull/", "/issues/")
        return issue in reports or anywhere.find_entry(case, bug.surface, {}) is not None

    own = {entry.id for entry in ledger.entries if entry.matches_surface(bug.surface) and matches(entry)}
    others = Ledger(tuple(entry for entry in ledger.entries if entry.id not in own))
    removed = Ledger(tuple(entry for entry in ledger.entries if entry.id in own))
    return others, removed.for_generated_cases()


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


def explore_bug(
    bug: Bug, case: Case, where: Environments, seed: int, limit: int, *, every: bool = False
) -> dict[str, Any]:
    """Explore until the bug is found; return a row."""
    start, cpu = time.monotonic(), cpu_seconds()
    current = RunTarget(where.backend, where.python)
    backend = backend_of_release(where.backend, where.release) if where.fixed else current.backend
    others, removed = divide_ledger(current.ledger(), bug, case)
    spaces = {case.operator: OperatorSpace.from_sweeps(case.operator, loading.load_catalogue().sweeps)}

    def evaluator_of(of: Backend, python: str) -> LocalEvaluator:
        return LocalEvaluator(of, python, others, surfaces=[bug.surface], limits=LIMITS)

    with evaluator_of(backend, where.python) as evaluator:
        environment = evaluator.pool.environment
        search = Search(bug, removed, environment["packages"], environment["cpu"], every=every)
        with evaluator_of(current.backend, where.fixed) if where.fixed else nullcontext() as fixed:
            for result in draw(evaluator, Explorer(evaluator, spaces, seed), limit):
                search.add(result, fixed)
                if search.is_complete:
                    break
    return {
        "report": bug.report, "case": bug.case, "surface": bug.surface, "release": where.release, "seed": seed,
        "limit": limit, "cases": search.cases, "checked": search.checked, "differences": search.differences,
        "others": search.others, "removed": sorted(one.id for one in removed.entries),
        "cpu_seconds": round(cpu_seconds() - cpu, 1), "seconds": round(time.monotonic() - start, 1),
    }  # fmt: skip


def cpu_seconds() -> float:
    """Return the processor time of this process and its ended children in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def explored_row(row: Mapping[str, Any], attributions: Mapping[tuple[str, str], Attribution]) -> Explored:
    """Return a row as in explored.json. Raises ConformanceError if a person has to compare its differences."""
    differences = row["differences"]
    described = next((one for one in differences if one["by"].startswith(LEDGER)), None)
    said = attributions.get((row["report"], row["case"]))
    if said is None and differences and described is None:
        raise ConformanceError(f"{ATTRIBUTIONS_FILE}: {row['report']} {row['case']} is missing")
    first = described
    if said is not None and said.number is not None:
        first = next((one for one in differences if one["number"] == said.number), None)
        if first is None:
            raise ConformanceError(f"{ATTRIBUTIONS_FILE}: {said.report} {said.case}: no difference {said.number}")
    found = first and Found(first["number"], first["case"], first["symptom"], first["by"] or BY_HAND)
    keys = ("report", "case", "surface", "release", "seed", "limit", "cases", "checked", "cpu_seconds")
    return Explored(
        **{key: row[key] for key in keys}, found=found, removed=tuple(row["removed"]), note=said.note if said else ""
    )


def collect(paths: Iterable[Path]) -> list[Explored]:
    """Return the rows of files with the attributions, in the order of the bugs. A later row replaces an earlier one."""
    attributions = {(one.report, one.case): one for one in read_data(ATTRIBUTIONS_FILE, tuple[Attribution, ...])}
    rows = {}
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            rows[row["report"], row["case"], row["surface"], row["seed"]] = row
    order = [bug.key for bug in read_bugs()]
    keys = sorted((key for key in rows if key[:3] in order), key=lambda key: (order.index(key[:3]), key[3]))
    return [explored_row(rows[key], attributions) for key in keys]


def search(arguments: argparse.Namespace) -> None:
    """Search all bugs of a release, and add a row for each."""
    where = Environments(arguments.backend, arguments.release, arguments.python, arguments.fixed)
    cases = {one.id: one for one in loading.load_catalogue().cases}
    surfaces = [one.name for one in RunTarget(where.backend, where.python).backend.surfaces]
    found = replays(read_bugs(), answers_by_key(run_data()))
    for bug in bugs_in(where.release, surfaces, found, arguments.match, fixed=bool(where.fixed)):
        row = explore_bug(bug, cases[bug.case], where, arguments.seed, arguments.cases, every=arguments.every)
        with arguments.rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{bug.report}: {row['cases']} cases, {len(row['differences'])} differences", flush=True)


def main() -> None:
    """Parse the command line; search, or write the data file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    searching = commands.add_parser("search")
    for name in ("backend", "release", "python"):
        searching.add_argument(f"--{name}", required=True)
    searching.add_argument("--fixed", default="", metavar="PYTHON", help="interpreter of a release without the bugs")
    searching.add_argument("--match", default="", help="only bugs whose report, case or surface contains this text")
    searching.add_argument("--cases", type=int, default=2000)
    searching.add_argument("--seed", type=int, default=0)
    searching.add_argument(
        "--every", action="store_true", help="search to the limit; write all differences of the kind"
    )
    searching.add_argument("--rows", type=Path, required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("rows", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "search":
        search(arguments)
        return
    rows = ",\n".join(msgspec.json.encode(one).decode() for one in collect(arguments.rows))
    EXPLORED_FILE.write_text(f"[\n{rows}\n]\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
