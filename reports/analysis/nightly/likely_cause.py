"""Derive a likely cause of a change between two nights from the differences between the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.analysis.circumstances import DifferingFact, differing_facts
from reports.results import BackendRun

FLAKY_CAUSE, VERSIONS_CAUSE, SUITE_CAUSE, DRAWN_CAUSE, FIRST_RUN_CAUSE = "flaky", "versions", "suite", "drawn", "first"
CAUSE_KINDS = (VERSIONS_CAUSE, SUITE_CAUSE, DRAWN_CAUSE, FIRST_RUN_CAUSE, FLAKY_CAUSE)
CAUSE_TEXTS = {
    VERSIONS_CAUSE: "version bump",
    SUITE_CAUSE: "suite or machine",
    DRAWN_CAUSE: "newly generated",
    FIRST_RUN_CAUSE: "no earlier night",
    FLAKY_CAUSE: "flaky",
}
SHOWN_DIGEST_DIGITS = 8  # hexadecimal digits
RESULT_DEPENDENT_FIELDS = ("catalogue", "surfaces", "level", "repeat")
"""Circumstances that depend on the findings of an exploration, and are therefore no causes of them."""


@dataclass(frozen=True)
class LikelyCause:
    """A likely cause. kind: one of CAUSE_KINDS; facts: what differs between the nights, the relevant facts first."""

    kind: str
    facts: tuple[DifferingFact, ...] = ()

    @property
    def label(self) -> str:
        """Short text of the kind."""
        return CAUSE_TEXTS[self.kind]

    @property
    def sentence(self) -> str:
        """The cause as a sentence, with all differences between the nights."""
        facts = "; ".join(f"{one.name}: {one.before} → {one.after}" for one in self.facts)
        if self.kind == VERSIONS_CAUSE:
            return f"The versions differ from those of the previous night: {facts}."
        if self.kind == SUITE_CAUSE:
            return f"The versions are those of the previous night, but the suite or the machine differs: {facts}."
        if self.kind == DRAWN_CAUSE:
            return f"Versions, suite and machine are those of the previous night. Other cases were generated: {facts}."
        if self.kind == FIRST_RUN_CAUSE:
            return "There is no earlier night of this backend to compare with."
        return "The result is not always the same" + (
            f". These also differ: {facts}." if facts else ", but nothing differs."
        )


def likely_cause(
    before: BackendRun | None, after: BackendRun, *, is_flaky: bool = False, further: Sequence[DifferingFact] = ()
) -> LikelyCause:
    """Return the likely cause of a changed result or finding. further: additional facts about the suite."""
    if before is None:
        return LikelyCause(FLAKY_CAUSE if is_flaky else FIRST_RUN_CAUSE)
    versions, others = differing_circumstances(before, after)
    others = [*further, *others]
    if is_flaky:
        return LikelyCause(FLAKY_CAUSE, (*versions, *others))
    generated = _differing_generation(before, after)
    if versions:
        return LikelyCause(VERSIONS_CAUSE, (*versions, *others, *generated))
    if others:
        return LikelyCause(SUITE_CAUSE, (*others, *generated))
    return LikelyCause(DRAWN_CAUSE, tuple(generated)) if generated else LikelyCause(FLAKY_CAUSE)


def differing_circumstances(before: BackendRun, after: BackendRun) -> tuple[list[DifferingFact], list[DifferingFact]]:
    """Return the differing versions of the framework, its packages and Python, and the other differing facts."""
    packages = {*before.header.environment.packages, *after.header.environment.packages, "Python"}
    facts = differing_facts(before, after)
    old, new = before.header.explored, after.header.explored
    if old or new:
        facts = [
            one for one in facts if one.name not in RESULT_DEPENDENT_FIELDS and not one.name.startswith("selected ")
        ]
    if old and new and old.code != new.code:
        facts.append(
            DifferingFact(
                "source of the suite",
                old.code[:SHOWN_DIGEST_DIGITS] or "unknown",
                new.code[:SHOWN_DIGEST_DIGITS] or "unknown",
            )
        )
    return [one for one in facts if one.name in packages], [one for one in facts if one.name not in packages]


def _differing_generation(before: BackendRun, after: BackendRun) -> list[DifferingFact]:
    """Return the differences in seed and number of cases of two explorations."""
    old, new = before.header.explored, after.header.explored
    if not old or not new:
        return []
    values = (("seed", old.seed, new.seed), ("cases tried", old.cases, new.cases))
    return [DifferingFact(name, str(was), str(now)) for name, was, now in values if was != now]
