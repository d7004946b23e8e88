"""Findings as Markdown: a page for what an exploration found, and of each what an issue says of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from reports.analysis import summary
from reports.analysis.deviation import deviation
from reports.analysis.summary import plural
from reports.results.arrays import Array, Expected, Rejected
from reports.results.exploration import Finding
from reports.results.fields import Json
from reports.results.reader import Backend
from reports.results.records import Case, Result
from reports.views.markdown_layout import code, escaped, fenced, table

MOST_WRITTEN = 64  # elements of an array that are written out


def render_findings(backend: Backend) -> str:
    """Return the page of an exploration as GitHub-flavoured Markdown, a section for each finding."""
    explored = backend.header.explored
    assert explored is not None  # noqa: S101 - of others there is no such page
    tried = f"{plural(explored.cases, 'case')}, seed {explored.seed}"
    lines = [f"# What exploring {escaped(backend.name)} found", "", f"{escaped(versions(backend))}; {tried}.", ""]
    for finding in explored.findings:
        lines += [f"## {code(finding.id)}", "", *chain.from_iterable(finding_parts(backend, finding))]
    if not explored.findings:
        lines += ["Nothing that nobody knew of.", ""]
    if explored.beyond:
        lines += [
            f"Further differences, not looked into as enough of the same way were: {explored.beyond:,}.",
            "",
        ]
    return "\n".join(lines)


def finding_parts(backend: Backend, finding: Finding) -> Iterator[list[str]]:
    """Yield what there is to say of a finding, part by part: its sentence, the smallest case, what came, the script."""
    explored = backend.header.explored
    tried = f" of {plural(explored.cases, 'case')} tried with seed {explored.seed}" if explored else ""
    case = backend.cases.get(finding.case)
    results = [one for one in backend.results if one.case == finding.case and one.surface in finding.surfaces]
    found = (
        f"It explains {finding.covers:,}{tried}. The smallest case that was found, with {escaped(versions(backend))}:"
    )
    yield [escaped(finding.sentence), "", found, ""]
    yield [*fenced(finding.case_text, "yaml"), ""]
    if case:
        yield list(result_lines(case, results, finding.said))
    if finding.unreferred:
        yield ["The backend by itself shows it; against the reference its smallest case may agree all the same.", ""]
    yield list(script_lines(finding.script))


def script_lines(script: str) -> Iterator[str]:
    """Yield a script, folded; nothing where there is none."""
    if script:
        yield from ["<details><summary>A script that needs the framework and NumPy alone</summary>", ""]
        yield from [*fenced(script, "python"), "", "</details>", ""]


def result_lines(case: Case, results: Sequence[Result], said: str = "") -> Iterator[str]:
    """Yield a table of a case: its inputs, what must come out, and what came out on each surface."""
    rows = [[f"input {code(name)}", code(written(array))] for name, array in case.inputs.items()]
    rows += [["expected", code(_told(case.expected))], *(_row(one, case) for one in results)]
    if said and not any(one.message for one in results):
        rows.append(["it said", code(said)])
    yield from table(["", ""], rows)


def _row(result: Result, case: Case) -> list[str]:
    got = code(written(result.got)) if result.got is not None else summary.WORDS[result.status]
    told = [deviation(result, case), result.message or ""]
    return [f"got on {code(result.surface)}", "; ".join([got, *map(escaped, filter(None, told))])]


def _told(expected: Expected) -> str:
    if isinstance(expected, Array):
        return written(expected)
    if isinstance(expected, Rejected):
        return f"rejected: {summary.in_words(expected.predicate)}"
    return "one of " + ", ".join(expected.answers)


def versions(backend: Backend) -> str:
    """Return the versions of a backend's packages."""
    return ", ".join(f"{name} {version}" for name, version in backend.header.environment.packages.items())


def written(array: Array) -> str:
    """Return an array as text: its dtype, its shape, and its numbers if they are few."""
    head = f"{array.dtype} {list(array.shape)}"
    few = array.data is not None and array.size <= MOST_WRITTEN
    return f"{head} {_nested(array.data or (), array.shape)}" if few else head


def _nested(data: Sequence[Json], shape: Sequence[int]) -> str:
    if not shape:
        return str(data[0])
    step = len(data) // shape[0] if shape[0] else 0
    return f"[{', '.join(_nested(data[at * step : (at + 1) * step], shape[1:]) for at in range(shape[0]))}]"
