"""`conformance surfaces`: how each surface supports each operator (native, padded, composed or unsupported)."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import IncompleteRun
from conformance.adapters import registry
from conformance.catalogue import loading as catalogues
from conformance.cli.console import line_width
from conformance.cli.lookup import matches_any_glob
from conformance.cli.markdown_pages import surfaces_page
from conformance.cli.options import CASES_OPTION, OPERATOR_OPTION, SURFACE_GLOB_OPTION
from conformance.translation.support import SUPPORT_TABLE_WIDTH, support_table, terminal_lines
from reports.results.vocabulary import Level


@click.command("surfaces")
@OPERATOR_OPTION
@click.option("--backend", "names", multiple=True, metavar="NAME", help="Only surfaces of this backend. Repeatable.")
@SURFACE_GLOB_OPTION
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "markdown"]),
    default="table",
    show_default=True,
    help="Text for the terminal, or a Markdown page.",
)
@CASES_OPTION
def surfaces(
    operators: tuple[str, ...],
    names: tuple[str, ...],
    surface_globs: tuple[str, ...],
    output_format: str,
    paths: tuple[Path, ...],
) -> None:
    """Show how each surface supports each operator.

    An operator is native (one call), padded (one call after explicit padding), composed of several calls, or not
    supported. The cases whose expected result is a value are translated and counted. Nothing is run, and no framework
    needs to be installed.

    Example: conformance surfaces --operator avg_pool --operator lp_pool --backend numpy
    """
    backends = {name: registry.get_backend(name).surfaces for name in names or registry.backend_names()}
    chosen = {
        name: [surface for surface in found if matches_any_glob(surface.name, surface_globs or ["*"])]
        for name, found in backends.items()
    }
    chosen = {name: found for name, found in chosen.items() if found}
    listed = [surface for found in chosen.values() for surface in found]
    table = support_table(catalogues.load_catalogue(paths).select(Level.STANDARD, operators), listed)
    if not table or not listed:
        raise IncompleteRun(f"no {'case' if listed else 'surface'} is selected")
    if output_format == "markdown":
        click.echo(surfaces_page(table, chosen), nl=False)
    else:
        click.echo("\n".join(terminal_lines(table, listed, line_width(SUPPORT_TABLE_WIDTH))))
