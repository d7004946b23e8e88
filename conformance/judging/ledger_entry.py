"""The smallest selector that covers some cases and leaves others alone, for a new entry of the ledger."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from operator import or_
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from conformance import CatalogueError, ConformanceError
from conformance.adapters.api.devices import CPU
from conformance.cases import selectors
from conformance.cases.case import Case
from conformance.cases.generators import GENERATORS
from conformance.cases.selectors import ABSENT, CaseFeatures, Selector, SelectorValue, selector_keys
from conformance.judging import ledger

SIZE_KEYS = frozenset({"batch", "channels", "extent"})
"""How large x is: true of every case and hardly ever why it fails, so tried where nothing else is exact."""
EXCLUDED_KEYS = frozenset({"level"})
"""What says something of the catalogue, and nothing of why a case fails."""

_TypedValue = tuple[bool, SelectorValue]
"""A value, marked where it is a yes or a no: True equals 1."""


@dataclass(frozen=True)
class _Condition:
    """A key with its values, which every failing case fulfils.

    spared: a bit for each case to be left alone that does not fulfil it; beyond: likewise of the cases nobody ran.
    """

    key: str
    values: tuple[SelectorValue, ...]
    excluded_bits: int
    unmatched_count: int

    def dominates(self, other: _Condition) -> bool:
        """Whether the condition does whatever the other does, in no more values."""
        covers = (
            self.excluded_bits | other.excluded_bits == self.excluded_bits
            and self.unmatched_count | other.unmatched_count == self.unmatched_count
        )
        return covers and len(self.values) <= len(other.values)


def smallest_selector(failing: Sequence[Case], passing: Sequence[Case], beyond: Sequence[Case] = ()) -> Selector | None:
    """Return the smallest selector that holds for all failing cases and for none that passes, None if none is exact.

    The smallest has the fewest conditions, then the fewest values, then says the least of the cases `beyond`, which
    nobody ran. At least one condition.
    """
    groups = [[CaseFeatures(case) for case in cases] for cases in (failing, passing, beyond)]
    keys = [key for key in selector_keys() if key not in EXCLUDED_KEYS]
    for tried in ([key for key in keys if key not in SIZE_KEYS], keys):
        found = _search_conjunction(list(_candidate_conditions(tried, *groups)), (1 << len(passing)) - 1)
        if found:
            return {condition.key: condition.values for condition in found}
    return None


def _candidate_conditions(
    keys: Iterable[str],
    failing: Sequence[CaseFeatures],
    passing: Sequence[CaseFeatures],
    beyond: Sequence[CaseFeatures],
) -> Iterator[_Condition]:
    """Yield for each key the fewest values that cover every failing case, in each way there is."""
    for key in keys:
        for values in _smallest_covers([_values_for_key(facts, key) for facts in failing]):
            chosen = frozenset(values)
            spared, unrun = (
                _bit_mask(_values_for_key(facts, key).isdisjoint(chosen) for facts in some)
                for some in (passing, beyond)
            )
            yield _Condition(key, _sorted_values(value for _, value in values), spared, unrun)


def _values_for_key(features: CaseFeatures, key: str) -> frozenset[_TypedValue]:
    """Return the values with which a condition on the key holds."""
    found: Any = features[key]
    if found is ABSENT:
        return frozenset()
    return frozenset((isinstance(one, bool), one) for one in (found if isinstance(found, frozenset) else (found,)))


def _smallest_covers(options: Sequence[frozenset[_TypedValue]]) -> Iterator[tuple[_TypedValue, ...]]:
    """Yield the smallest choices of values of which every case has one; specials before generators.

    Where a case has one value only, that must be among them.
    """
    if not all(options):
        return
    forced = dict.fromkeys(value for option in options if len(option) == 1 for value in option)
    free = [option for option in options if option.isdisjoint(forced)]
    words = sorted({value for option in free for value in option}, key=lambda word: (word[1] in GENERATORS, repr(word)))
    for size in range(len(words) + 1):
        found = [
            choice for choice in combinations(words, size) if all(not option.isdisjoint(choice) for option in free)
        ]
        if found:
            yield from ((*forced, *choice) for choice in found)
            return


def _sorted_values(values: Iterable[SelectorValue]) -> tuple[SelectorValue, ...]:
    found = tuple(values)
    try:
        return tuple(sorted(found))
    except TypeError:  # numbers beside words, or beside lists for the axes
        return found


def _bit_mask(truths: Iterable[bool]) -> int:
    return sum(1 << number for number, true in enumerate(truths) if true)


def _search_conjunction(conditions: Sequence[_Condition], everyone: int) -> tuple[_Condition, ...] | None:
    """Return the best of the smallest sets of conditions that together spare everyone."""
    best = [
        condition for number, condition in enumerate(conditions) if not _is_dominated(number, condition, conditions)
    ]
    if reduce(or_, (condition.excluded_bits for condition in best), 0) != everyone:
        return None
    for size in range(1, len(best) + 1):
        distinct = (some for some in combinations(best, size) if len({one.key for one in some}) == size)
        chosen = [some for some in distinct if reduce(or_, (one.excluded_bits for one in some)) == everyone]
        if chosen:
            return min(chosen, key=_condition_cost)
    return None


def _is_dominated(number: int, condition: _Condition, conditions: Sequence[_Condition]) -> bool:
    """Whether another condition can always stand instead: the earlier one of two that are alike."""
    keys = [other.key for other in conditions]
    return any(
        other.dominates(condition) and (place < number or not condition.dominates(other))
        for place, other in enumerate(conditions)
        # A key stands once in a selector, so one with a choice of words may be needed for another of them.
        if place != number and (other.key == condition.key or keys.count(other.key) == 1)
    )


def _condition_cost(conditions: tuple[_Condition, ...]) -> tuple[int, int]:
    spared = reduce(or_, (condition.unmatched_count for condition in conditions))
    return sum(len(condition.values) for condition in conditions), -spared.bit_count()


MAX_LEDGER_LINE_WIDTH = 118
LIST_ITEM = re.compile(r"^( *)- ", re.MULTILINE)


@dataclass(frozen=True)
class LedgerEntryDraft:
    """An entry that is yet to be written: either ids of cases or a selector says what it is about.

    versions: a specifier as text for each package; device: devices that it was seen on, see conformance.ledger.
    """

    id: str
    surfaces: Sequence[str]
    kinds: Sequence[str]
    reason: str
    observed: str
    selector: Selector = field(default_factory=dict)
    cases: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    device: Sequence[str] = ()
    issue: str | None = None

    def text(self, indent: str = "  ") -> str:
        """Return the entry as an item of the ledger's list."""
        lines = list(self._lines())
        return "".join(f"{indent}{'- ' if number == 0 else '  '}{line}\n" for number, line in enumerate(lines))

    def _lines(self) -> Iterator[str]:
        yield f"id: {_scalar_text(self.id)}"
        if self.cases:
            yield from ("cases:", *(f"  - {_scalar_text(case)}" for case in self.cases))
        if self.selector:
            yield from _mapping_line("where", {key: _values_text(values) for key, values in self.selector.items()})
        yield f"surfaces: {selectors.selector_value_text(tuple(self.surfaces))}"
        yield f"kinds: {selectors.selector_value_text(tuple(self.kinds))}"
        if self.versions:
            yield f"versions: {yaml.safe_dump(dict(self.versions), default_flow_style=True, width=math.inf).strip()}"
        if tuple(self.device) not in {(), (CPU,)}:
            yield f"device: {selectors.selector_value_text(tuple(self.device))}"
        if self.issue:
            yield f"issue: {_scalar_text(self.issue)}"
        yield from _folded_lines("observed", self.observed)
        yield from _folded_lines("reason", self.reason)


def _scalar_text(words: str) -> str:
    return yaml.safe_dump(words, width=math.inf).removesuffix("...\n").strip()


def _values_text(values: Sequence[selectors.SelectorValue]) -> str:
    one = len(values) == 1 and not isinstance(values[0], tuple)
    return selectors.selector_value_text(values[0] if one else tuple(values))


def _mapping_line(key: str, pairs: Mapping[str, str]) -> Iterator[str]:
    line = f"{key}: {{{', '.join(f'{name}: {value}' for name, value in pairs.items())}}}"
    yield from (
        [line]
        if len(line) < MAX_LEDGER_LINE_WIDTH
        else (f"{key}:", *(f"  {name}: {value}" for name, value in pairs.items()))
    )


def _folded_lines(key: str, words: str) -> Iterator[str]:
    """Yield a text on as many lines as it takes; it reads back as one, its white space as single blanks."""
    printable = "".join(sign if sign.isprintable() else " " for sign in words)
    lines = textwrap.wrap(printable, MAX_LEDGER_LINE_WIDTH - 6, break_long_words=False, break_on_hyphens=False)
    yield from (f"{key}: >-", *(f"  {line}" for line in lines))


def append_entry(path: Path, draft: LedgerEntryDraft, *, first: bool = False) -> str:
    """Return the text of the ledger file with the entry at its end.

    begin: whether there may be no file yet. Raises CatalogueError with what is wrong with the entry, and
    ConformanceError where the file cannot be read or holds no list to add to.
    """
    begins = first and not path.exists()
    try:
        before = "entries:\n" if begins else path.read_text("utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
    item = LIST_ITEM.search(before)
    if not item and not begins:
        raise ConformanceError(f"{path}: holds no entry, so that there is nothing to put another one behind")
    after = f"{before.rstrip()}\n\n{draft.text(item[1])}" if item else f"{before}{draft.text('  ')}"
    with TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        trial.write_text(after, "utf-8")
        try:
            ledger.load_ledger(trial)
        except CatalogueError as error:
            raise CatalogueError(str(error).replace(str(trial), str(path))) from None
    return after


def write_ledger(path: Path, text: str) -> None:
    """Write the ledger file. Raises ConformanceError if that cannot be done."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
