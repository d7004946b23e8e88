"""Markdown pages that commands print: statistics of the catalogue, support of surfaces, and translations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.adapters.api import Surface
from conformance.cases.operators import GRADIENT_SUFFIX, OPERATORS
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.statistics import CatalogueStatistics, CountTable, counted_parts
from conformance.translation.side_by_side import Translation, program_with_setup
from conformance.translation.support import Support, SupportTable, counts_text, unsupported_reasons
from conformance.translation.text import TranslatedCase
from reports.results.vocabulary import How
from reports.views.markdown_layout import code_span, escape_prose
from reports.views.template_environment import render_markdown_template

NO_CASES = "–"
MAX_LINE_LENGTH = 120  # characters of a line of prose
MAX_REASONS = 12  # reasons listed for each surface
MAX_LISTED_OPERATORS = 4  # operators listed in one table cell


def _render(name: str, **values: Any) -> str:
    return render_markdown_template("conformance.cli", name, **values)


def catalogue_page(catalogue: Catalogue, other_suites: Mapping[str, Any] | None = None) -> str:
    """Return the page of statistics; other_suites: the data written by benchmarks/others.py."""
    statistics = CatalogueStatistics(catalogue)
    return _render(
        "catalogue.md.j2",
        statistics=statistics,
        by_level=", ".join(f"{count:,} at level {level}" for level, count in statistics.by_level.items()),
        sweeps=[
            [f"`{one.name}`", one.level, one.cover, *map(_number_text, (one.factors, one.rows, one.combinations))]
            for one in statistics.sweep_summaries()
        ],
        others=other_suites,
        parts=counted_parts(other_suites) if other_suites else [],
        count_rows=_count_rows,
        fill=_fill_text,
    )


def _count_rows(counted: CountTable) -> list[list[str]]:
    return [[f"`{name}`", *map(_number_text, numbers)] for name, numbers in counted.rows.items()]


def _number_text(count: int | None) -> str:
    return f"{count:,}" if count else NO_CASES


def _fill_text(text: str) -> str:
    indent = "  " * text.startswith("- ")
    return textwrap.fill(text, MAX_LINE_LENGTH, subsequent_indent=indent, break_on_hyphens=False)


def surfaces_page(table: SupportTable, backends: Mapping[str, Sequence[Surface]]) -> str:
    """Return the page of support: an overview of all surfaces, then a table for each backend."""
    forward = [operator for operator in table if not OPERATORS[operator].is_gradient]
    return _render(
        "surfaces.md.j2",
        backends=backends,
        headings=[operator.removesuffix("_pool").replace("_pool_", "_").replace("_", " ") for operator in forward],
        overview=[
            [code_span(surface.name), *(_support_signs(table, operator, surface) for operator in forward)]
            for surfaces in backends.values()
            for surface in surfaces
        ],
        operator_rows=lambda surfaces: [
            [code_span(operator), *(counts_text(row[surface.name]) for surface in surfaces)]
            for operator, row in table.items()
        ],
        reason_rows=lambda surfaces: [row for surface in surfaces for row in _reason_rows(table, surface.name)],
    )


def _support_signs(table: SupportTable, operator: str, surface: Surface) -> str:
    """Return the signs of an operator and its gradient; no sign if there are no cases."""
    supports = [table[name][surface.name] for name in (operator, operator + GRADIENT_SUFFIX) if name in table]
    return "".join(map(_support_sign, supports))


def _support_sign(support: Support) -> str:
    if not support.counts_by_kind:
        return "·"
    if support.unsupported_reasons:
        return "○"
    return "●" if set(support.counts_by_kind) == {How.NATIVE} else "◐"


def _reason_rows(table: SupportTable, surface: str) -> Iterator[list[str]]:
    found = unsupported_reasons(table, surface)
    for (reason, issue), number, operators in found[:MAX_REASONS]:
        more = [f"and {len(operators) - MAX_LISTED_OPERATORS} more"] if len(operators) > MAX_LISTED_OPERATORS else []
        named = ", ".join([*map(code_span, operators[:MAX_LISTED_OPERATORS]), *more])
        yield [code_span(surface), f"{number:,}", named, " ".join(filter(None, [escape_prose(reason), issue]))]
    omitted = found[MAX_REASONS:]
    if omitted:
        cases = f"{sum(number for _, number, _ in omitted):,}"
        yield [code_span(surface), cases, "", f"{len(omitted)} more: `conformance surfaces --surface {surface}`"]


def translation_page(translated: TranslatedCase, translations: Sequence[Translation]) -> str:
    """Return the page of a translated case: a section for each surface, then the unsupported ones."""
    return _render(
        "translate.md.j2",
        translated=translated,
        translations=translations,
        sentence=lambda text: escape_prose(f"{text[:1].upper()}{text[1:]}."),
        program_with_setup=program_with_setup,
    )
