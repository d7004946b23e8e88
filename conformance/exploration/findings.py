"""Findings: differences that nobody knew of, shrunk, with the condition under which they show, and grouped by it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from conformance.exploration.candidate import Recipe
from conformance.exploration.cross_surface import SURFACES
from conformance.exploration.diagnosis import Suspect, Trace, traced
from conformance.exploration.evaluation import FLAKY, Bench, Seen, Tried
from conformance.exploration.features import conditions, handled
from conformance.exploration.oracles import FEARED, REFERENCE, oracle
from conformance.exploration.space import Space
from reports.analysis.conditions import statement

MOST_ALIKE = 4
"""Findings of one operator on one surface that differ in the same way; what is beyond them is counted only."""
FEW = 3
"""One in so many may agree where conditions say that it differs: what is wrong need not show everywhere."""
MOST_SHRUNK = 6
"""Recipes of one operator on one surface that differ in the same way and are shrunk in one generation."""
KEPT = 1000
"""Recipes of an operator on a surface that agreed with one oracle and are kept, to hold statements against."""
AGREED = frozenset({"pass", "stale"})


@dataclass
class Finding:
    """One cause, as far as can be told.

    way: how it differs; recipe: the smallest that was found; conditions: under which it shows, None where none was
    found that tells; agreed: how many cases agreed in spite of them; surfaces: on which; covers: cases that it
    explains; message: what was said of the smallest; how: it was carried out, as programs say it.
    """

    operator: str
    way: str
    recipe: Recipe
    surfaces: tuple[str, ...]
    conditions: tuple[str, ...] | None
    first: int
    agreed: int = 0
    covers: int = 0
    message: str = ""
    how: str = ""

    @property
    def true(self) -> frozenset[str]:
        """All that may be said of the smallest, and of how it was carried out."""
        return conditions(self.recipe) | handled(self.how)

    @property
    def id(self) -> str:
        """What it is called: the same wherever and whenever the same smallest case is found."""
        said = f"{self.operator} {self.way} {self.recipe.raw['id']}"
        return f"{self.operator}-{hashlib.blake2b(said.encode(), digest_size=4).hexdigest()}"

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        where = ", ".join(self.surfaces)
        if self.conditions is None:
            return f"{self.operator} on {where}: {_told(self.way)}; no plain condition tells when."
        when = (
            f"where there is {' and '.join(self.conditions)}, but for some"
            if self.agreed
            else (f"whenever there is {' and '.join(self.conditions)}")
        )
        return f"{self.operator} on {where}: {_told(self.way)} {when}."

    def explains(self, operator: str, surface: str, way: str, true: frozenset[str]) -> bool:
        """Whether a difference is one of this finding, by the conditions that hold for its recipe."""
        if operator != self.operator or surface not in self.surfaces or way != self.way:
            return False
        return self.conditions is not None and true.issuperset(self.conditions)


WAYS: Mapping[str, str] = {
    "value": "numbers are off by more than rounding allows",
    "special": "NaN or infinity stands where another number belongs, or the other way round",
    "shape": "the output has another shape",
    "dtype": "the output has another dtype",
    "timed_out": "the call does not come back in time",
    FLAKY: "the outcome is not the same every time",
}


APART: Mapping[str, str] = {
    "value": "numbers are further apart than rounding allows",
    "shape": "outputs have other shapes",
    "dtype": "outputs have other dtypes",
}


def _told(way: str) -> str:
    kind, _, said = way.partition(": ")
    if kind == "rejected":
        return f"the call is refused ({said})"
    if kind == "surfaces":
        return f"the surfaces of the backend do not agree ({APART[said]})"
    if kind == "law":
        law, _, ended = said.partition(": ")
        return f"in another call of the law of {law} {_told(ended)}" if ended else f"the law of {law} is broken"
    return f"the process ends ({said})" if kind == "crashed" else WAYS.get(way, way)


@dataclass(frozen=True)
class Waiting:
    """A recipe that differs and is yet to be explained: its number, and what is true of it and of its program."""

    number: int
    recipe: Recipe
    true: frozenset[str]


@dataclass
class Pile:
    """What is known of one operator on one surface: recipes that agreed, by oracle, and those that differ and wait.

    What keeps one law may well break another.
    """

    agreed: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    waiting: dict[str, list[Waiting]] = field(default_factory=dict)

    def agreeing(self, way: str) -> list[frozenset[str]]:
        """Return what is true of those that agreed where a way of differing would have shown.

        An end of the process would have, too, where surfaces were held against each other.
        """
        oracles = (REFERENCE, SURFACES) if way.startswith(FEARED) else (oracle(way),)
        return [true for one in oracles for true in self.agreed.get(one, [])]


class Findings:
    """All findings of an exploration of one backend."""

    def __init__(self, lab: Bench, spaces: Mapping[str, Space]) -> None:
        self.lab = lab
        self.spaces = spaces
        self.found: list[Finding] = []
        self.beyond = 0
        self.passing = 0
        self._piles: dict[tuple[str, str], Pile] = {}

    def add(self, tried: Iterable[Tried], done: int) -> list[Finding]:
        """Take in what came of recipes, `done` of them before; return the findings that are new."""
        for number, one in enumerate(tried, done + 1):
            if one.seen:
                true = conditions(one.recipe)
                ways = {seen.how: true | handled(seen.how) for seen in one.seen}  # many are kept: surfaces share them
                for seen in one.seen:
                    self._note(Waiting(number, one.recipe, ways[seen.how]), seen)
        return self._settle()

    def _note(self, one: Waiting, seen: Seen) -> None:
        pile = self._piles.setdefault((one.recipe.operator, seen.surface), Pile())
        agreed = pile.agreed.setdefault(oracle(seen.kind), [])
        if seen.status in AGREED and len(agreed) < KEPT:
            agreed.append(one.true)
        if seen.new and not self._explained(seen.surface, seen.way, one):
            pile.waiting.setdefault(seen.way, []).append(one)

    def _explained(self, surface: str, way: str, one: Waiting) -> bool:
        for finding in self.found:
            if finding.explains(one.recipe.operator, surface, way, one.true):
                finding.covers += 1
                return True
        return False

    def _settle(self) -> list[Finding]:
        """Make findings of what waits, operators side by side: what is found of one says nothing of another."""
        before = len(self.found)
        waiting = [self._suspects(operator) for operator in sorted({operator for operator, _ in self._piles})]
        while suspects := [one for of_one in waiting if (one := next(of_one, None))]:
            pieces = [(one, self.spaces[one.recipe.operator], self._known(one.way)) for one in suspects]
            for suspect, trace in zip(suspects, self.lab.each(traced, pieces), strict=True):
                self._take_in(suspect, trace)
        self.found[before:] = sorted(self.found[before:], key=lambda one: one.operator)
        return self.found[before:]

    def _suspects(self, operator: str) -> Iterator[Suspect]:
        """Yield what is to be shrunk, the smallest first, until everything is explained or there is too much.

        When one is asked for, the last must have been taken in.
        """
        for (of, surface), pile in sorted(self._piles.items()):
            for way in sorted(pile.waiting) if of == operator else ():
                waiting = sorted(pile.waiting.pop(way), key=lambda one: one.recipe.size)
                left = MOST_SHRUNK
                while waiting := [one for one in waiting if not self._explained(surface, way, one)]:
                    alike = [one for one in self.found if (one.operator, one.way) == (operator, way)]
                    if not left or sum(surface in one.surfaces for one in alike) >= MOST_ALIKE:
                        self.beyond += len(waiting)
                        break
                    left -= 1
                    one = waiting.pop(0)
                    yield Suspect(one.recipe, surface, way, one.number)

    def _known(self, way: str) -> frozenset[str]:
        """Return the ids of cases that findings have shrunk to in a way."""
        return frozenset(one.recipe.case.id for one in self.found if one.way == way)

    def _take_in(self, suspect: Suspect, trace: Trace) -> None:
        """Make a finding of a suspect, or add it to the one that has the same smallest case."""
        surface, way, smallest = suspect.surface, suspect.way, trace.smallest
        same = {seen.surface: seen for seen in trace.there if seen.new and seen.way == way}
        if surface not in same:  # what ran before it may have spoilt the memory
            self.passing += 1
            return
        known = next((one for one in self.found if (one.way, one.recipe.case.id) == (way, smallest.case.id)), None)
        if known:
            known.surfaces = tuple(sorted({*known.surfaces, surface}))
            known.covers += 1
            return
        here = same[surface]
        told, agreed = self._conditions(trace, here)
        finding = Finding(
            smallest.operator, way, smallest, tuple(same), told, suspect.number, agreed, 1, here.message, here.how
        )
        self.found.append(finding)

    def _conditions(self, trace: Trace, here: Seen) -> tuple[tuple[str, ...] | None, int]:
        """Return the fewest conditions that hold where it differs, around the smallest, and hardly where it agrees.

        With them, how many cases agree in spite of them: few of those that differ, or there are no conditions.
        """
        smallest = trace.smallest
        tried = [(one.recipe, one.on(here.surface)) for one in trace.near]
        told = [(conditions(recipe) | handled(seen.how), seen) for recipe, seen in tried if seen]
        differ = [true for true, seen in told if seen.new and seen.way == here.way]
        pile = self._piles[smallest.operator, here.surface]
        others = [true for true, seen in told if seen.status in AGREED] + pile.agreeing(here.way)
        covered = [conditions(smallest) | handled(here.how), *differ]
        when = statement(covered, others, _rank, exceptions=len(covered) // FEW) or statement(
            covered[:1], others, _rank
        )
        return when, sum(one.issuperset(when) for one in others) if when else 0


def _rank(condition: str) -> tuple[float | str, ...]:
    """Rank what says most of a cause before sizes, and these before the number of axes and the dtype."""
    return any(letter.isdigit() for letter in condition), condition.startswith("dtype"), len(condition), condition
