"""Errors in the programs of a run: one line for each operator and surface, with the adapter that wrote the program."""

from __future__ import annotations

import re

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import without_label
from conformance.cases.operator_types import GRADIENT_SUFFIX
from conformance.translation.step_lowering import lowering_name
from reports.analysis.deviation import is_program_error
from reports.results import BackendRun, Report, ResultRecord, Status

MAX_PROGRAM_ERROR_LINES = 10


def is_unexpected_program_error(result: ResultRecord) -> bool:
    """Whether the program of a result is wrong, and no entry of the ledger covers it."""
    return is_program_error(result) and result.status == Status.CRASHED


def program_error_lines(results: Report) -> list[str]:
    """Return a line for the first wrong program of each operator on each surface: adapter, surface, case and error."""
    first: dict[tuple[str, str], str] = {}
    for run in results.runs:
        for result in filter(is_unexpected_program_error, run.results):
            operator = run.cases[result.case].operator
            key = result.surface, operator
            if key not in first:
                source = _failing_line(run, result)
                adapter = _adapter_name(run.name, result.surface, operator)
                first[key] = f"surface {result.surface}: case {result.case}: {adapter}: {result.message}{source}"
    lines = [*first.values()][:MAX_PROGRAM_ERROR_LINES]
    more = len(first) - len(lines)
    return [*lines, *([f"and {more} more operators with errors in their programs"] if more else [])]


def _failing_line(run: BackendRun, result: ResultRecord) -> str:
    """Return the line of the program that the message names by its number, as the end of a sentence."""
    number = re.search(r", line (\d+)$", result.message or "")
    program = run.programs.get(result.program or "")
    lines = program.text.splitlines() if program else []
    return f": {lines[int(number[1]) - 1].strip()}" if number and 0 < int(number[1]) <= len(lines) else ""


def _adapter_name(backend: str, surface: str, operator: str) -> str:
    """Return the module and function that wrote a program, or the operator if the adapter has changed since."""
    try:
        surfaces = registry.get_backend(without_label(backend)).surfaces
    except ConformanceError:
        return operator
    lowerings = next((one.lowerings for one in surfaces if one.name == without_label(surface)), {})
    lowering = lowerings.get(operator) or lowerings.get(operator.removesuffix(GRADIENT_SUFFIX))
    return lowering_name(lowering) if lowering else operator
