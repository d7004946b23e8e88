"""What nights have told already: findings, to be known again from another smallest case, and results that are wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, replace

from reports.analysis.summary import BAD
from reports.results.exploration import Finding
from reports.results.fields import Fields, RecordError
from reports.results.reader import Backend
from reports.results.records import Result, plain

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
        """What its issue is known by: the same for every seed that comes to this smallest case, or to no conditions.

        Findings on other surfaces have another one.
        """
        case = "" if self.conditions is None else self.case
        return digest(self.backend, self.operator, self.way, case, *self.surfaces)

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
class Wrong:
    """A result that was not as it should be."""

    backend: str
    surface: str
    case: str
    status: str

    @classmethod
    def of(cls, backend: str, result: Result) -> Wrong:
        """Return what is kept of a result."""
        return cls(backend, result.surface, result.case, result.status)

    @classmethod
    def parse(cls, fields: Fields) -> Wrong:
        """Parse one that was kept."""
        return cls(*(fields.get(key, str) for key in ("backend", "surface", "case", "status")))


@dataclass(frozen=True)
class Memory:
    """What has been told: findings, surfaces with cases whose results flicker, and what was wrong when it last ran."""

    findings: tuple[Seen, ...] = ()
    flickering: frozenset[tuple[str, str]] = frozenset()
    wrong: frozenset[Wrong] = frozenset()

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
        wrong = fields.objects("wrong") if "wrong" in fields.values else ()  # none in older files
        return cls(tuple(map(Seen.parse, fields.objects("findings"))), flickering, frozenset(map(Wrong.parse, wrong)))

    def text(self) -> str:
        """Return all as JSON, to be read the next night."""
        flickering = [{"surface": surface, "case": case} for surface, case in sorted(self.flickering)]
        found = [asdict(one) for one in self.findings]
        wrong = [asdict(one) for one in sorted(self.wrong, key=astuple)]
        told = {"format": FORMAT, "findings": found, "flickering": flickering, "wrong": wrong}
        return json.dumps(told, indent=1) + "\n"

    def known(self, seen: Seen) -> Seen | None:
        """Return the first that cannot be told from another one, None where this is new."""
        return next((one for one in self.findings if one.same(seen)), None)

    def with_findings(self, found: Iterable[Seen]) -> Memory:
        """Return what is told when these are, too; of those that cannot be told apart the first is kept."""
        kept = self
        for one in found:
            if not kept.known(one):
                kept = replace(kept, findings=(*kept.findings, one))
        return kept

    def with_results(self, run: Backend) -> Memory:
        """Return what is told when the results of a run of the catalogue are, too.

        What a run that was cut did not come to is kept as it was; so is what flickers now and was wrong before.
        """
        statuses = {(one.surface, one.case): one.status for one in run.results}
        others = {one for one in self.wrong if one.backend != run.name}
        kept = {one for one in self.wrong - others if _open(statuses.get((one.surface, one.case)), run)}
        wrong = {Wrong.of(run.name, one) for one in run.results if one.status in BAD}
        flickering = {key for key, status in statuses.items() if status == "flaky"}
        return replace(self, flickering=self.flickering | flickering, wrong=frozenset(others | kept | wrong))


def _open(status: str | None, run: Backend) -> bool:
    """Whether a run, in which a result has this status, does not say if it is still wrong as it was."""
    return status == "flaky" or (status is None and not run.complete)


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
