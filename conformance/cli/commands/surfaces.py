"""`conformance surfaces`: how each surface supports each operator (native, padded, composed or unsupported)."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import click

from conformance import IncompleteRun
from conformance.adapters import registry
from conformance.catalogue import loading as catalogues
from conformance.cli.markdown_pages import surfaces_page
from conformance.cli.options import CASES_OPTION, OPERATOR_OPTION
from conformance.translation.support import support_table, terminal_lines


@click.command("surfaces")
@OPERATOR_OPTION
@click.option("--backend", "names", multiple=True, metavar="NAME", help="Only surfaces of this backend. Repeatable.")
@click.option("--surface", "globs", multiple=True, metavar="GLOB", help="Only surfaces whose name matches.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "markdown"]),
    default="table",
    show_default=True,
    help="Text for the terminal, or a Markdown page.",
)
@CASES_OPTION
def surfaces(
    operators: tuple[str, ...], names: tuple[str, ...], globs: tuple[str, ...], kind: str, paths: tuple[Path, ...]
) -> None:
    """Show how each surface supports each operator: native (one call), padded, composed of several calls, or not.

    The cases whose expected result is a value are translated and counted. Nothing is run, and no framework needs to be
    installed.

    Example: conformance surfaces --operator avg_pool --operator lp_pool --backend numpy
    """
    backends = {name: registry.get_backend(name).surfaces for name in names or registry.backend_names()}
    chosen = {
        name: [one for one in found if not globs or any(fnmatch.fnmatchcase(one.name, glob) for glob in globs)]
        for name, found in backends.items()
    }
    chosen = {name: found for name, found in chosen.items() if found}
    listed = [surface for found in chosen.values() for surface in found]
    table = support_table(catalogues.load_catalogue(paths).select("standard", operators), listed)
    if not table or not listed:
        raise IncompleteRun(f"no {'case' if listed else 'surface'} is selected")
    page = surfaces_page(table, chosen) if kind == "markdown" else "\n".join(terminal_lines(table, listed)) + "\n"
    click.echo(page, nl=False)
