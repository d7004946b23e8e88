"""Measure how many generated cases it takes to find the planted bugs, and how small the shrunk cases are.

All surfaces of the backend `planted` (tests/support/planted_package) are explored together, each until its bug is
found. Every generated case counts, even if all bugs of its operator have been found. The first case that shows a bug is
shrunk and compared with the smallest case found by hand. The same command continues an interrupted search.

    python benchmarks/explore_faults.py --cases 20000 --seed 0 --draw guided --shrink --write guided-0.json
    python benchmarks/explore_faults.py --cases 20000 --seed 0 --draw plain --write plain-0.json
    python benchmarks/explore_faults.py --cases 200000 --seed 0 --draw uniform --write uniform-0.json
    python benchmarks/explore_faults.py --compare guided-*.json plain-*.json uniform-*.json
    python benchmarks/explore_faults.py --columns guided-0.json plain-0.json uniform-0.json --write columns.json

guided: draws as `conformance explore` does. plain: independent draws from the same space. uniform: every parameter is
uniform in its range, see explore_uniform.py.

--compare prints the number of bugs found within several numbers of cases, and the geometric mean of the cases per bug.
A bug that is not found counts with all cases. --columns writes columns for `benchmarks/planted_catalogue.py --columns`.
"""

import argparse
import json
import math
import pickle
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.adapters import registry
from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.exploration.candidate import Candidate
from conformance.exploration.diagnosis import MAX_SHRINK_EVALUATIONS, max_differing
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, Explorer
from conformance.exploration.shrinking import SHRINK_BATCH_SIZE, shrink
from conformance.exploration.space import OperatorSpace
from conformance.judging.ledger import Ledger

sys.path.insert(0, str(Path(__file__).parent))
from explore_uniform import Uniform
from planted_calls import differs, evaluate_in_process, planted_bugs

UNSAVED = {"evaluator", "spaces", "findings"}
"""Attributes of an explorer that do not change, or that this search does not use."""
LIMITS = (1000, 2000, 4000, 20_000, 200_000)
"""Numbers of cases for which searches are compared."""


def extra_factors(candidate: Candidate, smallest: dict[str, Any]) -> int:
    """Return how many more non-default factors a shrunk candidate has than the smallest case found by hand."""
    return len(list(candidate.non_default_factors())) - _factors_by_hand(candidate.operator, smallest)


def _factors_by_hand(operator: str, smallest: dict[str, Any]) -> int:
    from conformance.cases.parsing import parse_case  # noqa: PLC0415

    case = parse_case({"operator": operator, "source": "-"}, {"id": "smallest", **smallest}, "-")
    return count_non_default_factors(case)


def count_non_default_factors(case: Any) -> int:
    """Return the number of non-default parameters and sizes of a case, as `Candidate.non_default_factors` counts."""
    defaults, given = OPERATORS[case.operator].defaults, case.parameters
    window = given.get("window") or (case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else ())
    count = sum(size != 1 for size in window) + (len(case.shape) > 3)
    count += sum(size > 1 for size in case.shape[:1]) + (case.dtype != "float32") + ("bias" in case.inputs)
    groups = given.get("groups", 1)
    count += (groups > 1) + (case.shape[1] // groups > 1)
    if "kernel" in case.inputs:
        kernel = case.inputs["kernel"].shape
        outputs = (
            kernel[0] // groups if case.operator.startswith("conv") and "transpose" not in case.operator else kernel[1]
        )
        count += outputs > 1
    for name in ("stride", "dilation"):
        count += sum(size != 1 for size in given.get(name) or ())
    count += sum(size != 0 for size in given.get("output_padding") or ())
    count += sum(any(pair) for name in ("padding", "pads") if name in given for pair in given[name])
    scalars = {"rounding", "count_include_pad", "divisor", "p", "mode", "value", "ties", "output"}
    count += bool(case.then)
    return count + sum(given[name] != defaults.get(name) for name in scalars & given.keys())


class Search:
    """A search for all bugs: the explorer draws cases, and each surface runs the cases of its operators.

    found: number, case and symptom of the first case that shows the bug of a surface. shown: number of cases that do.
    """

    def __init__(self, known: dict[str, Any], seed: int, draw: str) -> None:
        sweeps = loading.load_catalogue().sweeps
        swept = {operator: OperatorSpace.from_sweeps(operator, sweeps) for operator in OPERATORS}
        spaces: Any = {name: Uniform(space) for name, space in swept.items()} if draw == "uniform" else swept
        # The evaluator is only for the findings of an explorer, which this search does not use.
        evaluator = LocalEvaluator(registry.get_backend("planted"), sys.executable, Ledger())
        self.explorer = Explorer(evaluator, spaces, seed, guided=draw == "guided")
        self.bugs = {bug.surface: bug for bug in known.values()}
        self.found: dict[str, tuple[int, Candidate, Any]] = {}
        self.shown: Counter[str] = Counter()

    def generation(self, size: int) -> None:
        """Draw a generation and evaluate the cases that may show a bug."""
        results = []
        for number, candidate in enumerate(self.explorer.draw_generation(size), self.explorer.counts.cases + 1):
            of_operator = [name for name, bug in self.bugs.items() if candidate.operator in bug.operators]
            surfaces = [name for name in of_operator if differs(name, candidate)]
            results.append(evaluate_in_process(candidate, surfaces) if surfaces else CandidateResult(candidate))
            for result in results[-1].surface_results:
                if result.is_new:
                    self.shown[result.surface] += 1
                    self.found.setdefault(result.surface, (number, candidate, result.symptom))
        self.explorer.record_results(results)

    def save(self, path: Path) -> None:
        """Save everything that the next generation depends on."""
        explorer = {name: value for name, value in vars(self.explorer).items() if name not in UNSAVED}
        path.write_bytes(pickle.dumps((explorer, self.found, self.shown)))

    def restore(self, path: Path) -> None:
        """Continue from a saved state."""
        explorer, self.found, self.shown = pickle.loads(path.read_bytes())  # noqa: S301 - written by `save`
        vars(self.explorer).update(explorer)

    def result(self, bug: Any, *, shrinks: bool) -> dict[str, Any] | None:
        """Return the first case that shows a bug, and how many do; None if none does."""
        if bug.surface not in self.found:
            return None
        small = self.smallest(bug.surface) if shrinks else None
        same_operator = small and small.operator == bug.operators[0]
        steps = extra_factors(small, dict(bug.smallest)) if same_operator and not bug.rejected else None
        first, case = self.found[bug.surface][0], small and small.raw_case["id"]
        return {"first": first, "shown": self.shown[bug.surface], "steps": steps, "case": case}

    def smallest(self, surface: str) -> Candidate:
        """Shrink the case that showed the bug of a surface."""
        _, candidate, symptom = self.found[surface]
        evaluations_left, differing_count = MAX_SHRINK_EVALUATIONS, 0

        def shows(candidates: Any) -> list[bool]:
            nonlocal evaluations_left, differing_count
            limit = evaluations_left if differing_count < max_differing(symptom) else 0
            evaluated = [one for one in candidates if differs(surface, one)][:limit]
            evaluations_left -= len(evaluated)
            results = [evaluate_in_process(one, [surface]) for one in evaluated]
            by_id = {id(result.candidate): result for result in results}
            shown = [id(one) in by_id and by_id[id(one)].shows(surface, symptom) for one in candidates]
            differing_count += sum(shown)
            return shown

        return shrink(candidate, shows, 1 if symptom.is_fatal else SHRINK_BATCH_SIZE)


def columns(tables: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return columns for the table of planted bugs, by title."""
    by_title = {}
    for table in tables:
        bugs = {name: one or {} for name, one in table["faults"].items()}
        by_title[f"{TITLES[table['draw']]}, of {table['cases']:,}"] = _cells(bugs, "first")
    shrunk = {name: one or {} for name, one in tables[0]["faults"].items()}
    if any(one.get("steps") is not None for one in shrunk.values()):
        by_title["extra parameters"] = _cells(shrunk, "steps")
    return by_title


TITLES = {"guided": "explored", "plain": "independent draws", "uniform": "uniform"}


def _cells(bugs: dict[str, Any], key: str) -> dict[str, str]:
    return {name: f"{one[key]:,}" if one.get(key) is not None else "–" for name, one in bugs.items()}


def compare(tables: list[dict[str, Any]]) -> Iterator[str]:
    """Yield for each kind of draws the number of bugs found and the cases per bug, over all seeds."""
    firsts = {draw: [_firsts(table) for table in tables if table["draw"] == draw] for draw in TITLES}
    for limit in LIMITS:
        means = {}
        for draw, seeds in firsts.items():
            long_enough = [found for found, cases in seeds if cases >= limit]
            if not long_enough:
                continue
            taken = [min(first, limit) for seed in long_enough for first in seed]
            means[draw] = statistics.geometric_mean(taken)
            counts = [sum(first <= limit for first in seed) for seed in long_enough]
            yield f"{limit:,} cases, {draw}: found {counts}, cases per bug {means[draw]:.0f}"
            yield from _cases_for_as_many(firsts["guided"], draw, min(counts))
        for draw in means.keys() - {"guided"} if "guided" in means else ():
            yield f"{limit:,} cases, {draw} / guided: {means[draw] / means['guided']:.2f} times the cases per bug"


def ratios(tables: list[dict[str, Any]]) -> Iterator[str]:
    """Yield for each set of bugs the geometric mean of the ratio of uniform to guided cases, bug by bug."""
    bugs = planted_bugs()
    by_draw = {draw: [table for table in tables if table["draw"] == draw] for draw in ("guided", "uniform")}
    if not all(by_draw.values()):
        return
    cases = min(table["cases"] for table in tables)
    firsts = {
        draw: {name: statistics.geometric_mean([_first(table, name, cases) for table in some]) for name in bugs}
        for draw, some in by_draw.items()
    }
    for number in sorted({bug.planted_set for bug in bugs.values()}):
        names = [name for name, bug in bugs.items() if bug.planted_set == number]
        mean = statistics.geometric_mean([firsts["uniform"][name] / firsts["guided"][name] for name in names])
        counts = {
            draw: [sum(_is_found(table, name, cases) for name in names) for table in some]
            for draw, some in by_draw.items()
        }
        yield f"set {number}, {len(names)} bugs, {cases:,} cases: found {counts}; uniform / guided {mean:.2f}"


def _is_found(table: dict[str, Any], name: str, cases: int) -> bool:
    return bool((table["faults"].get(name) or {}).get("first", math.inf) <= cases)


def _first(table: dict[str, Any], name: str, cases: int) -> float:
    """Return the number of the first case that shows a bug; all cases if none does."""
    return float(min((table["faults"].get(name) or {}).get("first", cases), cases))


def _firsts(table: dict[str, Any]) -> tuple[list[float], float]:
    """Return the sorted numbers of the first cases that show a bug, and the number of cases of the search.

    The number of cases is infinite if all bugs were found, because more cases would not change the result.
    """
    found = sorted((one or {}).get("first", math.inf) for one in table["faults"].values())
    return found, table["cases"] if math.inf in found else math.inf


def _cases_for_as_many(guided: list[tuple[list[float], float]], draw: str, count: int) -> Iterator[str]:
    if draw != "guided" and guided and count:
        yield f"    exploring finds {count} bugs within {[found[count - 1] for found, _ in guided]} cases"


def main() -> None:
    """Parse the command line; search and shrink, or compare the results of searches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", choices=TITLES, default="guided", help="how cases are drawn")
    parser.add_argument("--set", type=int, default=0, metavar="N", help="only the bugs of this set")
    parser.add_argument("--shrink", action="store_true", help="shrink the first case that shows each bug")
    parser.add_argument(
        "--columns", type=Path, nargs="+", metavar="FILE", help="write table columns for these searches"
    )
    parser.add_argument("--compare", type=Path, nargs="+", metavar="FILE", help="print a comparison of these searches")
    parser.add_argument("--write", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    tables = [json.loads(path.read_text("utf-8")) for path in arguments.columns or arguments.compare or ()]
    if arguments.compare:
        print("\n".join([*compare(tables), *ratios(tables)]))
        return
    if not arguments.write:
        parser.error("--write FILE is missing")
    if arguments.columns:
        arguments.write.write_text(json.dumps(columns(tables), indent=1), "utf-8")
        return
    arguments.write.write_text(json.dumps(search(arguments)), "utf-8")


def search(arguments: argparse.Namespace) -> dict[str, Any]:
    """Search for all bugs; return the seed, the kind of draws, the number of cases, and the result for each bug.

    The state after each generation is saved next to the results, from where the same command continues.
    """
    known, start = planted_bugs(), time.perf_counter()
    known = {name: bug for name, bug in known.items() if not arguments.set or bug.planted_set == arguments.set}
    registry.backend_names.cache_clear()
    search = Search(known, arguments.seed, arguments.draw)
    state = arguments.write.with_suffix(".state")
    if state.exists():
        search.restore(state)
    while (left := arguments.cases - search.explorer.counts.cases) > 0:
        search.generation(min(CANDIDATES_PER_GENERATION, left))
        search.save(state)
        done, seconds = search.explorer.counts.cases, time.perf_counter() - start
        print(f"{done:,} cases, {seconds:.0f} s: {len(search.found)} of {len(known)}", flush=True)
    faults = {name: search.result(bug, shrinks=arguments.shrink) for name, bug in known.items()}
    return {"seed": arguments.seed, "draw": arguments.draw, "cases": arguments.cases, "faults": faults}


if __name__ == "__main__":
    main()
