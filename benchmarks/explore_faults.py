"""How many cases exploring takes to find planted faults, guided and not, and how small the cases are that it leaves.

All surfaces of the backend `planted` (tests/planted_faults) are explored at once, each until its fault is found: a case
counts whether or not anything is left to find in its operator. Of each fault the first case that showed it is shrunk,
and held against the smallest that was found by hand.

    python benchmarks/explore_faults.py --cases 20000 --write guided.json
    python benchmarks/explore_faults.py --cases 20000 --plain --write plain.json
    python benchmarks/explore_faults.py --columns guided.json plain.json --write columns.json

The last makes columns for `benchmarks/planted_catalogue.py --columns`.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance import catalogue, registry
from conformance.client import Limits
from conformance.explore.explorer import GENERATION, Explorer
from conformance.explore.lab import Lab, Tried
from conformance.explore.recipes import Recipe
from conformance.explore.shrink import shrunk
from conformance.explore.space import Space
from conformance.ledger import Ledger
from conformance.operators import OPERATORS

HOME = Path(__file__).parent.parent / "tests" / "planted_faults"
HANG = 2.0
ASKED, FEARED = 4000, 60
"""Recipes that are asked about to shrink one; of those that end a process or hang, fewer."""


def faults() -> dict[str, Any]:
    """Return the planted faults by name, their package imported from where the tests have it."""
    sys.path.insert(0, str(HOME))
    os.environ["PYTHONPATH"] = str(HOME)
    import conformance_planted  # noqa: PLC0415

    return dict(conformance_planted.FAULTS)


def away(recipe: Recipe, smallest: dict[str, Any]) -> int:
    """Return how many more factors of a shrunk recipe are not plain than of the smallest case known by hand."""
    return len(list(recipe.away())) - _away_by_hand(recipe.operator, smallest)


def _away_by_hand(operator: str, smallest: dict[str, Any]) -> int:
    from conformance.expand import expand  # noqa: PLC0415

    case = expand({"operator": operator, "source": "-"}, {"id": "smallest", **smallest}, "-")
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


class Search:
    """One search for all faults: the explorer draws, and each surface is tried until its fault is found."""

    def __init__(self, lab: Lab, known: dict[str, Any], seed: int, *, guided: bool) -> None:
        spaces = {operator: Space.of(operator, catalogue.load().sweeps) for operator in OPERATORS}
        self.explorer = Explorer(lab, spaces, seed, guided=guided)
        self.lab = lab
        self.wanted = {fault.surface: fault for fault in known.values()}
        self.found: dict[str, tuple[int, Recipe, str]] = {}

    def surfaces(self, operator: str) -> list[str]:
        """Return the surfaces that an operator may still show something on."""
        return [name for name, fault in self.wanted.items() if operator in fault.operators and name not in self.found]

    def generation(self, size: int) -> None:
        """Draw a generation, and try what may find something."""
        recipes = list(self.explorer.generation(size))
        numbers = {id(recipe): number for number, recipe in enumerate(recipes, self.explorer.tally.cases + 1)}
        tried = list(self._tried(recipes))
        for one in sorted(tried, key=lambda one: numbers[id(one.recipe)]):
            for seen in one.seen:
                if seen.new and seen.surface not in self.found:
                    self.found[seen.surface] = (numbers[id(one.recipe)], one.recipe, seen.way)
        by_recipe = {id(one.recipe): one for one in tried}
        self.explorer.take_in([by_recipe.get(id(recipe), Tried(recipe)) for recipe in recipes])

    def _tried(self, recipes: list[Recipe]) -> Iterator[Tried]:
        for operator in OPERATORS:
            some = [recipe for recipe in recipes if recipe.operator == operator]
            surfaces = self.surfaces(operator)
            if some and surfaces:
                yield from self.lab.tried(some, surfaces)

    def smallest(self, surface: str) -> Recipe:
        """Return what the case that showed a fault shrinks to."""
        _, recipe, way = self.found[surface]

        left = FEARED if way.startswith(("crashed", "timed_out")) else ASKED

        def differs(some: Any) -> list[bool]:
            nonlocal left
            asked, left = some[: max(left, 0)], left - len(some)
            seen = [one.on(surface) for one in self.lab.tried(asked, [surface])] if asked else []
            return [bool(one and one.new and one.way == way) for one in seen] + [False] * (len(some) - len(asked))

        return shrunk(recipe, differs)


def columns(guided: dict[str, Any], plain: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return columns for the table of planted faults, by their titles."""
    found = {name: one or {} for name, one in guided["faults"].items()}
    beside = {name: one or {} for name, one in plain["faults"].items()}

    def cells(table: dict[str, Any], key: str) -> dict[str, str]:
        return {name: f"{one[key]:,}" if one.get(key) is not None else "–" for name, one in table.items()}

    return {
        f"explored, of {guided['cases']:,}": cells(found, "first"),
        f"drawn plainly, of {plain['cases']:,}": cells(beside, "first"),
        "steps too large": cells(found, "steps"),
    }


def main() -> None:
    """Search, shrink, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="draw each case by itself")
    parser.add_argument("--columns", type=Path, nargs=2, metavar="FILE", help="make columns of two searches")
    parser.add_argument("--write", type=Path, required=True, metavar="FILE")
    asked = parser.parse_args()
    if asked.columns:
        tables = [json.loads(path.read_text("utf-8")) for path in asked.columns]
        asked.write.write_text(json.dumps(columns(*tables), indent=1), "utf-8")
        return
    known = faults()
    registry.names.cache_clear()
    backend = registry.backend("planted")
    start = time.perf_counter()
    with Lab(backend, sys.executable, Ledger(), limits=Limits(case=HANG)) as lab:
        search = Search(lab, known, asked.seed, guided=not asked.plain)
        while search.explorer.tally.cases < asked.cases and len(search.found) < len(known):
            search.generation(min(GENERATION, asked.cases - search.explorer.tally.cases))
            done = search.explorer.tally.cases
            print(
                f"{done:,} cases, {time.perf_counter() - start:.0f} s: {len(search.found)} of {len(known)}", flush=True
            )
        table = {}
        for name, fault in known.items():
            if fault.surface not in search.found:
                table[name] = None
                continue
            small = search.smallest(fault.surface) if not asked.plain else None
            steps = away(small, dict(fault.smallest)) if small and small.operator == fault.operators[0] else None
            table[name] = {"first": search.found[fault.surface][0], "steps": steps, "case": small and small.raw["id"]}
            print(name, table[name], flush=True)
    asked.write.write_text(
        json.dumps({"seed": asked.seed, "plain": asked.plain, "cases": asked.cases, "faults": table})
    )


if __name__ == "__main__":
    main()
