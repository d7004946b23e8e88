"""`conformance export`: write cases and expected results as files that any language can read."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import IncompleteRun
from conformance.catalogue import export, loading
from conformance.cli.options import CASES_OPTION, LEVEL_CHOICES, OPERATOR_OPTION
from conformance.cli.progress import progress_bar


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--level", type=click.Choice(LEVEL_CHOICES), default="smoke", show_default=True, help="Only cases up to this level."
)
@OPERATOR_OPTION
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches this pattern.")
@CASES_OPTION
def export_command(
    folder: Path, level: str, operators: tuple[str, ...], globs: tuple[str, ...], paths: tuple[Path, ...]
) -> None:
    """Write cases with their inputs, expected outputs and error bounds to DIR, for programs in any language.

    DIR must not exist, be empty, or be an earlier export, which is replaced. `conformance run --cases DIR` reads an
    export.

    Example: conformance export build/catalogue --level standard
    """
    catalogue = loading.load_catalogue(paths, level=level, operators=operators, globs=globs)
    cases = catalogue.select(level, operators, globs)
    if not cases:
        raise IncompleteRun("no case is selected")
    with progress_bar("export") as step:
        export.write_export(catalogue, cases, folder, step)
    click.echo(f"{len(cases)} cases exported: {folder}")
