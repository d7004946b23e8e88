"""What an exploration found, as the header of its results file has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reports.results.fields import JsonFields

NON_REFERENCE_PREFIXES = ("law: ", "surfaces: ")
"""How the ways of findings begin that the reference has not shown: a broken law, surfaces that part."""


@dataclass(frozen=True)
class FindingRecord:
    """One cause, as far as exploring can tell.

    case: the smallest that was found, which differs on the surfaces in this way; conditions: under which it shows, None
    where no plain ones tell; true: all plain conditions that hold for the smallest case, and for how it is carried out;
    first: the number of the case that showed it; covers: cases that it explains; said: what the first of the surfaces
    said of the smallest case; case_text: that case as a catalogue has it, in YAML; script: what shows it with the
    framework alone, "" without one.
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
        later = {key: fields.optional(key, str) or "" for key in ("said", "case_text", "script")}
        return cls(
            **texts,
            **later,
            surfaces=fields.texts("surfaces"),
            conditions=None if fields.values.get("conditions") is None else fields.texts("conditions"),
            features=frozenset(fields.texts("true") if "true" in fields.values else ()),
            first_number=fields.get("first", int),
            explained_count=fields.get("covers", int),
        )

    @property
    def is_found_without_reference(self) -> bool:
        """Whether by the reference alone nothing may be wrong: a law is broken, or surfaces part."""
        return self.symptom.startswith(NON_REFERENCE_PREFIXES)


@dataclass(frozen=True)
class ExplorationRecord:
    """An exploration of one backend: its seed, cases that were tried, results by status, findings.

    beyond: further differences, not looked into as enough of the same way were; code: a digest of the suite's own, ""
    in older files.
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
        """Return the same with the label of the backend on every surface."""
        findings = (replace(one, surfaces=tuple(name + label for name in one.surfaces)) for one in self.findings)
        return replace(self, findings=tuple(findings))
