"""Find the conditions that separate the failing cases of a group from the passing cases on the same surfaces."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reports.analysis.conditions import how_condition, shortest_conjunction
from reports.analysis.summary import DifferenceGroup, count_text
from reports.results import CaseRecord, Json, Report, ResultRecord, Status

MAX_COMMON_CONDITIONS = 3  # per group
MAX_PASSING_SHARE = 0.5  # conditions that hold for a larger share of the passing results are not listed
MIN_CASES = 2  # smallest number of cases that are split off as a separate cause
MAX_EXCEPTION_SHARE = 0.05  # number of passing cases that may satisfy the conditions, as a share of the failing ones
MAX_VALUE_LENGTH = 40  # characters; conditions on longer parameters are not readable
EQUALS_SIGN = " = "  # in conditions on exact values, which are less general than conditions such as "padding"
SIZE_SUFFIX = " or more"  # in conditions on the size of the input, which is rarely the cause
OUTCOME_VERBS = {
    Status.CRASHED: ("crashes", "crash"),
    Status.TIMED_OUT: ("times out", "time out"),
    Status.FLAKY: ("is flaky", "are flaky"),
    Status.STALE: ("agrees", "agree"),
}


@dataclass(frozen=True)
class CommonCondition:
    """A condition that all cases of a group satisfy, and some of the passing results on the same surfaces."""

    condition: str
    matching_passes: int
    total_passes: int


class CommonConditions:
    """Find the conditions that the cases of a group have in common. Indexes the passing results of a report once."""

    def __init__(self, report: Report) -> None:
        self._cases = report.cases
        self._conditions: dict[tuple[str, str | None], frozenset[str]] = {}
        self._passing: defaultdict[tuple[str, str], list[ResultRecord]] = defaultdict(list)
        for result in report.results:
            if result.status == Status.PASS:
                self._passing[self._cases[result.case].operator, result.surface].append(result)

    def _conditions_of(self, result: ResultRecord) -> frozenset[str]:
        """Return the conditions of a case and of its kind of program (cached)."""
        key = (result.case, result.how)
        if key not in self._conditions:
            self._conditions[key] = case_conditions(self._cases[result.case]) | how_condition(result.how)
        return self._conditions[key]

    def sentence(self, group: DifferenceGroup) -> str:
        """Return a sentence with the fewest conditions that all cases of a group and (almost) no passing case satisfy.

        Returns "" if there are no such conditions.
        """
        passing = self._passing_conditions(group)
        singular, plural = OUTCOME_VERBS.get(group.status, ("differs", "differ"))
        if not passing:
            return f"No case of {group.operator} passes here."
        conditions = shortest_conjunction(
            [self._conditions_of(result) for result in group.results], passing, _condition_rank, _max_exceptions(group)
        )
        if conditions is None:
            return ""
        noun = "case" if len(group.surfaces) == 1 else "result"
        exceptions = sum(some.issuperset(conditions) for some in passing)
        failing, others = _count_text(len(group.results), noun), f"of the {len(passing):,} that pass"
        if exceptions:
            verb = "does" if exceptions == 1 else "do"
            return f"{failing} that {plural} have {_list_text(conditions)}; {exceptions} {others} {verb} too."
        verb = singular if len(group.results) == 1 else plural
        return f"{failing} with {_list_text(conditions)} {verb}; none {others} is such a {noun}."

    def common(self, group: DifferenceGroup) -> list[CommonCondition]:
        """Return conditions that all cases of a group and few passing results share, the rarest first."""
        passing = self._passing_conditions(group)
        counts = Counter(condition for conditions in passing for condition in conditions)
        shared = [CommonCondition(text, counts[text], len(passing)) for text in self._shared_conditions(group)]
        rare = [one for one in shared if one.matching_passes < MAX_PASSING_SHARE * one.total_passes]
        ordered = sorted(rare, key=lambda one: (one.matching_passes, *_condition_rank(one.condition)))
        return ordered[:MAX_COMMON_CONDITIONS]

    def split(self, groups: Iterable[DifferenceGroup]) -> list[DifferenceGroup]:
        """Split groups without a reason by conditions that no passing result satisfies."""
        return [part for group in groups for part in (self._split_group(group) if not group.reason else [group])]

    def _split_group(self, group: DifferenceGroup) -> list[DifferenceGroup]:
        """Repeatedly split off the results with the most frequent condition, while MIN_CASES cases share one."""
        passing, rest, parts = self._passing_conditions(group), group.results, []
        also_passing = frozenset[str]().union(*passing)
        while rest and passing:
            cases_by_condition = defaultdict(set)
            for result in rest:
                for condition in self._conditions_of(result) - also_passing:
                    cases_by_condition[condition].add(result.case)
            best = min(
                cases_by_condition,
                key=lambda condition: (-len(cases_by_condition[condition]), *_condition_rank(condition)),
                default="",
            )
            if len(cases_by_condition[best]) < MIN_CASES:
                break
            parts.append(tuple(result for result in rest if best in self._conditions_of(result)))
            rest = tuple(result for result in rest if best not in self._conditions_of(result))
        return [replace(group, results=results) for results in (*parts, rest) if results]

    def _passing_conditions(self, group: DifferenceGroup) -> list[frozenset[str]]:
        passing = (self._passing.get((group.operator, surface), ()) for surface in group.surfaces)
        return [self._conditions_of(result) for results in passing for result in results]

    def _shared_conditions(self, group: DifferenceGroup) -> frozenset[str]:
        first, *others = map(self._conditions_of, group.results)
        return first.intersection(*others)


def case_conditions(case: CaseRecord) -> frozenset[str]:
    """Return the recorded features of a case, and the exact value of each short parameter."""
    values = ((name, _value_text(value)) for name, value in case.parameters.items())
    return frozenset(case.features).union(
        f"{name}{EQUALS_SIGN}{text}" for name, text in values if len(text) <= MAX_VALUE_LENGTH
    )


def _value_text(value: Json) -> str:
    return {True: "yes", False: "no", None: "none"}.get(value, "") if isinstance(value, bool | None) else str(value)


def _max_exceptions(group: DifferenceGroup) -> int:
    return int(MAX_EXCEPTION_SHARE * len(group.results))


def _condition_rank(condition: str) -> tuple[float | str, ...]:
    """Return the sort key of a condition: kinds before exact values, and the input size, rarely the cause, last."""
    return condition.endswith(SIZE_SUFFIX) * 2 + (EQUALS_SIGN in condition), len(condition), condition


def _count_text(number: int, noun: str) -> str:
    return {1: f"The one {noun}", 2: f"Both {noun}s"}.get(number, f"All {number:,} {noun}s")


def _list_text(conditions: Sequence[str]) -> str:
    *most, last = conditions
    return f"{', '.join(most)} and {last}" if most else last


def common_text(common: Sequence[CommonCondition]) -> str:
    """Return the conditions that cases have in common, with the number of passing results that satisfy each."""
    conditions = (f"{one.condition} ({one.matching_passes})" for one in common)
    passing = count_text(common[0].total_passes, "result")
    return f"{', '.join(conditions)}. In parentheses: how many of the {passing} that pass here share it"
