"""What a person reads of a case that did not pass: what was expected, what came, and how to see it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

from conformance.adapters.api.surface import Program
from conformance.catalogue.describe import expectation_lines, shortened_array_text
from conformance.execution.run import Run, Task
from conformance.judging.verdict import ProgramOutcome
from conformance.translation.side_by_side import program_with_setup

INDENT = "    "
ResultFields = Mapping[str, Any]


def unsupported_or_known_reason(result: ResultFields) -> str:
    """Return why a case is unsupported or known to differ, with the issue where there is one."""
    issue = f" ({result['issue']})" if result.get("issue") else ""
    return printable(f"{result['reason']}{issue}")


def failure_headline(result: ResultFields) -> str:
    """Return in one line what is wrong: how it shows, and where or why."""
    shown = result["status"] if result["status"] != "fail" else result["kind"]
    return f"{shown}: {_failure_reason(result)}"


def _failure_reason(result: ResultFields) -> str:
    if result["status"] == "stale":
        return f"it agrees, though the ledger says that it differs: {unsupported_or_known_reason(result)}"
    if "worst" in result:
        worst = result["worst"]
        return f"at {list(worst['index'])} expected {worst['expected']}, got {worst['got']}"
    return printable(" ".join(result.get("message", "").split())) or "of which nothing was said"


def failure_report(
    run: Run, task: Task, outcome: ProgramOutcome, result: ResultFields, further: Sequence[str] = ()
) -> str:
    """Return the whole report of a result that is red; the headline stands first.

    further: options that a command line needs to find the case.
    """
    lines = [
        failure_headline(result),
        "",
        *_case_lines(task),
        *expectation_lines(run.expected(task.case)),
        *_result_lines(outcome, result),
    ]
    program = task.program
    if isinstance(program, Program):
        text = indent(program_with_setup(run.backend, program).rstrip(), INDENT)
        lines += ["", f"the program ({program.how}):", "", text]
    words = ["conformance", "repro", task.case.id, "--surface", task.surface.name, *further]
    return "\n".join([*lines, "", f"by itself: {shlex.join(words)}"])


def _case_lines(task: Task) -> Iterator[str]:
    yield from filter(None, [printable(task.case.about)])
    yield f"from {task.case.location}"


def _result_lines(outcome: ProgramOutcome, result: ResultFields) -> Iterator[str]:
    for array in outcome.arrays:
        yield f"got       {array.dtype.name} {list(array.shape)}"
        yield shortened_array_text(array)
    if not outcome.arrays:
        yield f"got: {outcome.kind}"
    if "worst" in result:
        yield f"worst     {_deviation_text(result)}"
    lines = [printable(line) for line in result.get("message", "").splitlines()]
    if len(lines) > 1 or not failure_headline(result).endswith("".join(lines)):
        yield from lines


def _deviation_text(result: ResultFields) -> str:
    worst, used = result["worst"], result["budget_used"]
    allowed = "nothing is rounded, no error is allowed" if used == float("inf") else f"{used:.3g} error bounds"
    return f"{list(worst['index'])}: off by {worst['absolute']:.6g}, {worst['ulp']:.6g} ulp; {allowed}"


def printable(text: str) -> str:
    """Spell out control and formatting characters, which a terminal would obey instead of showing."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
