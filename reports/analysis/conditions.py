"""Find the shortest conjunction of conditions that separates one set of items from another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from reports.results.vocabulary import How

MAX_CONDITIONS = 3  # per conjunction; in longer ones it is unclear which conditions matter
HOW_TEXTS = {
    How.NATIVE: "a native call",
    How.PADDED: "padding written out before the call",
    How.COMPOSED: "a composition of operators",
}


def how_condition(how: str | None) -> frozenset[str]:
    """Return the condition for native, padded or composed programs: a cause in one of them need not be in another.

    how: one of How; another word, such as "", is no condition.
    """
    return frozenset({HOW_TEXTS[How(how)]} if how in HOW_TEXTS else ())


def shortest_conjunction(
    covered: Sequence[frozenset[str]],
    others: Iterable[frozenset[str]],
    rank: Callable[[str], tuple[float | str, ...]] = lambda condition: (len(condition), condition),
    exceptions: int = 0,
) -> tuple[str, ...] | None:
    """Return the fewest conditions that all covered items satisfy, and at most `exceptions` of the other items.

    covered, others: the conditions of each item. rank: sort key of a condition. Among conjunctions of the same length,
    the one with the fewest exceptions is returned, then the one with the lowest ranks. An exact conjunction is
    preferred to a shorter one with exceptions. Returns None if no conjunction of 1 to MAX_CONDITIONS conditions exists.
    """
    shared = frozenset.intersection(*covered) if covered else frozenset[str]()
    # Other items with the same shared conditions are counted together. A bit mask per condition marks their rows.
    counts = Counter(one & shared for one in others)
    weights = list(counts.values())
    masks = {condition: sum(1 << row for row, one in enumerate(counts) if condition in one) for condition in shared}
    candidates = sorted(_undominated_conditions(masks, rank), key=rank)
    for allowed in dict.fromkeys((0, exceptions)):
        for size in range(1, MAX_CONDITIONS + 1):
            counted = [(_count_matching(some, masks, weights), some) for some in combinations(candidates, size)]
            fitting = [(matching, some) for matching, some in counted if matching <= allowed]
            if fitting:
                return min(fitting, key=lambda one: (one[0], [rank(condition) for condition in one[1]]))[1]
    return None


def _undominated_conditions(masks: dict[str, int], rank: Callable[[str], tuple[float | str, ...]]) -> list[str]:
    """Remove conditions that another one can replace. It excludes at least the same items, and more or ranks lower."""
    return [
        one
        for one, mask in masks.items()
        if not any(
            other != one and other_mask & mask == other_mask and (other_mask != mask or rank(other) < rank(one))
            for other, other_mask in masks.items()
        )
    ]


def _count_matching(conditions: Sequence[str], masks: dict[str, int], weights: Sequence[int]) -> int:
    """Count the other items that satisfy all conditions."""
    common = masks[conditions[0]]
    for condition in conditions[1:]:
        common &= masks[condition]
    return sum(weight for row, weight in enumerate(weights) if common >> row & 1) if common else 0
