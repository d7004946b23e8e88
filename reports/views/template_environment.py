"""Jinja2 environments of HTML and Markdown pages. Templates are in the folder `templates` of a package."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any
from unicodedata import category

import jinja2
from markupsafe import Markup

from reports.analysis import summary
from reports.results.vocabulary import ROUTE_ARROW
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


def page_environment() -> jinja2.Environment:
    """Return the environment of HTML pages, which escapes values."""
    environment = template_environment("reports.views", autoescape=True, finalize=_escape_control_characters)
    environment.filters.update(breakable=with_line_breaks, capitalize_first=_with_capital)
    return environment


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _escape_control_characters(value: object) -> object:
    """Escape control characters and characters that change the text direction, except in our own markup."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join("\t".join(map(summary.escape_control_characters, line.split("\t"))) for line in value.split("\n"))


def with_line_breaks(name: str) -> Markup:
    """Allow line breaks after the dots, underscores and slashes of a name."""
    return Markup("<wbr>").join(_name_parts(summary.escape_control_characters(name)))


def _name_parts(name: str) -> list[str]:
    return re.sub(f"([._/{ROUTE_ARROW}])", r"\1\0", name).split("\0")


def read_asset(path: str) -> Markup:
    """Read a file of this package, which is included in the page without escaping."""
    return Markup(files("reports.views").joinpath(path).read_text("utf-8"))  # noqa: S704  # our own file


def read_script(path: str) -> Markup:
    """Read a script. Removes references to source maps, and escapes invisible characters."""
    lines = read_asset(path).splitlines()
    code = "\n".join(line for line in lines if not line.startswith("//# sourceMappingURL"))
    # Invisible characters occur only in string literals, where the escape sequence has the same meaning.
    return Markup(re.sub(r"[^\x00-\x7f]", _escape_if_invisible, code))  # noqa: S704  # our own file


def _escape_if_invisible(found: re.Match[str]) -> str:
    sign = found.group()
    return f"\\u{ord(sign):04x}" if category(sign) == "Cf" else sign


def render_markdown_template(package: str, name: str, **values: Any) -> str:
    """Return a Markdown page. Templates can use tables, code blocks and the functions that escape texts."""
    environment = template_environment(package, autoescape=False, keep_trailing_newline=True)
    environment.globals.update(table=table_text, fenced=lambda *texts: "\n".join(fenced_lines(*texts)))
    environment.filters.update(
        code_span=code_span, escape_markdown=escape_markdown, escape_prose=escape_prose, number="{:,}".format
    )
    return environment.get_template(name).render(values)
