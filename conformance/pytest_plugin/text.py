"""Text of failure reports: the expected result, the outcome, the program and a command that reproduces it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from textwrap import indent

from conformance.adapters.api import Program
from conformance.catalogue.describe import expectation_lines, shortened_array_text
from conformance.execution.run import Run
from conformance.execution.task import Task
from conformance.judging.verdict import ProgramOutcome
from conformance.translation.side_by_side import program_with_setup
from reports.analysis.deviation import is_program_error
from reports.analysis.summary import escape_control_characters
from reports.results import ResultRecord, Status, WorstElementRecord
from reports.results.vocabulary import PROGRAM_ERROR_PREFIX

INDENT = "    "


def unsupported_or_known_reason(result: ResultRecord) -> str:
    """Return the reason of an unsupported, known or stale result, with its issue if it has one."""
    issue = f" ({result.issue})" if result.issue else ""
    return escape_control_characters(f"{result.reason}{issue}")


def failure_headline(result: ResultRecord) -> str:
    """Return the failure in one line: its kind or status, and its place or message."""
    if is_program_error(result):
        return f"program error: {_failure_reason(result).removeprefix(PROGRAM_ERROR_PREFIX)}"
    kind = result.status if result.status != Status.FAIL else result.kind
    return f"{kind}: {_failure_reason(result)}"


def _failure_reason(result: ResultRecord) -> str:
    if result.status == Status.STALE:
        return f"agrees, but the ledger lists a difference: {unsupported_or_known_reason(result)}"
    if result.worst:
        worst = result.worst
        return f"at {list(worst.index)} expected {worst.expected}, got {worst.got}"
    return escape_control_characters(" ".join((result.message or "").split())) or "no message"


def failure_report(
    run: Run, task: Task, outcome: ProgramOutcome, result: ResultRecord, repro_options: Sequence[str] = ()
) -> str:
    """Return the report of a failed case, whose first line is the headline.

    repro_options: options that `conformance repro` needs to find the case.
    """
    lines = [
        failure_headline(result),
        "",
        *filter(None, [escape_control_characters(task.case.about)]),
        f"from {task.case.location}",
        *expectation_lines(run.expected(task.case)),
        *_result_lines(outcome, result),
    ]
    program = task.program
    if isinstance(program, Program):
        text = indent(program_with_setup(run.backend, program).rstrip(), INDENT)
        lines += ["", f"the program ({program.how}):", "", text]
    command = ["conformance", "repro", task.case.id, "--surface", task.surface.name, *repro_options]
    return "\n".join([*lines, "", f"to reproduce: {shlex.join(command)}"])


def _result_lines(outcome: ProgramOutcome, result: ResultRecord) -> Iterator[str]:
    for array in outcome.arrays:
        yield f"got       {array.dtype.name} {list(array.shape)}"
        yield shortened_array_text(array)
    if not outcome.arrays:
        yield "got: an error in the program of the adapter" if is_program_error(result) else f"got: {outcome.kind}"
    if result.worst:
        yield f"worst     {_deviation_text(result.worst, result.budget_used)}"
    lines = [escape_control_characters(line) for line in (result.message or "").splitlines()]
    # The headline contains a message of one line already.
    if len(lines) > 1 or not failure_headline(result).endswith("".join(lines)):
        yield from lines


def _deviation_text(worst: WorstElementRecord, used: float | None) -> str:
    allowed = "the result must be exact" if used == float("inf") else f"{used:.3g} error bounds"
    return f"{list(worst.index)}: off by {worst.absolute:.6g}, {worst.ulp:.6g} ulp; {allowed}"
