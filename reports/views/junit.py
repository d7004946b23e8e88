"""JUnit XML for CI servers: one suite per surface, one test per case."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from xml.etree import ElementTree

from reports.analysis import summary
from reports.analysis.deviation import failure_reason
from reports.analysis.summary import STATUS_TEXTS, UNEXPECTED_STATUSES
from reports.results import BackendRun, CaseRecord, Report, ResultRecord, Status

MAX_JUNIT_TEXT_LENGTH = 300  # characters of a `message` attribute; the text of the element is not shortened
SKIP_TYPES = {
    **dict.fromkeys((Status.UNSUPPORTED, Status.UNDECLARED, Status.REFUSED), "pytest.skip"),
    Status.KNOWN: "pytest.xfail",
}
"""Statuses that are neither passed nor failed, with the type names that pytest uses."""
XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
RUN_SUITE_NAME = "the whole run"  # cannot be the id of a case, because ids contain a slash


def render_junit(report: Report) -> str:
    """Return JUnit XML that is valid against Jenkins' schema junit-10.xsd.

    Unexpected statuses are failures. If a run did not finish, or nothing ran in it, each of its suites contains an
    error, so that an incomplete run never passes.
    """
    root = ElementTree.Element("testsuites", name="conformance")
    for backend in report.backends:
        root.extend(_test_suites(backend))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, 0)) for suite in root)))
    root.set("time", f"{sum(result.seconds for result in report.results):.3f}")
    ElementTree.indent(root)
    return f"{XML_DECLARATION}\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _test_suites(backend: BackendRun) -> Iterator[ElementTree.Element]:
    """Yield a suite for each surface, in the order of the adapter. Includes surfaces without results."""
    ordered = sorted(backend.results, key=attrgetter("surface"))
    by_surface = {surface: list(results) for surface, results in groupby(ordered, attrgetter("surface"))}
    for surface in backend.header.surfaces:
        yield _test_suite(backend, surface, by_surface.get(surface, []))


def _test_suite(backend: BackendRun, surface: str, results: list[ResultRecord]) -> ElementTree.Element:
    problem, statuses = " ".join(summary.run_problems(backend)), [result.status for result in results]
    counts = {
        "tests": len(results) + bool(problem),
        "failures": sum(status in UNEXPECTED_STATUSES for status in statuses),
        "errors": int(bool(problem)),
        "skipped": sum(status in SKIP_TYPES for status in statuses),
    }
    suite = ElementTree.Element(
        "testsuite", name=summary.escape_control_characters(surface), package=_xml_line(backend.name)
    )
    suite.attrib |= {key: str(number) for key, number in counts.items()}
    suite.set("time", f"{sum(result.seconds for result in results):.3f}")
    suite.set("timestamp", _xml_line(backend.header.started))
    suite.append(_properties_element(_suite_properties(backend)))
    if problem:
        ElementTree.SubElement(
            _test_case(suite, surface, RUN_SUITE_NAME), "error", type="incomplete", message=_xml_line(problem)
        )
    for result in results:
        _add_outcome(suite, result, backend)
    return suite


def _suite_properties(backend: BackendRun) -> dict[str, str]:
    header, environment = backend.header, backend.header.environment
    return {
        "level": header.level,
        **({"shard": str(header.shard)} if header.shard else {}),
        "catalogue": f"{header.catalogue.version} {header.catalogue.digest}".strip(),
        "python": environment.python,
        "platform": environment.platform,
        **{f"package {name}": version for name, version in sorted(environment.packages.items())},
    }


def _properties_element(values: Mapping[str, str]) -> ElementTree.Element:
    element = ElementTree.Element("properties")
    for name, value in values.items():
        ElementTree.SubElement(element, "property", name=_xml_line(name), value=_xml_line(value))
    return element


def _test_case(suite: ElementTree.Element, surface: str, name: str, seconds: float = 0) -> ElementTree.Element:
    names = {"classname": summary.escape_control_characters(surface), "name": summary.escape_control_characters(name)}
    return ElementTree.SubElement(suite, "testcase", names, time=f"{seconds:.6f}")


def _add_outcome(suite: ElementTree.Element, result: ResultRecord, backend: BackendRun) -> None:
    test = _test_case(suite, result.surface, result.case, result.seconds)
    if result.status in SKIP_TYPES:
        ElementTree.SubElement(test, "skipped", type=SKIP_TYPES[result.status], message=_xml_line(_skip_reason(result)))
    elif result.status in UNEXPECTED_STATUSES:
        case = backend.cases[result.case]
        message = ": ".join(filter(None, [STATUS_TEXTS[result.status], result.kind, failure_reason(result, case)]))
        failure = ElementTree.SubElement(test, "failure", type=result.status, message=_xml_line(message))
        failure.text = "\n".join(_failure_lines(result, case, backend))
    if output := [text for remark in _remarks(result) for text in _xml_text(remark)]:
        ElementTree.SubElement(test, "system-out").text = "\n".join(output)


def _remarks(result: ResultRecord) -> Iterator[str]:
    """Yield what was observed in addition to the outcome that counts."""
    if result.status == Status.SLOW:
        yield f"slow: {result.message or ''}"
    if result.after_others:
        yield f"after other programs: {result.after_others}"


def _skip_reason(result: ResultRecord) -> str:
    """Return why a case was skipped, with the issue if there is one, as the pytest plugin does."""
    if result.status == Status.UNDECLARED:
        return f"undeclared: {result.message or ''}"
    return f"{result.reason or 'no reason given'}" + (f" ({result.issue})" if result.issue else "")


def _failure_lines(result: ResultRecord, case: CaseRecord, backend: BackendRun) -> Iterator[str]:
    """Yield the description of a failure: case, message, reason, program and the command that reproduces it."""
    yield from filter(None, [_xml_line(case.about)])
    yield from _xml_text(result.message or "")
    yield from filter(None, [_xml_line(_skip_reason(result)) if result.reason else ""])
    program = backend.programs.get(result.program or "")
    if program is not None:
        yield from ("", f"the program ({program.how}):", "", *_xml_text(program.source))
    yield from ("", f"to reproduce: {summary.escape_control_characters(shlex.join(result.command))}")


def _xml_text(text: str) -> list[str]:
    return [summary.escape_control_characters(line.expandtabs()) for line in text.splitlines()]


def _xml_line(text: str) -> str:
    return summary.single_line(text, MAX_JUNIT_TEXT_LENGTH)
