"""`conformance compare`: the differences between two or more surfaces, for porting a model from one to the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from conformance import ConformanceError
from conformance.catalogue import loading
from conformance.catalogue.surface_comparison import SurfaceComparison, SurfaceDeviation, compare_surfaces
from conformance.cli.lookup import find_framework_surface
from conformance.cli.options import CASES_OPTION, OPERATOR_OPTION
from conformance.cli.parameter_types import SURFACE_NAME
from conformance.cli.results_io import observed_answers
from conformance.judging.conventions import Convention, SurfaceAnswer, conventions_by_operator
from conformance.judging.ledger import load_ledger
from conformance.translation.support import Support, counts_text
from reports.analysis.summary import count_text
from reports.results.vocabulary import Level
from reports.views.markdown_layout import code_span, escape_prose, table_text
from reports.views.template_environment import render_markdown_template

COMPARISON_FORMAT = 1
MIN_SURFACES = 2
NO_ANSWER_TEXT = "no answer"
"""Text for a surface that does not answer a convention, for example because it does not have the operator."""


@click.command("compare")
@click.argument("names", nargs=-1, type=SURFACE_NAME, metavar="SURFACE SURFACE...")
@OPERATOR_OPTION
@click.option(
    "--results",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Results file with observed answers, which replace the declared ones. Repeatable.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="Text for the terminal, a Markdown page, or JSON.",
)
@CASES_OPTION
def compare(
    names: tuple[str, ...],
    operators: tuple[str, ...],
    results: tuple[Path, ...],
    output_format: str,
    paths: tuple[Path, ...],
) -> None:
    """Show where surfaces differ from each other.

    Use it, for example, before a model is ported from one surface to another. The comparison lists the conventions with
    different answers, the known deviations that only some of the surfaces have, and the operators that are written
    differently. The answers are those that the adapters declare. SURFACE is the name of a surface, or of a framework,
    which means its first surface. Nothing is run, and no framework needs to be installed.

    Example: conformance compare numpy.loops tf.nn --operator avg_pool
    """
    surfaces = [find_framework_surface(name) for name in dict.fromkeys(names)]
    if len({surface.name for surface in surfaces}) < MIN_SURFACES:
        raise ConformanceError("compare: requires at least two different surfaces")
    cases = loading.load_catalogue(paths).select(Level.STANDARD, operators)
    found = compare_surfaces(surfaces, cases, load_ledger(), observed_answers(results))
    if output_format == "json":
        click.echo(json.dumps(comparison_record(found), ensure_ascii=False, indent=2))
    elif output_format == "markdown":
        click.echo(comparison_page(found), nl=False)
    else:
        click.echo("\n".join(comparison_lines(found)))


def headline(found: SurfaceComparison) -> str:
    """Return the numbers of differences in one sentence."""
    differing = len(found.differing)
    common = count_text(differing + found.same_count, "convention")
    deviations, operators = count_text(len(found.deviations), "known deviation"), len(found.support)
    return (
        f"{' and '.join(found.surfaces)}: different answers to {differing} of {common} that they answer;"
        f" {deviations} of some of them only; {count_text(operators, 'operator')} with other programs"
    )


def comparison_lines(found: SurfaceComparison) -> Iterator[str]:
    """Yield the lines for a terminal."""
    width = max(map(len, found.surfaces))
    yield headline(found)
    for operator, conventions in conventions_by_operator(found.differing):
        yield from ("", operator, "=" * len(operator))
        for convention in conventions:
            yield f"  {_short_name(convention)}: {convention.cases[0].about}"
            for surface, text in _answers(convention, found.surfaces):
                yield f"    {surface:<{width}}  {text}"
    if found.deviations:
        yield from ("", "known deviations of some surfaces only", "=" * 38)
        yield from (f"  {_surface_names(one)}: {_deviation_text(one)}" for one in found.deviations)
    if found.support:
        yield from ("", "operators", "=========")
    for operator, row in found.support.items():
        yield f"  {operator}"
        yield from (f"    {name:<{width}}  {counts_text(row[name])}" for name in found.surfaces)
    if found.unanswered:
        yield from ("", f"only one answers: {', '.join(one.id for one in found.unanswered)}")


def _short_name(convention: Convention) -> str:
    return convention.id.partition("/")[2]


def _surface_names(deviation: SurfaceDeviation) -> str:
    return ", ".join(deviation.surfaces)


def _answers(convention: Convention, surfaces: Sequence[str]) -> list[tuple[str, str]]:
    """Return each surface with its answer and the meaning of the answer."""
    texts = convention.answer_texts
    answers = convention.answers_by_surface
    return [(name, _answer_text(answers[name], texts) if name in answers else NO_ANSWER_TEXT) for name in surfaces]


def _answer_text(answer: SurfaceAnswer, texts: dict[str, str]) -> str:
    text = f"{answer.name}: {texts[answer.name]}" if answer.name in texts else answer.name
    others = answer.declaration.cpu if answer.declaration else {}
    return text + "".join(f"; {other} with {feature}" for feature, other in others.items())


def _deviation_text(deviation: SurfaceDeviation) -> str:
    entry = deviation.entry
    versions = "; ".join(f"{name} {version}" for name, version in entry.versions.items())
    return " ".join(filter(None, [f"{entry.id}:", entry.observed, f"({versions})" if versions else "", entry.issue]))


def comparison_page(found: SurfaceComparison) -> str:
    """Return the comparison as a Markdown page."""
    return render_markdown_template(
        "conformance.cli",
        "compare.md.j2",
        surfaces=found.surfaces,
        headline=headline(found),
        operators=conventions_by_operator(found.differing),
        answer_table=lambda conventions: _answer_table(conventions, found.surfaces),
        deviations=[(_surface_names(one), one.entry) for one in found.deviations],
        support_table=_support_table(found),
        unanswered=[one.id for one in found.unanswered],
    )


def _answer_table(conventions: Sequence[Convention], surfaces: Sequence[str]) -> str:
    rows = [[_short_name(one), *(escape_prose(text) for _, text in _answers(one, surfaces))] for one in conventions]
    return table_text(["convention", *map(code_span, surfaces)], rows)


def _support_table(found: SurfaceComparison) -> str:
    rows = [[operator, *(counts_text(row[name]) for name in found.surfaces)] for operator, row in found.support.items()]
    return table_text(["operator", *map(code_span, found.surfaces)], rows)


def comparison_record(found: SurfaceComparison) -> dict[str, Any]:
    """Return the comparison as JSON data."""
    return {
        "format": COMPARISON_FORMAT,
        "surfaces": list(found.surfaces),
        "same": found.same_count,
        "conventions": [_convention_record(one, found.surfaces) for one in found.differing],
        "deviations": [_deviation_record(one) for one in found.deviations],
        "common_deviations": found.common_deviations,
        "operators": {
            operator: {name: _support_record(row[name]) for name in found.surfaces}
            for operator, row in found.support.items()
        },
        "unanswered": [one.id for one in found.unanswered],
    }


def _convention_record(convention: Convention, surfaces: Sequence[str]) -> dict[str, Any]:
    answers = {name: convention.answers_by_surface[name] for name in surfaces if name in convention.answers_by_surface}
    return {
        "id": convention.id,
        "about": convention.cases[0].about,
        "meanings": convention.answer_texts,
        "answers": {name: answer.name for name, answer in answers.items()},
        "cpu": {name: dict(one.declaration.cpu) for name, one in answers.items() if one.declaration},
    }


def _deviation_record(deviation: SurfaceDeviation) -> dict[str, Any]:
    entry = deviation.entry
    versions = {name: str(version) for name, version in entry.versions.items()}
    return {
        "id": entry.id,
        "surfaces": list(deviation.surfaces),
        "kinds": list(entry.kinds),
        "observed": entry.observed,
        "reason": entry.reason,
        "issue": entry.issue,
        "versions": versions,
    }


def _support_record(support: Support) -> dict[str, int]:
    return dict(support.counts())
