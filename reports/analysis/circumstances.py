"""How the circumstances of two runs of a backend differ: versions, processor, catalogue, ledger, selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.results.reader import BackendRun
from reports.results.records import Header, without_label

NONE_TEXT = "none"
SHOWN_DIGEST_DIGITS = 12  # of a digest


@dataclass(frozen=True)
class DifferingFact:
    """One circumstance that is otherwise: what it is, and how it was and is."""

    name: str
    before: str
    after: str


def differing_facts(before: BackendRun, after: BackendRun) -> list[DifferingFact]:
    """Return what is otherwise, the framework's versions first."""
    old, new = dict(_circumstance_values(before.header)), dict(_circumstance_values(after.header))
    told = [
        DifferingFact(what, old.get(what, NONE_TEXT), new.get(what, NONE_TEXT))
        for what in {**old, **new}
        if old.get(what, NONE_TEXT) != new.get(what, NONE_TEXT)
    ]
    return [*told, *_processor_facts(before.header, after.header), *_setup_facts(before.header, after.header)]


def _circumstance_values(header: Header) -> Iterator[tuple[str, str]]:
    where = header.environment
    yield from _table_facts("", where.packages)
    yield "Python", where.python
    yield "platform", where.platform
    yield "instructions", where.instructions or "not told"
    yield "threads", str(where.threads)
    yield "device", where.device
    yield "hardware", where.hardware or NONE_TEXT
    yield "precision", where.precision
    yield "catalogue", f"{header.catalogue_version} ({header.catalogue[:SHOWN_DIGEST_DIGITS]})".strip()
    yield "ledger", (header.ledger or NONE_TEXT)[:SHOWN_DIGEST_DIGITS]
    yield "the backend's own ledger", (header.own_ledger or NONE_TEXT)[:SHOWN_DIGEST_DIGITS]
    yield "level", header.level
    yield "all cases on slow surfaces", "yes" if header.slow else "no"
    yield "repeat", str(header.repeat)
    yield "shard", header.shard or "all"
    yield from ((f"selected {key}", ", ".join(names) or "all") for key, names in header.selection.items())
    yield "surfaces", ", ".join(map(without_label, header.surfaces))
    yield from _table_facts("suite: ", where.suite)


def _processor_facts(old: Header, new: Header) -> Iterator[DifferingFact]:
    """Yield the instructions that only one of two processors has, where both are told."""
    one, other = {*old.environment.cpu}, {*new.environment.cpu}
    if one and other and one != other:
        yield DifferingFact(
            "processor has", " ".join(sorted(one - other)) or NONE_TEXT, " ".join(sorted(other - one)) or NONE_TEXT
        )


def _setup_facts(old: Header, new: Header) -> Iterator[DifferingFact]:
    """Yield the lines of set-up texts that only one side has, for all surfaces at once that have the same ones."""
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
    """Return the lines of a text that the other one lacks, as one line; all where they stand in another order only."""
    lines = [line for line in text.splitlines() if line not in other.splitlines()]
    return "; ".join(lines) or NONE_TEXT


def _table_facts(first: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"{first}{name}", text) for name, text in values.items())
