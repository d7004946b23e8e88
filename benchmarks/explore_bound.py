"""Bound how much the search can gain over uniform draws, from the measured searches of the page of planted bugs.

The ratio of a bug is the number of cases until uniform draws show it, divided by the same number of another search. A
bug that is not found counts with all cases of the uniform search.

    python benchmarks/explore_bound.py

It prints the ratio of the measured search, and the ratios that two combinations of both searches would have:

- mixed: each operator starts with some uniform draws, and one in some number of its further draws is uniform. A bug is
  found by whichever of the two kinds of draws shows it first. The best combination of both numbers is printed.
- best: each bug is found by the better one of the two searches, as if the other one took no cases. No combination of
  both can be better, as long as its draws are those of the two searches.

Both assume that the uniform draws of a combination show a bug as early as those of the measured uniform search.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from planted_calls import planted_bugs

from conformance.cases.operators import OPERATORS

COLUMNS = Path(__file__).parent / "planted_explored.json"
FIRST, INTERVALS = range(5), (1.25, 1.5, 2, 3, 4, 6, 8)
"""Numbers of first uniform draws, and intervals of further ones, that are combined."""
LIMITS = (100, 1000)
"""Numbers of uniform draws that separate frequent bugs from rare ones."""


def first_cases(columns: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the number of the first case that shows each bug, searched and uniform, and that of uniform cases."""
    ((_, searched), (title, uniform)) = columns.items()
    limit = int(title.rpartition(" ")[2].replace(",", ""))

    def numbers(column: Mapping[str, str]) -> dict[str, int]:
        return {name: limit if cell == "–" else min(limit, int(cell.replace(",", ""))) for name, cell in column.items()}

    return numbers(searched), numbers(uniform), limit


def mean_ratio(uniform: Mapping[str, int], cases: Callable[[str], float]) -> float:
    """Return the geometric mean of the ratios of some bugs."""
    return math.exp(sum(math.log(first / cases(name)) for name, first in uniform.items()) / len(uniform))


def mixed_cases(searched: int, uniform: int, first: int, interval: float) -> float:
    """Return the number of cases until a combination of both searches shows a bug."""
    start = first * len(OPERATORS)
    late = start + (uniform - start) * interval
    return min(uniform if uniform <= start else late, start + searched * interval / (interval - 1))


def report() -> Iterator[str]:
    """Yield the lines of the report."""
    searched, uniform, limit = first_cases(json.loads(COLUMNS.read_text("utf-8")))
    bugs = planted_bugs()
    groups = {f"set {number}": {name: first for name, first in uniform.items() if bugs[name].planted_set == number}
              for number in sorted({bugs[name].planted_set for name in uniform})}  # fmt: skip
    edges = (0, *LIMITS, limit - 1, limit)
    for low, high in pairwise(edges):
        groups[f"uniform: {low + 1:,} to {high:,}"] = {
            name: first for name, first in uniform.items() if low < first <= high
        }
    for title, some in groups.items():
        yield f"{title}: {len(some)} bugs, ratio {mean_ratio(some, searched.__getitem__):.2f}"
    yield f"all: {len(uniform)} bugs, ratio {mean_ratio(uniform, searched.__getitem__):.2f}"
    mixed = {
        (first, interval): mean_ratio(
            uniform,
            lambda name, first=first, interval=interval: min(
                limit, mixed_cases(searched[name], uniform[name], first, interval)
            ),
        )
        for first, interval in product(FIRST, INTERVALS)
    }
    best = max(mixed, key=mixed.__getitem__)
    yield f"mixed: ratio {mixed[best]:.2f}, with {best[0]} first draws and one in {best[1]} further draws"
    yield f"best: ratio {mean_ratio(uniform, lambda name: min(searched[name], uniform[name])):.2f}"


if __name__ == "__main__":
    print("\n".join(report()))
