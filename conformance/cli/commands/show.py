"""`conformance list`, `show` and `repro`: list cases, show one case, and print a script that runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten

import click
from rich.console import Console

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api import Device, Unsupported
from conformance.cases.case import Case
from conformance.catalogue import describe, loading
from conformance.cli.console import line_width, print_text
from conformance.cli.drawing import drawing_lines
from conformance.cli.lookup import find_case, find_surface
from conformance.cli.options import (
    CASE_GLOB_OPTION,
    CASES_OPTION,
    DEVICE_OPTION,
    INSTRUCTIONS_OPTION,
    OPERATOR_OPTION,
    PRECISION_OPTION,
    level_option,
)
from conformance.cli.parameter_types import SURFACE_NAME
from conformance.judging.expected import Expected, compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from reports.results.vocabulary import Level


@click.command("list")
@CASES_OPTION
@OPERATOR_OPTION
@CASE_GLOB_OPTION
@level_option(Level.STANDARD)
def list_command(paths: tuple[Path, ...], operators: tuple[str, ...], globs: tuple[str, ...], level: str) -> None:
    """List the ids of cases, one per line.

    On a terminal, the list also has the description of each case, the number of cases and the catalogue version.

    Example: conformance list --operator max_pool --case '*book*'
    """
    from conformance.cli.progress import reading_progress  # noqa: PLC0415 - `show` and `repro` do not need it

    with reading_progress() as progress:
        cases = loading.load_catalogue(paths, level=level, operators=operators, globs=globs, progress=progress)
    selected = cases.select(level, operators, globs)
    if not selected:
        raise IncompleteRun("no case is selected")
    # In a pipe only the ids are printed, so that other commands can read them.
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
    """Show a case, with a drawing of its windows.

    The text lists the parameters, inputs, expected result and cost of the case.

    Example: conformance show max_pool/book-stride-2-padding-1
    """
    found = find_case(paths, case)
    expected = compute_expected(found)
    text = describe.case_text(found, expected, line_width(describe.DESCRIPTION_WIDTH))
    print_text(text)
    if drawn:
        _print_drawing(found, expected)


def _print_drawing(case: Case, expected: Expected) -> None:
    """Print the drawing of a case: in color on a terminal, otherwise in ASCII."""
    # Not output_console: the layout of the grids needs a finite width.
    console = Console(highlight=False)
    no_color = not console.is_terminal or console.is_dumb_terminal or console.no_color
    ascii_only = no_color or not console.encoding.startswith("utf")
    for line in drawing_lines(case, expected, console.width, ascii_only=ascii_only):
        if no_color:
            click.echo(line.plain)
        else:
            console.print(line, no_wrap=True, crop=False, overflow="ignore")


@click.command()
@CASES_OPTION
@click.argument("case")
@click.option(
    "--surface", "name", required=True, type=SURFACE_NAME, metavar="S", help="The surface to run the case on."
)
@INSTRUCTIONS_OPTION
@DEVICE_OPTION
@PRECISION_OPTION
def repro(  # noqa: PLR0917 - click passes the options by name
    paths: tuple[Path, ...], case: str, name: str, instructions: str, device: str, precision: str
) -> None:
    """Print a stand-alone script that runs a case on a surface.

    The script also checks the result. It needs the framework and NumPy, but not this suite. Some results depend on the
    instructions of the processor. By default, the script disables the same instructions as a run of the suite.

    Example: conformance repro max_pool/book-1d --surface numpy.loops > repro.py && python repro.py
    """
    found = find_case(paths, case)
    backend = registry.get_backend(find_surface(name)[0].name, instructions, Device(device, precision))
    surface = next(one for one in backend.surfaces if one.name == name)
    program = translate(found, surface)
    if isinstance(program, Unsupported):
        raise ConformanceError(f"case {found.id}: {surface.name} does not support it: {program.reason}")
    click.echo(repro_script(found, compute_expected(found), backend, program), nl=False)
