"""`conformance list`, `show` and `repro`: the cases of the catalogue, one of them, and a script that runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten

import click
from rich.console import Console

from conformance import ConformanceError, IncompleteRun
from conformance.adapters.api.devices import Device
from conformance.adapters.api.placement import backend_on_device
from conformance.adapters.api.surface import Unsupported
from conformance.cases.case import LEVELS, Case
from conformance.catalogue import describe, loading
from conformance.cli.drawing import drawing_lines
from conformance.cli.lookup import find_case, find_surface
from conformance.cli.options import CASES_OPTION, DEVICE_OPTION, OPERATOR_OPTION, PRECISION_OPTION
from conformance.judging.expected import Expected, compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from reports.analysis.summary import escape_control_characters


@click.command("list")
@CASES_OPTION
@OPERATOR_OPTION
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches, * for anything.")
@click.option(
    "--level", type=click.Choice(LEVELS), default="standard", show_default=True, help="Only cases up to this level."
)
def list_command(paths: tuple[Path, ...], operators: tuple[str, ...], globs: tuple[str, ...], level: str) -> None:
    """List the ids of cases, one a line; on a terminal with what they are about.

    On a terminal also how many there are, and the version of the catalogue.

    Example: conformance list --operator max_pool --case '*book*'
    """
    cases = loading.load_catalogue(paths, level=level, operators=operators, globs=globs)
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


@click.command()
@CASES_OPTION
@click.argument("case")
@click.option("--drawing/--no-drawing", "drawn", default=True, help="Draw the input with its windows, and the output.")
def show(paths: tuple[Path, ...], case: str, drawn: bool) -> None:
    """Show a case: parameters, inputs, what must come out, what it costs, and a drawing of it.

    Example: conformance show max_pool/book-stride-2-padding-1
    """
    found = find_case(paths, case)
    wanted = compute_expected(found)
    click.echo("\n".join(map(escape_control_characters, describe.case_text(found, wanted).split("\n"))))
    if drawn:
        _print_drawing(found, wanted)


def _print_drawing(case: Case, expected: Expected) -> None:
    """Print the drawing of a case: in colour on a terminal, in ASCII anywhere else."""
    console = Console(highlight=False)
    plain = not console.is_terminal or console.is_dumb_terminal or console.no_color
    for line in drawing_lines(
        case, expected, console.width, ascii_only=plain or not console.encoding.startswith("utf")
    ):
        if plain:
            click.echo(line.plain)
        else:
            console.print(line, no_wrap=True, crop=False, overflow="ignore")


@click.command()
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
    backend = backend_on_device(find_surface(name)[0], where)
    surface = next(one for one in backend.surfaces if one.name == name)
    program = translate(found, surface)
    if isinstance(program, Unsupported):
        raise ConformanceError(f"case {found.id}: {surface.name} does not support it: {program.reason}")
    click.echo(repro_script(found, compute_expected(found), backend, program), nl=False)
