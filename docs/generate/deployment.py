"""Generate the page of routes, deployment.md: what arrives unchanged on each route, what changes, what is refused.

`python -m docs.generate.deployment` updates the page. `python -m docs.generate.deployment RESULTS…` first writes a
summary of each route in the results files to docs/deployment, and leaves the other routes as they are.
conformance/translation/routes/restrictions.yaml lists what to write instead of calls that do not survive.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.translation.routes.restrictions import RESTRICTIONS_FILE, Restriction, read_restrictions
from docs.generate.backends import REPOSITORY_ROOT
from reports.analysis.routes import RouteSummary, read_route, route_file_name, route_json, route_summaries
from reports.results import load_report
from reports.results.vocabulary import ROUTE_ARROW
from reports.views.markdown_layout import code_span
from reports.views.routes import (
    SOURCES,
    Replacement,
    answer_lines,
    convention_lines,
    detail_lines,
    operator_lines,
)
from reports.views.template_environment import render_markdown_template

DOCS = REPOSITORY_ROOT / "docs"
PAGE = DOCS / "deployment.md"
DATA_FOLDER = DOCS / "deployment"


def page_replacement(one: Restriction) -> Replacement:
    """Return a restriction with its routes as Markdown. Raises ConformanceError if the page has no such source."""
    if one.source not in SOURCES.values():
        raise ConformanceError(f"source: {one.source!r} is not one of {', '.join(dict.fromkeys(SOURCES.values()))}")
    routes = ", ".join(map(code_span, one.routes))
    return Replacement(one.source, routes, one.operators, one.call, one.happens, one.instead)


def read_replacements(path: Path = RESTRICTIONS_FILE) -> tuple[Replacement, ...]:
    """Return what to write instead of calls. Raises ConformanceError with one line."""
    return tuple(map(page_replacement, read_restrictions(path)))


def known_routes() -> list[str]:
    """Return the routes of the adapters, by source and exporter as the adapters list them."""
    backends = [name for name in registry.built_in_modules() if name.startswith("routes-")]
    surfaces = [one.name for name in backends for one in registry.get_backend(name).surfaces]
    return [name for name in surfaces if ROUTE_ARROW in name]


def read_summaries(folder: Path = DATA_FOLDER) -> list[RouteSummary]:
    """Return the recorded summaries in the order of the adapters; of a route without a file there is none."""
    paths = [folder / route_file_name(route) for route in known_routes()]
    return [read_route(path) for path in paths if path.exists()]


def deployment_page(summaries: Sequence[RouteSummary], replacements: Sequence[Replacement]) -> str:
    """Return the whole page."""
    sections = {
        "answers": answer_lines(summaries),
        "operators": operator_lines(summaries),
        "conventions": convention_lines(summaries),
        "details": detail_lines(summaries, replacements),
    }
    texts = {name: "\n".join(lines).rstrip() for name, lines in sections.items()}
    return render_markdown_template(
        "docs.generate",
        "deployment.md.j2",
        notes=any(one.note for one in summaries),
        dynamic=any(one.is_dynamic for one in summaries),
        **texts,
    )


def write_summaries(summaries: Iterable[RouteSummary], folder: Path = DATA_FOLDER) -> list[Path]:
    """Write one file for each summary, and return their paths."""
    written = []
    for one in summaries:
        path = folder / route_file_name(one.route)
        path.write_text(route_json(one), "utf-8")
        written.append(path)
    return written


def update_page(results: Iterable[Path], folder: Path = DATA_FOLDER, page: Path = PAGE) -> list[Path]:
    """Write the summaries of the routes in results files, and the page. Returns the paths of the summaries."""
    written = []
    for path in results:  # one by one, because they may be of different catalogues
        written += write_summaries(route_summaries(load_report([path])), folder)
    page.write_text(deployment_page(read_summaries(folder), read_replacements()), "utf-8")
    return written


if __name__ == "__main__":
    for summary in update_page([Path(argument) for argument in sys.argv[1:]]):
        print(summary.relative_to(REPOSITORY_ROOT))
