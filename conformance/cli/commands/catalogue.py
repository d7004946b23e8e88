"""`conformance catalogue`: statistics of the catalogue."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.catalogue import loading as catalogues, statistics
from conformance.cli.markdown_pages import catalogue_page
from conformance.cli.options import CASES_OPTION


@click.command("catalogue")
@CASES_OPTION
@click.option(
    "--others",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Counts of other test suites for comparison, as written by benchmarks/others.py.",
)
def catalogue(paths: tuple[Path, ...], others: Path | None) -> None:
    """Print statistics of the catalogue as a Markdown page.

    The page counts cases by operator, level, kind, rank and dtype, and gives the coverage of each sweep.

    Example: conformance catalogue --others benchmarks/others.json > catalogue.md
    """
    other_suites = statistics.read_other_suites(others) if others else None
    click.echo(catalogue_page(catalogues.load_catalogue(paths), other_suites), nl=False)
