"""`conformance diff`: the changes between two sets of results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import click
from rich.console import Console

from conformance import ConformanceError
from conformance.cli.console import output_console
from conformance.cli.results_io import INCOMPLETE_EXIT_STATUS, STANDARD_OUTPUT, load_file_or_folder, write_output
from reports.analysis.comparison import FailOn, Incomparable, ReportDifference, compare_reports
from reports.results import Report
from reports.views import comparison_json, comparison_markdown, comparison_terminal

CHANGED_EXIT_STATUS = 1
DIFFERENCE_TEXT_WIDTH = 160
"""Width in characters of the text of a comparison in a file."""


@click.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["terminal", "markdown", "json"]),
    default="terminal",
    show_default=True,
    help="Text for the terminal, a Markdown summary for a pull request, or all changes as JSON.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*map(str, FailOn)]),
    default=str(FailOn.ANY),
    show_default=True,
    help="Changes that give exit status 1. regression: a worse status, or a missing result. value: also another value"
    " or answer. any: also an improvement, or another case with the same id.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Output file. [default: standard output]",
)
def diff(old: Path, new: Path, output_format: str, fail_on: str, out: Path | None) -> None:
    """Compare two results files, or two folders of them.

    For example, results from before and after an upgrade can be compared. Folders are compared backend by backend. The
    comparison lists changed statuses, changed values with an unchanged verdict, changed answers to conventions, missing
    and new results, and differences in versions and environment. A folder may be the --out folder of `conformance run`.
    The two runs of a backend may have different labels.

    Exit status: 0 no change that --fail-on selects, although there may be other changes and new results; 1 such a
    change; 2 wrong usage, or nothing can be compared; 3 a run is incomplete or has no results.

    Example: conformance diff build/before build/conformance --format markdown --out diff.md
    """
    # OLD first: of two files that cannot be read, the error names the first one.
    before = load_file_or_folder(old)
    found, limit = _compare_results(before, load_file_or_folder(new)), FailOn(fail_on)
    _write_difference(found, limit, output_format, None if str(out) == STANDARD_OUTPUT else out)
    failed = bool(found.failing_changes(limit))
    sys.exit(INCOMPLETE_EXIT_STATUS if found.problems else CHANGED_EXIT_STATUS if failed else 0)


def compare_paths(old: Path, new: Report) -> ReportDifference:
    """Compare the results of a file or folder with new ones. Raises ConformanceError if they cannot be compared."""
    return _compare_results(load_file_or_folder(old), new)


def _compare_results(old: Report, new: Report) -> ReportDifference:
    try:
        return compare_reports(old, new)
    except Incomparable as error:
        raise ConformanceError(str(error)) from None


def _write_difference(found: ReportDifference, fail_on: FailOn, output_format: str, out: Path | None) -> None:
    if out is None and output_format == "terminal":
        output_console().print(comparison_terminal.render_difference_terminal(found, fail_on), soft_wrap=True)
    elif write_output(out or Path(STANDARD_OUTPUT), RENDERERS[output_format](found, fail_on)):
        click.echo(f"difference: {out}")


def _render_text(found: ReportDifference, fail_on: FailOn) -> str:
    # Without colors, which are escape codes in a file.
    console = Console(file=StringIO(), width=DIFFERENCE_TEXT_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(comparison_terminal.render_difference_terminal(found, fail_on), soft_wrap=True)
    return captured.get()


RENDERERS: dict[str, Callable[[ReportDifference, FailOn], str]] = {
    "terminal": _render_text,
    "markdown": comparison_markdown.render_difference_markdown,
    "json": comparison_json.render_difference_json,
}
