"""`conformance export`: the catalogue for people without Python."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import IncompleteRun
from conformance.cases.case import LEVELS
from conformance.catalogue import export, loading
from conformance.cli.options import CASES_OPTION, OPERATOR_OPTION
from conformance.cli.progress import progress_bar


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--level", type=click.Choice(LEVELS), default="smoke", show_default=True, help="How many cases.")
@OPERATOR_OPTION
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches, * for anything.")
@CASES_OPTION
def export_command(
    folder: Path, level: str, operators: tuple[str, ...], globs: tuple[str, ...], paths: tuple[Path, ...]
) -> None:
    """Write cases with their inputs, expected outputs and error bounds to DIR, for readers in any language.

    DIR is new, empty, or an earlier export, which is replaced. `conformance run --cases DIR` reads it back.

    Example: conformance export build/catalogue --level standard
    """
    whole = loading.load_catalogue(paths, level=level, operators=operators, globs=globs)
    cases = whole.select(level, operators, globs)
    if not cases:
        raise IncompleteRun("no case is selected")
    with progress_bar("export") as step:
        export.write_export(whole, cases, folder, step)
    click.echo(f"{len(cases)} cases exported: {folder}")
