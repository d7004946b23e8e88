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
from conformance.cases.selectors import ABSENT, Facts, Level, Where, known
from conformance.judging import ledger

SIZES = frozenset({"batch", "channels", "extent"})
"""How large x is: true of every case and hardly ever why it fails, so tried where nothing else is exact."""
NEVER = frozenset({"level"})
"""What says something of the catalogue, and nothing of why a case fails."""

_Marked = tuple[bool, Level]
"""A value, marked where it is a yes or a no: True equals 1."""


@dataclass(frozen=True)
class _Condition:
    """A key with its values, which every failing case fulfils.

    spared: a bit for each case to be left alone that does not fulfil it; beyond: likewise of the cases nobody ran.
    """

    key: str
    values: tuple[Level, ...]
    spared: int
    beyond: int

    def beats(self, other: _Condition) -> bool:
        """Whether the condition does whatever the other does, in no more values."""
        covers = self.spared | other.spared == self.spared and self.beyond | other.beyond == self.beyond
        return covers and len(self.values) <= len(other.values)


def smallest(failing: Sequence[Case], passing: Sequence[Case], beyond: Sequence[Case] = ()) -> Where | None:
    """Return the smallest selector that holds for all failing cases and for none that passes, None if none is exact.

    The smallest has the fewest conditions, then the fewest values, then says the least of the cases `beyond`, which
    nobody ran. At least one condition.
    """
    groups = [[Facts(case) for case in cases] for cases in (failing, passing, beyond)]
    keys = [key for key in known() if key not in NEVER]
    for tried in ([key for key in keys if key not in SIZES], keys):
        found = _search(list(_conditions(tried, *groups)), (1 << len(passing)) - 1)
        if found:
            return {condition.key: condition.values for condition in found}
    return None


def _conditions(
    keys: Iterable[str], failing: Sequence[Facts], passing: Sequence[Facts], beyond: Sequence[Facts]
) -> Iterator[_Condition]:
    """Yield for each key the fewest values that cover every failing case, in each way there is."""
    for key in keys:
        for values in _covering([_options(facts, key) for facts in failing]):
            chosen = frozenset(values)
            spared, unrun = (
                _bits(_options(facts, key).isdisjoint(chosen) for facts in some) for some in (passing, beyond)
            )
            yield _Condition(key, _ordered(value for _, value in values), spared, unrun)


def _options(facts: Facts, key: str) -> frozenset[_Marked]:
    """Return the values with which a condition on the key holds."""
    found: Any = facts[key]
    if found is ABSENT:
        return frozenset()
    return frozenset((isinstance(one, bool), one) for one in (found if isinstance(found, frozenset) else (found,)))


def _covering(options: Sequence[frozenset[_Marked]]) -> Iterator[tuple[_Marked, ...]]:
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


def _ordered(values: Iterable[Level]) -> tuple[Level, ...]:
    found = tuple(values)
    try:
        return tuple(sorted(found))
    except TypeError:  # numbers beside words, or beside lists for the axes
        return found


def _bits(truths: Iterable[bool]) -> int:
    return sum(1 << number for number, true in enumerate(truths) if true)


def _search(conditions: Sequence[_Condition], everyone: int) -> tuple[_Condition, ...] | None:
    """Return the best of the smallest sets of conditions that together spare everyone."""
    best = [condition for number, condition in enumerate(conditions) if not _beaten(number, condition, conditions)]
    if reduce(or_, (condition.spared for condition in best), 0) != everyone:
        return None
    for size in range(1, len(best) + 1):
        distinct = (some for some in combinations(best, size) if len({one.key for one in some}) == size)
        chosen = [some for some in distinct if reduce(or_, (one.spared for one in some)) == everyone]
        if chosen:
            return min(chosen, key=_cost)
    return None


def _beaten(number: int, condition: _Condition, conditions: Sequence[_Condition]) -> bool:
    """Whether another condition can always stand instead: the earlier one of two that are alike."""
    keys = [other.key for other in conditions]
    return any(
        other.beats(condition) and (place < number or not condition.beats(other))
        for place, other in enumerate(conditions)
        # A key stands once in a selector, so one with a choice of words may be needed for another of them.
        if place != number and (other.key == condition.key or keys.count(other.key) == 1)
    )


def _cost(conditions: tuple[_Condition, ...]) -> tuple[int, int]:
    spared = reduce(or_, (condition.beyond for condition in conditions))
    return sum(len(condition.values) for condition in conditions), -spared.bit_count()


WIDTH = 118
ITEM = re.compile(r"^( *)- ", re.MULTILINE)


@dataclass(frozen=True)
class Draft:
    """An entry that is yet to be written: either ids of cases or a selector says what it is about.

    versions: a specifier as text for each package; device: devices that it was seen on, see conformance.ledger.
    """

    id: str
    surfaces: Sequence[str]
    kinds: Sequence[str]
    reason: str
    observed: str
    where: Where = field(default_factory=dict)
    cases: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    device: Sequence[str] = ()
    issue: str | None = None

    def text(self, indent: str = "  ") -> str:
        """Return the entry as an item of the ledger's list."""
        lines = list(self._lines())
        return "".join(f"{indent}{'- ' if number == 0 else '  '}{line}\n" for number, line in enumerate(lines))

    def _lines(self) -> Iterator[str]:
        yield f"id: {_scalar(self.id)}"
        if self.cases:
            yield from ("cases:", *(f"  - {_scalar(case)}" for case in self.cases))
        if self.where:
            yield from _mapping("where", {key: _values(values) for key, values in self.where.items()})
        yield f"surfaces: {selectors.text(tuple(self.surfaces))}"
        yield f"kinds: {selectors.text(tuple(self.kinds))}"
        if self.versions:
            yield f"versions: {yaml.safe_dump(dict(self.versions), default_flow_style=True, width=math.inf).strip()}"
        if tuple(self.device) not in {(), (CPU,)}:
            yield f"device: {selectors.text(tuple(self.device))}"
        if self.issue:
            yield f"issue: {_scalar(self.issue)}"
        yield from _folded("observed", self.observed)
        yield from _folded("reason", self.reason)


def _scalar(words: str) -> str:
    return yaml.safe_dump(words, width=math.inf).removesuffix("...\n").strip()


def _values(values: Sequence[selectors.Level]) -> str:
    one = len(values) == 1 and not isinstance(values[0], tuple)
    return selectors.text(values[0] if one else tuple(values))


def _mapping(key: str, pairs: Mapping[str, str]) -> Iterator[str]:
    line = f"{key}: {{{', '.join(f'{name}: {value}' for name, value in pairs.items())}}}"
    yield from [line] if len(line) < WIDTH else (f"{key}:", *(f"  {name}: {value}" for name, value in pairs.items()))


def _folded(key: str, words: str) -> Iterator[str]:
    """Yield a text on as many lines as it takes; it reads back as one, its white space as single blanks."""
    printable = "".join(sign if sign.isprintable() else " " for sign in words)
    lines = textwrap.wrap(printable, WIDTH - 6, break_long_words=False, break_on_hyphens=False)
    yield from (f"{key}: >-", *(f"  {line}" for line in lines))


def appended(path: Path, draft: Draft, *, begin: bool = False) -> str:
    """Return the text of the ledger file with the entry at its end.

    begin: whether there may be no file yet. Raises CatalogueError with what is wrong with the entry, and
    ConformanceError where the file cannot be read or holds no list to add to.
    """
    begins = begin and not path.exists()
    try:
        before = "entries:\n" if begins else path.read_text("utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
    item = ITEM.search(before)
    if not item and not begins:
        raise ConformanceError(f"{path}: holds no entry, so that there is nothing to put another one behind")
    after = f"{before.rstrip()}\n\n{draft.text(item[1])}" if item else f"{before}{draft.text('  ')}"
    with TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        trial.write_text(after, "utf-8")
        try:
            ledger.load(trial)
        except CatalogueError as error:
            raise CatalogueError(str(error).replace(str(trial), str(path))) from None
    return after


def write(path: Path, text: str) -> None:
    """Write the ledger file. Raises ConformanceError if that cannot be done."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
