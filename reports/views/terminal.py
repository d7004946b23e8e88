"""The terminal summary: what a person reads when a run has ended; the verdict stands at the end."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis import summary
from reports.analysis.contradictions import contradictions
from reports.analysis.deviation import why
from reports.analysis.summary import BAD, SIGNS, WORDS
from reports.results.reader import Report
from reports.results.records import STATUSES, Result

STYLES = {"pass": "green", "known": "yellow", "unsupported": "dim"} | dict.fromkeys(BAD, "bold red")
MOST_LINES = 40  # failures listed one by one
LONGEST_TEXT = 160  # characters of one message
LONGEST_SENTENCE = 600  # of a finding, whose conditions stand at its end


def render_terminal(report: Report, *, brief: bool = False) -> RenderableType:
    """Return the summary as something that a rich console prints; brief: only what is unexpected, and the last line."""
    failures = [result for result in report.results if result.status in BAD]
    if brief:
        return Group(*_failures(failures, report), *_verdict(report)[1:])
    parts: list[RenderableType] = [_matrix(report)] if report.backends or not report.explored else []
    if failures:
        parts += [Text(), *_failures(failures, report)]
    parts += [Text(), *_findings(report), *_verdict(report)]
    return Group(*parts)


def _findings(report: Report) -> list[Text]:
    return [
        Text(f"{SIGNS['fail']} {one_line(one.id)} ", "bold red").append(
            summary.one_line(one.sentence, LONGEST_SENTENCE), "default not bold"
        )
        for run in report.explored
        for one in (run.header.explored.findings if run.header.explored else ())
    ]


def _matrix(report: Report) -> Table:
    counts = summary.by_surface(report)
    shown = summary.occurring(counts)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("surface")
    for status in shown:
        table.add_column(f"{SIGNS[status]} {WORDS[status]}", justify="right")
    for surface, of_surface in counts.items():
        numbers = (Text(f"{of_surface[status]:,}" if status in of_surface else "", STYLES[status]) for status in shown)
        table.add_row(Text(one_line(surface)), *numbers)
    return table


def _failures(failures: list[Result], report: Report) -> list[Text]:
    ordered = sorted(failures, key=lambda result: STATUSES.index(result.status))
    lines = [_failure(result, report) for result in ordered[:MOST_LINES]]
    left = len(ordered) - MOST_LINES
    return [*lines, Text(f"and {left:,} more", "red")] if left > 0 else lines


def _failure(result: Result, report: Report) -> Text:
    told = why(result, report.case(result.case))
    line = Text(f"{SIGNS[result.status]} {WORDS[result.status]} ", STYLES[result.status])
    line.append(f"{one_line(result.case)} on {one_line(result.surface)}", "default not bold")
    return line.append(": ".join(["", *filter(None, [result.kind, one_line(told)])]), "dim not bold")


def _verdict(report: Report) -> list[Text]:
    verdict = summary.verdict(report)
    style = "bold green" if verdict.good else "bold red"
    problems = [Text(f"{SIGNS['fail']} {one_line(problem)}", "red") for problem in summary.problems(report)]
    headline = Text(f"{SIGNS['pass' if verdict.good else 'fail']} {verdict.headline}", style)
    return [Text(verdict.sentence), *_contradictions(report), *problems, headline]


def _contradictions(report: Report) -> list[Text]:
    """Say of how many cases the surfaces of a backend do different things; the reports list them."""
    counts: Counter[str] = Counter()
    for one in contradictions(report):
        counts[one.backend] += len(one.cases)
    return [
        Text(f"{one_line(name)} contradicts itself on {summary.plural(number, 'case')}: its surfaces part", "yellow")
        for name, number in sorted(counts.items())
    ]


def one_line(text: str) -> str:
    """Return any text as one line of bounded length that a terminal shows and does not obey."""
    return summary.one_line(text, LONGEST_TEXT)
