"""`conformance conventions`: what every surface answers to the questions on which documents differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from conformance import catalogue as catalogues
from conformance import conventions_text as text
from conformance.cli_options import CASES_OPTION
from conformance.conventions import Question, questions, record
from conformance.errors import ConformanceError, IncompleteRun
from reports import joining, reading


@click.command("conventions")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="A table for the terminal, a Markdown page, or JSON as docs/conventions.schema.json describes it.",
)
@click.option(
    "--question", "globs", multiple=True, metavar="GLOB", help="Only questions whose name matches; one alone in full."
)
@click.option("--surface", "surfaces", multiple=True, metavar="GLOB", help="Only surfaces whose name matches.")
@CASES_OPTION
def conventions(
    results: tuple[Path, ...], kind: str, globs: tuple[str, ...], surfaces: tuple[str, ...], paths: tuple[Path, ...]
) -> None:
    """Show what every surface answers where documents differ; with results files, what it was seen to answer beside.

    Example: conformance conventions --question 'max_pool/*' --surface 'numpy.*'
    """
    found = questions(catalogues.load(paths).cases, _seen(results), globs=globs, surfaces=surfaces)
    if not any(question.surfaces for question in found):
        raise IncompleteRun("no question is selected that any surface answers")
    if kind == "json":
        click.echo(json.dumps(record(found), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(found, kind, observed=bool(results))))


def _lines(found: Sequence[Question], kind: str, *, observed: bool) -> Iterator[str]:
    if kind == "markdown":
        return text.markdown(found, observed=observed)
    return text.full(found[0], observed=observed) if len(found) == 1 else text.table(found, observed=observed)


def _seen(results: Iterable[Path]) -> dict[tuple[str, str], dict[str, str]]:
    """Return for each question and surface the answers that results files hold, by case."""
    paths = list(results)
    try:
        report = reading.load(paths) if paths else None
    except joining.UnreadableResults as error:
        raise ConformanceError(str(error)) from None
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for backend in report.backends if report else ():
        for answer in backend.conventions:
            if answer.observed is not None:
                seen.setdefault((answer.question, answer.surface), {})[answer.case] = answer.observed
    return seen
