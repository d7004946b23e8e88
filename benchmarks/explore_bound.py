"""Bound how much the search can gain over uniform draws, from the measured searches of the page of planted bugs.

The ratio of a bug is the number of cases until uniform draws show it, divided by the same number of another search. A
bug that is not found counts with all cases of the uniform search.

    python benchmarks/explore_bound.py

It prints the ratio of the measured search, and the ratios that three combinations of both searches would have:

- mixed: each operator starts with some uniform draws, and one in some number of its further draws is uniform. A bug is
  found by whichever of the two kinds of draws shows it first. The best combination of both numbers is printed.
- schedule: both searches take turns. Of all orders of their cases, each search in its own order, the best one for these
  bugs is computed exactly.
- best: each bug is found by the better one of the two searches, as if the other one took no cases. No combination of
  both can be better, as long as its draws are those of the two searches.

The first two assume that each search shows a bug after as many of its own cases as when it was measured.

It also prints the ratios that no search with the same order of operators can exceed, even if it shows every bug of an
operator in the first case of that operator.
"""

import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from planted_calls import planted_bugs

from conformance.cases.operators import OPERATORS
from conformance.exploration.rng import Rng

COLUMNS = Path(__file__).parent / "planted_explored.json"
FIRST, INTERVALS = range(5), (1.25, 1.5, 2, 3, 4, 6, 8)
"""Numbers of first uniform draws, and intervals of further ones, that are combined."""
LATER_OPERATORS = frozenset({"resize", "resize_grad"})
"""Operators that were added after the searches. Both searches start with one case of each other operator, in order."""
RATIO = 3
"""The ratio that is aimed at."""
RESAMPLES = 200
"""Number of samples of bugs."""
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
    start = first * len(OPERATORS.keys() - LATER_OPERATORS)
    late = start + (uniform - start) * interval
    return min(uniform if uniform <= start else late, start + searched * interval / (interval - 1))


def best_schedule(uniform: Mapping[str, int], searched: Mapping[str, int], limit: int) -> float:
    """Return the geometric mean of the ratios of some bugs if both searches take turns in the best order for them.

    A bug is found after `uniform` cases of the one search or after `searched` cases of the other one. Only the numbers
    of cases after which a search finds a bug can be the end of a turn: further cases would delay the other search.
    """
    ends = [[0, *sorted({*numbers.values()})] for numbers in (uniform, searched)]
    rows, columns = ([sorted(other[name] for name in uniform if own[name] == end) for end in ends[number]]
                     for number, own, other in ((0, uniform, searched), (1, searched, uniform)))  # fmt: skip
    least = {(0, 0): 0.0}
    for (row, first), (column, second) in itertools.product(*map(enumerate, ends)):
        cost = math.log(max(min(first + second, limit), 1))
        # Bugs that the last turn finds and the other search has not found.
        turns = [((row - 1, column), rows[row], second), ((row, column - 1), columns[column], first)]
        known = [least[before] + cost * sum(one > done for one in found) for before, found, done in turns
                 if before in least]  # fmt: skip
        least[row, column] = min(known, default=0.0)
    last = [(row, column) for row, column in least if row == len(ends[0]) - 1 or column == len(ends[1]) - 1]
    return math.exp((sum(map(math.log, uniform.values())) - min(map(least.__getitem__, last))) / len(uniform))


def resampled_schedules(uniform: Mapping[str, int], searched: Mapping[str, int], limit: int) -> list[float]:
    """Return the sorted ratios of the best order for RESAMPLES samples of as many bugs, drawn with replacement."""
    rng, names, found = Rng("resampled"), list(uniform), []
    for _ in range(RESAMPLES):
        sample = {number: rng.choice(names) for number in range(len(names))}
        one, other = ({str(key): numbers[name] for key, name in sample.items()} for numbers in (uniform, searched))
        found.append(best_schedule(one, other, limit))
    return sorted(found)


def first_positions(names: Mapping[str, int]) -> dict[str, int]:
    """Return the number of the first case of an operator of each bug, in either search."""
    order = {name: number for number, name in enumerate((one for one in OPERATORS if one not in LATER_OPERATORS), 1)}
    bugs = planted_bugs()
    return {name: min(order[operator] for operator in bugs[name].operators) for name in names}


def position_lines(uniform: Mapping[str, int]) -> Iterator[str]:
    """Yield the ratios that no search with the same order of operators can exceed."""
    positions = first_positions(uniform)
    at_once = sum(first == positions[name] for name, first in uniform.items())
    early = sum(first < RATIO * positions[name] for name, first in uniform.items())
    frequent = {name: first for name, first in uniform.items() if first <= LIMITS[0]}
    yield f"shown by the first uniform case of an operator: {at_once} bugs, which no search shows earlier"
    yield f"shown by uniform cases too early for a ratio of {RATIO}: {early} of {len(uniform)} bugs"
    for title, some in ((f"uniform: 1 to {LIMITS[0]:,}", frequent), ("all", uniform)):
        yield f"shown at once, {title}: {len(some)} bugs, ratio {mean_ratio(some, positions.__getitem__):.2f}"


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
    resampled, tail = resampled_schedules(uniform, searched, limit), RESAMPLES // 40
    yield (
        f"schedule: ratio {best_schedule(uniform, searched, limit):.2f}; "
        f"95 % of {RESAMPLES} samples of bugs: {resampled[tail]:.2f} to {resampled[-1 - tail]:.2f}"
    )
    yield f"best: ratio {mean_ratio(uniform, lambda name: min(searched[name], uniform[name])):.2f}"
    yield from position_lines(uniform)


if __name__ == "__main__":
    print("\n".join(report()))
