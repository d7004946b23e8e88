"""The answers of all surfaces to each convention, grouped by answer."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from reports.analysis.summary import answers_by_convention
from reports.results import ConventionRecord, Report, Status


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
    statuses = {(one.case, one.surface): one.status for one in report.results}
    rows = [_convention_row(question, answers, statuses) for question, answers in answers_by_convention(report).items()]
    return sorted(rows, key=lambda row: (not row.contradicted, not row.disagree, row.question))


def _convention_row(
    question: str, answers: dict[str, ConventionRecord], statuses: dict[tuple[str, str], Status]
) -> ConventionRow:
    groups: defaultdict[str | None, list[tuple[ConventionRecord, Status]]] = defaultdict(list)
    for one in answers.values():
        groups[one.observed].append((one, statuses.get((one.case, one.surface), Status.FAIL)))
    ordered = sorted(groups.items(), key=lambda item: (item[0] is None, -len(item[1]), item[0] or ""))
    about = next(iter(answers.values())).about
    return ConventionRow(question, about, tuple(AnswerGroup(answer, tuple(records)) for answer, records in ordered))
