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
from conformance.judging.conventions import Answer, Question, by_operator, questions, record
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
    found = questions(catalogues.load(paths).cases, _seen(results), globs=globs, surfaces=surfaces)
    if not any(question.surfaces for question in found):
        raise IncompleteRun("no question is selected that any surface answers")
    if kind == "json":
        click.echo(json.dumps(record(found), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(found, kind, observed=bool(results))))


def _lines(found: Sequence[Question], kind: str, *, observed: bool) -> Iterator[str]:
    if kind == "markdown":
        return markdown(found, observed=observed)
    return full(found[0], observed=observed) if len(found) == 1 else table(found, observed=observed)


def _seen(results: Iterable[Path]) -> dict[tuple[str, str], dict[str, str]]:
    """Return for each question and surface the answers that results files hold, by case."""
    paths = list(results)
    try:
        report = reader.load(paths) if paths else None
    except compatibility.UnreadableResults as error:
        raise ConformanceError(str(error)) from None
    seen: dict[tuple[str, str], dict[str, str]] = {}
    for backend in report.backends if report else ():
        for answer in backend.conventions:
            if answer.observed is not None:
                seen.setdefault((answer.question, answer.surface), {})[answer.case] = answer.observed
    return seen


WIDTH = 80
UNDOCUMENTED = "°"
DISAGREES = "!"
UNDECLARED = "none declared"
LEGEND = f"{UNDOCUMENTED} in no document: pinned by observation in one version"
RESULTS_LEGEND = f"{DISAGREES} observed otherwise, as it says"


def table(found: Sequence[Question], *, observed: bool) -> Iterator[str]:
    """Yield the lines for a terminal: for each operator its questions, for each answer the surfaces that give it."""
    yield LEGEND
    if observed:
        yield RESULTS_LEGEND
    for operator, group in by_operator(found):
        yield from ("", operator, "=" * len(operator))
        for question in group:
            yield ""
            yield question.id.partition("/")[2]
            yield from _wrapped(question.cases[0].about, "  ")
            for name, surfaces in _grouped(question, observed=observed):
                yield from _wrapped(f"{name}: {', '.join(surfaces)}", "    ", "      ")


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=first if rest is None else rest)


def _grouped(question: Question, *, observed: bool) -> list[tuple[str, list[str]]]:
    """Return each answer that some surface declares, with these surfaces, in the order of the answers."""
    groups: dict[str, list[str]] = {name: [] for name in question.answers}
    for surface, answer in question.surfaces.items():
        declared = answer.declaration.answer if answer.declaration else UNDECLARED
        groups.setdefault(declared, []).append(f"{surface}{_marks(answer, observed=observed)}")
    return [(name, surfaces) for name, surfaces in groups.items() if surfaces]


def _marks(answer: Answer, *, observed: bool) -> str:
    undocumented = answer.declaration is not None and not answer.declaration.documented
    other = f" {DISAGREES}{answer.observed}" if observed and answer.agrees is False else ""
    return (UNDOCUMENTED if undocumented else "") + other


def full(question: Question, *, observed: bool) -> Iterator[str]:
    """Yield one question with all that is known of it: what each answer means, and every surface's with its source."""
    first = question.cases[0]
    yield question.id
    yield from _wrapped(first.about, "  ")
    if first.source:
        yield from _wrapped(f"Source: {first.source}", "  ")
    yield from _wrapped(f"Cases: {', '.join(case.id for case in question.cases)}", "  ", "    ")
    yield ""
    for name, meaning in question.answers.items():
        yield from _wrapped(f"{name}: {meaning}", "  ", "    ")
    for surface, answer in question.surfaces.items():
        yield ""
        yield from _wrapped(f"{surface}: {_said(answer)}", "")
        yield from (line for text in _sources(answer) for line in _wrapped(text, "  "))
        if observed:
            yield from (f"  observed: {name} ({case})" for case, name in answer.seen.items())


def _said(answer: Answer) -> str:
    if answer.declaration is None:
        return UNDECLARED
    others = [f"{other} with {feature}" for feature, other in answer.declaration.cpu.items()]
    return answer.declaration.answer + (f" ({', '.join(others)})" if others else "")


def _sources(answer: Answer) -> Iterator[str]:
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


def markdown(found: Sequence[Question], *, observed: bool) -> Iterator[str]:
    """Yield the lines of a page: a table for each operator, then the sentences that document the answers."""
    yield from ("# Questions of convention", "")
    yield from INTRODUCTION
    yield from ("", f"{LEGEND}{'; ' + RESULTS_LEGEND if observed else ''}.", "")
    for operator, group in by_operator(found):
        yield from (f"## {operator}", "")
        yield from _matrix(group, observed=observed)
        yield from ("", "<details><summary>What each asks, and who documents what</summary>", "")
        for question in group:
            yield from _details(question)
        yield from ("</details>", "")


INTRODUCTION = (
    "Where the documents of the frameworks differ, or say nothing, there is no right answer: the suite asks a question",
    "with named answers, puts it to the framework's own call, and holds every surface to the answer that it declares.",
    "Where a document answers otherwise than was observed, or a surface gives two answers, the",
    "[ledger](ledger.md) says so. `conformance conventions --question max_pool/nan-in-window` prints one in full, and",
    "`conformance conventions RESULTS…` what was observed beside. This page is what `--format markdown` prints.",
)


def _matrix(questions: Sequence[Question], *, observed: bool) -> Iterator[str]:
    surfaces = list(dict.fromkeys(name for question in questions for name in question.surfaces))
    yield f"| question | {' | '.join(f'`{name}`' for name in surfaces)} |"
    yield f"|---|{'---|' * len(surfaces)}"
    for question in questions:
        cells = (_cell(question.surfaces.get(name), observed=observed) for name in surfaces)
        yield f"| {question.id.partition('/')[2]} | {' | '.join(cells)} |"


def _cell(answer: Answer | None, *, observed: bool) -> str:
    return "" if answer is None else f"{_said(answer)}{_marks(answer, observed=observed)}"


def _details(question: Question) -> Iterator[str]:
    yield f"**{question.id.partition('/')[2]}**: {_escaped(question.cases[0].about)}"
    yield from (f"- *{name}*: {_escaped(meaning)}" for name, meaning in question.answers.items())
    quoted: dict[str, list[str]] = {}
    for surface, answer in question.surfaces.items():
        document = answer.declaration.document if answer.declaration else None
        if document:
            text = f"“{_escaped(document.sentence)}” [{_escaped(document.version)}]({document.url})"
            quoted.setdefault(text, []).append(f"`{surface}`")
    yield from (f"- {', '.join(surfaces)}: {text}" for text, surfaces in quoted.items())
    yield ""


def _escaped(text: str) -> str:
    for character in "\\`*_[]<>|$":
        text = text.replace(character, f"\\{character}")
    return text
