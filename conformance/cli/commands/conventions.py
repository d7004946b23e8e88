"""`conformance conventions`: the answer of every surface to the conventions on which documents differ."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from conformance import IncompleteRun
from conformance.adapters.api import Citation, Declaration
from conformance.catalogue import loading as catalogues
from conformance.cli.console import line_width
from conformance.cli.lookup import check_surface_globs
from conformance.cli.options import CASES_OPTION, SURFACE_GLOB_OPTION
from conformance.cli.results_io import observed_answers
from conformance.judging.conventions import (
    Convention,
    SurfaceAnswer,
    conventions_by_operator,
    conventions_record,
    find_conventions,
)
from conformance.judging.tested_values import describe_values
from reports.views.markdown_layout import code_span, table_text
from reports.views.template_environment import render_markdown_template


@click.command("conventions")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="A table for the terminal, a Markdown page, or JSON as docs/conventions.schema.json describes it.",
)
@click.option(
    "--question",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="Only conventions whose name matches. Repeatable. A single match is printed with all details.",
)
@SURFACE_GLOB_OPTION
@CASES_OPTION
def conventions(
    results: tuple[Path, ...],
    output_format: str,
    globs: tuple[str, ...],
    surface_globs: tuple[str, ...],
    paths: tuple[Path, ...],
) -> None:
    """Show the answer of every surface to each convention.

    The documents of frameworks differ on a convention, or are silent. The shown answers are those that the adapters
    declare. With RESULTS, the answers observed in these results files are shown too.

    Example: conformance conventions --question 'max_pool/*' --surface 'numpy.*'
    """
    observed = observed_answers(results)
    check_surface_globs(surface_globs, {surface for _, surface in observed})
    cases = catalogues.load_catalogue(paths).cases
    found = find_conventions(cases, observed, globs=globs, surfaces=surface_globs)
    if not any(convention.answers_by_surface for convention in found):
        raise IncompleteRun("no selected surface answers a selected convention")
    if output_format == "json":
        click.echo(json.dumps(conventions_record(found), ensure_ascii=False, indent=2))
    elif output_format == "markdown":
        click.echo(conventions_page(found, observed=bool(results)), nl=False)
    elif len(found) == 1:
        click.echo("\n".join(convention_lines(found[0], observed=bool(results))))
    else:
        click.echo("\n".join(convention_table_lines(found, observed=bool(results))))


CONVENTIONS_TABLE_WIDTH = 80
"""Maximum width of the text on a terminal, in characters."""
UNDOCUMENTED_MARK = "°"
DISAGREEMENT_MARK = "!"
UNDECLARED_TEXT = "none declared"
DECLARATION_LEGEND = f"{UNDOCUMENTED_MARK} undocumented: observed in one version"
RESULTS_LEGEND = f"{DISAGREEMENT_MARK} differs from the declared answer: the observed answer follows"


def convention_table_lines(found: Sequence[Convention], *, observed: bool) -> Iterator[str]:
    """Yield lines for a terminal: the conventions of each operator, and for each answer the surfaces that give it."""
    yield DECLARATION_LEGEND
    if observed:
        yield RESULTS_LEGEND
    for operator, group in conventions_by_operator(found):
        yield from ("", operator, "=" * len(operator))
        for convention in group:
            yield ""
            yield convention.id.partition("/")[2]
            yield from _wrap_text(convention.cases[0].about, "  ")
            for name, surfaces in _surfaces_by_answer(convention, observed=observed):
                yield from _wrap_text(f"{name}: {', '.join(surfaces)}", "    ", "      ")


def _wrap_text(text: str, first: str, rest: str | None = None) -> list[str]:
    width = line_width(CONVENTIONS_TABLE_WIDTH)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=first if rest is None else rest)


def _surfaces_by_answer(convention: Convention, *, observed: bool) -> list[tuple[str, list[str]]]:
    """Return each answer that a surface declares, with these surfaces, in the order of the convention's answers."""
    groups: dict[str, list[str]] = {name: [] for name in convention.answer_texts}
    for surface, answer in convention.answers_by_surface.items():
        declared = answer.declaration.summary if answer.declaration else UNDECLARED_TEXT
        groups.setdefault(declared, []).append(f"{surface}{_answer_marks(answer, observed=observed)}")
    return [(name, surfaces) for name, surfaces in groups.items() if surfaces]


def _answer_marks(answer: SurfaceAnswer, *, observed: bool) -> str:
    undocumented = answer.declaration is not None and not answer.declaration.documented
    other = f" {DISAGREEMENT_MARK}{answer.observed}" if observed and answer.matches_declaration is False else ""
    return (UNDOCUMENTED_MARK if undocumented else "") + other


def convention_lines(convention: Convention, *, observed: bool) -> Iterator[str]:
    """Yield all details of one convention: the meaning of each answer, and each surface's answer with its source."""
    first = convention.cases[0]
    yield convention.id
    yield from _wrap_text(first.about, "  ")
    if first.source:
        yield from _wrap_text(f"Source: {first.source}", "  ")
    yield from _wrap_text(f"Cases: {', '.join(case.id for case in convention.cases)}", "  ", "    ")
    yield from _wrap_text(f"Tested: {describe_values(convention.cases)}", "  ", "    ")
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
    return answer.declaration.summary + (f" ({', '.join(others)})" if others else "")


def _source_lines(answer: SurfaceAnswer) -> Iterator[str]:
    declaration = answer.declaration
    if declaration is None:
        return
    if declaration.document:
        yield f'"{declaration.document.sentence}"'
        yield f"{declaration.document.url} ({declaration.document.version})"
    else:
        yield f"undocumented, observed in {declaration.observed}"
    if declaration.depends_on:
        yield dependence_text(declaration)
    if declaration.issue:
        yield declaration.issue
    if declaration.note:
        yield declaration.note


def conventions_page(found: Sequence[Convention], *, observed: bool) -> str:
    """Return a Markdown page: a table for each operator, then the quotations that document the answers."""
    return render_markdown_template(
        "conformance.cli",
        "conventions.md.j2",
        legend="; ".join([DECLARATION_LEGEND, RESULTS_LEGEND] if observed else [DECLARATION_LEGEND]),
        operators=conventions_by_operator(found),
        answer_table=lambda conventions: _answer_table(conventions, observed=observed),
        quotations=_quotations,
        dependences=_dependences,
        tested=lambda convention: describe_values(convention.cases),
    )


def _answer_table(conventions: Sequence[Convention], *, observed: bool) -> str:
    surfaces = list(dict.fromkeys(name for convention in conventions for name in convention.answers_by_surface))
    rows = [
        [
            convention.id.partition("/")[2],
            *(_answer_cell(convention.answers_by_surface.get(name), observed=observed) for name in surfaces),
        ]
        for convention in conventions
    ]
    return table_text(["convention", *map(code_span, surfaces)], rows)


def _answer_cell(answer: SurfaceAnswer | None, *, observed: bool) -> str:
    return "" if answer is None else f"{_observed_text(answer)}{_answer_marks(answer, observed=observed)}"


def _quotations(convention: Convention) -> dict[Citation, list[str]]:
    """Return each sentence that documents an answer, with the surfaces that quote it."""
    quoted: dict[Citation, list[str]] = {}
    for surface, answer in convention.answers_by_surface.items():
        if answer.declaration and answer.declaration.document:
            quoted.setdefault(answer.declaration.document, []).append(surface)
    return quoted


def dependence_text(declaration: Declaration) -> str:
    """Return the answer of a surface that depends on a condition, with the cases in which it is another one."""
    cases: dict[str, list[str]] = {}
    for case, answer in declaration.by_case.items():
        cases.setdefault(answer, []).append(case)
    for case, answers in declaration.by_case_and_cpu.items():
        for feature, answer in answers.items():
            cases.setdefault(f"{answer} with {feature}", []).append(case)
    others = "; ".join(f"{answer} in {', '.join(names)}" for answer, names in cases.items())
    return f"{declaration.answer}; {others}"


def _dependences(convention: Convention) -> dict[str, list[str]]:
    """Return the text about each answer that depends on a condition, with the surfaces that give it."""
    found: dict[str, list[str]] = {}
    for surface, answer in convention.answers_by_surface.items():
        if answer.declaration and answer.declaration.depends_on:
            found.setdefault(dependence_text(answer.declaration), []).append(surface)
    return found
