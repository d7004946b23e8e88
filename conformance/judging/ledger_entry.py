"""New ledger entries: the search for the smallest selector of the failing cases, and the YAML text of an entry."""

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
from conformance.adapters.api import CPU
from conformance.cases.case import Case
from conformance.cases.features.case_features import ABSENT, CaseFeatures
from conformance.cases.generators import GENERATORS
from conformance.cases.selector_values import SelectorValue, selector_value_text
from conformance.cases.selectors import Selector, selector_keys
from conformance.judging import ledger

SIZE_KEYS = frozenset({"batch", "channels", "extent"})
"""Keys for the size of x. The size is rarely the cause of a failure, so these are used only if no other key works."""
EXCLUDED_KEYS = frozenset({"level", "convention"})
"""Keys that describe the catalogue and cannot be the cause of a failure."""

_TypedValue = tuple[bool, SelectorValue]
"""A value, and whether it is a boolean, to distinguish True from 1."""


@dataclass(frozen=True)
class _Condition:
    """A key with values, of which every failing case has one.

    excluded_bits: bit mask of the passing cases that the condition does not match.
    unmatched_bits: bit mask of the cases without a result that it does not match.
    """

    key: str
    values: tuple[SelectorValue, ...]
    excluded_bits: int
    unmatched_bits: int

    def dominates(self, other: _Condition) -> bool:
        """Whether the condition excludes every case that the other excludes, with at most as many values."""
        covers = (
            self.excluded_bits | other.excluded_bits == self.excluded_bits
            and self.unmatched_bits | other.unmatched_bits == self.unmatched_bits
        )
        return covers and len(self.values) <= len(other.values)


def smallest_selector(failing: Sequence[Case], passing: Sequence[Case], unrun: Sequence[Case] = ()) -> Selector | None:
    """Return the smallest selector that matches all failing and no passing cases, or None.

    The smallest has the fewest conditions (at least one), then the fewest values, then matches the fewest of the cases
    without a result (`unrun`).
    """
    groups = [[CaseFeatures(case) for case in cases] for cases in (failing, passing, unrun)]
    keys = [key for key in selector_keys() if key not in EXCLUDED_KEYS]
    for allowed in ([key for key in keys if key not in SIZE_KEYS], keys):
        found = _search_conjunction(list(_candidate_conditions(allowed, *groups)), (1 << len(passing)) - 1)
        if found:
            return {condition.key: condition.values for condition in found}
    return None


def _candidate_conditions(
    keys: Iterable[str],
    failing: Sequence[CaseFeatures],
    passing: Sequence[CaseFeatures],
    unrun: Sequence[CaseFeatures],
) -> Iterator[_Condition]:
    """Yield, for each key, every smallest set of values that matches all failing cases."""
    for key in keys:
        for values in _smallest_covers([_values_for_key(features, key) for features in failing]):
            chosen = frozenset(values)
            excluded, unmatched = (
                _bit_mask(_values_for_key(features, key).isdisjoint(chosen) for features in group)
                for group in (passing, unrun)
            )
            yield _Condition(key, _sorted_values(value for _, value in values), excluded, unmatched)


def _values_for_key(features: CaseFeatures, key: str) -> frozenset[_TypedValue]:
    """Return the values with which a condition on the key matches the case."""
    found: Any = features[key]
    if found is ABSENT:
        return frozenset()
    return frozenset((isinstance(one, bool), one) for one in (found if isinstance(found, frozenset) else (found,)))


def _smallest_covers(options: Sequence[frozenset[_TypedValue]]) -> Iterator[tuple[_TypedValue, ...]]:
    """Yield the smallest sets with at least one value of every case. Special values come before generators.

    options: for each case, its values.
    """
    if not all(options):
        return
    # If a case has only one value, every set contains this value.
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
    except TypeError:  # a mixture of numbers, words and tuples has no order
        return found


def _bit_mask(truths: Iterable[bool]) -> int:
    return sum(1 << number for number, true in enumerate(truths) if true)


def _search_conjunction(conditions: Sequence[_Condition], all_passing: int) -> tuple[_Condition, ...] | None:
    """Return the cheapest of the smallest sets of conditions that together exclude all passing cases."""
    useful = [
        condition for number, condition in enumerate(conditions) if not _is_dominated(number, condition, conditions)
    ]
    # Even all conditions together match some passing case.
    if reduce(or_, (condition.excluded_bits for condition in useful), 0) != all_passing:
        return None
    for size in range(1, len(useful) + 1):
        # A selector has each key once.
        distinct = (group for group in combinations(useful, size) if len({one.key for one in group}) == size)
        chosen = [group for group in distinct if reduce(or_, (one.excluded_bits for one in group)) == all_passing]
        if chosen:
            return min(chosen, key=_condition_cost)
    return None


def _is_dominated(number: int, condition: _Condition, conditions: Sequence[_Condition]) -> bool:
    """Whether another condition can always replace this one. If two are equivalent, only the later one is dominated."""
    keys = [other.key for other in conditions]
    return any(
        other.dominates(condition) and (position < number or not condition.dominates(other))
        for position, other in enumerate(conditions)
        # A selector uses each key once. If the other key has several conditions, a different one of them may be needed.
        if position != number and (other.key == condition.key or keys.count(other.key) == 1)
    )


def _condition_cost(conditions: tuple[_Condition, ...]) -> tuple[int, int]:
    unmatched = reduce(or_, (condition.unmatched_bits for condition in conditions))
    return sum(len(condition.values) for condition in conditions), -unmatched.bit_count()


MIN_REASON_LENGTH = 20
"""Minimum number of characters of a reason, as in the schema of the ledger."""
MAX_LEDGER_LINE_WIDTH = 118
"""Maximum number of characters of a line in the ledger."""
LIST_ITEM = re.compile(r"^( *)- ", re.MULTILINE)


@dataclass(frozen=True)
class LedgerEntryDraft:
    """A new ledger entry with the ids of its cases or a selector.

    versions: a specifier as text for each package; device: devices on which it was observed.
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
        """Return the entry as YAML text, an item of the ledger's list."""
        lines = list(self._lines())
        return "".join(f"{indent}{'- ' if number == 0 else '  '}{line}\n" for number, line in enumerate(lines))

    def _lines(self) -> Iterator[str]:
        yield f"id: {_scalar_text(self.id)}"
        if self.cases:
            yield from ("cases:", *(f"  - {_scalar_text(case)}" for case in self.cases))
        if self.selector:
            yield from _mapping_line("where", {key: _values_text(values) for key, values in self.selector.items()})
        yield f"surfaces: {selector_value_text(tuple(self.surfaces))}"
        yield f"kinds: {selector_value_text(tuple(self.kinds))}"
        if self.versions:
            yield f"versions: {yaml.safe_dump(dict(self.versions), default_flow_style=True, width=math.inf).strip()}"
        if tuple(self.device) not in {(), (CPU,)}:
            yield f"device: {selector_value_text(tuple(self.device))}"
        if self.issue:
            yield f"issue: {_scalar_text(self.issue)}"
        yield from _folded_lines("observed", self.observed)
        yield from _folded_lines("reason", self.reason)


def _scalar_text(text: str) -> str:
    # PyYAML ends a document of one plain scalar with a line `...`.
    return yaml.safe_dump(text, width=math.inf).removesuffix("...\n").strip()


def _values_text(values: Sequence[SelectorValue]) -> str:
    one = len(values) == 1 and not isinstance(values[0], tuple)
    return selector_value_text(values[0] if one else tuple(values))


def _mapping_line(key: str, pairs: Mapping[str, str]) -> Iterator[str]:
    line = f"{key}: {{{', '.join(f'{name}: {value}' for name, value in pairs.items())}}}"
    yield from (
        [line]
        if len(line) < MAX_LEDGER_LINE_WIDTH
        else (f"{key}:", *(f"  {name}: {value}" for name, value in pairs.items()))
    )


def _folded_lines(key: str, text: str) -> Iterator[str]:
    """Yield a text as a folded YAML scalar. Reading it gives one line with single spaces."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    # 6 characters are for the indentation of the entry and of the text.
    lines = textwrap.wrap(printable, MAX_LEDGER_LINE_WIDTH - 6, break_long_words=False, break_on_hyphens=False)
    yield from (f"{key}: >-", *(f"  {line}" for line in lines))


def append_entry(path: Path, draft: LedgerEntryDraft, *, first: bool = False) -> str:
    """Return the text of a ledger file with the entry added at its end; the file is not changed.

    first: whether to start a new ledger if the file does not exist. Raises CatalogueError if the entry is invalid, and
    ConformanceError if the file cannot be read or has no list of entries.
    """
    is_new = first and not path.exists()
    try:
        before = "entries:\n" if is_new else path.read_text("utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
    item = LIST_ITEM.search(before)
    if not item and not is_new:
        raise ConformanceError(f"{path}: has no entry after which a new one could be added")
    # Text is appended, rather than the YAML written again, to preserve comments and formatting.
    after = f"{before.rstrip()}\n\n{draft.text(item[1])}" if item else f"{before}{draft.text('  ')}"
    # Load the new text from a temporary file, so that an invalid entry is never written.
    with TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        trial.write_text(after, "utf-8")
        try:
            ledger.load_ledger(trial)
        except CatalogueError as error:
            # The line is in the text that is not written, so the message names no line.
            raise CatalogueError(
                re.sub(rf"^{re.escape(str(trial))}:\d+", "new entry", str(error), flags=re.M)
            ) from None
    return after


def write_ledger(path: Path, text: str) -> None:
    """Write a ledger file. Raises ConformanceError if it cannot be written."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
