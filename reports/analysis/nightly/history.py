"""The history of nightly runs: reported findings and wrong results, stored in `seen.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import field
from msgspec.json import Decoder

from reports.analysis.summary import UNEXPECTED_STATUSES
from reports.results import BackendRun, FindingRecord, ResultRecord, Status, without_label
from reports.results.json_structs import JsonStruct, decode

KEY_DIGEST_BYTES = 4


class ReportedFinding(JsonStruct, frozen=True):
    """A reported finding, without labels. The JSON names are keys of `seen.json`.

    true: the conditions that are true for the smallest case. since: start of the run that first
    reported it, ISO 8601.
    """

    backend: str
    operator: str
    symptom: str = field(name="way")
    surfaces: tuple[str, ...]
    conditions: tuple[str, ...] | None
    true: tuple[str, ...]
    case: str
    since: str

    @classmethod
    def of(cls, backend: str, finding: FindingRecord, since: str) -> ReportedFinding:
        """Return the stored form of a finding."""
        return cls(
            without_label(backend),
            finding.operator,
            finding.symptom,
            tuple(sorted(map(without_label, finding.surfaces))),
            finding.conditions,
            finding.features,
            finding.case,
            since,
        )

    @property
    def issue_key(self) -> str:
        """Key of the issue. Equal for all seeds that find the same smallest case, or find no conditions.

        The surfaces are part of the key.
        """
        case = "" if self.conditions is None else self.case
        return short_digest(self.backend, self.operator, self.symptom, case, *self.surfaces)

    def is_same(self, other: ReportedFinding) -> bool:
        """Whether two findings count as the same, even if another seed led to another smallest case.

        They have the same symptom on a common surface. Also, the smallest cases are equal, the conditions of one
        finding are true for the smallest case of the other, or neither has conditions.
        """
        if (self.backend, self.operator, self.symptom) != (other.backend, other.operator, other.symptom):
            return False
        if not {*self.surfaces} & {*other.surfaces}:
            return False
        without_conditions = self.conditions is None and other.conditions is None
        return without_conditions or self.case == other.case or self._covers(other) or other._covers(self)

    def _covers(self, other: ReportedFinding) -> bool:
        return self.conditions is not None and {*self.conditions} <= {*other.true}


class WrongResult(JsonStruct, frozen=True, order=True):
    """A result with an unexpected status."""

    backend: str
    surface: str
    case: str
    status: Status

    @classmethod
    def of(cls, backend: str, result: ResultRecord) -> WrongResult:
        """Return the stored form of a result."""
        return cls(backend, result.surface, result.case, result.status)


class _FlakyResult(JsonStruct, frozen=True):
    surface: str
    case: str


class _HistoryFile(JsonStruct, frozen=True):
    """The content of `seen.json`. wrong: missing in older files."""

    format: Literal[1]
    findings: tuple[ReportedFinding, ...]
    flaky: tuple[_FlakyResult, ...] = field(name="flickering")
    wrong: tuple[WrongResult, ...] = field(default_factory=lambda: ())


_DECODER = Decoder(_HistoryFile)


@dataclass(frozen=True)
class History:
    """The history up to a night.

    findings: all reported findings. flaky: surface and case of all results that have been flaky.
    wrong_results: results that were wrong in their last run.
    """

    findings: tuple[ReportedFinding, ...] = ()
    flaky: frozenset[tuple[str, str]] = frozenset()
    wrong_results: frozenset[WrongResult] = frozenset()

    @classmethod
    def parse(cls, text: str) -> History:
        """Read the output of `to_json`. Raises RecordError."""
        file = decode(text.encode("utf-8", "replace"), _DECODER)
        flaky = frozenset((one.surface, one.case) for one in file.flaky)
        return cls(file.findings, flaky, frozenset(file.wrong))

    def to_json(self) -> str:
        """Return the history as JSON, for the next night."""
        flaky = tuple(_FlakyResult(surface, case) for surface, case in sorted(self.flaky))
        file = _HistoryFile(1, self.findings, flaky, tuple(sorted(self.wrong_results)))
        return json.dumps(file.json_values(), indent=1) + "\n"

    def find_same(self, seen: ReportedFinding) -> ReportedFinding | None:
        """Return the first reported finding that counts as the same, or None."""
        return next((one for one in self.findings if one.is_same(seen)), None)

    def with_findings(self, findings: Iterable[ReportedFinding]) -> History:
        """Return a history with these findings added. Findings that count as the same are added only once."""
        history = self
        for one in findings:
            if not history.find_same(one):
                history = replace(history, findings=(*history.findings, one))
        return history

    def with_results(self, run: BackendRun) -> History:
        """Return a history updated with the results of a run of catalogue cases.

        Wrong results remain if an interrupted run has no new result for them, or if they are flaky now.
        """
        statuses = {(one.surface, one.case): one.status for one in run.results}
        others = {one for one in self.wrong_results if one.backend != run.name}
        undecided = {
            one for one in self.wrong_results - others if _is_undecided(statuses.get((one.surface, one.case)), run)
        }
        wrong = {WrongResult.of(run.name, one) for one in run.results if one.status in UNEXPECTED_STATUSES}
        flaky = {key for key, status in statuses.items() if status == Status.FLAKY}
        return replace(self, flaky=self.flaky | flaky, wrong_results=frozenset(others | undecided | wrong))


def _is_undecided(status: Status | None, run: BackendRun) -> bool:
    """Whether the result may still be wrong: it is flaky, or missing in an incomplete run."""
    return status == Status.FLAKY or (status is None and not run.complete)


def short_digest(*parts: str) -> str:
    """Return a short digest of several texts."""
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=KEY_DIGEST_BYTES).hexdigest()


def group_same(findings: Iterable[ReportedFinding]) -> Iterator[list[ReportedFinding]]:
    """Group findings that count as the same as the first one of their group."""
    groups: list[list[ReportedFinding]] = []
    for one in findings:
        group = next((group for group in groups if group[0].is_same(one)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return iter(groups)
