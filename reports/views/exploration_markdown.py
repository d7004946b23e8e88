"""Markdown of exploration findings: a page for an exploration, and the text of an issue for a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from reports.analysis import summary
from reports.analysis.deviation import deviation_text
from reports.analysis.summary import count_text
from reports.results import (
    BackendRun,
    CaseRecord,
    ExpectedRecord,
    FindingRecord,
    Json,
    RecordedArray,
    RecordedRejection,
    ResultRecord,
)
from reports.views.markdown_layout import code_span, escape_markdown, fenced_lines, table_lines

MAX_WRITTEN_ELEMENTS = 64  # larger arrays are written without their elements


def render_findings_page(backend: BackendRun) -> str:
    """Return the page of an exploration as GitHub-flavoured Markdown, with a section for each finding."""
    explored = backend.header.explored
    assert explored is not None  # noqa: S101 - callers pass only explorations
    tried = f"{count_text(explored.cases, 'case')}, seed {explored.seed}"
    lines = [
        f"# Exploration findings of {escape_markdown(backend.name)}",
        "",
        f"{escape_markdown(package_versions_text(backend))}; {tried}.",
        "",
    ]
    for finding in explored.findings:
        lines += [f"## {code_span(finding.id)}", "", *chain.from_iterable(finding_parts(backend, finding))]
    if not explored.findings:
        lines += ["No findings.", ""]
    if explored.uncounted:
        lines += [
            f"Further differences, not examined because enough with the same symptom were: {explored.uncounted:,}.",
            "",
        ]
    return "\n".join(lines)


def finding_parts(backend: BackendRun, finding: FindingRecord) -> Iterator[list[str]]:
    """Yield the parts of the text about a finding: its sentence, the smallest case, the results, the script."""
    explored = backend.header.explored
    tried = f" of {count_text(explored.cases, 'case')} tried with seed {explored.seed}" if explored else ""
    case = backend.cases.get(finding.case)
    results = [one for one in backend.results if one.case == finding.case and one.surface in finding.surfaces]
    versions = escape_markdown(package_versions_text(backend))
    intro = f"It explains {finding.explained_count:,}{tried}. The smallest case that was found, with {versions}:"
    yield [escape_markdown(finding.sentence), "", intro, ""]
    yield [*fenced_lines(finding.case_text, "yaml"), ""]
    if case:
        yield list(result_lines(case, results, finding.message))
    if finding.is_found_without_reference:
        yield ["It was found by comparing results of the backend. The smallest case may agree with the reference.", ""]
    yield list(script_lines(finding.script))


def script_lines(script: str) -> Iterator[str]:
    """Yield a script in a folded section; nothing if it is empty."""
    if script:
        yield from ["<details><summary>A script that needs only the framework and NumPy</summary>", ""]
        yield from [*fenced_lines(script, "python"), "", "</details>", ""]


def result_lines(case: CaseRecord, results: Sequence[ResultRecord], message: str = "") -> Iterator[str]:
    """Yield a table of a case: its inputs, the expected result, and the result on each surface."""
    rows = [[f"input {code_span(name)}", code_span(array_as_text(array))] for name, array in case.inputs.items()]
    rows += [["expected", code_span(_expected_text(case.expected))], *(_result_row(one, case) for one in results)]
    if message and not any(one.message for one in results):
        rows.append(["message", code_span(message)])
    yield from table_lines(["", ""], rows)


def _result_row(result: ResultRecord, case: CaseRecord) -> list[str]:
    got = code_span(array_as_text(result.got)) if result.got is not None else summary.STATUS_TEXTS[result.status]
    details = [deviation_text(result, case), result.message or ""]
    return [f"got on {code_span(result.surface)}", "; ".join([got, *map(escape_markdown, filter(None, details))])]


def _expected_text(expected: ExpectedRecord) -> str:
    if isinstance(expected, RecordedArray):
        return array_as_text(expected)
    if isinstance(expected, RecordedRejection):
        return f"rejected: {summary.predicate_text(expected.predicate)}"
    return "one of " + ", ".join(expected.answers)


def package_versions_text(backend: BackendRun) -> str:
    """Return the versions of a backend's packages."""
    return ", ".join(f"{name} {version}" for name, version in backend.header.environment.packages.items())


def array_as_text(array: RecordedArray) -> str:
    """Return an array as text: its dtype, its shape, and its elements if there are few."""
    signature = f"{array.dtype} {list(array.shape)}"
    is_small = array.data is not None and array.size <= MAX_WRITTEN_ELEMENTS
    return f"{signature} {_nested_text(array.data or (), array.shape)}" if is_small else signature


def _nested_text(data: Sequence[Json], shape: Sequence[int]) -> str:
    if not shape:
        return str(data[0])
    step = len(data) // shape[0] if shape[0] else 0
    return f"[{', '.join(_nested_text(data[at * step : (at + 1) * step], shape[1:]) for at in range(shape[0]))}]"
