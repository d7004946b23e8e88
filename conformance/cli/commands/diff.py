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
from reports.analysis.comparison import Incomparable, ReportDifference, compare_reports
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
    "--out",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Output file. [default: standard output]",
)
def diff(old: Path, new: Path, output_format: str, out: Path | None) -> None:
    """Compare two results files, or two folders of them.

    For example, results from before and after an upgrade can be compared. Folders are compared backend by backend. The
    comparison lists changed statuses, changed values with an unchanged verdict, changed answers to conventions, missing
    and new results, and differences in versions and environment. A folder may be the --out folder of `conformance run`.
    The two runs of a backend may have different labels.

    Exit status: 0 nothing changed, although there may be new results; 1 a status, value, answer or case changed, or
    a result is missing; 2 wrong usage, or nothing can be compared; 3 a run is incomplete or has no results.

    Example: conformance diff build/before build/conformance --format markdown --out diff.md
    """
    found = compare_paths(old, load_file_or_folder(new))
    _write_difference(found, output_format, None if str(out) == STANDARD_OUTPUT else out)
    sys.exit(INCOMPLETE_EXIT_STATUS if found.problems else CHANGED_EXIT_STATUS if found.is_significant else 0)


def compare_paths(old: Path, new: Report) -> ReportDifference:
    """Compare the results of a file or folder with new ones. Raises ConformanceError if they cannot be compared."""
    try:
        return compare_reports(load_file_or_folder(old), new)
    except Incomparable as error:
        raise ConformanceError(str(error)) from None


def _write_difference(found: ReportDifference, output_format: str, out: Path | None) -> None:
    if out is None and output_format == "terminal":
        output_console().print(comparison_terminal.render_difference_terminal(found), soft_wrap=True)
    elif write_output(out or Path(STANDARD_OUTPUT), RENDERERS[output_format](found)):
        click.echo(f"difference: {out}")


def _render_text(found: ReportDifference) -> str:
    # Without colors, which are escape codes in a file.
    console = Console(file=StringIO(), width=DIFFERENCE_TEXT_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(comparison_terminal.render_difference_terminal(found), soft_wrap=True)
    return captured.get()


RENDERERS: dict[str, Callable[[ReportDifference], str]] = {
    "terminal": _render_text,
    "markdown": comparison_markdown.render_difference_markdown,
    "json": comparison_json.render_difference_json,
}
