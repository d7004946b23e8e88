"""The command line: every command that is short; the others stand in modules of their own."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten

import click
from rich.console import Console

from conformance import __version__, catalogue, describe
from conformance.adapter import Unsupported
from conformance.cases import LEVELS, Case
from conformance.cli_backends import backends
from conformance.cli_catalogue import catalogue as catalogue_command
from conformance.cli_check import check, freeze
from conformance.cli_conventions import conventions
from conformance.cli_diff import diff
from conformance.cli_explore import explore
from conformance.cli_export import export_command
from conformance.cli_find import find_case, find_surface
from conformance.cli_ledger import ledger_group
from conformance.cli_merge import merge_command
from conformance.cli_options import CASES_OPTION, DEVICE_OPTION, PRECISION_OPTION
from conformance.cli_rejudge import rejudge_command
from conformance.cli_report import report
from conformance.cli_run import run
from conformance.cli_store import store_command
from conformance.cli_surfaces import surfaces
from conformance.cli_translate import translate_command
from conformance.cli_verified import verified_command
from conformance.devices import Device
from conformance.drawing import drawing
from conformance.errors import ConformanceError, IncompleteRun
from conformance.expected import Expected, expected
from conformance.operators import OPERATORS
from conformance.placing import placed
from conformance.repro import script
from conformance.translate import translate
from reports.summary import printable

INTERRUPTED = 130
LONGEST = 1500
"""Letters of one line of an error."""


def _tell_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Say which suite and which catalogue this is, and leave."""
    if wanted and not context.resilient_parsing:
        click.echo(f"conformance, version {__version__}, catalogue {catalogue.version() or 'without a lock'}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Say the version of the suite and that of its catalogue, and leave.",
)
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
            click.echo(f"conformance: {_harmless(line)}", err=True)
        status = error.exit_status
    sys.exit(status)


def _one_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    return _harmless(" ".join(error.format_message().split())) + hint


def _harmless(line: str) -> str:
    """Return a line that quotes who knows what: signs that a terminal obeys spelt out, and no longer than bearable."""
    shown = printable(line)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


@cli.command("list")
@CASES_OPTION
@click.option(
    "--operator", "operators", multiple=True, type=click.Choice(sorted(OPERATORS)), help="Only cases of this operator."
)
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches, * for anything.")
@click.option(
    "--level", type=click.Choice(LEVELS), default="standard", show_default=True, help="Only cases up to this level."
)
def list_command(paths: tuple[Path, ...], operators: tuple[str, ...], globs: tuple[str, ...], level: str) -> None:
    """List the ids of cases, one a line; on a terminal with what they are about.

    On a terminal also how many there are, and the version of the catalogue.

    Example: conformance list --operator max_pool --case '*book*'
    """
    cases = catalogue.load(paths, level=level, operators=operators, globs=globs)
    selected = cases.select(level, operators, globs)
    if not selected:
        raise IncompleteRun("no case is selected")
    width = max(len(case.id) for case in selected)
    room = max(get_terminal_size().columns - width - 2, 20)
    for case in selected:
        about = f"  {shorten(case.about, room, placeholder=' …')}" if sys.stdout.isatty() and case.about else ""
        click.echo(f"{case.id:<{width if about else 0}}{about}")
    if sys.stdout.isatty():
        click.echo(f"{len(selected)} cases{f', catalogue {cases.version}' if cases.version else ''}")


@cli.command()
@CASES_OPTION
@click.argument("case")
@click.option("--drawing/--no-drawing", "drawn", default=True, help="Draw the input with its windows, and the output.")
def show(paths: tuple[Path, ...], case: str, drawn: bool) -> None:
    """Show a case: parameters, inputs, what must come out, what it costs, and a drawing of it.

    Example: conformance show max_pool/book-stride-2-padding-1
    """
    found = find_case(paths, case)
    wanted = expected(found)
    click.echo("\n".join(map(printable, describe.case_text(found, wanted).split("\n"))))
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


@cli.command()
@CASES_OPTION
@click.argument("case")
@click.option("--surface", "name", required=True, metavar="S", help="The surface to run the case on.")
@DEVICE_OPTION
@PRECISION_OPTION
def repro(paths: tuple[Path, ...], case: str, name: str, device: str, precision: str) -> None:
    """Print a stand-alone script that runs a case: it needs the framework and NumPy, nothing of the suite.

    Example: conformance repro max_pool/book-1d --surface numpy.loops > repro.py && python repro.py
    """
    found, where = find_case(paths, case), Device(device, precision)
    backend = placed(find_surface(name)[0], where)
    surface = next(one for one in backend.surfaces if one.name == name)
    program = translate(found, surface)
    if isinstance(program, Unsupported):
        raise ConformanceError(f"case {found.id}: {surface.name} does not support it: {program.reason}")
    click.echo(script(found, expected(found), backend, program), nl=False)


cli.add_command(backends)
cli.add_command(catalogue_command)
cli.add_command(conventions)
cli.add_command(surfaces)
cli.add_command(run)
cli.add_command(explore)
cli.add_command(report)
cli.add_command(store_command)
cli.add_command(diff)
cli.add_command(merge_command)
cli.add_command(rejudge_command)
cli.add_command(check)
cli.add_command(freeze)
cli.add_command(export_command)
cli.add_command(ledger_group)
cli.add_command(translate_command)
cli.add_command(verified_command)

if __name__ == "__main__":
    main()
