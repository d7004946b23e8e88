"""Find the conditions that separate the failing cases of a group from the passing cases on the same surfaces."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from reports.analysis.conditions import how_condition, shortest_conjunction
from reports.analysis.differences import DifferenceGroup
from reports.analysis.summary import count_text, list_text
from reports.results import CaseRecord, Json, Report, ResultRecord
from reports.results.vocabulary import AGREEING_STATUSES

MAX_COMMON_CONDITIONS = 3  # per group
MAX_PASSING_SHARE = 0.5  # conditions that hold for a larger share of the passing results are not listed
MIN_CASES = 3  # smallest number of failing cases that are evidence of a cause
MAX_EXCEPTION_SHARE = 0.05  # number of passing cases that may satisfy the conditions, as a share of the failing ones
MAX_VALUE_LENGTH = 40  # characters; conditions on longer parameters are not readable
MIN_PLURAL = 2
EQUALS_SIGN = " = "  # in conditions on exact values, which are less general than conditions such as "padding"
EXACT_EXTENTS = " = ["  # in conditions on an exact list of numbers
SIZE_SUFFIX = " or more"  # in conditions on the size of the input, which is rarely the cause


@dataclass(frozen=True)
class SeparatingConditions:
    """The fewest conditions that all failing results of a group satisfy, and (almost) no passing one.

    conditions: phrases that follow "with"; () if no case of the operator passes on these surfaces. failing, passing:
    numbers of results. exceptions: passing results that satisfy the conditions. noun: "case" if the group has one
    surface, otherwise "result". is_thin: whether there are too few failing cases to name a cause.
    """

    conditions: tuple[str, ...]
    failing: int
    passing: int
    exceptions: int
    noun: str
    is_thin: bool

    @property
    def clause(self) -> str:
        """The conditions as a clause: "with NaN in x and dilation"."""
        return f"with {list_text(self.conditions)}" if self.conditions else ""

    @property
    def sentence(self) -> str:
        """The evidence as a sentence."""
        if not self.conditions:
            return "No case of the operator passes here."
        count = f"{count_text(self.failing, f'failing {self.noun}')}"
        if self.is_thin:
            return f"Seen only {self.clause} ({count}, {count_text(self.passing, f'passing {self.noun}')})."
        others = f"{self.exceptions:,}" if self.exceptions else "none"
        verb = "does" if self.exceptions < MIN_PLURAL else "do"
        return f"All {count} have {list_text(self.conditions)}; {others} of the {self.passing:,} passing ones {verb}."


@dataclass(frozen=True)
class CommonCondition:
    """A condition that all cases of a group satisfy, and some of the passing results on the same surfaces."""

    condition: str
    matching_passes: int
    total_passes: int


class CommonConditions:
    """Find the conditions that the cases of a group have in common. Indexes the passing results of a report once.

    A surface passes a case of a convention with any declared answer, which may differ from the reference. Such results
    are therefore compared with other cases of conventions only.
    """

    def __init__(self, report: Report) -> None:
        self._cases = report.cases
        self._conditions: dict[tuple[str, str | None], frozenset[str]] = {}
        self._passing: defaultdict[tuple[str, str, bool], list[ResultRecord]] = defaultdict(list)
        for result in report.results:
            if result.status in AGREEING_STATUSES:
                case = self._cases[result.case]
                self._passing[case.operator, result.surface, case.question is not None].append(result)

    def _conditions_of(self, result: ResultRecord) -> frozenset[str]:
        """Return the conditions of a case and of its kind of program (cached)."""
        key = (result.case, result.how)
        if key not in self._conditions:
            self._conditions[key] = case_conditions(self._cases[result.case]) | how_condition(result.how)
        return self._conditions[key]

    def separating(self, group: DifferenceGroup) -> SeparatingConditions | None:
        """Return the conditions that separate a group from the passing results; None if there are none."""
        passing, is_thin = self._passing_conditions(group), len(group.cases) < MIN_CASES
        conditions: tuple[str, ...] | None = ()
        if passing:
            failing = [self._conditions_of(result) for result in group.results]
            if is_thin:  # the exact extents of one or two cases separate them from all others, but explain nothing
                failing = [frozenset(one for one in some if EXACT_EXTENTS not in one) for some in failing]
            conditions = shortest_conjunction(failing, passing, _condition_rank, _max_exceptions(group))
        if conditions is None:
            return None
        return SeparatingConditions(
            conditions,
            failing=len(group.results),
            passing=len(passing),
            exceptions=sum(some.issuperset(conditions) for some in passing),
            noun="case" if len(group.surfaces) == 1 else "result",
            is_thin=is_thin,
        )

    def sentence(self, group: DifferenceGroup) -> str:
        """Return the evidence for the cause of a group as a sentence; "" if no conditions separate it."""
        separating = self.separating(group)
        return separating.sentence if separating else ""

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
        kinds = (False, True) if any(self._cases[one].question for one in group.cases) else (False,)
        keys = product(group.operators, group.surfaces, kinds)
        passing = (self._passing.get(key, ()) for key in keys)
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


def common_text(common: Sequence[CommonCondition]) -> str:
    """Return the conditions that cases have in common, with the number of passing results that satisfy each."""
    conditions = (f"{one.condition} ({one.matching_passes})" for one in common)
    passing = count_text(common[0].total_passes, "result")
    return f"{', '.join(conditions)}. In parentheses: how many of the {passing} that pass here share it"
