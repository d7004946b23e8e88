"""`conformance report`: make a view of results files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from conformance import ConformanceError, IncompleteRun
from conformance.cli.commands.diff import compare_paths
from conformance.cli.commands.store import is_store, load_store
from conformance.cli.options import DEFAULT_OUTPUT_FOLDER
from conformance.cli.results_io import STANDARD_OUTPUT, exit_status, load_given_or_latest, write_output
from reports.analysis.comparison import ReportDifference
from reports.results.reader import Report
from reports.views.badges import render_badges
from reports.views.html import render_html
from reports.views.junit import render_junit
from reports.views.markdown import render_markdown
from reports.views.matrix import render_matrix
from reports.views.terminal import render_terminal

TERMINAL_FORMAT = "terminal"


@dataclass(frozen=True)
class ReportFormat:
    """A format that is a file: what it is called by default, and what makes it; if a mapping, files of a folder.

    compares: whether it is also given what is otherwise than in an earlier run, or None; warns: whether it says on its
    own face what is wrong with the runs, so that it may show some that do not go together; counts: whether what is as
    expected is only counted in it, so that a store will do.
    """

    description: str
    default_file: str
    render: Callable[..., str | bytes | Mapping[str, str]]
    takes_difference: bool = False
    checks_required: bool = False
    reads_stores: bool = False


def _render_parquet(report: Report) -> bytes:
    """Return a Parquet file; the library that writes it is large, and only this format asks for it."""
    try:
        from reports.views.parquet import render_parquet  # noqa: PLC0415
    except ImportError as error:
        raise ConformanceError(f"--format parquet needs pyarrow: {error} (pip install pyarrow)") from None
    return render_parquet(report)


REPORT_FORMATS = {
    "html": ReportFormat("a page to open", "report.html", render_html, takes_difference=True, checks_required=True),
    "markdown": ReportFormat(
        "a summary for a pull request",
        "report.md",
        render_markdown,
        takes_difference=True,
        checks_required=True,
        reads_stores=True,
    ),
    "matrix": ReportFormat("every operator on every surface", "matrix.md", render_matrix, reads_stores=True),
    "junit": ReportFormat("JUnit XML for CI servers", "junit.xml", render_junit),
    "badge": ReportFormat("an SVG for each surface, and JSON for Shields", "badges", render_badges, reads_stores=True),
    "parquet": ReportFormat("all results for a notebook (pip install pyarrow)", "results.parquet", _render_parquet),
}
FORMATS_HELP = "; ".join(
    [
        *(f"{name}: {view.description}" for name, view in REPORT_FORMATS.items()),
        f"{TERMINAL_FORMAT}: lines to read here",
    ]
)


@click.command()
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Where to write, - for standard output; for badges a folder. [default: build/conformance/report.html, or as "
    "the format is called]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*REPORT_FORMATS, TERMINAL_FORMAT]),
    default="html",
    show_default=True,
    help=f"What to make. {FORMATS_HELP}.",
)
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="BACKEND[,…]",
    help="Be red (exit status 3) if a backend has no results. May be given several times, or several with commas.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="Results of an earlier run, a file or a folder: the page or the summary for a pull request then tells what "
    "changed.",
)
def report(
    results: tuple[Path, ...], out: Path | None, form: str, required: tuple[str, ...], against: Path | None
) -> None:
    """Make a report from results files, by default from all in build/conformance/results.

    Of a store (conformance store) it makes what need not show each result: terminal, markdown, matrix and badge.

    The exit status is that of the results, as `conformance run` has it.

    Example: conformance report build/conformance/results/numpy.jsonl --out report.html
    """
    loaded = _load_report(results, form, against, mixed=form == TERMINAL_FORMAT or REPORT_FORMATS[form].checks_required)
    if against is not None and not (form in REPORT_FORMATS and REPORT_FORMATS[form].takes_difference):
        able = " or ".join(name for name, view in REPORT_FORMATS.items() if view.takes_difference)
        raise click.UsageError(f"--against is for {able}, not for {form}; conformance diff has other formats")
    if form == TERMINAL_FORMAT:
        Console().print(render_terminal(loaded))
    else:
        _write_report(
            REPORT_FORMATS[form], loaded, compare_paths(against, loaded) if against is not None else None, out
        )
    names = {name.strip() for text in required for name in text.split(",")}
    missing = names - {backend.name for backend in loaded.backends}
    if missing:
        raise IncompleteRun(f"no results of {', '.join(sorted(missing))}")
    sys.exit(exit_status(loaded))


def _load_report(results: tuple[Path, ...], form: str, against: Path | None, *, mixed: bool) -> Report:
    stores = [path for path in results if is_store(path)]
    if not stores:
        return load_given_or_latest(results, mixed=mixed)
    able = [TERMINAL_FORMAT, *(name for name, view in REPORT_FORMATS.items() if view.reads_stores)]
    if form not in able:
        raise click.UsageError(f"--format {form} needs results files; of a store there are {', '.join(able)}")
    if against is not None or len(stores) < len(results):
        raise click.UsageError("a store is not compared or joined with results files")
    return load_store(stores, mixed=mixed)


def _write_report(view: ReportFormat, loaded: Report, difference: ReportDifference | None, out: Path | None) -> None:
    made = view.render(loaded, difference) if view.takes_difference else view.render(loaded)
    path = out or DEFAULT_OUTPUT_FOLDER / view.default_file
    files = {path / name: text for name, text in made.items()} if isinstance(made, Mapping) else {path: made}
    if str(path) == STANDARD_OUTPUT and path not in files:
        raise click.UsageError("--format badge writes several files: --out is a folder")
    written = [write_output(file, text) for file, text in files.items()]
    if all(written):
        click.echo(f"report: {path.resolve().as_uri() if path.suffix == '.html' else path}")
