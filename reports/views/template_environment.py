"""Jinja2 environments of HTML and Markdown pages. Templates are in the folder `templates` of a package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2

from reports.views.markdown_layout import code_span, escape_markdown, escape_prose, fenced_lines, table_text


def template_environment(package: str, **options: Any) -> jinja2.Environment:
    """Return an environment that loads the templates of a package. An undefined name in a template is an error."""
    return jinja2.Environment(  # noqa: S701 - callers choose the escaping: Markdown has its own
        loader=jinja2.FunctionLoader(lambda name: files(package).joinpath(f"templates/{name}").read_text("utf-8")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )


def render_markdown_template(package: str, name: str, **values: Any) -> str:
    """Return a Markdown page. Templates can use tables, code blocks and the functions that escape texts."""
    environment = template_environment(package, autoescape=False, keep_trailing_newline=True)
    environment.globals.update(table=table_text, fenced=lambda *texts: "\n".join(fenced_lines(*texts)))
    environment.filters.update(
        code_span=code_span, escape_markdown=escape_markdown, escape_prose=escape_prose, number="{:,}".format
    )
    return environment.get_template(name).render(values)
