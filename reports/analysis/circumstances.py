"""List the differences between the circumstances of two runs: versions, processor, catalogue, ledger, selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.results import BackendRun, Header, without_label

NONE_TEXT = "none"
SHOWN_DIGEST_DIGITS = 12  # hexadecimal digits


@dataclass(frozen=True)
class DifferingFact:
    """A circumstance that differs between two runs, with both values as text."""

    name: str
    before: str
    after: str


def differing_facts(before: BackendRun, after: BackendRun) -> list[DifferingFact]:
    """Return the circumstances that differ, the versions of the framework first."""
    old, new = dict(_circumstance_values(before.header)), dict(_circumstance_values(after.header))
    facts = [
        DifferingFact(name, old.get(name, NONE_TEXT), new.get(name, NONE_TEXT))
        for name in {**old, **new}
        if old.get(name, NONE_TEXT) != new.get(name, NONE_TEXT)
    ]
    return [*facts, *_processor_facts(before.header, after.header), *_setup_facts(before.header, after.header)]


def _circumstance_values(header: Header) -> Iterator[tuple[str, str]]:
    environment = header.environment
    yield from _table_facts("", environment.packages)
    yield "Python", environment.python
    yield "platform", environment.platform
    yield "instructions", environment.instructions or "unknown"
    yield "threads", str(environment.threads)
    yield "device", environment.device
    yield "hardware", environment.hardware or NONE_TEXT
    yield "precision", environment.precision
    yield "catalogue", str(header.catalogue)
    yield "ledger", (header.ledger or NONE_TEXT)[:SHOWN_DIGEST_DIGITS]
    yield "ledger of the backend", (header.own_ledger or NONE_TEXT)[:SHOWN_DIGEST_DIGITS]
    yield "level", header.level
    yield "all cases on slow surfaces", "yes" if header.slow else "no"
    yield "repeat", str(header.repeat)
    yield "shard", str(header.shard or "all")
    yield from ((f"selected {key}", ", ".join(names) or "all") for key, names in header.selection.filters.items())
    yield "surfaces", ", ".join(map(without_label, header.surfaces))
    yield from _table_facts("suite: ", environment.suite)


def _processor_facts(old: Header, new: Header) -> Iterator[DifferingFact]:
    """Yield the instruction sets that only one of two processors has, if those of both are recorded."""
    one, other = {*old.environment.cpu}, {*new.environment.cpu}
    if one and other and one != other:
        yield DifferingFact(
            "processor has", " ".join(sorted(one - other)) or NONE_TEXT, " ".join(sorted(other - one)) or NONE_TEXT
        )


def _setup_facts(old: Header, new: Header) -> Iterator[DifferingFact]:
    """Yield the lines of setup code that only one side has, once for all surfaces with the same setup."""
    texts, others = _setup_lines(old), _setup_lines(new)
    found: dict[tuple[str, str], list[str]] = {}
    for surface in texts.keys() & others.keys():
        if texts[surface] != others[surface]:
            found.setdefault((texts[surface], others[surface]), []).append(surface)
    for (one, other), surfaces in sorted(found.items()):
        yield DifferingFact(
            f"setup of {', '.join(sorted(surfaces))}", _added_lines(one, other), _added_lines(other, one)
        )


def _setup_lines(header: Header) -> dict[str, str]:
    return {without_label(surface): text for surface, text in header.environment.setup.items()}


def _added_lines(text: str, other: str) -> str:
    """Return the lines of a text that the other text does not contain, joined to one line."""
    lines = [line for line in text.splitlines() if line not in other.splitlines()]
    return "; ".join(lines) or NONE_TEXT


def _table_facts(prefix: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"{prefix}{name}", text) for name, text in values.items())
