"""The audit of a model as one HTML page, which needs no other file."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

import jinja2
from markupsafe import Markup

from conformance.models.audit import FAILING_VERDICTS, Audit
from conformance.models.report import heading, notes_of, others_text, remarks_of, target_line

TEMPLATE = "audit.html.j2"


def html_lines(audit: Audit) -> Iterator[str]:
    """Yield the lines of the page. Names of the model are escaped."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(resources.files("conformance.models").joinpath(TEMPLATE).read_text("utf-8"))
    # The colours of the report of results, which is a file of this project.
    style = resources.files("reports.views").joinpath("static/report.css").read_text("utf-8")
    page = template.render(
        audit=audit,
        style=Markup(style),  # noqa: S704 - a file of this project
        heading=heading(audit),
        target_line=target_line,
        remarks=remarks_of(audit),
        failing=FAILING_VERDICTS,
        notes=[note for note in (*notes_of(audit), others_text(audit)) if note],
    )
    yield from page.splitlines()
