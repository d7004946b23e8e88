"""Measure how many findings exploration reports for each planted bug, and whether their conditions are right.

All surfaces of the backend `planted` are explored with the reference as the oracle. A surface contains one bug, so one
finding with the right conditions is the ideal. The conditions are checked on cases that the search has not seen.

    python benchmarks/explore_findings.py --cases 4000 --seed 0 --write findings-0.json
    python benchmarks/explore_findings.py --print findings-0.json

Every surface has its own findings, because no two surfaces have the same bug. The conditions of the first finding of a
bug are scored by three measures on unseen cases:

- loose: at least 90 % of the cases that differ satisfy them, and at least half of the cases that satisfy them differ;
- strict: at least 95 % of both;
- numbers: as strict, but a case that satisfies them and agrees counts as differing if it differs with the numbers of
  another seed. A bug need not be visible for all numbers. Cases with explicit numbers have no other numbers.

The bugs are divided by a hash of their name into a studied half, for which conditions were examined while the product
was improved, and a held-out half, for which they were only scored. `--print` lists the conditions of the studied half
next to the description of each bug.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from planted_calls import differs, evaluate_in_process, planted_bugs

from conformance.adapters import registry
from conformance.cases.case import Rejected
from conformance.cases.features.case_features import case_features
from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.exploration.candidate import Candidate
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, make_requests
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, Explorer
from conformance.exploration.findings import FindingCollector
from conformance.exploration.oracles import ReferenceOracle
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from conformance.judging.ledger import Ledger
from reports.analysis.conditions import how_condition
from reports.results.vocabulary import How

UNSEEN_DRAWS = 1000
"""Number of new draws per operator on which conditions are scored."""
MIN_SHOWN = 3
"""Minimum number of unseen cases that have to show a bug. Bugs that fewer cases show are not scored."""
SEEDS = range(1, 7)
"""Other seeds of the numbers of a case that agrees although it satisfies the conditions."""
SEEDED = {"integers", "distinct", "mantissas"}
"""Values with a seed."""
LOOSE, STRICT = (0.9, 0.5), (0.95, 0.95)
"""Minimum share of the differing cases that satisfy the conditions, and of the satisfying cases that differ."""


class PlantedEvaluator(LocalEvaluator):
    """Runs the surfaces that have a bug in the operator of a case, in this process."""

    def evaluate(self, requests: Any, surfaces: Any = (), *, fatal: bool = False) -> list[CandidateResult]:  # noqa: ARG002
        """Return the result of each request on all surfaces, or on the named ones."""
        names = surfaces or [surface.name for surface in self.backend.surfaces]
        candidates = [one.candidate for one in requests]
        return [
            evaluate_in_process(one, [name for name in names if one.operator in BUGS[name].operators])
            for one in candidates
        ]


BUGS: dict[str, Any] = {}
"""Planted bugs by surface."""


def is_studied(name: str) -> bool:
    """Whether a bug belongs to the studied half."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def explore(arguments: argparse.Namespace) -> dict[str, Any]:
    """Explore all surfaces and return the findings of each bug."""
    BUGS.update({bug.surface: bug for bug in planted_bugs().values() if arguments.match in bug.name})
    registry.backend_names.cache_clear()
    start = time.perf_counter()
    operators = [name for name in OPERATORS if any(name in bug.operators for bug in BUGS.values())]
    sweeps = loading.load_catalogue().sweeps
    spaces = {operator: OperatorSpace.from_sweeps(operator, sweeps) for operator in operators}
    evaluator = _evaluator(list(BUGS))
    collectors = {surface: FindingCollector(_evaluator([surface]), spaces) for surface in BUGS}
    explorer = Explorer(evaluator, spaces, arguments.seed)
    while explorer.counts.cases < arguments.cases:
        size = min(CANDIDATES_PER_GENERATION, arguments.cases - explorer.counts.cases)
        results = evaluator.evaluate(make_requests(ReferenceOracle(), list(explorer.draw_generation(size))))
        for surface, collector in collectors.items():
            collector.add(results_on(surface, results), explorer.counts.cases)
        explorer.record_results(results)
        seconds, found = time.perf_counter() - start, sum(len(one.findings) for one in collectors.values())
        print(f"{explorer.counts.cases:,} cases, {seconds:.0f} s: {found} findings", flush=True)
    findings = {surface: collector.findings for surface, collector in collectors.items()}
    return {"seed": arguments.seed, "cases": arguments.cases, "bugs": score(findings, spaces, arguments.seed)}


def _evaluator(surfaces: list[str]) -> PlantedEvaluator:
    return PlantedEvaluator(registry.get_backend("planted"), sys.executable, Ledger(), surfaces=surfaces)


def results_on(surface: str, results: Any) -> list[CandidateResult]:
    """Return the results of candidates on one surface. Other surfaces have other bugs."""
    return [
        CandidateResult(one.candidate, tuple(item for item in one.surface_results if item.surface == surface))
        for one in results
    ]


def score(findings: Any, spaces: Any, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Return for each bug its findings, scored on unseen cases."""
    native, table = how_condition(How.NATIVE), {bug.name: [] for bug in BUGS.values()}
    for operator, space in spaces.items():
        drawn = [space.draw(Rng("unseen", seed, operator, number)) for number in range(UNSEEN_DRAWS)]
        features = [native.union(case_features(one.case)) for one in drawn]
        for surface, bug in BUGS.items():
            of_operator = [one for one in findings[surface] if one.operator == operator]
            if of_operator:
                shown = [shows(surface, one) for one in drawn]
                table[bug.name] += [_scored(one, surface, drawn, features, shown) for one in of_operator]
    return table


def _scored(finding: Any, surface: str, drawn: Any, features: Any, shown: Any) -> dict[str, Any]:
    matches = [one >= frozenset(finding.conditions or ()) for one in features]
    both = sum(one and other for one, other in zip(matches, shown, strict=True))
    masked = (one for one, match, show in zip(drawn, matches, shown, strict=True) if match and not show)
    return {
        "symptom": str(finding.symptom), "case": finding.candidate.case.id, "conditions": finding.conditions,
        "explained": finding.explained_count, "agreeing": finding.agreeing_count,
        "matching": sum(matches), "differing": sum(shown), "both": both,
        "masked": sum(any(shows(surface, other) for other in with_other_numbers(one)) for one in masked)
        if finding.conditions
        else 0,
    }  # fmt: skip


def shows(surface: str, candidate: Candidate) -> bool:
    """Whether a bug shows in a case."""
    if not isinstance(candidate.case.expect, Rejected):
        return differs(surface, candidate)
    return any(one.is_new for one in evaluate_in_process(candidate, [surface]).surface_results)


def with_other_numbers(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidate with the numbers of other seeds."""
    for seed in () if candidate.written_numbers or candidate.violation else SEEDS:
        inputs = {
            name: {**options, "seed": seed} if options.get("values", "integers") in SEEDED else options
            for name, options in candidate.inputs.items()
        }
        other = replace(candidate, inputs=inputs)
        if other.is_valid():
            yield other


def is_right(one: dict[str, Any], least: tuple[float, float] = STRICT, *, masked: bool = False) -> bool:
    """Whether the conditions of a finding describe its bug on the unseen cases; masked: for any numbers."""
    if not one["conditions"] or not one["differing"]:
        return False
    shown = one["both"] + masked * one["masked"]
    return one["both"] >= least[0] * one["differing"] and shown >= least[1] * one["matching"]


def summary(table: dict[str, Any], bugs: Any) -> Iterator[str]:
    """Yield the counts for each set of bugs, and for the two halves."""
    groups = {f"set {number}": [] for number in sorted({bug.planted_set for bug in bugs.values()})}
    groups |= {"studied": [], "held out": [], "all": []}
    for name, found in table["bugs"].items():
        half = "studied" if is_studied(name) else "held out"
        for group in (f"set {bugs[name].planted_set}", half, "all"):
            groups[group].append(found)
    for title, findings in groups.items():
        found = [some for some in findings if some]
        tested = [some[0] for some in found if some[0]["differing"] >= MIN_SHOWN]
        right = [
            sum(is_right(one, LOOSE) for one in tested),
            sum(map(is_right, tested)),
            sum(is_right(one, masked=True) for one in tested),
        ]
        yield (
            f"{title}: {len(findings)} bugs, {len(found)} found, {sum(len(some) == 1 for some in found)} with one "
            f"finding; conditions of {len(tested)}: loose {right[0]}, strict {right[1]}, numbers {right[2]}"
        )


def _line(one: dict[str, Any]) -> str:
    word = "strict" if is_right(one) else "numbers" if is_right(one, masked=True) else ""
    shares = f"{one['both']} of {one['differing']} differing, {one['matching']} matching, {one['masked']} masked"
    return f"  {word or '-':7} {one['symptom']}: {one['conditions']} ({shares})"


def main() -> None:
    """Parse the command line; explore, or print the findings of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--match", default="", metavar="TEXT", help="only bugs whose name contains this text")
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--print", type=Path, metavar="FILE", help="print the findings of this file")
    arguments = parser.parse_args()
    if arguments.print:
        table, bugs = json.loads(arguments.print.read_text("utf-8")), planted_bugs()
        for name, found in table["bugs"].items():
            if is_studied(name) and found:
                print(f"\n{name}: {bugs[name].condition}")
                print("\n".join(map(_line, found)))
        print("\n".join(summary(table, bugs)))
        return
    if not arguments.write:
        parser.error("--write FILE is missing")
    arguments.write.write_text(json.dumps(explore(arguments)), "utf-8")


if __name__ == "__main__":
    main()
