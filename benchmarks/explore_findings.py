"""Measure how many findings exploration reports for each planted bug, and whether their conditions are right.

All surfaces of the backend `planted` are explored with the reference as the oracle. A surface contains one bug, so one
finding with the right conditions is the ideal. The conditions are checked on cases that the search has not seen.

    python benchmarks/explore_findings.py --cases 4000 --seed 0 --write findings-0.json
    python benchmarks/explore_findings.py --print findings-0.json

Conditions are right if at least 90 % of the unseen cases that differ satisfy them, and at least half of the unseen
cases that satisfy them differ. A bug need not be visible in every output, so the second share can be lower. `--print`
lists the conditions next to the description of each bug.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from planted_calls import differs, evaluate_in_process, planted_bugs

from conformance.adapters import registry
from conformance.cases.case import Rejected
from conformance.cases.features.case_features import case_features
from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, make_requests
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, Explorer
from conformance.exploration.oracles import ReferenceOracle
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from conformance.judging.ledger import Ledger
from reports.analysis.conditions import how_condition
from reports.results.vocabulary import How

UNSEEN_DRAWS = 400
"""Number of new draws per operator on which conditions are checked."""
MIN_DIFFERING, MIN_MATCHING = 0.9, 0.5
"""Minimum share of the differing cases that satisfy right conditions, and of the satisfying cases that differ."""


class PlantedEvaluator(LocalEvaluator):
    """Runs the surfaces that have a bug in the operator of a case, in this process."""

    def evaluate(self, requests: Any, surfaces: Any = (), *, fatal: bool = False) -> list[CandidateResult]:  # noqa: ARG002
        """Return the result of each request on all surfaces, or on the named ones."""
        names = surfaces or list(BUGS)
        candidates = [one.candidate for one in requests]
        return [
            evaluate_in_process(one, [name for name in names if one.operator in BUGS[name].operators])
            for one in candidates
        ]


BUGS: dict[str, Any] = {}
"""Planted bugs by surface."""


def explore(arguments: argparse.Namespace) -> dict[str, Any]:
    """Explore all surfaces and return the findings of each bug."""
    BUGS.update({bug.surface: bug for bug in planted_bugs().values() if arguments.match in bug.name})
    registry.backend_names.cache_clear()
    backend, start = registry.get_backend("planted"), time.perf_counter()
    operators = [name for name in OPERATORS if any(name in bug.operators for bug in BUGS.values())]
    sweeps = loading.load_catalogue().sweeps
    spaces = {operator: OperatorSpace.from_sweeps(operator, sweeps) for operator in operators}
    evaluator = PlantedEvaluator(backend, sys.executable, Ledger(), surfaces=list(BUGS))
    explorer = Explorer(evaluator, spaces, arguments.seed)
    while explorer.counts.cases < arguments.cases:
        size = min(CANDIDATES_PER_GENERATION, arguments.cases - explorer.counts.cases)
        results = evaluator.evaluate(make_requests(ReferenceOracle(), list(explorer.draw_generation(size))))
        explorer.findings.add(results, explorer.counts.cases)
        explorer.record_results(results)
        seconds = time.perf_counter() - start
        print(f"{explorer.counts.cases:,} cases, {seconds:.0f} s: {len(explorer.findings.findings)} findings")
        sys.stdout.flush()
    checked = check_conditions(explorer.findings.findings, spaces, arguments.seed)
    table = {
        bug.name: [
            one for finding, one in zip(explorer.findings.findings, checked, strict=True) if surface in finding.surfaces
        ]
        for surface, bug in BUGS.items()
    }
    return {"seed": arguments.seed, "cases": arguments.cases, "bugs": table}


def check_conditions(findings: Any, spaces: Any, seed: int) -> list[dict[str, Any]]:
    """Return for each finding its conditions, and the two shares on unseen cases."""
    native, unseen = how_condition(How.NATIVE), {}
    for operator, space in spaces.items():
        drawn = [space.draw(Rng("unseen", seed, operator, number)) for number in range(UNSEEN_DRAWS)]
        unseen[operator] = [(one, native.union(case_features(one.case))) for one in drawn]
    return [_checked(finding, unseen[finding.operator]) for finding in findings]


def _checked(finding: Any, unseen: Any) -> dict[str, Any]:
    (surface, *_) = finding.surfaces
    matching = differing = both = 0
    for candidate, features in unseen:
        matches, shows = features >= frozenset(finding.conditions or ()), _shows(surface, candidate)
        matching, differing, both = matching + matches, differing + shows, both + (matches and shows)
    return {
        "symptom": str(finding.symptom), "case": finding.candidate.case.id, "conditions": finding.conditions,
        "explained": finding.explained_count, "agreeing": finding.agreeing_count,
        "matching": matching, "differing": differing, "both": both,
    }  # fmt: skip


def _shows(surface: str, candidate: Any) -> bool:
    if not isinstance(candidate.case.expect, Rejected):
        return differs(surface, candidate)
    return any(one.is_new for one in evaluate_in_process(candidate, [surface]).surface_results)


def is_right(one: dict[str, Any]) -> bool:
    """Whether the conditions of a finding describe its bug on the unseen cases."""
    if not one["conditions"] or not one["differing"]:
        return False
    return one["both"] >= MIN_DIFFERING * one["differing"] and one["both"] >= MIN_MATCHING * one["matching"]


def summary(table: dict[str, Any], bugs: Any) -> str:
    """Return the counts for each set of bugs."""
    lines = []
    for number in sorted({bug.planted_set for bug in bugs.values()}):
        findings = {name: found for name, found in table["bugs"].items() if bugs[name].planted_set == number}
        found = [some for some in findings.values() if some]
        tested = [some for some in found if any(one["differing"] for one in some)]
        lines.append(
            f"set {number}: {len(findings)} bugs, {len(found)} found, {sum(len(some) == 1 for some in found)} with one "
            f"finding; conditions: {sum(bool(some[0]['conditions']) for some in found)} have some, "
            f"{sum(is_right(some[0]) for some in tested)} right of {len(tested)} that unseen cases show"
        )
    return "\n".join(lines)


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
            print(f"\n{name}: {bugs[name].condition}")
            for one in found:
                shares = f"{one['both']} of {one['differing']} differing, {one['matching']} matching"
                print(f"  {'right' if is_right(one) else '-':5} {one['symptom']}: {one['conditions']} ({shares})")
        print(summary(table, bugs))
        return
    if not arguments.write:
        parser.error("--write FILE is missing")
    arguments.write.write_text(json.dumps(explore(arguments)), "utf-8")


if __name__ == "__main__":
    main()
