"""The shortest conjunction of plain conditions that tells some things from others, whatever the conditions say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

MAX_CONDITIONS = 3  # conditions in one statement; of more nobody can tell which matter


def shortest_conjunction(
    covered: Sequence[frozenset[str]],
    others: Iterable[frozenset[str]],
    rank: Callable[[str], tuple[float | str, ...]] = lambda condition: (len(condition), condition),
    exceptions: int = 0,
) -> tuple[str, ...] | None:
    """Return the fewest conditions that all covered things fulfil, and of the others together no more than exceptions.

    covered, others: for each thing the conditions that hold for it. rank: of statements of one length the one with the
    fewest others is taken, then the one whose conditions rank lowest. None if no statement of at most MOST conditions
    will do; there is none of no condition either. An exact one of more conditions beats a shorter one with exceptions.
    """
    shared = frozenset.intersection(*covered) if covered else frozenset[str]()
    counted = Counter(one & shared for one in others)
    weights = list(counted.values())
    having = {
        condition: sum(1 << place for place, one in enumerate(counted) if condition in one) for condition in shared
    }
    chosen = sorted(_undominated_conditions(having, rank), key=rank)
    for allowed in dict.fromkeys((0, exceptions)):
        for size in range(1, MAX_CONDITIONS + 1):
            found = [(_count_matching(some, having, weights), some) for some in combinations(chosen, size)]
            fit = [(left, some) for left, some in found if left <= allowed]
            if fit:
                return min(fit, key=lambda one: (one[0], [rank(condition) for condition in one[1]]))[1]
    return None


def _undominated_conditions(having: dict[str, int], rank: Callable[[str], tuple[float | str, ...]]) -> list[str]:
    """Leave out what another condition can always stand instead of: it spares as many, and ranks lower."""
    return [
        one
        for one, has in having.items()
        if not any(
            other != one and theirs & has == theirs and (theirs != has or rank(other) < rank(one))
            for other, theirs in having.items()
        )
    ]


def _count_matching(conditions: Sequence[str], having: dict[str, int], weights: Sequence[int]) -> int:
    """Count the others that fulfil every condition."""
    common = having[conditions[0]]
    for condition in conditions[1:]:
        common &= having[condition]
    return sum(weight for place, weight in enumerate(weights) if common >> place & 1) if common else 0
