"""The Markdown summary for a pull request or a job's page: what failed first, never longer than the page takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reports import summary
from reports.contradictions import contradictions, said
from reports.reading import Backend, Report
from reports.summary import SIGNS, WORDS, Group

LONGEST = 60_000  # characters; GitHub cuts a comment at 65,536
LONGEST_TEXT = 300  # characters of one message or reason
MOST_SURFACES = 12  # named in one row


def render_markdown(report: Report) -> str:
    """Return the summary as GitHub-flavoured Markdown of at most 60,000 characters."""
    lines = [line for section in _sections(report) for line in section]
    return cut(lines, "See the HTML report.")


def cut(lines: list[str], elsewhere: str) -> str:
    """Join lines to at most 60,000 characters; where some are left out, a last line says where all are."""
    whole = "\n".join(lines).rstrip() + "\n"
    if len(whole) <= LONGEST:
        return whole
    note = f"\n*Cut here: the whole is longer than this page takes. {elsewhere}*\n"
    kept = whole[: LONGEST - len(note)]
    return kept[: kept.rindex("\n") + 1] + note


def _sections(report: Report) -> Iterator[list[str]]:
    yield _verdict(report)
    yield _surfaces(report)
    groups = summary.groups(report)
    unexpected = [group for group in groups if group.status != "known"]
    yield _groups("Unexpected", unexpected, report)
    yield _groups("Known differences", [group for group in groups if group.status == "known"], report)
    yield _contradictions(report)
    yield _conventions(report)
    yield _unsupported(report)


def _verdict(report: Report) -> list[str]:
    verdict = summary.verdict(report)
    problems = [f"- ❌ {escaped(problem)}" for problem in summary.problems(report)]
    sign = "✅" if verdict.good else "❌"
    return [f"## {sign} {escaped(verdict.headline)}", "", escaped(verdict.sentence), "", *problems, ""]


def _surfaces(report: Report) -> list[str]:
    counts = summary.by_surface(report)
    shown = summary.occurring(counts)
    rows = [
        [_backend(backend), code(surface), *(f"{counts[surface].get(status, 0):,}" for status in shown)]
        for backend in report.backends
        for surface in backend.header.surfaces
    ]
    return table(["backend", "surface", *(f"{SIGNS[status]} {WORDS[status]}" for status in shown)], rows)


def _backend(backend: Backend) -> str:
    name = escaped(f"{backend.name} {backend.version or ''}".strip())
    return name if backend.complete else f"{name} ❌ partial run"


def _groups(title: str, groups: list[Group], report: Report) -> list[str]:
    if not groups:
        return []
    head = ["status", "operator", "what", "smallest case", "results", "surfaces", "why"]
    return [f"### {title}", "", *table(head, [_group(group, report) for group in groups])]


def _group(group: Group, report: Report) -> list[str]:
    off = summary.deviation(group.example, report.cases[group.example.case])
    named = ", ".join(code(surface) for surface in group.surfaces[:MOST_SURFACES])
    more = f" and {len(group.surfaces) - MOST_SURFACES} more" if len(group.surfaces) > MOST_SURFACES else ""
    why = " ".join(filter(None, [escaped(group.reason), escaped(group.issue or "")]))
    return [
        f"{SIGNS[group.status]} {WORDS[group.status]}",
        code(group.operator),
        group.action + (f": {escaped(off)}" if off else ""),
        code(group.example.case),
        f"{len(group.results):,}",
        named + more,
        why,
    ]


def _contradictions(report: Report) -> list[str]:
    cases = report.cases
    rows = [
        [escaped(one.backend), code(one.operator), "; ".join(map(escaped, said(one, cases))), code(one.cases[0]),
         f"{len(one.cases):,}"]
        for one in contradictions(report)
    ]  # fmt: skip
    head = ["backend", "operator", "what its surfaces do", "smallest case", "cases"]
    return ["### Contradicts itself", "", *table(head, rows)] if rows else []


def _conventions(report: Report) -> list[str]:
    rows = [
        [
            code(question), escaped(answer.about), code(surface), code(answer.observed or "not put"),
            code(answer.declared or "nothing") + (" ❌ contradicted" if answer.contradicted else ""),
            escaped(answer.source),
        ]
        for question, answers in summary.conventions(report).items()
        for surface, answer in answers.items()
    ]  # fmt: skip
    if not rows:
        return []
    return ["### Conventions", "", *table(["question", "about", "surface", "observed", "declared", "source"], rows)]


def _unsupported(report: Report) -> list[str]:
    rows = [[f"{len(results):,}", escaped(reason)] for reason, results in summary.unsupported(report).items()]
    return ["### Unsupported", "", *table(["results", "reason"], rows)] if rows else []


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table; the cells are Markdown already."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)] + [""]


def escaped(text: str) -> str:
    """Write any text so that Markdown, HTML and GitHub's mentions leave it as it is, on one line."""
    return _plain_html(re.sub(r"([\\`*_{}\[\]#|~$!])", r"\\\1", _shortened(text)))


def code(text: str) -> str:
    """Write a name as code, whatever stands in it."""
    line = _shortened(text)
    if re.fullmatch(r"[\w./:, -]+", line):
        return f"`{line}`"
    spelt = re.sub(r"[|`*_~$\[\]]", lambda sign: f"&#{ord(sign[0])};", _plain_html(line))
    return f"<code>{spelt}</code>"


def _plain_html(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def _shortened(text: str) -> str:
    line = summary.printable(" ".join(text.split()))
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 1] + "…"
