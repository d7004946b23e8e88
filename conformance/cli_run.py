"""`conformance run` and `conformance report`: carry cases out, and show what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from conformance import catalogue
from conformance.cases import LEVELS
from conformance.chosen import chosen
from conformance.cli_options import CACHE_OPTION, CASES_OPTION
from conformance.cli_progress import QUIET, QUIET_OPTION, USUAL, VERBOSE_OPTION, Live
from conformance.client import Limits
from conformance.errors import ConformanceError, IncompleteRun
from conformance.expected import expected
from conformance.files import put
from conformance.instructions import HELD, NATIVE
from conformance.kept import kept
from conformance.operators import OPERATORS
from conformance.runner import Run, Selection
from reports import reading, summary
from reports.html import render_html
from reports.markdown import render_markdown
from reports.matrix import render_matrix
from reports.terminal import render_terminal

OUT = Path("build/conformance")
FAILED, INCOMPLETE = 1, 3
RENDERS = {"html": render_html, "markdown": render_markdown, "matrix": render_matrix}
NAMES = {"html": "report.html", "markdown": "report.md", "matrix": "matrix.md"}
A_DAY = 86_400


def _bearable(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not value <= A_DAY:  # NaN is not below it either
        raise click.BadParameter(f"{value} is not a number of seconds of at most a day")
    return value


@click.command()
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME[@LABEL][=PYTHON]",
    help="A backend, and the interpreter that holds its framework if it is not this one. Several may be given; "
    "without any, those installed here run, or else the built-in one. A label of your choice (letters, digits, ._-) "
    "tells two versions of one framework apart, in the results too.",
)
@click.option(
    "--surface", "surfaces", multiple=True, metavar="S", help="Only this surface. May be given several times."
)
@click.option(
    "--operator", "operators", multiple=True, type=click.Choice(sorted(OPERATORS)), help="Only cases of this operator."
)
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches, * for anything.")
@CASES_OPTION
@click.option("--level", type=click.Choice(LEVELS), default="smoke", show_default=True, help="How many cases.")
@click.option(
    "--timeout",
    "limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.case,
    callback=_bearable,
    show_default=True,
    metavar="SECONDS",
    help="Limit for one case.",
)
@click.option(
    "--start-timeout",
    "start_limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.start,
    callback=_bearable,
    show_default=True,
    metavar="SECONDS",
    help="Limit for the start of a backend: its interpreter and its imports.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0),
    metavar="GB",
    help="Limit for a process of a backend; what grows past it is ended. 0 for none. [default: half of this machine's]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=1,
    metavar="K",
    help="Run every case K times; one that is not the same every time is flaky. [default: 1, and what crashes or hangs "
    "once more]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Processes side by side for each backend. [default: as many as the cases are worth on this machine's cores]",
)
@click.option(
    "--instructions",
    type=click.Choice([HELD, NATIVE]),
    default=HELD,
    show_default=True,
    help="What a framework may use of this processor: what nearly every x86 has, so that results are the same "
    "everywhere, or all of it.",
)
@click.option(
    "--slow",
    is_flag=True,
    help="Run every case of the level on surfaces that take long, too: those that compile every call. Without, they "
    "stay a level behind, beside the cases that are tagged for them.",
)
@click.option("--resume", is_flag=True, help="Complete partial results files instead of starting anew.")
@CACHE_OPTION
@QUIET_OPTION
@VERBOSE_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=OUT,
    show_default=True,
    metavar="DIR",
    help="Where results go: DIR/results/<backend>.jsonl.",
)
def run(  # noqa: PLR0917 - click gives the options by name
    backends: tuple[str, ...],
    surfaces: tuple[str, ...],
    operators: tuple[str, ...],
    globs: tuple[str, ...],
    paths: tuple[Path, ...],
    level: str,
    limit: float,
    start_limit: float,
    memory: float | None,
    repeat: int,
    jobs: int | None,
    instructions: str,
    slow: bool,
    resume: bool,
    cache: bool,
    loudness: str | None,
    out: Path,
) -> None:
    """Run cases on backends, judge every outcome against the reference, and write results files.

    A case that crashes or hangs is run once more in a process of its own: if it then does otherwise, it is flaky.

    Exit status: 0 all as expected; 1 something failed, crashed, hung, flickered, or a ledger entry is stale; 2 wrong
    usage or an invalid catalogue; 3 nothing ran, a backend is missing, or the run is incomplete; 130 interrupted.

    Example: conformance run --backend numpy --operator max_pool
    """
    wanted = chosen(backends, surfaces, instructions)
    cases = catalogue.load(paths, level=level, operators=operators, globs=globs)
    selection = Selection(level, surfaces, operators, globs, slow)
    limits = Limits(limit, start_limit) if memory is None else Limits(limit, start_limit, round(memory * 1e9))
    prepared = partial(Run, selection=selection, limits=limits, jobs=jobs, repeat=repeat, keep=cache)
    if not cases.select(level, operators, globs):
        raise IncompleteRun("no case is selected")
    faults: list[str] = []
    written: list[Path] = []
    with kept() if cache else nullcontext(expected) as expect:
        for one in wanted:
            path = out / "results" / f"{one.name}.jsonl"
            job = prepared(one.backend, cases, one.known(), python=one.python, expect=expect)
            for surface, why in job.lacking.items() if loudness != QUIET else ():
                click.echo(f"{surface}: {why}", err=True)
            try:
                with Live(one.name, loudness or USUAL) as live:
                    job.execute(path, resume=resume, progress=live.step, tell=live.tell)
                written.append(path)
            except IncompleteRun as error:
                faults.append(one.with_hint(str(error)))
    status = _show(written, brief=loudness == QUIET)
    if faults:
        raise IncompleteRun("\n".join(faults))
    sys.exit(status)


def _load(paths: Iterable[Path]) -> reading.Report:
    try:
        return reading.load(paths)
    except reading.UnreadableResults as error:
        raise ConformanceError(str(error)) from None


def _show(paths: Sequence[Path], *, brief: bool = False) -> int:
    """Print the summary of results files, and return the exit status that they deserve."""
    if not paths:
        return INCOMPLETE
    results = _load(paths)
    Console().print(render_terminal(results, brief=brief))
    for path in paths if not brief else ():
        click.echo(f"results: {path}")
    return _status(results)


def _status(results: reading.Report) -> int:
    incomplete = [not backend.complete or summary.nothing_ran(backend) for backend in results.backends]
    if any(incomplete) or not incomplete:
        return INCOMPLETE
    return 0 if summary.verdict(results).good else FAILED


@click.command()
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Where to write, - for standard output. [default: build/conformance/report.html, report.md or matrix.md]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "matrix", "terminal"]),
    default="html",
    show_default=True,
    help="A page to open, a summary for a pull request, every operator on every surface, or a summary here.",
)
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="BACKEND[,…]",
    help="Be red (exit status 3) if a backend has no results. May be given several times, or several with commas.",
)
def report(results: tuple[Path, ...], out: Path | None, form: str, required: tuple[str, ...]) -> None:
    """Make a report from results files, by default from all in build/conformance/results.

    The exit status is that of the results, as `conformance run` has it.

    Example: conformance report build/conformance/results/numpy.jsonl --out report.html
    """
    paths = list(results) or sorted((OUT / "results").glob("*.jsonl"))
    if not paths:
        raise IncompleteRun(f"no results in {OUT / 'results'} (conformance run makes them)")
    loaded = _load(paths)
    if form == "terminal":
        Console().print(render_terminal(loaded))
    else:
        _write(out or OUT / NAMES[form], loaded, form)
    names = {name.strip() for text in required for name in text.split(",")}
    missing = names - {backend.name for backend in loaded.backends}
    if missing:
        raise IncompleteRun(f"no results of {', '.join(sorted(missing))}")
    sys.exit(_status(loaded))


def _write(path: Path, loaded: reading.Report, form: str) -> None:
    text = RENDERS[form](loaded)
    if str(path) == "-":
        click.echo(text)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, text)
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
    click.echo(f"report: {path.resolve().as_uri() if form == 'html' else path}")
