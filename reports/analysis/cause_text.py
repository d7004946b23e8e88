"""Sentences and facts about a cause: culprit, operator, size and conditions of the error, and the remedy."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reports.analysis.causes import CommonCondition, CommonConditions, SeparatingConditions
from reports.analysis.deviation import is_program_error
from reports.analysis.differences import DTYPE_SUFFIX, LAST_OUTPUT, DifferenceGroup
from reports.analysis.severity import Severity
from reports.analysis.summary import list_text, predicate_text, single_line
from reports.analysis.value_text import array_text, call_text, number_pair
from reports.results import (
    CaseRecord,
    ConventionRecord,
    DifferenceKind,
    ExpectedRecord,
    Outcome,
    ProgramRecord,
    RecordedAnswers,
    RecordedArray,
    RecordedRejection,
    Report,
    ResultRecord,
    Status,
)
from reports.results.vocabulary import AGREEING_STATUSES

MAX_NAMED_SURFACES = 2  # in a title; more are counted
MAX_EFFECT_LENGTH = 60  # characters of a message in a title
NO_END = "does not finish within the time limit"
ANSWER_PREFIX = "answered "  # of messages about conventions
EXCEPTION_NAME = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Failure|Rejected|Warning))\b")
ADVICE = re.compile(r"(?:^|(?<=[.!?] ))((?:Write|Use|Pass|Call|Give|Set) [^.]*(?:\.\d[^.]*)*\.)")


@dataclass(frozen=True)
class WorkingProgram:
    """A surface of the same backend that passes the same case, and its program with the setup code."""

    surface: str
    program: str


@dataclass(frozen=True)
class CauseText:
    """The texts of one cause.

    culprit: backend or surfaces. effect: a verb phrase. condition: a clause, or "". expected, got: the results for the
    smallest case. call: its inputs and parameters. about: what the case examines. evidence: the conditions as a
    sentence. advice: the remedy in the ledger. alternative: a surface that agrees.
    """

    group: DifferenceGroup
    culprit: str
    effect: str
    condition: str
    expected: str
    got: str
    call: str
    about: str
    evidence: str
    common: tuple[CommonCondition, ...]
    message: str
    advice: str
    alternative: WorkingProgram | None

    @property
    def statement(self) -> str:
        """Everything after the culprit and the operator: "returns 0 where -11 is right, with NaN in x"."""
        return f"{self.effect}, {self.condition}" if self.condition else self.effect

    @property
    def title(self) -> str:
        """The cause as one sentence."""
        return f"{self.culprit}: {self.group.operator} {self.statement}"

    @property
    def command(self) -> str:
        """The command that reproduces the smallest case."""
        return " ".join(self.group.example.command)


class CauseWriter:
    """Write the texts of causes. Indexes the results of a report once."""

    def __init__(self, report: Report) -> None:
        self._cases = report.cases
        self._conditions = CommonConditions(report)
        self._setups = {name: code for run in report.backends for name, code in run.header.environment.setup.items()}
        self._programs = {key: program for run in report.backends for key, program in run.programs.items()}
        self._answers = {(one.case, one.surface): one for run in report.backends for one in run.conventions}
        self._surface_names = {run.name: run.header.surfaces for run in report.backends}
        self._supported: defaultdict[str, list[ResultRecord]] = defaultdict(list)
        for result in report.results:
            if result.outcome != Outcome.UNSUPPORTED:
                self._supported[result.case].append(result)

    def texts(self, groups: Iterable[DifferenceGroup]) -> list[CauseText]:
        """Return the texts of groups, in which unrelated causes are split."""
        return [self.text(group) for group in self._conditions.split(groups)]

    def text(self, group: DifferenceGroup) -> CauseText:
        """Return the texts of one group."""
        example = group.example
        case, answer = self._cases[example.case], self._answers.get((example.case, example.surface))
        expected, got = expected_and_got(example, case, answer)
        separating = self._conditions.separating(group)
        return CauseText(
            group,
            culprit=self._culprit(group),
            effect=effect_text(example, case, group.severity, answer),
            condition=_condition_clause(group, separating, answer),
            expected=expected,
            got=got,
            call=call_text(case),
            about=case.about,
            evidence=separating.sentence if separating else "",
            common=() if separating else tuple(self._conditions.common(group)),
            message="" if group.status == Status.STALE or example.message == got else example.message or "",
            advice=advice_in(group.reason) if example.reason else "",
            alternative=self._working_program(group),
        )

    def _culprit(self, group: DifferenceGroup) -> str:
        """Name the backend if all its surfaces that support the cases differ, and otherwise the surfaces."""
        names = set(self._surface_names[group.backend])
        supporting = {one.surface for case in group.cases for one in self._supported[case]} & names
        surfaces = group.surfaces
        if len(surfaces) > MAX_NAMED_SURFACES:
            return group.backend if len(surfaces) == len(supporting) else f"{group.backend} ({len(surfaces)} surfaces)"
        return list_text(surfaces)

    def _working_program(self, group: DifferenceGroup) -> WorkingProgram | None:
        names = set(self._surface_names[group.backend]) - set(group.surfaces)
        for result in self._supported[group.example.case]:
            if result.surface in names and result.status in AGREEING_STATUSES and result.outcome == Outcome.RETURNED:
                program: ProgramRecord | None = self._programs.get(result.program or "")
                if program is not None:
                    return WorkingProgram(
                        result.surface, f"{self._setups.get(result.surface, '')}\n{program.source}".lstrip()
                    )
        return None


def _condition_clause(
    group: DifferenceGroup, separating: SeparatingConditions | None, answer: ConventionRecord | None
) -> str:
    """Return the clause of the title. The name of a convention states its condition."""
    if group.severity == Severity.CONVENTION and answer is not None:
        return f"on {convention_name(answer.question)}"
    return separating.clause if separating and not separating.is_thin else ""


def convention_name(question: str) -> str:
    """Write the id of a convention as words, without operator and dtype: "window of padding only"."""
    return DTYPE_SUFFIX.sub("", question).rpartition("/")[2].replace("-", " ")


def advice_in(reason: str) -> str:
    """Return the sentences of a ledger reason that describe the remedy."""
    return " ".join(ADVICE.findall(reason))


def effect_text(result: ResultRecord, case: CaseRecord, severity: Severity, answer: ConventionRecord | None) -> str:
    """Return the behaviour of the surface and the right result, as a verb phrase."""
    if result.kind == DifferenceKind.CHANGED and answer is not None and answer.declared is not None:
        return f"answers {answer.observed} where it answered {answer.declared} before"
    if severity == Severity.CONVENTION and answer is not None:
        where = "documented" if answer.documented else "declared"
        return f"answers {answer.observed} where {answer.declared or 'nothing'} is {where}"
    return EFFECTS[severity](result, case)


REPEATED_CRASH = re.compile(r"^crashed \((.*?)\), then, in a separate process, .*", re.DOTALL)
"""The message of a program that ended a process and had another outcome in a process of its own."""


def _own_message(result: ResultRecord) -> str:
    """Return the message of the surface, without the comparison with its declaration and without earlier output."""
    message = REPEATED_CRASH.sub(r"\1", result.message or "").partition(LAST_OUTPUT)[0]
    return message.partition("; ")[2] if message.startswith(ANSWER_PREFIX) else message


def _invalid_call_effect(result: ResultRecord, case: CaseRecord) -> str:
    effect = _crash_effect(result, case) if result.outcome == Outcome.CRASHED else NO_END
    return f"{effect}, for a call that must be rejected"


def _crash_effect(result: ResultRecord, _: CaseRecord) -> str:
    cause = _first_line(_own_message(result))
    if is_program_error(result):
        return f"has an {cause}"
    return f"ends the process: {cause}" if cause else "ends the process"


def _value_effect(result: ResultRecord, case: CaseRecord) -> str:
    pair = differing_numbers(result, case)
    if result.kind == DifferenceKind.PINNED and pair is None:
        return "returns an output that differs from the printed one"
    return f"returns {pair[1]} where {pair[0]} is right" if pair else "returns wrong values"


def _form_effect(result: ResultRecord, case: CaseRecord) -> str:
    got, expected = result.got, case.expected
    if got is None or not isinstance(expected, RecordedArray):
        return "returns another dtype" if result.kind == DifferenceKind.DTYPE else "returns another shape"
    if got.shape != expected.shape:
        return f"returns shape {list(got.shape)} where {list(expected.shape)} is right"
    return f"returns {got.dtype} where {expected.dtype} is right"


def _refusal_effect(result: ResultRecord, _: CaseRecord) -> str:
    return f"raises {exception_name(result.message or '')} where a result is right"


def _acceptance_effect(_: ResultRecord, case: CaseRecord) -> str:
    fault = f": {predicate_text(case.expected.predicate)}" if isinstance(case.expected, RecordedRejection) else ""
    return f"returns a result where an error is right{fault}"


EFFECTS: dict[Severity, Callable[[ResultRecord, CaseRecord], str]] = {
    Severity.CRASH: _crash_effect,
    Severity.HANG: lambda *_: NO_END,
    Severity.VALUE: _value_effect,
    Severity.SPECIAL: _value_effect,
    Severity.FLAKY: lambda *_: "gives different results when it is repeated",
    Severity.FORM: _form_effect,
    Severity.INVALID_CALL: _invalid_call_effect,
    Severity.REFUSES: _refusal_effect,
    Severity.ACCEPTS: _acceptance_effect,
    Severity.CONVENTION: lambda *_: "contradicts its declared answer",
    Severity.STALE: lambda *_: "agrees, although the ledger lists a deviation",
}


def exception_name(message: str) -> str:
    """Return the class in an exception message, or "an error"."""
    found = EXCEPTION_NAME.match(message)
    return found[1].rpartition(".")[2] if found else "an error"


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return single_line(lines[0], MAX_EFFECT_LENGTH) if lines else ""


def differing_numbers(result: ResultRecord, case: CaseRecord) -> tuple[str, str] | None:
    """Return the expected and the returned number of the worst element, or else of the first differing one."""
    if result.worst is not None:
        return number_pair(result.worst.expected, result.worst.got)
    expected, got = case.expected, result.got
    if not isinstance(expected, RecordedArray) or got is None or got.shape != expected.shape:
        return None
    pairs = zip(expected.data or (), got.data or (), strict=False)
    return next((number_pair(one, other) for one, other in pairs if one != other), None)


def expected_and_got(result: ResultRecord, case: CaseRecord, answer: ConventionRecord | None) -> tuple[str, str]:
    """Return the expected and the actual result as texts."""
    expected = _expected_text(case.expected, answer)
    if result.status == Status.STALE:
        return "a deviation, according to the ledger", "agreement with the reference"
    if result.outcome in (Outcome.CRASHED, Outcome.TIMED_OUT):
        return expected, _first_line(_own_message(result)) or result.outcome.replace("_", " ")
    if result.outcome == Outcome.REJECTED:
        return expected, single_line(_own_message(result) or "an error", 3 * MAX_EFFECT_LENGTH)
    got = "the output is not recorded" if result.got is None else array_text(result.got)
    named = f"{answer.observed}: {got}" if answer is not None and answer.observed else got
    return expected, named + _worst_position(result, case)


def _expected_text(expected: ExpectedRecord, answer: ConventionRecord | None) -> str:
    if isinstance(expected, RecordedRejection):
        return f"an error, because: {predicate_text(expected.predicate)}"
    if isinstance(expected, RecordedAnswers):
        declared = answer.declared if answer is not None else None
        if declared is None:
            return f"one of: {', '.join(expected.answers)}"
        value = expected.answers.get(declared)
        return f"{declared}: {_expected_text(value, None)}" if value is not None else declared
    return array_text(expected)


def _worst_position(result: ResultRecord, case: CaseRecord) -> str:
    """Return the worst element, unless the output is a single number."""
    if result.worst is None or (isinstance(case.expected, RecordedArray) and case.expected.size == 1):
        return ""
    expected, got = number_pair(result.worst.expected, result.worst.got)
    return f"; at {list(result.worst.index)} {got} instead of {expected}"
