"""What an exploration found, as the header of its results file has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reports.results.fields import Fields

UNREFERRED = ("law: ", "surfaces: ")
"""How the ways of findings begin that the reference has not shown: a broken law, surfaces that part."""


@dataclass(frozen=True)
class Finding:
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
    way: str
    sentence: str
    conditions: tuple[str, ...] | None
    true: frozenset[str]
    first: int
    covers: int
    said: str
    case_text: str
    script: str

    @classmethod
    def parse(cls, fields: Fields) -> Finding:
        """Parse a finding of the header's `explored`."""
        texts = {key: fields.get(key, str) for key in ("id", "case", "operator", "way", "sentence")}
        later = {key: fields.optional(key, str) or "" for key in ("said", "case_text", "script")}
        return cls(
            **texts,
            **later,
            surfaces=fields.texts("surfaces"),
            conditions=None if fields.values.get("conditions") is None else fields.texts("conditions"),
            true=frozenset(fields.texts("true") if "true" in fields.values else ()),
            first=fields.get("first", int),
            covers=fields.get("covers", int),
        )

    @property
    def unreferred(self) -> bool:
        """Whether by the reference alone nothing may be wrong: a law is broken, or surfaces part."""
        return self.way.startswith(UNREFERRED)


@dataclass(frozen=True)
class Explored:
    """An exploration of one backend: its seed, cases that were tried, results by status, findings.

    beyond: further differences, not looked into as enough of the same way were; code: a digest of the suite's own, ""
    in older files.
    """

    seed: int
    cases: int
    statuses: Mapping[str, int]
    beyond: int
    findings: tuple[Finding, ...]
    code: str = ""

    @classmethod
    def parse(cls, fields: Fields) -> Explored:
        """Parse the header's `explored`."""
        statuses = fields.fields("statuses")
        return cls(
            seed=fields.get("seed", int),
            cases=fields.get("cases", int),
            statuses={status: statuses.get(status, int) for status in statuses.values},
            beyond=fields.optional("beyond", int) or 0,
            findings=tuple(Finding.parse(one) for one in fields.objects("findings")),
            code=fields.optional("code", str) or "",
        )

    def labelled(self, label: str) -> Explored:
        """Return the same with the label of the backend on every surface."""
        findings = (replace(one, surfaces=tuple(name + label for name in one.surfaces)) for one in self.findings)
        return replace(self, findings=tuple(findings))
