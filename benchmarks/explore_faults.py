"""How many cases exploring takes to find planted faults, guided and not, and how small the cases are that it leaves.

All surfaces of the backend `planted` (tests/planted_faults) are explored at once, each until its fault is found: a case
counts whether or not anything is left to find in its operator. Of each fault the first case that showed it is shrunk,
and held against the smallest that was found by hand.

    python benchmarks/explore_faults.py --cases 20000 --seed 0 --draw guided --shrink --write guided-0.json
    python benchmarks/explore_faults.py --cases 20000 --seed 0 --draw plain --write plain-0.json
    python benchmarks/explore_faults.py --cases 200000 --seed 0 --draw uniform --write uniform-0.json
    python benchmarks/explore_faults.py --compare guided-*.json plain-*.json uniform-*.json
    python benchmarks/explore_faults.py --columns guided-0.json plain-0.json uniform-0.json --write columns.json

guided: as `conformance explore` draws; plain: from the same space, each case by itself; uniform: every parameter
uniform in its range, see explore_uniform.py. --compare prints what each found within how many cases, and how many cases
a fault took as a geometric mean, one not found counted as all; the last makes columns for
`benchmarks/planted_catalogue.py --columns`.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.adapters import registry
from conformance.cases.arrays import array_digest
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from conformance.catalogue import loading
from conformance.execution.worker_process import Limits
from conformance.exploration.candidate import Candidate
from conformance.exploration.diagnosis import MAX_SHRINK_EVALUATIONS, max_differing
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, Explorer
from conformance.exploration.oracles import FATAL_SYMPTOMS
from conformance.exploration.shrinking import SHRINK_BATCH_SIZE, shrink
from conformance.exploration.space import OperatorSpace
from conformance.judging.ledger import Ledger

sys.path.insert(0, str(Path(__file__).parent))
from explore_uniform import Uniform

HOME = Path(__file__).parent.parent / "tests" / "planted_faults"
HANG = 2.0
FEARED_NAMES = ("crash", "hang")
"""How the names of faults begin that end the process or never come back."""
LIMITS = (1000, 2000, 4000, 20_000, 200_000)
"""In how many cases searches are compared."""


def faults() -> dict[str, Any]:
    """Return the planted faults by name, their package imported from where the tests have it."""
    sys.path.insert(0, str(HOME))
    os.environ["PYTHONPATH"] = str(HOME)
    import conformance_planted  # noqa: PLC0415

    return dict(conformance_planted.FAULTS)


def away(recipe: Candidate, smallest: dict[str, Any]) -> int:
    """Return how many more factors of a shrunk recipe are not plain than of the smallest case known by hand."""
    return len(list(recipe.non_default_factors())) - _away_by_hand(recipe.operator, smallest)


def _away_by_hand(operator: str, smallest: dict[str, Any]) -> int:
    from conformance.cases.parsing import parse_case  # noqa: PLC0415

    case = parse_case({"operator": operator, "source": "-"}, {"id": "smallest", **smallest}, "-")
    return steps_away(case)


def steps_away(case: Any) -> int:
    """Return how many parts of the parameters and shapes of a case are not plain, as `Recipe.away` counts them."""
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
    plain = {"rounding", "count_include_pad", "divisor", "p", "mode", "value", "ties", "output"}
    return count + sum(given[name] != defaults.get(name) for name in plain & given.keys())


def differs(surface: str, recipe: Candidate) -> bool:
    """Whether a fault changes anything in a case, so that it is worth being judged; True for what may not come back.

    Without its fault a surface agrees with the reference, on all of the catalogue.
    """
    name = surface.removeprefix("planted.")
    if name.startswith(FEARED_NAMES):
        return True
    step = case_step(recipe.case)
    known = OPERATORS[step.operator].defaults.keys() | ({"output"} if recipe.operator.startswith("conv") else set())
    given = {**step.parameters, "output": recipe.case.parameters.get("output")}
    given = {key: value for key, value in given.items() if key in known}
    arrays = [spec.make() for spec in _in_order(recipe)]
    one, other = (_outcome(which, recipe.operator, arrays, given) for which in (name, "none"))
    return one != other


def _in_order(recipe: Candidate) -> list[Any]:
    return [recipe.case.inputs[name] for name in OPERATORS[recipe.operator].inputs if name in recipe.case.inputs]


def _outcome(name: str, verb: str, arrays: list[Any], given: dict[str, Any]) -> str:
    """Return what a surface makes of arrays, so that equal results are equal: a digest, or what was said."""
    import conformance_planted  # noqa: PLC0415

    try:
        return array_digest(conformance_planted.call(name, verb, *arrays, **given))
    except (ValueError, IndexError, TypeError) as error:
        return repr(error)


class Search:
    """One search for all faults: the explorer draws, and each surface is tried until its fault is found."""

    def __init__(self, lab: LocalEvaluator, known: dict[str, Any], seed: int, draw: str) -> None:
        made = {
            operator: OperatorSpace.from_sweeps(operator, loading.load_catalogue().sweeps) for operator in OPERATORS
        }
        spaces: Any = {name: Uniform(space) for name, space in made.items()} if draw == "uniform" else made
        self.explorer = Explorer(lab, spaces, seed, guided=draw == "guided")
        self.lab = lab
        self.wanted = {fault.surface: fault for fault in known.values()}
        self.found: dict[str, tuple[int, Candidate, str]] = {}

    def surfaces(self, operator: str) -> list[str]:
        """Return the surfaces that an operator may still show something on."""
        return [name for name, fault in self.wanted.items() if operator in fault.operators and name not in self.found]

    def generation(self, size: int) -> None:
        """Draw a generation, and try what may find something."""
        tried = []
        for number, recipe in enumerate(self.explorer.draw_generation(size), self.explorer.counts.cases + 1):
            suspect = [name for name in self.surfaces(recipe.operator) if differs(name, recipe)]
            tried += self.lab.evaluate([recipe], suspect) if suspect else [CandidateResult(recipe)]
            for seen in tried[-1].surface_results:
                if seen.is_new:
                    self.found[seen.surface] = (number, recipe, seen.symptom)
        self.explorer.record_results(tried)

    def smallest(self, surface: str) -> Candidate:
        """Return what the case that showed a fault shrinks to."""
        _, recipe, way = self.found[surface]

        left, found = MAX_SHRINK_EVALUATIONS, 0

        def shows(some: Any) -> list[bool]:
            nonlocal left, found
            worth = [one for one in some if differs(surface, one)][: left if found < max_differing(way) else 0]
            left -= len(worth)
            tried = self.lab.evaluate(worth, [surface]) if worth else []
            seen = {id(one.candidate): one.result_on(surface) for one in tried}
            shown = [
                bool(there and there.is_new and there.symptom == way) for there in (seen.get(id(one)) for one in some)
            ]
            found += sum(shown)
            return shown

        return shrink(recipe, shows, 1 if way.startswith(FATAL_SYMPTOMS) else SHRINK_BATCH_SIZE)


def columns(tables: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return columns for the table of planted faults, by their titles."""
    made = {}
    for table in tables:
        faults = {name: one or {} for name, one in table["faults"].items()}
        made[f"{TITLES[table['draw']]}, of {table['cases']:,}"] = _cells(faults, "first")
    shrunk_to = {name: one or {} for name, one in tables[0]["faults"].items()}
    if any(one.get("steps") is not None for one in shrunk_to.values()):
        made["extra parameters"] = _cells(shrunk_to, "steps")
    return made


TITLES = {"guided": "explored", "plain": "independent draws", "uniform": "uniform"}


def _cells(faults: dict[str, Any], key: str) -> dict[str, str]:
    return {name: f"{one[key]:,}" if one.get(key) is not None else "–" for name, one in faults.items()}


def compare(tables: list[dict[str, Any]]) -> Iterator[str]:
    """Yield for each way to draw, over its seeds, what was found in how many cases, and how many cases a fault took."""
    firsts = {draw: [_firsts(table) for table in tables if table["draw"] == draw] for draw in TITLES}
    for limit in LIMITS:
        means = {}
        for draw, seeds in firsts.items():
            own = [found for found, cases in seeds if cases >= limit]
            if not own:
                continue
            taken = [min(first, limit) for seed in own for first in seed]
            means[draw] = statistics.geometric_mean(taken)
            counts = [sum(first <= limit for first in seed) for seed in own]
            yield f"{limit:,} cases, {draw}: found {counts}, cases for a fault {means[draw]:.0f}"
            yield from _as_many(firsts["guided"], draw, min(counts))
        for draw in means.keys() - {"guided"} if "guided" in means else ():
            yield f"{limit:,} cases, {draw} / guided: {means[draw] / means['guided']:.2f} times the cases for a fault"


def _firsts(table: dict[str, Any]) -> tuple[list[float], float]:
    """Return for each fault when it was found, in order, and how many cases are known: any, if all are found."""
    found = sorted((one or {}).get("first", math.inf) for one in table["faults"].values())
    return found, table["cases"] if math.inf in found else math.inf


def _as_many(guided: list[tuple[list[float], float]], draw: str, count: int) -> Iterator[str]:
    if draw != "guided" and guided and count:
        yield f"    as many, {count}, were found by exploring in {[found[count - 1] for found, _ in guided]} cases"


def main() -> None:
    """Search, shrink, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", choices=TITLES, default="guided", help="how cases are drawn")
    parser.add_argument("--shrink", action="store_true", help="shrink the first case that shows each fault")
    parser.add_argument("--columns", type=Path, nargs="+", metavar="FILE", help="make columns of searches")
    parser.add_argument("--compare", type=Path, nargs="+", metavar="FILE", help="print what searches have found")
    parser.add_argument("--write", type=Path, metavar="FILE")
    asked = parser.parse_args()
    tables = [json.loads(path.read_text("utf-8")) for path in asked.columns or asked.compare or ()]
    if asked.compare:
        print("\n".join(compare(tables)))
        return
    if not asked.write:
        parser.error("--write FILE is missing")
    if asked.columns:
        asked.write.write_text(json.dumps(columns(tables), indent=1), "utf-8")
        return
    asked.write.write_text(json.dumps(search(asked)), "utf-8")


def search(asked: argparse.Namespace) -> dict[str, Any]:
    """Search for all faults, and return what came of it."""
    known = faults()
    registry.backend_names.cache_clear()
    backend = registry.get_backend("planted")
    start = time.perf_counter()
    with LocalEvaluator(backend, sys.executable, Ledger(), limits=Limits(case_seconds=HANG)) as lab:
        search = Search(lab, known, asked.seed, asked.draw)
        while search.explorer.counts.cases < asked.cases and len(search.found) < len(known):
            search.generation(min(CANDIDATES_PER_GENERATION, asked.cases - search.explorer.counts.cases))
            done = search.explorer.counts.cases
            print(
                f"{done:,} cases, {time.perf_counter() - start:.0f} s: {len(search.found)} of {len(known)}", flush=True
            )
        table = {}
        for name, fault in known.items():
            if fault.surface not in search.found:
                table[name] = None
                continue
            small = search.smallest(fault.surface) if asked.shrink else None
            steps = away(small, dict(fault.smallest)) if small and small.operator == fault.operators[0] else None
            table[name] = {
                "first": search.found[fault.surface][0],
                "steps": steps,
                "case": small and small.raw_case["id"],
            }
            print(name, table[name], flush=True)
    return {"seed": asked.seed, "draw": asked.draw, "cases": asked.cases, "faults": table}


if __name__ == "__main__":
    main()
