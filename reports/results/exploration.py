"""Exploration findings, as recorded in the header of a results file."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field
from msgspec.structs import replace

from reports.results.json_structs import JsonStruct, nullable
from reports.results.vocabulary import Word


class OracleKind(Word):
    """What an exploration compares results with. The word starts the text of a symptom."""

    REFERENCE = ""  # symptoms without another first word
    RELATION = "law"  # a metamorphic relation
    SURFACES = "surfaces"  # the other surfaces of the backend


class FindingRecord(JsonStruct, frozen=True, kw_only=True):
    """One exploration finding: failures with the same presumed cause.

    case: id of the smallest failing case found. symptom: how the surfaces differ from the expectation.
    conditions: the conditions under which it fails; None if no simple conditions separate failing from passing cases.
    features: all simple conditions that are true for the smallest case and its program, sorted.
    first_number: number of the first failing case. explained_count: number of cases that the finding explains.
    message: framework message of the first surface for the smallest case.
    case_text: the smallest case in catalogue format, YAML. script: reproduces it with the framework only; may be "".
    """

    id: str
    case: str
    operator: str
    surfaces: tuple[str, ...]
    symptom: str = field(name="way")
    sentence: str
    conditions: tuple[str, ...] | None = nullable()
    features: tuple[str, ...] = field(name="true", default_factory=lambda: ())
    first_number: int = field(name="first")
    explained_count: int = field(name="covers")
    message: str = field(name="said", default_factory=lambda: "")
    case_text: str = field(default_factory=lambda: "")
    script: str = field(default_factory=lambda: "")

    @property
    def is_found_without_reference(self) -> bool:
        """Whether a metamorphic relation or a comparison of surfaces found it. It may agree with the reference."""
        return self.symptom.partition(": ")[0] in {OracleKind.RELATION, OracleKind.SURFACES}


class ExplorationRecord(JsonStruct, frozen=True, kw_only=True):
    """An exploration of one backend.

    cases: number of cases tried. statuses: number of results by status.
    uncounted: number of further differences that were not examined, because a limit was reached.
    code: digest of the suite's source; "" in older files.
    """

    seed: int
    cases: int
    statuses: Mapping[str, int]
    code: str = ""
    uncounted: int = field(name="beyond", default_factory=lambda: 0)
    findings: tuple[FindingRecord, ...]

    def with_label(self, label: str) -> ExplorationRecord:
        """Return a copy with the label of the backend appended to all surface names."""
        findings = (replace(one, surfaces=tuple(name + label for name in one.surfaces)) for one in self.findings)
        return replace(self, findings=tuple(findings))
