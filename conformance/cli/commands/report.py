"""`conformance report`: write results as HTML, Markdown, JUnit XML, badges, Parquet or text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.cases.operators import drawing_properties
from conformance.cli.answer_releases import releases_by_surface
from conformance.cli.commands.diff import compare_paths
from conformance.cli.commands.store import is_store, load_store
from conformance.cli.console import output_console
from conformance.cli.options import DEFAULT_OUTPUT_FOLDER
from conformance.cli.results_io import (
    STANDARD_OUTPUT,
    exit_status,
    load_given_or_latest,
    load_past_runs,
    write_output,
)
from conformance.judging.conventions import processor_answers
from reports.analysis.comparison import ReportDifference
from reports.analysis.past_runs import SurfaceHistory, surface_histories
from reports.analysis.summary import STATUS_SIGNS, escape_control_characters, report_problems, report_verdict
from reports.results import RecordError, Report, Status
from reports.results.audits import AuditRecord, read_audit
from reports.views.badges import render_badges
from reports.views.html import render_html
from reports.views.junit import render_junit
from reports.views.markdown import render_markdown
from reports.views.matrix import render_matrix
from reports.views.routes import render_routes
from reports.views.terminal import render_terminal

TERMINAL_FORMAT = "terminal"


@dataclass(frozen=True)
class ReportFormat:
    """A file format of reports: its description, its default file name and its renderer.

    render: returns the content, or for a folder of files a mapping of names to contents. takes_difference: `render`
    also takes the difference to an earlier run, or None. takes_history: `render` also takes the past runs.
    takes_audits: `render` also takes the audits of models.
    checks_required: the format shows problems of the runs, so that it may render runs that do not belong together.
    reads_stores: the format only counts expected results, so that it can be made from a store.
    """

    description: str
    default_file: str
    render: Callable[..., str | bytes | Mapping[str, str]]
    takes_difference: bool = False
    takes_history: bool = False
    takes_audits: bool = False
    checks_required: bool = False
    reads_stores: bool = False


@dataclass(frozen=True)
class ReportParts:
    """Optional parts of a report in addition to the results."""

    difference: ReportDifference | None
    histories: Sequence[SurfaceHistory]
    audits: Sequence[AuditRecord]


def _render_html(
    report: Report,
    difference: ReportDifference | None,
    histories: Sequence[SurfaceHistory],
    audits: Sequence[AuditRecord],
) -> str:
    """Return the HTML report. `reports` imports nothing of the suite, so facts about it are passed."""
    declared = processor_answers(report.surfaces)
    releases = releases_by_surface(report.surfaces)
    return render_html(report, difference, drawing_properties(), declared, histories, audits=audits, releases=releases)


def _render_parquet(report: Report) -> bytes:
    """Return a Parquet file. The import is local because pyarrow is large and an optional dependency."""
    try:
        from reports.views.parquet import render_parquet  # noqa: PLC0415
    except ImportError as error:
        raise ConformanceError(f"--format parquet needs pyarrow: {error} (pip install pyarrow)") from None
    return render_parquet(report)


REPORT_FORMATS = {
    "html": ReportFormat(
        "a single-file page",
        "report.html",
        _render_html,
        takes_difference=True,
        takes_history=True,
        takes_audits=True,
        checks_required=True,
    ),
    "markdown": ReportFormat(
        "a summary for a pull request",
        "report.md",
        render_markdown,
        takes_difference=True,
        checks_required=True,
        reads_stores=True,
    ),
    "matrix": ReportFormat("every operator on every surface", "matrix.md", render_matrix, reads_stores=True),
    "routes": ReportFormat("what exporters and runtimes change", "routes.md", render_routes),
    "junit": ReportFormat("JUnit XML for CI servers", "junit.xml", render_junit),
    "badge": ReportFormat("an SVG for each surface, and JSON for Shields", "badges", render_badges, reads_stores=True),
    "parquet": ReportFormat("all results for a notebook (pip install pyarrow)", "results.parquet", _render_parquet),
}
FORMATS_HELP = "; ".join(
    [
        *(f"{name}: {view.description}" for name, view in REPORT_FORMATS.items()),
        f"{TERMINAL_FORMAT}: text on standard output",
    ]
)


@click.command()
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Output file, - for standard output; for badges a folder. [default: the format's file in build/conformance, "
    "such as build/conformance/report.html]",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice([*REPORT_FORMATS, TERMINAL_FORMAT]),
    default="html",
    show_default=True,
    help=f"Output format. {FORMATS_HELP}.",
)
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="BACKEND[,…]",
    help="Exit with status 3 if a backend has no results. Repeatable; several names may be separated by commas.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="Results of an earlier run, a file or a folder. The formats html and markdown then list the changes.",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of past runs: results files, or folders of them. The format html then shows when results changed.",
)
@click.option(
    "--audit",
    "audit_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON file of `conformance audit --format json`. The format html then has a page of audits. Repeatable.",
)
def report(
    results: tuple[Path, ...],
    *,
    out: Path | None,
    output_format: str,
    required: tuple[str, ...],
    against: Path | None,
    history: Path | None,
    audit_files: tuple[Path, ...],
) -> None:
    """Write a report of results files.

    Without RESULTS, all files in build/conformance/results are read. RESULTS may also be a store (see `conformance
    store`), for formats that do not list every result: terminal, markdown, matrix and badge.

    The exit status is that of `conformance run` for these results. If it is not 0, the reasons are printed to standard
    error.

    Example: conformance report build/conformance/results/numpy.jsonl --out report.html
    """
    names = {name.strip() for text in required for name in text.split(",")}
    if "" in names:
        raise click.UsageError("--require: the name of a backend is empty")
    view = REPORT_FORMATS.get(output_format)  # None for the terminal
    loaded = _load_report(results, output_format, against, mixed=view is None or view.checks_required)
    if against is not None and not (view and view.takes_difference):
        supported = " or ".join(name for name, one in REPORT_FORMATS.items() if one.takes_difference)
        raise click.UsageError(
            f"--against needs --format {supported}, not {output_format}; `conformance diff` has other formats"
        )
    if history is not None and not (view and view.takes_history):
        raise click.UsageError(f"--history needs --format html, not {output_format}")
    if audit_files and not (view and view.takes_audits):
        raise click.UsageError(f"--audit needs --format html, not {output_format}")
    if view is None:
        output_console().print(render_terminal(loaded))
    else:
        difference = compare_paths(against, loaded) if against is not None else None
        parts = ReportParts(difference, _load_histories(history, loaded), _load_audits(audit_files))
        _write_report(view, loaded, parts, out)
    missing = names - {backend.name for backend in loaded.backends}
    if missing:
        raise IncompleteRun(f"no results of {', '.join(sorted(missing))}")
    status = exit_status(loaded)
    if status and view is not None:  # the terminal format contains these lines
        _print_problems(loaded)
    sys.exit(status)


def _print_problems(loaded: Report) -> None:
    """Print the headline and the reasons for a nonzero exit status on standard error."""
    headline = report_verdict(loaded).headline
    for line in (headline, *(problem for problem in report_problems(loaded) if problem != headline)):
        click.echo(f"{STATUS_SIGNS[Status.FAIL]} {escape_control_characters(line)}", err=True)


def _load_report(results: tuple[Path, ...], output_format: str, against: Path | None, *, mixed: bool) -> Report:
    stores = [path for path in results if is_store(path)]
    if not stores:
        return load_given_or_latest(results, mixed=mixed)
    supported = [TERMINAL_FORMAT, *(name for name, view in REPORT_FORMATS.items() if view.reads_stores)]
    if output_format not in supported:
        raise click.UsageError(
            f"--format {output_format} needs results files; formats for a store: {', '.join(supported)}"
        )
    if against is not None or len(stores) < len(results):
        raise click.UsageError("a store cannot be compared or combined with results files")
    return load_store(stores, mixed=mixed)


def _load_histories(folder: Path | None, loaded: Report) -> list[SurfaceHistory]:
    """Return the past runs of the surfaces of a report. Raises ConformanceError if there are none in the folder."""
    if folder is None:
        return []
    histories = surface_histories(loaded, load_past_runs(folder))
    if not histories:
        names = ", ".join(backend.name for backend in loaded.backends)
        raise ConformanceError(f"--history {folder}: contains no other run of {names}")
    return histories


def _load_audits(paths: Sequence[Path]) -> list[AuditRecord]:
    try:
        return [read_audit(path) for path in paths]
    except RecordError as error:
        raise ConformanceError(f"--audit {error}") from None


def _write_report(view: ReportFormat, loaded: Report, parts: ReportParts, out: Path | None) -> None:
    options = [
        *([parts.difference] if view.takes_difference else []),
        *([parts.histories] if view.takes_history else []),
        *([parts.audits] if view.takes_audits else []),
    ]
    content = view.render(loaded, *options)
    path = out or DEFAULT_OUTPUT_FOLDER / view.default_file
    files = {path / name: text for name, text in content.items()} if isinstance(content, Mapping) else {path: content}
    if str(path) == STANDARD_OUTPUT and path not in files:
        raise click.UsageError("--format badge writes several files: --out must be a folder")
    written = [write_output(file, text) for file, text in files.items()]
    if all(written):
        click.echo(f"report: {path.resolve().as_uri() if path.suffix == '.html' else path}")
