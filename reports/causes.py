"""What the cases of a group of differences have in common, and those that pass on the same surfaces have not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reports.arrays import Array
from reports.fields import Json
from reports.reading import Report
from reports.records import Case
from reports.summary import Group, plural

MOST_TRAITS = 3  # named for one group
TELLING = 0.5  # a trait tells something if fewer of the results that pass have it
FEWEST_CASES = 2  # that make a cause of their own
IMAGE_AXES = 2  # (n, c) stand before the spatial axes
LONGEST_VALUE = 40  # characters; longer parameters tell nobody anything


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
        self._report = report

    @cached_property
    def _traits(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(traits(case)) for name, case in self._cases.items()}

    @cached_property
    def _passing(self) -> Mapping[tuple[str, str], Counter[str]]:
        """Count the results that pass by operator and surface, for each trait; under an empty name all of them."""
        counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for result in self._report.results:
            if result.status == "pass":
                counts[self._cases[result.case].operator, result.surface].update({"", *self._traits[result.case]})
        return counts

    def common(self, group: Group) -> list[Trait]:
        """Return what all cases of a group have and few that pass on its surfaces, the most telling first."""
        sound = self._sound(group)
        found = [Trait(words, sound[words], sound[""]) for words in self._shared(group)]
        telling = [trait for trait in found if trait.shared < TELLING * trait.passing]
        return sorted(telling, key=lambda trait: (trait.shared, trait.words))[:MOST_TRAITS]

    def split(self, groups: Iterable[Group]) -> list[Group]:
        """Part groups that nobody has explained by what no result that passes has."""
        return [part for group in groups for part in (self._parts(group) if not group.reason else [group])]

    def _parts(self, group: Group) -> list[Group]:
        """Take off what most cases have in common, again and again, until no two cases have anything that tells."""
        sound, rest, parts = self._sound(group), group.results, []
        while rest:
            cases = dict.fromkeys(result.case for result in rest)
            found = Counter(words for case in cases for words in self._traits[case] if not sound[words])
            words, most = max(found.items(), key=lambda item: (item[1], item[0]), default=("", 0))
            if most < FEWEST_CASES or not sound[""]:
                break
            parts.append(tuple(result for result in rest if words in self._traits[result.case]))
            rest = tuple(result for result in rest if words not in self._traits[result.case])
        return [replace(group, results=results) for results in (*parts, rest) if results]

    def _sound(self, group: Group) -> Counter[str]:
        return sum((self._passing.get((group.operator, one), Counter()) for one in group.surfaces), Counter[str]())

    def _shared(self, group: Group) -> frozenset[str]:
        first, *others = (self._traits[case] for case in group.cases)
        return first.intersection(*others)


def said(common: Sequence[Trait]) -> str:
    """Say what cases have in common, and how many of the results that pass on the same surfaces have it too."""
    traits = (f"{trait.words} ({trait.shared or 'none'} of them)" for trait in common)
    return f"beside {plural(common[0].passing, 'result')} that pass here: {', '.join(traits)}"


def traits(case: Case) -> Iterable[str]:
    """Yield what may be the cause of a difference, in words: dtypes, axes, special values, each parameter."""
    for name, array in case.inputs.items():
        yield f"{name} is {array.dtype}"
        yield from _values(name, array)
    if "x" in case.inputs:
        yield f"{max(len(case.inputs['x'].shape) - IMAGE_AXES, 0)}-D"
    if case.via:
        yield f"written as {' → '.join(case.via)}"
    for name, value in case.parameters.items():
        if len(str(value)) <= LONGEST_VALUE:
            yield f"{name} = {_written(value)}"
        yield from (words.format(name) for words, holds in KINDS.items() if holds(_numbers(value)))


def _values(name: str, array: Array) -> Iterable[str]:
    special = {value for value in array.data or () if isinstance(value, str)}
    yield from (f"{words} in {name}" for words, held in SPECIALS.items() if special & held)
    if array.data and all(not isinstance(value, str) and value < 0 for value in array.data):
        yield f"nothing but negative values in {name}"


def _numbers(value: Json) -> list[float]:
    """Return the numbers in a parameter, one after the other; none where it is something else."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return []
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, int | float) else []


def _written(value: Json) -> str:
    return {True: "yes", False: "no", None: "none"}.get(value, "") if isinstance(value, bool | None) else str(value)


SPECIALS = {"NaN": {"nan"}, "an infinity": {"inf", "-inf"}}
KINDS: dict[str, Callable[[list[float]], bool]] = {
    "{} above 1": lambda numbers: max(numbers, default=0) > 1,
    "{} below 0": lambda numbers: min(numbers, default=0) < 0,
    "{} not the same on all sides": lambda numbers: len(set(numbers)) > 1,
    "{} other than 0": any,
}
