"""Why something may be otherwise than the night before: what differs between the two runs of a backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.analysis.circumstances import Fact, facts
from reports.results.reader import Backend

FLAKY, VERSIONS, SUITE, DRAWN, FIRST = "flaky", "versions", "suite", "drawn", "first"
KINDS = (VERSIONS, SUITE, DRAWN, FIRST, FLAKY)
WORDS = {
    VERSIONS: "version bump",
    SUITE: "suite or machine",
    DRAWN: "newly drawn",
    FIRST: "no earlier night",
    FLAKY: "flaky",
}
DIGITS = 8
"""Of a digest, as many as tell two apart."""
OWN = ("catalogue", "surfaces", "level", "repeat")
"""Circumstances in which explorations differ because their findings do."""


@dataclass(frozen=True)
class Blame:
    """What kind of reason there is, of KINDS; facts: what differs between the nights, the kind's own first."""

    kind: str
    facts: tuple[Fact, ...] = ()

    @property
    def word(self) -> str:
        """The kind in a word or two."""
        return WORDS[self.kind]

    @property
    def sentence(self) -> str:
        """What is known of the reason."""
        told = "; ".join(f"{one.what}: {one.before} → {one.after}" for one in self.facts)
        if self.kind == VERSIONS:
            return f"The versions differ from those of the night before: {told}."
        if self.kind == SUITE:
            return f"The versions are those of the night before, but not the suite or the machine: {told}."
        if self.kind == DRAWN:
            return f"Versions, suite and machine are those of the night before; other cases were drawn: {told}."
        if self.kind == FIRST:
            return "There is no earlier night of this backend to compare with."
        return "It is not the same every time" + (f"; besides, {told}." if told else ", though nothing differs.")


def blame(before: Backend | None, after: Backend, *, flickers: bool = False, further: Sequence[Fact] = ()) -> Blame:
    """Say why a result or a finding may be otherwise; further: what differs for it besides, a fact of the suite's."""
    if before is None:
        return Blame(FLAKY if flickers else FIRST)
    bumped, others = told_apart(before, after)
    others = [*further, *others]
    if flickers:
        return Blame(FLAKY, (*bumped, *others))
    if bumped:
        return Blame(VERSIONS, (*bumped, *others, *_drawn(before, after)))
    if others:
        return Blame(SUITE, (*others, *_drawn(before, after)))
    drawn = _drawn(before, after)
    return Blame(DRAWN, tuple(drawn)) if drawn else Blame(FLAKY)


def told_apart(before: Backend, after: Backend) -> tuple[list[Fact], list[Fact]]:
    """Return what differs: versions of the framework and of what it needs, and what is the suite's or the machine's."""
    packages = {*before.header.environment.packages, *after.header.environment.packages, "Python"}
    found = facts(before, after)
    old, new = before.header.explored, after.header.explored
    if old or new:
        found = [one for one in found if one.what not in OWN and not one.what.startswith("selected ")]
    if old and new and old.code != new.code:
        found.append(Fact("the suite's code", old.code[:DIGITS] or "unknown", new.code[:DIGITS] or "unknown"))
    return [one for one in found if one.what in packages], [one for one in found if one.what not in packages]


def _drawn(before: Backend, after: Backend) -> list[Fact]:
    """Return in what two explorations have drawn otherwise."""
    old, new = before.header.explored, after.header.explored
    if not old or not new:
        return []
    pairs = (("seed", old.seed, new.seed), ("cases tried", old.cases, new.cases))
    return [Fact(what, str(was), str(now)) for what, was, now in pairs if was != now]
