"""What nights have told already: findings, to be known again from another smallest case, and results that flicker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from reports.fields import Fields, RecordError
from reports.findings import Finding
from reports.records import plain

FORMAT = 1
DIGITS = 4  # bytes of a key


@dataclass(frozen=True)
class Seen:
    """A finding of a night. since: when it was first told, ISO 8601; the rest as findings have it, without labels."""

    backend: str
    operator: str
    way: str
    surfaces: tuple[str, ...]
    conditions: tuple[str, ...] | None
    true: tuple[str, ...]
    case: str
    since: str

    @classmethod
    def of(cls, backend: str, finding: Finding, since: str) -> Seen:
        """Return what is kept of a finding."""
        return cls(
            plain(backend), finding.operator, finding.way, tuple(sorted(map(plain, finding.surfaces))),
            finding.conditions, tuple(sorted(finding.true)), finding.case, since,
        )  # fmt: skip

    @classmethod
    def parse(cls, fields: Fields) -> Seen:
        """Parse one that was kept."""
        texts = {key: fields.get(key, str) for key in ("backend", "operator", "way", "case", "since")}
        conditions = None if fields.values.get("conditions") is None else fields.texts("conditions")
        return cls(**texts, surfaces=fields.texts("surfaces"), conditions=conditions, true=fields.texts("true"))

    @property
    def key(self) -> str:
        """What its issue is known by: the same for every seed that comes to this smallest case, or to no conditions."""
        return digest(self.backend, self.operator, self.way, "" if self.conditions is None else self.case)

    def same(self, other: Seen) -> bool:
        """Whether the two cannot be told apart, though another seed has drawn another case.

        They differ in the same way on a surface that both have, and either their smallest cases are the same, or the
        conditions of one hold for the smallest case of the other, or no conditions are known of either.
        """
        if (self.backend, self.operator, self.way) != (other.backend, other.operator, other.way):
            return False
        if not {*self.surfaces} & {*other.surfaces}:
            return False
        nameless = self.conditions is None and other.conditions is None
        return nameless or self.case == other.case or self._covers(other) or other._covers(self)

    def _covers(self, other: Seen) -> bool:
        return self.conditions is not None and {*self.conditions} <= {*other.true}


@dataclass(frozen=True)
class Memory:
    """What has been told: findings, and surfaces with cases whose results flicker."""

    findings: tuple[Seen, ...] = ()
    flickering: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def parse(cls, text: str) -> Memory:
        """Read what `text` has written. Raises RecordError."""
        try:
            record = json.loads(text)
        except ValueError as error:
            raise RecordError(f"not JSON: {error}") from None
        fields = Fields(record if isinstance(record, dict) else {})
        if fields.get("format", int) != FORMAT:
            raise RecordError(f"unknown format {fields.values['format']}, this version reads {FORMAT}")
        flickering = frozenset((one.get("surface", str), one.get("case", str)) for one in fields.objects("flickering"))
        return cls(tuple(map(Seen.parse, fields.objects("findings"))), flickering)

    def text(self) -> str:
        """Return all as JSON, to be read the next night."""
        flickering = [{"surface": surface, "case": case} for surface, case in sorted(self.flickering)]
        found = [asdict(one) for one in self.findings]
        return json.dumps({"format": FORMAT, "findings": found, "flickering": flickering}, indent=1) + "\n"

    def known(self, seen: Seen) -> Seen | None:
        """Return the first that cannot be told from another one, None where this is new."""
        return next((one for one in self.findings if one.same(seen)), None)

    def with_findings(self, found: Iterable[Seen]) -> Memory:
        """Return what is told when these are, too; of those that cannot be told apart the first is kept."""
        kept = Memory(self.findings, self.flickering)
        for one in found:
            if not kept.known(one):
                kept = Memory((*kept.findings, one), kept.flickering)
        return kept


def digest(*parts: str) -> str:
    """Return a short name for some texts together."""
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=DIGITS).hexdigest()


def alike(found: Iterable[Seen]) -> Iterator[list[Seen]]:
    """Put together those that cannot be told from the first of their group."""
    groups: list[list[Seen]] = []
    for one in found:
        group = next((group for group in groups if group[0].same(one)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return iter(groups)
