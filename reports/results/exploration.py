"""Exploration findings, as recorded in the header of a results file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reports.results.fields import JsonFields

NON_REFERENCE_PREFIXES = ("law: ", "surfaces: ")
"""Prefixes of the symptoms of findings without the reference: a violated metamorphic relation, surfaces that differ."""


@dataclass(frozen=True)
class FindingRecord:
    """One exploration finding: failures with the same presumed cause.

    case: id of the smallest failing case found. symptom: how the surfaces differ from the expectation.
    conditions: the conditions under which it fails; None if no simple conditions separate failing from passing cases.
    features: all simple conditions that are true for the smallest case and its program.
    first_number: number of the first failing case. explained_count: number of cases that the finding explains.
    message: framework message of the first surface for the smallest case.
    case_text: the smallest case in catalogue format, YAML. script: reproduces it with the framework only; may be "".
    """

    id: str
    case: str
    operator: str
    surfaces: tuple[str, ...]
    symptom: str
    sentence: str
    conditions: tuple[str, ...] | None
    features: frozenset[str]
    first_number: int
    explained_count: int
    message: str
    case_text: str
    script: str

    @classmethod
    def parse(cls, fields: JsonFields) -> FindingRecord:
        """Parse a finding of the header's `explored`."""
        texts = {key: fields.get(key, str) for key in ("id", "case", "operator", "way", "sentence")}
        return cls(
            id=texts["id"],
            case=texts["case"],
            operator=texts["operator"],
            symptom=texts["way"],
            sentence=texts["sentence"],
            message=fields.optional("said", str) or "",
            case_text=fields.optional("case_text", str) or "",
            script=fields.optional("script", str) or "",
            surfaces=fields.texts("surfaces"),
            conditions=None if fields.values.get("conditions") is None else fields.texts("conditions"),
            features=frozenset(fields.texts("true") if "true" in fields.values else ()),
            first_number=fields.get("first", int),
            explained_count=fields.get("covers", int),
        )

    @property
    def is_found_without_reference(self) -> bool:
        """Whether a metamorphic relation or a comparison of surfaces found it. It may agree with the reference."""
        return self.symptom.startswith(NON_REFERENCE_PREFIXES)


@dataclass(frozen=True)
class ExplorationRecord:
    """An exploration of one backend.

    cases: number of cases tried. statuses: number of results by status.
    uncounted: number of further differences that were not examined, because enough with the same symptom were.
    code: digest of the suite's source; "" in older files.
    """

    seed: int
    cases: int
    statuses: Mapping[str, int]
    uncounted: int
    findings: tuple[FindingRecord, ...]
    code: str = ""

    @classmethod
    def parse(cls, fields: JsonFields) -> ExplorationRecord:
        """Parse the header's `explored`."""
        statuses = fields.fields("statuses")
        return cls(
            seed=fields.get("seed", int),
            cases=fields.get("cases", int),
            statuses={status: statuses.get(status, int) for status in statuses.values},
            uncounted=fields.optional("beyond", int) or 0,
            findings=tuple(FindingRecord.parse(one) for one in fields.objects("findings")),
            code=fields.optional("code", str) or "",
        )

    def with_label(self, label: str) -> ExplorationRecord:
        """Return a copy with the label of the backend appended to all surface names."""
        findings = (replace(one, surfaces=tuple(name + label for name in one.surfaces)) for one in self.findings)
        return replace(self, findings=tuple(findings))
