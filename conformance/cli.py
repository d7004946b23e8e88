"""The command line: all commands but `run`, `report` and `catalogue`, which stand in modules of their own."""

from __future__ import annotations

import importlib.metadata
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from conformance import __version__, catalogue, check, describe, ledger, registry
from conformance.adapter import Backend, Surface, Unsupported
from conformance.cases import LEVELS, Case
from conformance.catalogue import Catalogue
from conformance.cli_catalogue import catalogue as catalogue_command
from conformance.cli_ledger import ledger_group
from conformance.cli_run import report, run
from conformance.drawing import drawing
from conformance.errors import ConformanceError, IncompleteRun
from conformance.expected import Expected, expected
from conformance.operators import OPERATORS
from conformance.repro import script
from conformance.translate import translate

INTERRUPTED = 130
CATALOGUE_OPTION = click.option(
    "--cases",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A case file or a folder of them, instead of the suite's own catalogue. May be given several times.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="conformance")
def cli() -> None:
    """Do the neural-network frameworks agree on their window operators? Run the cases, judge, and show who differs.

    Example: conformance run --backend numpy && conformance report
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; whatever goes wrong is one line, and the exit status says what kind it was."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode is no reason to stop
    try:
        status = cli.main(args=arguments, prog_name="conformance", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("conformance: interrupted", err=True)
        status = INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        status = error.exit_code
    except click.ClickException as error:
        click.echo(f"conformance: {_one_line(error)}", err=True)
        status = error.exit_code
    except ConformanceError as error:
        for line in str(error).splitlines():
            click.echo(f"conformance: {line}", err=True)
        status = error.exit_status
    sys.exit(status)


def _one_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    return " ".join(error.format_message().split()) + hint


def _case(paths: Sequence[Path], name: str) -> Case:
    known = catalogue.load(paths).by_id
    if name not in known:
        raise ConformanceError(f"case {name!r}: not in the catalogue (conformance list shows all)")
    return known[name]


def _surface(name: str) -> tuple[Backend, Surface]:
    known = describe.surfaces()
    if name not in known:
        raise ConformanceError(f"surface {name!r}: unknown, known are {', '.join(known)}")
    return known[name]


@cli.command("list")
@CATALOGUE_OPTION
@click.option(
    "--operator", "operators", multiple=True, type=click.Choice(sorted(OPERATORS)), help="Only cases of this operator."
)
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches, * for anything.")
@click.option("--level", type=click.Choice(LEVELS), default="exhaustive", help="Only cases up to this level.")
def list_command(paths: tuple[Path, ...], operators: tuple[str, ...], globs: tuple[str, ...], level: str) -> None:
    """List the ids of cases, one a line; on a terminal with what they are about.

    Example: conformance list --operator max_pool --case '*book*'
    """
    selected = catalogue.load(paths).select(level, operators, globs)
    if not selected:
        raise IncompleteRun("no case is selected")
    width = max(len(case.id) for case in selected)
    for case in selected:
        about = f"  {case.about[:80]}" if sys.stdout.isatty() and case.about else ""
        click.echo(f"{case.id:<{width if about else 0}}{about}")


@cli.command()
@CATALOGUE_OPTION
@click.argument("case")
@click.option("--drawing/--no-drawing", "drawn", default=True, help="Draw the input with its windows, and the output.")
def show(paths: tuple[Path, ...], case: str, drawn: bool) -> None:
    """Show a case: parameters, inputs, what must come out, what it costs, and a drawing of it.

    Example: conformance show max_pool/book-stride-2-padding-1
    """
    found = _case(paths, case)
    wanted = expected(found)
    click.echo(describe.case_text(found, wanted))
    if drawn:
        _draw(found, wanted)


def _draw(case: Case, wanted: Expected) -> None:
    """Print the drawing of a case: in colour on a terminal, in ASCII anywhere else."""
    console = Console(highlight=False)
    plain = not console.is_terminal or console.is_dumb_terminal or console.no_color
    for line in drawing(case, wanted, console.width, ascii_only=plain or not console.encoding.startswith("utf")):
        if plain:
            click.echo(line.plain)
        else:
            console.print(line, no_wrap=True, crop=False, overflow="ignore")


@cli.command("translate")
@CATALOGUE_OPTION
@click.argument("case")
@click.option("--surface", "names", multiple=True, metavar="S", help="Only this surface. May be given several times.")
def translate_command(paths: tuple[Path, ...], case: str, names: tuple[str, ...]) -> None:
    """Print the program that carries a case out on each surface; no framework needs to be installed.

    Example: conformance translate max_pool/book-stride-2-padding-1 --surface numpy.loops
    """
    found = _case(paths, case)
    chosen = [_surface(name) for name in names] or list(describe.surfaces().values())
    click.echo("\n".join(describe.translation_text(found, backend, surface) for backend, surface in chosen), nl=False)


@cli.command()
@CATALOGUE_OPTION
@click.argument("case")
@click.option("--surface", "name", required=True, metavar="S", help="The surface to run the case on.")
def repro(paths: tuple[Path, ...], case: str, name: str) -> None:
    """Print a stand-alone script that runs a case: it needs the framework and NumPy, nothing of the suite.

    Example: conformance repro max_pool/book-1d --surface numpy.loops > repro.py && python repro.py
    """
    found, (backend, surface) = _case(paths, case), _surface(name)
    program = translate(found, surface)
    if isinstance(program, Unsupported):
        raise ConformanceError(f"case {found.id}: {surface.name} does not support it: {program.reason}")
    click.echo(script(found, expected(found), backend, program), nl=False)


@cli.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def check_command(paths: tuple[Path, ...]) -> None:
    """Check the catalogue, or the given case files: every case, every pinned number, the cover of every sweep.

    Without files also the ledger and the frozen digests.

    Example: conformance check cases/pooling/max_pool.yaml
    """
    cases, faults = catalogue.examine(paths)
    # A case that cannot be read would be missing from the lock, and to the ledger.
    own = {} if paths or faults else {"ledger": ledger.load(), "lock": check.read_lock()}
    found = catalogue.in_order([*faults, *check.problems(cases, **own)])  # type: ignore[arg-type]
    if found:
        raise ConformanceError("\n".join(found))
    if not cases.cases:
        raise ConformanceError(f"{', '.join(map(str, paths))}: no case in it")
    click.echo(f"{len(cases.cases)} cases are sound")


@cli.command()
def freeze() -> None:
    """Write the digests of all cases to the lock, and say what changed. Ids and answers are for ever: look twice.

    Sweeps whose factors have grown get the rows that they need; those that are frozen stay.

    Example: conformance freeze && git diff cases/lock.json
    """
    cases: Catalogue = catalogue.load(grow=True)
    added, removed, changed = check.write_lock(cases)
    click.echo(f"{len(cases.cases)} cases frozen: {added} added, {removed} removed, {changed} changed")


@cli.command()
def backends() -> None:
    """List the backends, what this interpreter has of them, and their surfaces.

    Example: conformance backends
    """
    versions = {name: _version(name) for name in registry.names() if registry.installed(name)}
    for line in describe.backend_lines(versions):
        click.echo(line)


def _version(name: str) -> str:
    """Return the version of a backend's distribution, which need not be called like its module."""
    module = registry.backend(name).packages[0]
    for distribution in importlib.metadata.packages_distributions().get(module, []):
        return importlib.metadata.version(distribution)
    return "installed"


cli.add_command(catalogue_command)
cli.add_command(run)
cli.add_command(report)
cli.add_command(ledger_group)

if __name__ == "__main__":
    main()
