"""What nights have told already: findings, to be known again from another smallest case, and results that are wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, replace

from reports.analysis.summary import UNEXPECTED_STATUSES
from reports.results.exploration import FindingRecord
from reports.results.fields import JsonFields, RecordError
from reports.results.reader import BackendRun
from reports.results.records import ResultRecord, without_label

HISTORY_FORMAT = 1
KEY_DIGEST_BYTES = 4  # bytes of a key


@dataclass(frozen=True)
class ReportedFinding:
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
    def of(cls, backend: str, finding: FindingRecord, since: str) -> ReportedFinding:
        """Return what is kept of a finding."""
        return cls(
            without_label(backend), finding.operator, finding.symptom, tuple(sorted(map(without_label, finding.surfaces))),
            finding.conditions, tuple(sorted(finding.features)), finding.case, since,
        )  # fmt: skip

    @classmethod
    def parse(cls, fields: JsonFields) -> ReportedFinding:
        """Parse one that was kept."""
        texts = {key: fields.get(key, str) for key in ("backend", "operator", "way", "case", "since")}
        conditions = None if fields.values.get("conditions") is None else fields.texts("conditions")
        return cls(**texts, surfaces=fields.texts("surfaces"), conditions=conditions, true=fields.texts("true"))

    @property
    def issue_key(self) -> str:
        """What its issue is known by: the same for every seed that comes to this smallest case, or to no conditions.

        Findings on other surfaces have another one.
        """
        case = "" if self.conditions is None else self.case
        return short_digest(self.backend, self.operator, self.way, case, *self.surfaces)

    def is_same(self, other: ReportedFinding) -> bool:
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

    def _covers(self, other: ReportedFinding) -> bool:
        return self.conditions is not None and {*self.conditions} <= {*other.true}


@dataclass(frozen=True)
class WrongResult:
    """A result that was not as it should be."""

    backend: str
    surface: str
    case: str
    status: str

    @classmethod
    def of(cls, backend: str, result: ResultRecord) -> WrongResult:
        """Return what is kept of a result."""
        return cls(backend, result.surface, result.case, result.status)

    @classmethod
    def parse(cls, fields: JsonFields) -> WrongResult:
        """Parse one that was kept."""
        return cls(*(fields.get(key, str) for key in ("backend", "surface", "case", "status")))


@dataclass(frozen=True)
class History:
    """What has been told: findings, surfaces with cases whose results flicker, and what was wrong when it last ran."""

    findings: tuple[ReportedFinding, ...] = ()
    flickering: frozenset[tuple[str, str]] = frozenset()
    wrong_results: frozenset[WrongResult] = frozenset()

    @classmethod
    def parse(cls, text: str) -> History:
        """Read what `text` has written. Raises RecordError."""
        try:
            record = json.loads(text)
        except ValueError as error:
            raise RecordError(f"not JSON: {error}") from None
        fields = JsonFields(record if isinstance(record, dict) else {})
        if fields.get("format", int) != HISTORY_FORMAT:
            raise RecordError(f"unknown format {fields.values['format']}, this version reads {HISTORY_FORMAT}")
        flickering = frozenset((one.get("surface", str), one.get("case", str)) for one in fields.objects("flickering"))
        wrong = fields.objects("wrong") if "wrong" in fields.values else ()  # none in older files
        return cls(
            tuple(map(ReportedFinding.parse, fields.objects("findings"))),
            flickering,
            frozenset(map(WrongResult.parse, wrong)),
        )

    def to_json(self) -> str:
        """Return all as JSON, to be read the next night."""
        flickering = [{"surface": surface, "case": case} for surface, case in sorted(self.flickering)]
        found = [asdict(one) for one in self.findings]
        wrong = [asdict(one) for one in sorted(self.wrong_results, key=astuple)]
        told = {"format": HISTORY_FORMAT, "findings": found, "flickering": flickering, "wrong": wrong}
        return json.dumps(told, indent=1) + "\n"

    def find_same(self, seen: ReportedFinding) -> ReportedFinding | None:
        """Return the first that cannot be told from another one, None where this is new."""
        return next((one for one in self.findings if one.is_same(seen)), None)

    def with_findings(self, found: Iterable[ReportedFinding]) -> History:
        """Return what is told when these are, too; of those that cannot be told apart the first is kept."""
        kept = self
        for one in found:
            if not kept.find_same(one):
                kept = replace(kept, findings=(*kept.findings, one))
        return kept

    def with_results(self, run: BackendRun) -> History:
        """Return what is told when the results of a run of the catalogue are, too.

        What a run that was cut did not come to is kept as it was; so is what flickers now and was wrong before.
        """
        statuses = {(one.surface, one.case): one.status for one in run.results}
        others = {one for one in self.wrong_results if one.backend != run.name}
        kept = {one for one in self.wrong_results - others if _is_undecided(statuses.get((one.surface, one.case)), run)}
        wrong = {WrongResult.of(run.name, one) for one in run.results if one.status in UNEXPECTED_STATUSES}
        flickering = {key for key, status in statuses.items() if status == "flaky"}
        return replace(self, flickering=self.flickering | flickering, wrong_results=frozenset(others | kept | wrong))


def _is_undecided(status: str | None, run: BackendRun) -> bool:
    """Whether a run, in which a result has this status, does not say if it is still wrong as it was."""
    return status == "flaky" or (status is None and not run.complete)


def short_digest(*parts: str) -> str:
    """Return a short name for some texts together."""
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=KEY_DIGEST_BYTES).hexdigest()


def group_same(found: Iterable[ReportedFinding]) -> Iterator[list[ReportedFinding]]:
    """Put together those that cannot be told from the first of their group."""
    groups: list[list[ReportedFinding]] = []
    for one in found:
        group = next((group for group in groups if group[0].is_same(one)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return iter(groups)
