"""Tables of the answers of releases: a row for each convention, a column for each backend with data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from conformance.cases.case import Case
from conformance.judging.release_answers import CaseHistory, ReleaseData, ranges_text
from reports.views.markdown_layout import code_span, escape_prose, table_text

MAX_COLOURS = 6
"""Number of colours of answers. docs/stylesheets/answers.css has them; rarer answers share the last one."""
MAX_ANSWERS = 2
"""Maximum number of answers in a cell."""
MAX_NAMES = 3
"""Maximum number of cases and surfaces in a line of a tooltip."""
Answer = tuple[str, str | None]
"""An answer, and the release since which the framework gives it; None if the oldest release gives it already."""


def matrix_tables(found: Sequence[ReleaseData], cases: Iterable[Case]) -> Iterator[tuple[str, str]]:
    """Yield each operator with conventions, and its table. cases: for the texts of the conventions."""
    # The text of the case that has the name of the convention replaces those of its other cases.
    ordered = sorted((case for case in cases if case.convention_id), key=lambda case: case.id == case.convention_id)
    texts = {str(case.convention_id): case.about for case in ordered}
    by_question = {data.backend: _records_by_question(data) for data in found}
    questions = sorted({question for records in by_question.values() for question in records})
    by_operator: dict[str, list[str]] = {}
    for question in questions:
        by_operator.setdefault(question.partition("/")[0], []).append(question)
    for operator, names in by_operator.items():
        columns = [one for one in by_question if any(name in by_question[one] for name in names)]
        rows = [_row(name, texts[name], [by_question[one].get(name, []) for one in columns]) for name in names]
        yield operator, table_text(["convention", *map(code_span, columns)], rows)


def _records_by_question(data: ReleaseData) -> Mapping[str, list[CaseHistory]]:
    found: dict[str, list[CaseHistory]] = {}
    for record in data.records:
        if record.question:
            found.setdefault(record.question, []).append(record)
    return found


def _row(question: str, text: str, cells: Sequence[Sequence[CaseHistory]]) -> list[str]:
    operator, _, name = question.partition("/")
    answers = [newest_answers(records) for records in cells]
    frequent = Counter(answer for one in answers for answer in dict.fromkeys(answer for answer, _ in one))
    colours = {answer: min(number, MAX_COLOURS - 1) for number, (answer, _) in enumerate(frequent.most_common())}
    heading = f"[{name}](conventions.md#{operator}): {escape_prose(text)}"
    return [heading, *(_cell(one, records, colours) for one, records in zip(answers, cells, strict=True))]


def newest_answers(records: Iterable[CaseHistory]) -> list[Answer]:
    """Return the answers of the newest release to the cases of a convention, the most frequent first."""
    found = Counter((one.ranges[-1].answer, one.ranges[-1].version_added) for one in records)
    return [answer for answer, _ in found.most_common()]


def _cell(answers: Sequence[Answer], records: Sequence[CaseHistory], colours: Mapping[str, int]) -> str:
    if not answers:
        return ""
    colour = colours[answers[0][0]]
    shown = " / ".join(map(_answer_text, answers)) if len(answers) <= MAX_ANSWERS else f"{len(answers)} answers"
    title = escape("; ".join(_tooltip_lines(records)), quote=True).replace("|", "&#124;")
    return f'<span class="answer answer-{colour}" title="{title}">{escape_prose(shown)}</span>'


def _answer_text(answer: Answer) -> str:
    name, since = answer
    return f"{name} since {since}" if since else name


def _tooltip_lines(records: Sequence[CaseHistory]) -> Iterator[str]:
    """Yield a line for each sequence of answers, with the cases and surfaces that have it."""
    by_text: dict[str, list[CaseHistory]] = {}
    for one in records:
        by_text.setdefault(ranges_text(one.ranges), []).append(one)
    for text, same in by_text.items():
        if len(by_text) == 1:
            yield text
        else:
            names = [f"{one.case.partition('/')[2]} on {one.surface}" for one in same]
            more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
            yield f"[{', '.join(names[:MAX_NAMES])}{more}] {text}"
