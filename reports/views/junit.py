"""JUnit XML, as CI servers read it: one suite a surface, one test a case."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from xml.etree import ElementTree

from reports.analysis import summary
from reports.analysis.deviation import why
from reports.analysis.summary import BAD, WORDS
from reports.results.reader import Backend, Report
from reports.results.records import Case, Result, plain

LONGEST_TEXT = 300  # characters of a message; what follows below it is whole
SKIPPED = {"unsupported": "pytest.skip", "known": "pytest.xfail"}
"""Statuses that are neither passed nor failed, and how pytest's own files name them."""
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
WHOLE = "the whole run"  # no case is called so: ids have a slash


def render_junit(report: Report) -> str:
    """Return JUnit XML that is valid against Jenkins' schema junit-10.xsd.

    What turns a run red is a failure. A run that did not come to its end, or in which nothing ran, is an error in each
    of its suites, so that no part of it passes for the whole.
    """
    root = ElementTree.Element("testsuites", name="conformance")
    for backend in report.backends:
        root.extend(_suites(backend))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, 0)) for suite in root)))
    root.set("time", f"{sum(result.seconds for result in report.results):.3f}")
    ElementTree.indent(root)
    return f"{DECLARATION}\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _suites(backend: Backend) -> Iterator[ElementTree.Element]:
    """Yield a suite for each surface, in the adapter's order, one without results included."""
    ordered = sorted(backend.results, key=attrgetter("surface"))
    found = {surface: list(results) for surface, results in groupby(ordered, attrgetter("surface"))}
    for surface in backend.header.surfaces:
        yield _suite(backend, surface, found.get(surface, []))


def _suite(backend: Backend, surface: str, results: list[Result]) -> ElementTree.Element:
    fault, statuses = " ".join(summary.faults(backend)), [result.status for result in results]
    counts = {
        "tests": len(results) + bool(fault),
        "failures": sum(status in BAD for status in statuses),
        "errors": int(bool(fault)),
        "skipped": sum(status in SKIPPED for status in statuses),
    }
    suite = ElementTree.Element("testsuite", name=summary.printable(surface), package=_line(backend.name))
    suite.attrib |= {key: str(number) for key, number in counts.items()}
    suite.set("time", f"{sum(result.seconds for result in results):.3f}")
    suite.set("timestamp", _line(backend.header.started))
    suite.append(_properties(_circumstances(backend)))
    if fault:
        ElementTree.SubElement(_case(suite, surface, WHOLE), "error", type="incomplete", message=_line(fault))
    for result in results:
        _add(suite, result, backend)
    return suite


def _circumstances(backend: Backend) -> dict[str, str]:
    header, environment = backend.header, backend.header.environment
    return {
        "level": header.level,
        **({"shard": header.shard} if header.shard else {}),
        "catalogue": f"{header.catalogue_version} {header.catalogue}".strip(),
        "python": environment.python,
        "platform": environment.platform,
        **{f"package {name}": version for name, version in sorted(environment.packages.items())},
    }


def _properties(values: Mapping[str, str]) -> ElementTree.Element:
    element = ElementTree.Element("properties")
    for name, value in values.items():
        ElementTree.SubElement(element, "property", name=_line(name), value=_line(value))
    return element


def _case(suite: ElementTree.Element, surface: str, name: str, seconds: float = 0) -> ElementTree.Element:
    names = {"classname": summary.printable(surface), "name": summary.printable(name)}
    return ElementTree.SubElement(suite, "testcase", names, time=f"{seconds:.6f}")


def _add(suite: ElementTree.Element, result: Result, backend: Backend) -> None:
    test = _case(suite, result.surface, result.case, result.seconds)
    if result.status in SKIPPED:
        ElementTree.SubElement(test, "skipped", type=SKIPPED[result.status], message=_line(_reason(result)))
    elif result.status in BAD:
        case = backend.cases[result.case]
        told = ": ".join(filter(None, [WORDS[result.status], result.kind, why(result, case)]))
        failure = ElementTree.SubElement(test, "failure", type=result.status, message=_line(told))
        failure.text = "\n".join(_told(result, case, backend))


def _reason(result: Result) -> str:
    """Return why a case was skipped, with the issue where there is one, as under pytest."""
    return f"{result.reason or 'no reason given'}" + (f" ({result.issue})" if result.issue else "")


def _told(result: Result, case: Case, backend: Backend) -> Iterator[str]:
    """Yield the lines that a reader needs to see the failure again."""
    yield from filter(None, [_line(case.about)])
    yield from _lines(result.message or "")
    yield from filter(None, [_line(_reason(result)) if result.reason else ""])
    program = backend.programs.get(result.program or "")
    if program is not None:
        yield from ("", f"the program ({program.how}):", "", *_lines(program.text))
    command = shlex.join(["conformance", "repro", result.case, "--surface", plain(result.surface)])
    yield from ("", f"by itself: {summary.printable(command)}")


def _lines(text: str) -> list[str]:
    return [summary.printable(line.expandtabs()) for line in text.splitlines()]


def _line(text: str) -> str:
    return summary.one_line(text, LONGEST_TEXT)
