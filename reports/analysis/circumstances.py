"""How the circumstances of two runs of a backend differ: versions, processor, catalogue, ledger, selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.results.reader import Backend
from reports.results.records import Header, plain

NONE = "none"
DIGITS = 12  # of a digest


@dataclass(frozen=True)
class Fact:
    """One circumstance that is otherwise: what it is, and how it was and is."""

    what: str
    before: str
    after: str


def facts(before: Backend, after: Backend) -> list[Fact]:
    """Return what is otherwise, the framework's versions first."""
    old, new = dict(_circumstances(before.header)), dict(_circumstances(after.header))
    told = [
        Fact(what, old.get(what, NONE), new.get(what, NONE))
        for what in {**old, **new}
        if old.get(what, NONE) != new.get(what, NONE)
    ]
    return [*told, *_processor(before.header, after.header), *_setups(before.header, after.header)]


def _circumstances(header: Header) -> Iterator[tuple[str, str]]:
    where = header.environment
    yield from _table("", where.packages)
    yield "Python", where.python
    yield "platform", where.platform
    yield "instructions", where.instructions or "not told"
    yield "threads", str(where.threads)
    yield "device", where.device
    yield "hardware", where.hardware or NONE
    yield "precision", where.precision
    yield "catalogue", f"{header.catalogue_version} ({header.catalogue[:DIGITS]})".strip()
    yield "ledger", (header.ledger or NONE)[:DIGITS]
    yield "the backend's own ledger", (header.own_ledger or NONE)[:DIGITS]
    yield "level", header.level
    yield "all cases on slow surfaces", "yes" if header.slow else "no"
    yield "repeat", str(header.repeat)
    yield "shard", header.shard or "all"
    yield from ((f"selected {key}", ", ".join(names) or "all") for key, names in header.selection.items())
    yield "surfaces", ", ".join(map(plain, header.surfaces))
    yield from _table("suite: ", where.suite)


def _processor(old: Header, new: Header) -> Iterator[Fact]:
    """Yield the instructions that only one of two processors has, where both are told."""
    one, other = {*old.environment.cpu}, {*new.environment.cpu}
    if one and other and one != other:
        yield Fact("processor has", " ".join(sorted(one - other)) or NONE, " ".join(sorted(other - one)) or NONE)


def _setups(old: Header, new: Header) -> Iterator[Fact]:
    """Yield the lines of set-up texts that only one side has, for all surfaces at once that have the same ones."""
    texts, others = _setup(old), _setup(new)
    found: dict[tuple[str, str], list[str]] = {}
    for surface in texts.keys() & others.keys():
        if texts[surface] != others[surface]:
            found.setdefault((texts[surface], others[surface]), []).append(surface)
    for (one, other), surfaces in sorted(found.items()):
        yield Fact(f"setup of {', '.join(sorted(surfaces))}", _beyond(one, other), _beyond(other, one))


def _setup(header: Header) -> dict[str, str]:
    return {plain(surface): text for surface, text in header.environment.setup.items()}


def _beyond(text: str, other: str) -> str:
    """Return the lines of a text that the other one lacks, as one line; all where they stand in another order only."""
    lines = [line for line in text.splitlines() if line not in other.splitlines()]
    return "; ".join(lines) or NONE


def _table(first: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"{first}{name}", text) for name, text in values.items())
