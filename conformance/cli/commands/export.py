"""`conformance export`: write cases and expected results as files that any language can read."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.catalogue import export, loading
from conformance.cli.options import CASE_GLOB_OPTION, CASES_OPTION, OPERATOR_OPTION, level_option
from conformance.cli.progress import progress_bar
from reports.analysis.summary import count_text
from reports.results.vocabulary import Level


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@level_option(Level.SMOKE)
@OPERATOR_OPTION
@CASE_GLOB_OPTION
@CASES_OPTION
def export_command(
    folder: Path, level: str, operators: tuple[str, ...], globs: tuple[str, ...], paths: tuple[Path, ...]
) -> None:
    """Write cases and expected results for other languages.

    DIR gets the inputs, expected outputs and error bounds of the cases as JSON and .npy files. It must be a new or
    empty folder, or an earlier export, which is replaced. `conformance run --cases DIR` reads an export.

    Example: conformance export build/catalogue --level standard
    """
    if folder.exists() and not folder.is_dir():
        raise ConformanceError(f"{folder}: is a file; DIR must be a folder")
    catalogue = loading.load_catalogue(paths, level=level, operators=operators, globs=globs)
    cases = catalogue.select(level, operators, globs)
    if not cases:
        raise IncompleteRun("no case is selected")
    with progress_bar("export") as step:
        export.write_export(catalogue, cases, folder, step)
    click.echo(f"{count_text(len(cases), 'case')} exported: {folder}")
