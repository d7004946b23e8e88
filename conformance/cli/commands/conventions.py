"""`conformance conventions`: what every surface answers to the questions on which documents differ."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.catalogue import loading as catalogues
from conformance.cli.options import CASES_OPTION
from conformance.judging.conventions import (
    Convention,
    SurfaceAnswer,
    conventions_by_operator,
    conventions_record,
    find_conventions,
)
from reports.results import compatibility, reader


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
    found = find_conventions(
        catalogues.load_catalogue(paths).cases, _observations(results), globs=globs, surfaces=surfaces
    )
    if not any(question.answers_by_surface for question in found):
        raise IncompleteRun("no question is selected that any surface answers")
    if kind == "json":
        click.echo(json.dumps(conventions_record(found), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_output_lines(found, kind, observed=bool(results))))


def _output_lines(found: Sequence[Convention], kind: str, *, observed: bool) -> Iterator[str]:
    if kind == "markdown":
        return markdown_lines(found, observed=observed)
    return (
        convention_lines(found[0], observed=observed)
        if len(found) == 1
        else convention_table_lines(found, observed=observed)
    )


def _observations(results: Iterable[Path]) -> dict[tuple[str, str], dict[str, str]]:
    """Return for each question and surface the answers that results files hold, by case."""
    paths = list(results)
    try:
        report = reader.load_report(paths) if paths else None
    except compatibility.UnreadableResults as error:
        raise ConformanceError(str(error)) from None
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for backend in report.backends if report else ():
        for answer in backend.conventions:
            if answer.observed is not None:
                seen.setdefault((answer.question, answer.surface), {})[answer.case] = answer.observed
    return seen


CONVENTIONS_TABLE_WIDTH = 80
UNDOCUMENTED_MARK = "°"
DISAGREEMENT_MARK = "!"
UNDECLARED_TEXT = "none declared"
DECLARATION_LEGEND = f"{UNDOCUMENTED_MARK} in no document: pinned by observation in one version"
RESULTS_LEGEND = f"{DISAGREEMENT_MARK} observed otherwise, as it says"


def convention_table_lines(found: Sequence[Convention], *, observed: bool) -> Iterator[str]:
    """Yield the lines for a terminal: for each operator its questions, for each answer the surfaces that give it."""
    yield DECLARATION_LEGEND
    if observed:
        yield RESULTS_LEGEND
    for operator, group in conventions_by_operator(found):
        yield from ("", operator, "=" * len(operator))
        for question in group:
            yield ""
            yield question.id.partition("/")[2]
            yield from _wrap_text(question.cases[0].about, "  ")
            for name, surfaces in _surfaces_by_answer(question, observed=observed):
                yield from _wrap_text(f"{name}: {', '.join(surfaces)}", "    ", "      ")


def _wrap_text(text: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text, CONVENTIONS_TABLE_WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest
    )


def _surfaces_by_answer(convention: Convention, *, observed: bool) -> list[tuple[str, list[str]]]:
    """Return each answer that some surface declares, with these surfaces, in the order of the answers."""
    groups: dict[str, list[str]] = {name: [] for name in convention.answer_texts}
    for surface, answer in convention.answers_by_surface.items():
        declared = answer.declaration.answer if answer.declaration else UNDECLARED_TEXT
        groups.setdefault(declared, []).append(f"{surface}{_answer_marks(answer, observed=observed)}")
    return [(name, surfaces) for name, surfaces in groups.items() if surfaces]


def _answer_marks(answer: SurfaceAnswer, *, observed: bool) -> str:
    undocumented = answer.declaration is not None and not answer.declaration.documented
    other = f" {DISAGREEMENT_MARK}{answer.observed}" if observed and answer.matches_declaration is False else ""
    return (UNDOCUMENTED_MARK if undocumented else "") + other


def convention_lines(convention: Convention, *, observed: bool) -> Iterator[str]:
    """Yield one question with all that is known of it: what each answer means, and every surface's with its source."""
    first = convention.cases[0]
    yield convention.id
    yield from _wrap_text(first.about, "  ")
    if first.source:
        yield from _wrap_text(f"Source: {first.source}", "  ")
    yield from _wrap_text(f"Cases: {', '.join(case.id for case in convention.cases)}", "  ", "    ")
    yield ""
    for name, meaning in convention.answer_texts.items():
        yield from _wrap_text(f"{name}: {meaning}", "  ", "    ")
    for surface, answer in convention.answers_by_surface.items():
        yield ""
        yield from _wrap_text(f"{surface}: {_observed_text(answer)}", "")
        yield from (line for text in _source_lines(answer) for line in _wrap_text(text, "  "))
        if observed:
            yield from (f"  observed: {name} ({case})" for case, name in answer.observations.items())


def _observed_text(answer: SurfaceAnswer) -> str:
    if answer.declaration is None:
        return UNDECLARED_TEXT
    others = [f"{other} with {feature}" for feature, other in answer.declaration.cpu.items()]
    return answer.declaration.answer + (f" ({', '.join(others)})" if others else "")


def _source_lines(answer: SurfaceAnswer) -> Iterator[str]:
    declaration = answer.declaration
    if declaration is None:
        return
    if declaration.document:
        yield f'"{declaration.document.sentence}"'
        yield f"{declaration.document.url} ({declaration.document.version})"
    else:
        yield f"undocumented, observed in {declaration.observed}"
    if declaration.issue:
        yield declaration.issue
    if declaration.note:
        yield declaration.note


def markdown_lines(found: Sequence[Convention], *, observed: bool) -> Iterator[str]:
    """Yield the lines of a page: a table for each operator, then the sentences that document the answers."""
    yield from ("# Questions of convention", "")
    yield from CONVENTIONS_INTRODUCTION
    yield from ("", f"{DECLARATION_LEGEND}{'; ' + RESULTS_LEGEND if observed else ''}.", "")
    for operator, group in conventions_by_operator(found):
        yield from (f"## {operator}", "")
        yield from _convention_matrix(group, observed=observed)
        yield from ("", "<details><summary>What each asks, and who documents what</summary>", "")
        for question in group:
            yield from _detail_lines(question)
        yield from ("</details>", "")


CONVENTIONS_INTRODUCTION = (
    "Where the documents of the frameworks differ, or say nothing, there is no right answer: the suite asks a question",
    "with named answers, puts it to the framework's own call, and holds every surface to the answer that it declares.",
    "Where a document answers otherwise than was observed, or a surface gives two answers, the",
    "[ledger](ledger.md) says so. `conformance conventions --question max_pool/nan-in-window` prints one in full, and",
    "`conformance conventions RESULTS…` what was observed beside. This page is what `--format markdown` prints.",
)


def _convention_matrix(conventions: Sequence[Convention], *, observed: bool) -> Iterator[str]:
    surfaces = list(dict.fromkeys(name for question in conventions for name in question.answers_by_surface))
    yield f"| question | {' | '.join(f'`{name}`' for name in surfaces)} |"
    yield f"|---|{'---|' * len(surfaces)}"
    for question in conventions:
        cells = (_answer_cell(question.answers_by_surface.get(name), observed=observed) for name in surfaces)
        yield f"| {question.id.partition('/')[2]} | {' | '.join(cells)} |"


def _answer_cell(answer: SurfaceAnswer | None, *, observed: bool) -> str:
    return "" if answer is None else f"{_observed_text(answer)}{_answer_marks(answer, observed=observed)}"


def _detail_lines(convention: Convention) -> Iterator[str]:
    yield f"**{convention.id.partition('/')[2]}**: {_escape_markdown(convention.cases[0].about)}"
    yield from (f"- *{name}*: {_escape_markdown(meaning)}" for name, meaning in convention.answer_texts.items())
    quoted: dict[str, list[str]] = {}
    for surface, answer in convention.answers_by_surface.items():
        document = answer.declaration.document if answer.declaration else None
        if document:
            text = f"“{_escape_markdown(document.sentence)}” [{_escape_markdown(document.version)}]({document.url})"
            quoted.setdefault(text, []).append(f"`{surface}`")
    yield from (f"- {', '.join(surfaces)}: {text}" for text, surfaces in quoted.items())
    yield ""


def _escape_markdown(text: str) -> str:
    for character in "\\`*_[]<>|$":
        text = text.replace(character, f"\\{character}")
    return text
