"""The answers of all surfaces to each convention, grouped by answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from reports.analysis.summary import answers_by_convention
from reports.results import ConventionRecord, Report, Status
from reports.results.vocabulary import CONTRADICTORY_ANSWERS

MAX_ANSWER_COLOURS = 5
"""Number of colours for the answers after the most frequent one. Rarer answers share the last colour."""


@dataclass(frozen=True)
class AnswerGroup:
    """The surfaces with one answer, and the status of each result. answer: None if it was not observed."""

    answer: str | None
    records: tuple[tuple[ConventionRecord, Status], ...]


@dataclass(frozen=True)
class ConventionRow:
    """A convention and its answers: the most frequent first, those that were not observed last."""

    question: str
    about: str
    answers: tuple[AnswerGroup, ...]

    @property
    def disagree(self) -> bool:
        """Whether surfaces give different answers."""
        return sum(group.answer is not None for group in self.answers) > 1

    @property
    def contradicted(self) -> bool:
        """Whether a surface contradicts the answer that it declares."""
        return any(one.contradicted for group in self.answers for one, _ in group.records)


def convention_rows(report: Report) -> list[ConventionRow]:
    """Return all conventions: contradicted declarations first, then those on which surfaces disagree."""
    by_question = answers_by_convention(report)
    keys = {(one.case, one.surface) for answers in by_question.values() for one in answers.values()}
    statuses = {key: one.status for one in report.results if (key := (one.case, one.surface)) in keys}
    rows = [_convention_row(question, answers, statuses) for question, answers in by_question.items()]
    return sorted(rows, key=lambda row: (not row.contradicted, not row.disagree, row.question))


def _convention_row(
    question: str, answers: dict[str, ConventionRecord], statuses: dict[tuple[str, str], Status]
) -> ConventionRow:
    groups = [
        AnswerGroup(answer, tuple((one, statuses.get((one.case, one.surface), Status.FAIL)) for one in records))
        for answer, records in _records_by_answer(answers).items()
    ]
    return ConventionRow(question, next(iter(answers.values())).about, tuple(groups))


def _records_by_answer(answers: dict[str, ConventionRecord]) -> dict[str | None, list[ConventionRecord]]:
    """Group answers: the most frequent first, those that were not observed last."""
    groups: defaultdict[str | None, list[ConventionRecord]] = defaultdict(list)
    for one in answers.values():
        groups[one.observed].append(one)
    return dict(sorted(groups.items(), key=lambda item: (item[0] is None, -len(item[1]), item[0] or "")))


@dataclass(frozen=True)
class SurfaceAnswer:
    """The answer of a surface to a convention.

    record: the case with the answer. answer: the observed answer, or else the declared one; "" without an answer.
    colour: position of the answer in the row of its convention; 0 is the most frequent answer.
    """

    record: ConventionRecord
    answer: str
    colour: int


def surface_answers(report: Report) -> list[SurfaceAnswer]:
    """Return the answers of all surfaces, by convention and surface."""
    observed: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for one in (answer for backend in report.backends for answer in backend.conventions):
        if one.observed is not None:
            observed[one.question, one.surface].add(one.observed)
    by_question = answers_by_convention(report)
    colours = {question: _observed_colours(answers) for question, answers in by_question.items()}
    records = [one for answers in by_question.values() for one in answers.values()]
    return [_surface_answer(one, observed[one.question, one.surface], colours[one.question]) for one in records]


def _surface_answer(record: ConventionRecord, observed: set[str], colours: dict[str, int]) -> SurfaceAnswer:
    answer = _answer_name(observed) or record.declared or ""
    # Answers that were only declared get the colours after the observed ones.
    colour = colours.setdefault(answer, len(colours)) if answer else 0
    return SurfaceAnswer(record, answer, min(colour, MAX_ANSWER_COLOURS))


def _answer_name(observed: Iterable[str]) -> str | None:
    names = sorted(observed)
    return names[0] if len(names) == 1 else CONTRADICTORY_ANSWERS if names else None


def _observed_colours(answers: dict[str, ConventionRecord]) -> dict[str, int]:
    observed = [answer for answer in _records_by_answer(answers) if answer is not None]
    return {answer: number for number, answer in enumerate(observed)}
