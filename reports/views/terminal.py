"""The terminal summary at the end of a run. The verdict is the last line."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis import summary
from reports.analysis.contradictions import find_contradictions
from reports.analysis.deviation import failure_reason
from reports.analysis.notes import report_notes
from reports.analysis.summary import STATUS_RANKS, STATUS_SIGNS, STATUS_TEXTS, UNEXPECTED_STATUSES
from reports.results import Report, ResultRecord, Status

STATUS_STYLES: dict[str, str] = {
    Status.PASS: "green",
    Status.KNOWN: "yellow",
    Status.SLOW: "yellow",
    Status.UNDECLARED: "yellow",
    Status.REFUSED: "yellow",
    Status.UNSUPPORTED: "dim",
    **dict.fromkeys(UNEXPECTED_STATUSES, "bold red"),
}
MAX_FAILURE_LINES = 40
MAX_TERMINAL_LINE_LENGTH = 160  # characters
MAX_SENTENCE_LENGTH = 600  # characters; the sentence of a finding is longer because it ends with the conditions

MAX_NOTE_LENGTH = 2400  # characters; a note lists conventions, whose names are long


def render_terminal(report: Report, *, brief: bool = False) -> RenderableType:
    """Return the summary as a renderable of rich. brief: only unexpected results, problems and the last line."""
    failures = [result for result in report.results if result.status in UNEXPECTED_STATUSES]
    if brief:
        return Group(*_failure_lines(failures, report), *_verdict_lines(report)[1:])
    parts: list[RenderableType] = [_matrix_table(report)] if report.backends or not report.explorations else []
    if failures:
        parts += [Text(), *_failure_lines(failures, report)]
    parts += [Text(), *_finding_lines(report), *_verdict_lines(report)]
    return Group(*parts)


def _finding_lines(report: Report) -> list[Text]:
    return [
        Text(f"{STATUS_SIGNS[Status.FAIL]} {terminal_line(one.id)} ", "bold red").append(
            summary.single_line(one.sentence, MAX_SENTENCE_LENGTH), "default not bold"
        )
        for run in report.explorations
        for one in (run.header.explored.findings if run.header.explored else ())
    ]


def _matrix_table(report: Report) -> Table:
    counts = summary.counts_by_surface(report)
    shown = summary.occurring_statuses(counts)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("surface")
    for status in shown:
        table.add_column(f"{STATUS_SIGNS[status]} {STATUS_TEXTS[status]}", justify="right")
    for surface, by_status in counts.items():
        numbers = (
            Text(f"{by_status[status]:,}" if status in by_status else "", STATUS_STYLES[status]) for status in shown
        )
        table.add_row(Text(terminal_line(surface)), *numbers)
    return table


def _failure_lines(failures: list[ResultRecord], report: Report) -> list[Text]:
    ordered = sorted(failures, key=lambda result: STATUS_RANKS[result.status])
    lines = [_failure_line(result, report) for result in ordered[:MAX_FAILURE_LINES]]
    omitted = len(ordered) - MAX_FAILURE_LINES
    return [*lines, Text(f"and {omitted:,} more", "red")] if omitted > 0 else lines


def _failure_line(result: ResultRecord, report: Report) -> Text:
    reason = failure_reason(result, report.case(result.case))
    line = Text(f"{STATUS_SIGNS[result.status]} {STATUS_TEXTS[result.status]} ", STATUS_STYLES[result.status])
    line.append(f"{terminal_line(result.case)} on {terminal_line(result.surface)}", "default not bold")
    return line.append(": ".join(["", *filter(None, [result.kind, terminal_line(reason)])]), "dim not bold")


def _verdict_lines(report: Report) -> list[Text]:
    verdict = summary.report_verdict(report)
    style = "bold green" if verdict.is_good else "bold red"
    problems = [
        Text(f"{STATUS_SIGNS[Status.FAIL]} {terminal_line(problem)}", "red")
        for problem in summary.report_problems(report)
    ]
    notes = [Text(summary.single_line(note, MAX_NOTE_LENGTH), "yellow") for note in report_notes(report)]
    headline = Text(f"{STATUS_SIGNS[Status.PASS if verdict.is_good else Status.FAIL]} {verdict.headline}", style)
    return [Text(verdict.sentence), *_contradiction_line(report), *notes, *problems, headline]


def _contradiction_line(report: Report) -> list[Text]:
    """Return a line per backend with the number of cases on which its surfaces disagree. Other views list them."""
    counts: Counter[str] = Counter()
    for one in find_contradictions(report):
        counts[one.backend] += len(one.cases)
    return [
        Text(
            f"{terminal_line(name)}: its surfaces disagree on {summary.count_text(number, 'case')}",
            "yellow",
        )
        for name, number in sorted(counts.items())
    ]


def terminal_line(text: str) -> str:
    """Return a text as one line of limited length, with control characters escaped."""
    return summary.single_line(text, MAX_TERMINAL_LINE_LENGTH)
