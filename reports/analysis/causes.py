"""What the cases of a group of differences have in common, and those that pass on the same surfaces have not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reports.analysis.conditions import shortest_conjunction
from reports.analysis.features import EQUALS_SIGN, SIZE_CONDITIONS, case_conditions
from reports.analysis.summary import DifferenceGroup, count_text
from reports.results.reader import Report
from reports.results.records import ResultRecord

MAX_COMMON_CONDITIONS = 3  # named for one group
MAX_PASSING_SHARE = 0.5  # a trait tells something if fewer of the results that pass have it
MIN_CASES = 2  # that make a cause of their own
MAX_EXCEPTION_SHARE = 0.05  # of those that differ: as many may pass though they fulfil the conditions
HOW_CONDITIONS = {
    None: frozenset[str](),
    "native": frozenset({"a native call"}),
    "padded": frozenset({"padding written out before the call"}),
    "composed": frozenset({"a composition of operators"}),
}
OUTCOME_VERBS = {
    "crashed": ("crashes", "crash"),
    "timed_out": ("times out", "time out"),
    "flaky": ("flickers", "flicker"),
    "stale": ("agrees", "agree"),
}


@dataclass(frozen=True)
class CommonCondition:
    """What all cases of a group have; among so many results that pass there, so many have it too."""

    condition: str
    matching_passes: int
    total_passes: int


class CommonConditions:
    """Tells what the cases of a group have in common; reads the results of a report once."""

    def __init__(self, report: Report) -> None:
        self._cases = report.cases
        self._conditions: dict[tuple[str, str | None], frozenset[str]] = {}
        self._passing: defaultdict[tuple[str, str], list[ResultRecord]] = defaultdict(list)
        for result in report.results:
            if result.status == "pass":
                self._passing[self._cases[result.case].operator, result.surface].append(result)

    def _conditions_of(self, result: ResultRecord) -> frozenset[str]:
        """Return what holds for a case and how it is written, worked out where it is first asked for."""
        key = (result.case, result.how)
        if key not in self._conditions:
            self._conditions[key] = frozenset(case_conditions(self._cases[result.case])) | HOW_CONDITIONS[result.how]
        return self._conditions[key]

    def sentence(self, group: DifferenceGroup) -> str:
        """Say which cases differ: the fewest plain conditions that they fulfil and that (nearly) none does that passes.

        An empty text where there are no such conditions.
        """
        passing = self._passing_conditions(group)
        one, many = OUTCOME_VERBS.get(group.status, ("differs", "differ"))
        if not passing:
            return f"No case of {group.operator} passes here."
        found = shortest_conjunction(
            [self._conditions_of(result) for result in group.results], passing, _condition_rank, _max_exceptions(group)
        )
        if found is None:
            return ""
        noun = "case" if len(group.surfaces) == 1 else "result"
        exceptions = sum(some.issuperset(found) for some in passing)
        these, those = _count_text(len(group.results), noun), f"of the {len(passing):,} that pass"
        if exceptions:
            return f"{these} that {many} have {_list_text(found)}; so have {exceptions} {those}."
        verb = one if len(group.results) == 1 else many
        return f"{these} with {_list_text(found)} {verb}; none {those} is such a {noun}."

    def common(self, group: DifferenceGroup) -> list[CommonCondition]:
        """Return what all cases of a group have and few that pass on its surfaces, the most telling first."""
        sound = self._passing_conditions(group)
        counted = Counter(words for one in sound for words in one)
        found = [CommonCondition(words, counted[words], len(sound)) for words in self._shared_conditions(group)]
        telling = [trait for trait in found if trait.matching_passes < MAX_PASSING_SHARE * trait.total_passes]
        return sorted(telling, key=lambda trait: (trait.matching_passes, *_condition_rank(trait.condition)))[
            :MAX_COMMON_CONDITIONS
        ]

    def split(self, groups: Iterable[DifferenceGroup]) -> list[DifferenceGroup]:
        """Part groups that nobody has explained by what no result that passes has."""
        return [part for group in groups for part in (self._split_group(group) if not group.reason else [group])]

    def _split_group(self, group: DifferenceGroup) -> list[DifferenceGroup]:
        """Take off what most cases have in common, again and again, until no two cases have anything that tells."""
        sound, rest, parts = self._passing_conditions(group), group.results, []
        known = frozenset[str]().union(*sound)
        while rest and sound:
            having = defaultdict(set)
            for result in rest:
                for words in self._conditions_of(result) - known:
                    having[words].add(result.case)
            words = min(having, key=lambda words: (-len(having[words]), *_condition_rank(words)), default="")
            if len(having[words]) < MIN_CASES:
                break
            parts.append(tuple(result for result in rest if words in self._conditions_of(result)))
            rest = tuple(result for result in rest if words not in self._conditions_of(result))
        return [replace(group, results=results) for results in (*parts, rest) if results]

    def _passing_conditions(self, group: DifferenceGroup) -> list[frozenset[str]]:
        passing = (self._passing.get((group.operator, surface), ()) for surface in group.surfaces)
        return [self._conditions_of(result) for results in passing for result in results]

    def _shared_conditions(self, group: DifferenceGroup) -> frozenset[str]:
        first, *others = map(self._conditions_of, group.results)
        return first.intersection(*others)


def _max_exceptions(group: DifferenceGroup) -> int:
    return int(MAX_EXCEPTION_SHARE * len(group.results))


def _condition_rank(words: str) -> tuple[float | str, ...]:
    """Rank a kind before a value, and how large the input is, which is hardly ever why, last."""
    return (words in SIZE_CONDITIONS) * 2 + (EQUALS_SIGN in words), len(words), words


def _count_text(number: int, noun: str) -> str:
    return {1: f"The one {noun}", 2: f"Both {noun}s"}.get(number, f"All {number:,} {noun}s")


def _list_text(conditions: Sequence[str]) -> str:
    *most, last = conditions
    return f"{', '.join(most)} and {last}" if most else last


def common_text(common: Sequence[CommonCondition]) -> str:
    """Say what cases have in common, and how many of the results that pass on the same surfaces have it too."""
    traits = (f"{trait.condition} ({trait.matching_passes or 'none'} of them)" for trait in common)
    return f"beside {count_text(common[0].total_passes, 'result')} that pass here: {', '.join(traits)}"
