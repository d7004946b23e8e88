"""Coverage guidance: prefer candidates whose combinations of factor kinds have been tried least.

A combination is a pair or triple of factor kinds (`factor_kinds`) that occur in one candidate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations

from conformance.cases.geometry import has_remainder
from conformance.cases.steps import Step, case_step
from conformance.exploration.candidate import PAIR_FACTORS, Candidate
from conformance.exploration.draws.sizes import LARGE_WINDOW_CELLS, VECTOR_WIDTH_SIZES, PaddingKind
from conformance.exploration.space import WORD_FACTORS
from reports.results.vocabulary import Word

DRAWS_PER_CHOICE = 6
"""Number of candidates drawn for each one that is selected."""
MAX_ROUNDS = 4
"""Maximum number of times that so many candidates are drawn, if none of them is wanted."""
NOVELTY_WINDOW = 20
"""Number of candidates of an operator over which the moving average of the novelty is computed."""
MIN_NOVELTY = 0.005
"""Lower bound of the average novelty, so that every operator gets further turns."""
MIN_UNSUPPORTED = 12
"""Number of candidates without a supported one, after which an operator or a factor kind counts as unsupported."""


class Coverage:
    """Number of times that each pair and triple of factor kinds of one operator has been tried."""

    def __init__(self) -> None:
        self.tried_counts: Counter[tuple[str, ...]] = Counter()

    def choose(self, draw: Callable[[], Candidate], is_wanted: Callable[[Candidate], bool]) -> Candidate:
        """Draw several candidates and return the one with the highest novelty, a wanted one if there is one.

        If no candidate is wanted, others are drawn, at most MAX_ROUNDS times as many in total.
        """
        for _ in range(MAX_ROUNDS):
            drawn = [draw() for _ in range(DRAWS_PER_CHOICE)]
            if wanted := [candidate for candidate in drawn if is_wanted(candidate)]:
                return max(wanted, key=self.novelty)
        return max(drawn, key=self.novelty)

    def novelty(self, candidate: Candidate) -> float:
        """Return the novelty of a candidate, from 0 to 1. It is 1 if every pair and triple is new."""
        scores = [1 / (1 + self.tried_counts.get(kinds, 0)) ** 2 for kinds in feature_combinations(candidate)]
        return sum(scores) / len(scores)

    def count(self, candidate: Candidate) -> float:
        """Count a candidate as tried; return its novelty before that."""
        novelty = self.novelty(candidate)
        self.tried_counts.update(feature_combinations(candidate))
        return novelty


class SupportHistory:
    """Factor kinds of one operator that some surface has supported in an earlier generation."""

    def __init__(self) -> None:
        self.candidates = 0
        self.tried_counts: Counter[str] = Counter()
        self.supported_kinds: set[str] = set()

    @property
    def is_operator_unsupported(self) -> bool:
        """Whether several candidates were tried and no surface supported one of them."""
        return not self.supported_kinds and self.candidates >= MIN_UNSUPPORTED

    def is_unsupported(self, candidate: Candidate) -> bool:
        """Whether a factor kind of the candidate was tried several times and never supported."""
        kinds = set(factor_kinds(candidate)) - self.supported_kinds
        return any(self.tried_counts[kind] >= MIN_UNSUPPORTED for kind in kinds)

    def record(self, candidate: Candidate, *, is_supported: bool) -> None:
        """Record a candidate, and whether some surface supported it."""
        self.candidates += 1
        self.tried_counts.update(factor_kinds(candidate))
        if is_supported:
            self.supported_kinds.update(factor_kinds(candidate))


class OperatorScheduler:
    """Schedule of operators: operators whose recent candidates had a high novelty get more turns."""

    def __init__(self, operators: Iterable[str]) -> None:
        self._recent_novelty = dict.fromkeys(operators, 1.0)
        self._next_turn = dict.fromkeys(self._recent_novelty, 0.0)

    def next(self) -> str:
        """Return the operator whose next turn is due first; the first one if several are due."""
        return min(self._next_turn, key=self._next_turn.__getitem__)

    def record_novelty(self, operator: str, novelty: float) -> None:
        """Record a turn of an operator and the novelty of its candidate."""
        self._recent_novelty[operator] += (novelty - self._recent_novelty[operator]) / NOVELTY_WINDOW
        self._wait(operator)

    def record_unsupported(self, operator: str) -> None:
        """Record a turn of an operator that no surface supports: it gets as few turns as possible."""
        self._recent_novelty[operator] = 0.0
        self._wait(operator)

    def _wait(self, operator: str) -> None:
        # The wait until the next turn is inversely proportional to the novelty.
        self._next_turn[operator] += 1 / max(self._recent_novelty[operator], MIN_NOVELTY)


def feature_combinations(candidate: Candidate) -> Iterator[tuple[str, ...]]:
    """Yield the pairs and triples of factor kinds of a candidate."""
    kinds = factor_kinds(candidate)
    return chain(combinations(kinds, 2), combinations(kinds, 3))


def factor_kinds(candidate: Candidate) -> tuple[str, ...]:
    """Return the kind of each factor, as `name kind`. Coverage counts their pairs and triples."""
    step, levels = case_step(candidate.valid.case), candidate.levels
    found = {
        "violation": candidate.violation.name if candidate.violation else "",
        "following": candidate.following.operator if candidate.following else "",
        "arrays": candidate.array_use,
        "words": candidate.has_words,
        "numbers": "x" in candidate.written_numbers,
        "rank": levels["rank"],
        "values": levels["values"],
        "dtype": levels["dtype"],
        "extent": _size_class(max(step.shape[2:])),
        "channels": _size_class(step.shape[1]),
        "parity": step.shape[1] > 1 and step.shape[1] % 2,
        "batch": min(step.shape[0], 2),  # one item or several
        "alike": _has_equal_axes(candidate),
        # Every word is a kind. The number that constant padding writes selects no code path.
        **{name: levels[name] for name in WORD_FACTORS if name in levels and name != "value"},
    }
    if "groups" in levels:
        found["groups"] = levels["groups"] > 1
    if "divisor" in levels:
        found["divisor"] = levels["divisor"] is not None
    if step.window:
        found["window"] = _size_class(math.prod(step.window))
    if step.window and step.stride:
        found["stride"] = _stride_kind(step)
        found["holes"] = (max(step.dilation) > 1) + (min(step.dilation) > 1)
        found["left"] = has_remainder(candidate.valid.case)
    if any(name in levels for name in PAIR_FACTORS):
        found["ends"] = _padding_kinds(candidate, step)
    return tuple(f"{name} {found[name]}" for name in sorted(found))


def _size_class(size: int) -> int:
    """Return the size class of a number: the position of the first limit that it does not exceed."""
    limits = (1, 4, VECTOR_WIDTH_SIZES[0] - 1, VECTOR_WIDTH_SIZES[-1], LARGE_WINDOW_CELLS[-1])
    return next((number for number, limit in enumerate(limits) if size <= limit), len(limits))


def _has_equal_axes(candidate: Candidate) -> bool:
    names = [name for name in ("window", "stride", "dilation", *PAIR_FACTORS) if name in candidate.levels]
    return all(len(set(candidate.per_axis(name))) <= 1 for name in names)


class StrideKind(Word):
    """How strides compare with their windows."""

    ONE = "one"
    LARGER = "larger"  # than the window on some axis
    WINDOW = "window"
    SMALLER = "smaller"


def _stride_kind(step: Step) -> StrideKind:
    pairs = list(zip(step.stride or (), step.window, strict=True))
    if all(stride == 1 for stride, _ in pairs):
        return StrideKind.ONE
    if any(stride > window for stride, window in pairs):
        return StrideKind.LARGER
    return StrideKind.WINDOW if all(stride == window for stride, window in pairs) else StrideKind.SMALLER


def _padding_kinds(candidate: Candidate, step: Step) -> str:
    given = next(candidate.levels[name] for name in PAIR_FACTORS if name in candidate.levels)
    if isinstance(given, str):
        return given
    # The largest pad of all axes: one padded axis is enough for the kind.
    before, after = (max(end) for end in zip(*step.padding, strict=True))
    if min(min(pair) for pair in step.padding) < 0:
        return PaddingKind.CROPPED
    if not before and not after:
        return PaddingKind.NONE
    if all(first == last for first, last in step.padding):
        return PaddingKind.EQUAL
    return PaddingKind.BEFORE if not after else PaddingKind.AFTER if not before else PaddingKind.UNEQUAL
