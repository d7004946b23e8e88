"""Why something may be otherwise than the night before: what differs between the two runs of a backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.analysis.circumstances import DifferingFact, differing_facts
from reports.results.reader import BackendRun

FLAKY_CAUSE, VERSIONS_CAUSE, SUITE_CAUSE, DRAWN_CAUSE, FIRST_RUN_CAUSE = "flaky", "versions", "suite", "drawn", "first"
CAUSE_KINDS = (VERSIONS_CAUSE, SUITE_CAUSE, DRAWN_CAUSE, FIRST_RUN_CAUSE, FLAKY_CAUSE)
CAUSE_TEXTS = {
    VERSIONS_CAUSE: "version bump",
    SUITE_CAUSE: "suite or machine",
    DRAWN_CAUSE: "newly drawn",
    FIRST_RUN_CAUSE: "no earlier night",
    FLAKY_CAUSE: "flaky",
}
SHOWN_DIGEST_DIGITS = 8
"""Of a digest, as many as tell two apart."""
RESULT_DEPENDENT_FIELDS = ("catalogue", "surfaces", "level", "repeat")
"""Circumstances in which explorations differ because their findings do."""


@dataclass(frozen=True)
class LikelyCause:
    """What kind of reason there is, of KINDS; facts: what differs between the nights, the kind's own first."""

    kind: str
    facts: tuple[DifferingFact, ...] = ()

    @property
    def label(self) -> str:
        """The kind in a word or two."""
        return CAUSE_TEXTS[self.kind]

    @property
    def sentence(self) -> str:
        """What is known of the reason."""
        told = "; ".join(f"{one.name}: {one.before} → {one.after}" for one in self.facts)
        if self.kind == VERSIONS_CAUSE:
            return f"The versions differ from those of the night before: {told}."
        if self.kind == SUITE_CAUSE:
            return f"The versions are those of the night before, but not the suite or the machine: {told}."
        if self.kind == DRAWN_CAUSE:
            return f"Versions, suite and machine are those of the night before; other cases were drawn: {told}."
        if self.kind == FIRST_RUN_CAUSE:
            return "There is no earlier night of this backend to compare with."
        return "It is not the same every time" + (f"; besides, {told}." if told else ", though nothing differs.")


def likely_cause(
    before: BackendRun | None, after: BackendRun, *, flickers: bool = False, further: Sequence[DifferingFact] = ()
) -> LikelyCause:
    """Say why a result or a finding may be otherwise; further: what differs for it besides, a fact of the suite's."""
    if before is None:
        return LikelyCause(FLAKY_CAUSE if flickers else FIRST_RUN_CAUSE)
    bumped, others = differing_circumstances(before, after)
    others = [*further, *others]
    if flickers:
        return LikelyCause(FLAKY_CAUSE, (*bumped, *others))
    if bumped:
        return LikelyCause(VERSIONS_CAUSE, (*bumped, *others, *_differing_draws(before, after)))
    if others:
        return LikelyCause(SUITE_CAUSE, (*others, *_differing_draws(before, after)))
    drawn = _differing_draws(before, after)
    return LikelyCause(DRAWN_CAUSE, tuple(drawn)) if drawn else LikelyCause(FLAKY_CAUSE)


def differing_circumstances(before: BackendRun, after: BackendRun) -> tuple[list[DifferingFact], list[DifferingFact]]:
    """Return what differs: versions of the framework and of what it needs, and what is the suite's or the machine's."""
    packages = {*before.header.environment.packages, *after.header.environment.packages, "Python"}
    found = differing_facts(before, after)
    old, new = before.header.explored, after.header.explored
    if old or new:
        found = [
            one for one in found if one.name not in RESULT_DEPENDENT_FIELDS and not one.name.startswith("selected ")
        ]
    if old and new and old.code != new.code:
        found.append(
            DifferingFact(
                "the suite's code",
                old.code[:SHOWN_DIGEST_DIGITS] or "unknown",
                new.code[:SHOWN_DIGEST_DIGITS] or "unknown",
            )
        )
    return [one for one in found if one.name in packages], [one for one in found if one.name not in packages]


def _differing_draws(before: BackendRun, after: BackendRun) -> list[DifferingFact]:
    """Return in what two explorations have drawn otherwise."""
    old, new = before.header.explored, after.header.explored
    if not old or not new:
        return []
    pairs = (("seed", old.seed, new.seed), ("cases tried", old.cases, new.cases))
    return [DifferingFact(what, str(was), str(now)) for what, was, now in pairs if was != now]
