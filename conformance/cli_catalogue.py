"""`conformance catalogue`: the catalogue in numbers."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import catalogue as catalogues
from conformance import counts
from conformance.cli_options import CASES_OPTION


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
    beside = counts.read_others(others) if others else None
    click.echo(counts.page(catalogues.load(paths), beside), nl=False)
