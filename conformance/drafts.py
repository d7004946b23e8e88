"""A new entry as text for the ledger file, and the file with it; what stood there stays as it was."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from conformance import ledger, selectors
from conformance.devices import CPU
from conformance.errors import CatalogueError, ConformanceError
from conformance.selectors import Where

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
