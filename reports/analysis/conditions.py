"""Find the shortest conjunction of conditions that separates one set of items from another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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


RECALL_WEIGHT = 2
"""Weight of a positive item that a conjunction lacks, relative to a negative item that satisfies it. A positive item is
certain. A negative one may be in the scope of the cause, which its numbers hide."""
MIN_IMPROVEMENT = 0.015
"""Minimum increase of the agreement by which a further condition is justified, for many positive items."""
MIN_EXCLUDED = 2
"""Number of negative items that a further condition has to exclude, about, if there are few positive items."""
MIN_POSITIVE = 10
"""Number of positive items below which no larger improvement is required."""
MAX_COMBINED = 12
"""Number of conjunctions of each length that are extended by one condition: those that agree best."""


@dataclass(frozen=True)
class Preference:
    """Which conjunctions are preferred.

    rank: sort key of a condition, among conjunctions of equal agreement. cost: number of properties that a condition
    states. max_conditions: maximum number of conditions.
    """

    rank: Callable[[str], tuple[float | str, ...]] = lambda condition: (len(condition), condition)
    cost: Callable[[str], int] = lambda _: 1
    max_conditions: int = MAX_CONDITIONS


def best_conjunction(
    candidates: frozenset[str],
    positive: Sequence[frozenset[str]],
    negative: Iterable[frozenset[str]],
    preference: Preference = Preference(),
) -> tuple[str, ...]:
    """Return the conjunction of some candidates that agrees best with two sets of items.

    The agreement is a weighted harmonic mean of two shares: of the positive items that satisfy the conditions, and of
    the items that satisfy them and are positive (an F score with RECALL_WEIGHT). Neither has to be complete: positive
    items may have another cause, and a cause need not have an effect on every item. A further property must
    increase the agreement by MIN_IMPROVEMENT, and by more if there are few positive items, where chance has a part.
    Among equal conjunctions, the one with the lowest ranks is returned; () if no candidate agrees.
    """
    table = _MatchTable(candidates, positive, negative)
    improvement = required_improvement(positive)

    def order(condition: str) -> tuple[float | str, ...]:
        return preference.cost(condition), *preference.rank(condition)

    def value(some: Sequence[str]) -> float:
        return table.agreement(some) - improvement * sum(map(preference.cost, some))

    conditions = [one for one in table.useful(order) if table.agreement((one,)) > 0]
    best: tuple[str, ...] = ()
    beam: list[tuple[str, ...]] = [()]
    for _ in range(preference.max_conditions):
        longer = {
            tuple(sorted((*some, one), key=preference.rank)) for some in beam for one in conditions if one not in some
        }
        beam = sorted(longer, key=lambda some: (-value(some), *map(order, some)))[:MAX_COMBINED]
        if beam and (not best or value(beam[0]) > value(best)):
            best = beam[0]
    return best


def required_improvement(positive: Sequence[frozenset[str]]) -> float:
    """Return the increase of the agreement by which a further property is justified."""
    # Excluding one of few items changes the score by this part of its share.
    return MIN_IMPROVEMENT + MIN_EXCLUDED / (1 + RECALL_WEIGHT) / max(len(positive), MIN_POSITIVE)


MAX_WORSE = 0.05
"""Maximum decrease of the agreement of a competing conjunction. Few items may decide against it by chance."""


def competing_conjunctions(
    conditions: tuple[str, ...],
    candidates: frozenset[str],
    positive: Sequence[frozenset[str]],
    negative: Iterable[frozenset[str]],
) -> list[frozenset[str]]:
    """Return the conjunctions that agree about as well, best first, and differ in one condition.

    They lack one condition, have one more, or have another one instead.
    """
    table = _MatchTable(candidates | frozenset(conditions), positive, negative)
    least = table.agreement(conditions) - MAX_WORSE
    others = sorted(candidates.difference(conditions))
    without = [tuple(other for other in conditions if other != one) for one in conditions]
    changed = [*without, *((*some, other) for some in (conditions, *without) for other in others)]
    scored = [(table.agreement(some), some) for some in changed if some]
    return [frozenset(some) for score, some in sorted(scored, key=lambda one: -one[0]) if score >= least]


MAX_CHANCE = 1e-3
"""Maximum probability that a further condition holds for all positive items by chance."""
MAX_REMAINING = 0.5
"""Maximum share of the matching negative items that may satisfy a further condition. Items near the smallest one have
much in common that has nothing to do with the cause, and that most negative items have too."""
MIN_FURTHER = 0.1
"""Share of the matching negative items that a condition with a further property must exclude more than another one."""
MIN_LOSS = 0.007
"""Minimum decrease of the agreement without a condition. A condition with a smaller decrease is superfluous."""


def certain_conjunction(
    conditions: tuple[str, ...],
    candidates: frozenset[str],
    positive: Sequence[frozenset[str]],
    negative: Iterable[frozenset[str]],
    preference: Preference = Preference(),
) -> tuple[str, ...]:
    """Return the conditions with further ones that all matching positive items satisfy, but few negative ones do.

    If a condition had nothing to do with the difference, positive items would satisfy it as often as negative ones. The
    probability that all of them do would then be the share of negative items to the power of their number. It must be
    at most MAX_CHANCE. The condition that excludes most negative items is added first. A further property must
    exclude MIN_FURTHER of the negative items more.
    """
    matching = [one for one in positive if one.issuperset(conditions)]
    others = [one for one in negative if one.issuperset(conditions)]
    if not (conditions and matching):
        return conditions
    shared = sorted(candidates.intersection(*matching).difference(conditions), key=preference.rank)
    while len(conditions) < preference.max_conditions and others and shared:
        weight = MIN_FURTHER * len(others)
        found = min(shared, key=lambda one: sum(one in other for other in others) + weight * preference.cost(one))
        left = [one for one in others if found in one]
        # Two more negative items, one of which satisfies the condition: few items prove little.
        share = (len(left) + 1) / (len(others) + 2)
        if share ** len(matching) > MAX_CHANCE or len(left) > MAX_REMAINING * len(others):
            break
        conditions, others = (*conditions, found), left
    return conditions


def agreement(
    conditions: tuple[str, ...], positive: Sequence[frozenset[str]], negative: Iterable[frozenset[str]]
) -> float:
    """Return the F score of a conjunction; 0 without conditions."""
    return _MatchTable(frozenset(conditions), positive, negative).agreement(conditions) if conditions else 0.0


def necessary_conditions(
    conditions: tuple[str, ...], positive: Sequence[frozenset[str]], negative: Iterable[frozenset[str]]
) -> tuple[str, ...]:
    """Return the conditions without superfluous ones, whose removal decreases the agreement by less than MIN_LOSS."""
    table = _MatchTable(frozenset(conditions), positive, negative)
    while len(conditions) > 1:
        without = {one: tuple(other for other in conditions if other != one) for one in conditions}
        removed = max(without, key=lambda one: table.agreement(without[one]))
        if table.agreement(without[removed]) < table.agreement(conditions) - MIN_LOSS:
            break
        conditions = without[removed]
    return conditions


class _MatchTable:
    """Bit masks of the positive and negative items that satisfy each condition: one bit for each item."""

    def __init__(
        self, candidates: frozenset[str], positive: Sequence[frozenset[str]], negative: Iterable[frozenset[str]]
    ) -> None:
        self._positive = _masks(candidates, positive)
        self._negative = _masks(candidates, negative)
        self._total = len(positive)

    def useful(self, rank: Callable[[str], tuple[float | str, ...]]) -> list[str]:
        """Return one condition for each set of items: the one with the lowest rank."""
        first: dict[tuple[int, int], str] = {}
        for condition in sorted(self._positive, key=rank):
            first.setdefault((self._positive[condition], self._negative[condition]), condition)
        return list(first.values())

    def agreement(self, conditions: Sequence[str]) -> float:
        """Return the F score of a conjunction."""
        positive, negative = -1, -1
        for condition in conditions:
            positive &= self._positive[condition]
            negative &= self._negative[condition]
        matching = positive.bit_count()
        errors = RECALL_WEIGHT * (self._total - matching) + negative.bit_count()
        return matching / (matching + errors / (1 + RECALL_WEIGHT)) if matching else 0.0


def _masks(candidates: frozenset[str], items: Iterable[frozenset[str]]) -> dict[str, int]:
    """Return for each condition the items that satisfy it, one bit for each item."""
    masks = dict.fromkeys(candidates, 0)
    for number, one in enumerate(items):
        for condition in one & candidates:
            masks[condition] |= 1 << number
    return masks
