"""What the cases of a group of differences have in common, and those that pass on the same surfaces have not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reports.analysis.conditions import statement
from reports.analysis.features import EXACT, SIZES, traits
from reports.analysis.summary import Group, plural
from reports.results.reader import Report
from reports.results.records import Result

MOST_TRAITS = 3  # named for one group
TELLING = 0.5  # a trait tells something if fewer of the results that pass have it
FEWEST_CASES = 2  # that make a cause of their own
MOST_EXCEPTIONS = 0.05  # of those that differ: as many may pass though they fulfil the conditions
HOW = {
    None: frozenset[str](),
    "native": frozenset({"a native call"}),
    "padded": frozenset({"padding written out before the call"}),
    "composed": frozenset({"a composition of operators"}),
}
VERBS = {
    "crashed": ("crashes", "crash"),
    "timed_out": ("times out", "time out"),
    "flaky": ("flickers", "flicker"),
    "stale": ("agrees", "agree"),
}


@dataclass(frozen=True)
class Trait:
    """What all cases of a group have; among so many results that pass there, so many have it too."""

    words: str
    shared: int
    passing: int


class Causes:
    """Tells what the cases of a group have in common; reads the results of a report once."""

    def __init__(self, report: Report) -> None:
        self._cases = report.cases
        self._found: dict[tuple[str, str | None], frozenset[str]] = {}
        self._passing: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
        for result in report.results:
            if result.status == "pass":
                self._passing[self._cases[result.case].operator, result.surface].append(result)

    def _of(self, result: Result) -> frozenset[str]:
        """Return what holds for a case and how it is written, worked out where it is first asked for."""
        key = (result.case, result.how)
        if key not in self._found:
            self._found[key] = frozenset(traits(self._cases[result.case])) | HOW[result.how]
        return self._found[key]

    def sentence(self, group: Group) -> str:
        """Say which cases differ: the fewest plain conditions that they fulfil and that (nearly) none does that passes.

        An empty text where there are no such conditions.
        """
        passing = self._sound(group)
        one, many = VERBS.get(group.status, ("differs", "differ"))
        if not passing:
            return f"No case of {group.operator} passes here."
        found = statement([self._of(result) for result in group.results], passing, _rank, _spared(group))
        if found is None:
            return ""
        noun = "case" if len(group.surfaces) == 1 else "result"
        exceptions = sum(some.issuperset(found) for some in passing)
        these, those = _all(len(group.results), noun), f"of the {len(passing):,} that pass"
        if exceptions:
            return f"{these} that {many} have {_listed(found)}; so have {exceptions} {those}."
        verb = one if len(group.results) == 1 else many
        return f"{these} with {_listed(found)} {verb}; none {those} is such a {noun}."

    def common(self, group: Group) -> list[Trait]:
        """Return what all cases of a group have and few that pass on its surfaces, the most telling first."""
        sound = self._sound(group)
        counted = Counter(words for one in sound for words in one)
        found = [Trait(words, counted[words], len(sound)) for words in self._shared(group)]
        telling = [trait for trait in found if trait.shared < TELLING * trait.passing]
        return sorted(telling, key=lambda trait: (trait.shared, *_rank(trait.words)))[:MOST_TRAITS]

    def split(self, groups: Iterable[Group]) -> list[Group]:
        """Part groups that nobody has explained by what no result that passes has."""
        return [part for group in groups for part in (self._parts(group) if not group.reason else [group])]

    def _parts(self, group: Group) -> list[Group]:
        """Take off what most cases have in common, again and again, until no two cases have anything that tells."""
        sound, rest, parts = self._sound(group), group.results, []
        known = frozenset[str]().union(*sound)
        while rest and sound:
            having = defaultdict(set)
            for result in rest:
                for words in self._of(result) - known:
                    having[words].add(result.case)
            words = min(having, key=lambda words: (-len(having[words]), *_rank(words)), default="")
            if len(having[words]) < FEWEST_CASES:
                break
            parts.append(tuple(result for result in rest if words in self._of(result)))
            rest = tuple(result for result in rest if words not in self._of(result))
        return [replace(group, results=results) for results in (*parts, rest) if results]

    def _sound(self, group: Group) -> list[frozenset[str]]:
        passing = (self._passing.get((group.operator, surface), ()) for surface in group.surfaces)
        return [self._of(result) for results in passing for result in results]

    def _shared(self, group: Group) -> frozenset[str]:
        first, *others = map(self._of, group.results)
        return first.intersection(*others)


def _spared(group: Group) -> int:
    return int(MOST_EXCEPTIONS * len(group.results))


def _rank(words: str) -> tuple[float | str, ...]:
    """Rank a kind before a value, and how large the input is, which is hardly ever why, last."""
    return (words in SIZES) * 2 + (EXACT in words), len(words), words


def _all(number: int, noun: str) -> str:
    return {1: f"The one {noun}", 2: f"Both {noun}s"}.get(number, f"All {number:,} {noun}s")


def _listed(conditions: Sequence[str]) -> str:
    *most, last = conditions
    return f"{', '.join(most)} and {last}" if most else last


def said(common: Sequence[Trait]) -> str:
    """Say what cases have in common, and how many of the results that pass on the same surfaces have it too."""
    traits = (f"{trait.words} ({trait.shared or 'none'} of them)" for trait in common)
    return f"beside {plural(common[0].passing, 'result')} that pass here: {', '.join(traits)}"
