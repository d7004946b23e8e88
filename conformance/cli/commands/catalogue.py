"""`conformance catalogue`: the catalogue in numbers."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.catalogue import loading as catalogues
from conformance.catalogue import statistics
from conformance.cli.options import CASES_OPTION


@click.command("catalogue")
@CASES_OPTION
@click.option(
    "--others",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What benchmarks/others.py has counted in other suites, to stand beside.",
)
def catalogue(paths: tuple[Path, ...], others: Path | None) -> None:
    """Count the cases by operator, level, kind, rank and dtype, and what each sweep covers, as a Markdown page.

    Example: conformance catalogue --others benchmarks/others.json > docs/catalogue.md
    """
    beside = statistics.read_other_suites(others) if others else None
    click.echo(statistics.statistics_page(catalogues.load_catalogue(paths), beside), nl=False)
