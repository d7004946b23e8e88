"""The HTML report: one self-contained file that opens offline and asks no network for anything."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from reports import summary
from reports.contradictions import contradictions, said
from reports.payload import embed, payload
from reports.records import STATUSES

if TYPE_CHECKING:
    from reports.reading import Report

LIBRARIES = ("vendor/preact/preact.umd.js", "vendor/preact/hooks.umd.js", "vendor/htm/htm.umd.js")
MOST_GROUPS = 200  # shown on the page itself; the list holds all results
SCRIPTS = ("data", "numbers", "grid", "parts", "list", "case", "app")


def render_html(report: Report) -> str:
    """Return the whole report as the text of one HTML file."""
    template = _environment().get_template("report.html.j2")
    page = template.render(
        report=report,
        verdict=summary.verdict(report),
        problems=summary.problems(report),
        matrix=summary.matrix(report),
        totals=summary.by_surface(report),
        groups=summary.groups(report),
        contradictions=contradictions(report),
        conventions=summary.conventions(report),
        unsupported=summary.unsupported(report),
        seconds=summary.seconds_by_surface(report),
        cases=report.cases,
        statuses=STATUSES,
        most_groups=MOST_GROUPS,
        data=Markup(embed(payload(report))),  # noqa: S704  # embed() escapes it for a script element
        libraries=[_script(path) for path in LIBRARIES],
        scripts=[_script(f"static/{name}.js") for name in SCRIPTS],
        style=_asset("static/report.css"),
    )
    return page.encode("utf-8", "backslashreplace").decode()  # a message may hold bytes that were no text


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: files("reports").joinpath(f"templates/{name}").read_text("utf-8")),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        sign=summary.SIGNS, word=summary.WORDS, bad=summary.BAD, results_link=results_link, case_link=case_link
    )
    environment.filters.update(
        plural=summary.plural,
        in_words=summary.in_words,
        deviation=summary.deviation,
        breakable=breakable,
        web=is_web,
        said=said,
    )
    return environment


def _shown(value: object) -> object:
    """Spell out, in a text that is not ours, signs that a terminal obeys or that turn the direction of a line."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join("\t".join(map(summary.printable, line.split("\t"))) for line in value.split("\n"))


def results_link(operator: str = "", surface: str = "", status: str = "") -> str:
    """Link into the list of results, filtered."""
    filters = {"operator": operator, "surface": surface, "status": status}
    return "#/results?" + urlencode({key: value for key, value in filters.items() if value}, quote_via=quote)


def case_link(case: str, surface: str = "") -> str:
    """Link to the section of a case on a surface."""
    return f"#/case/{quote(case, safe='/')}" + (
        f"?{urlencode({'surface': surface}, quote_via=quote)}" if surface else ""
    )


def breakable(name: str) -> Markup:
    """Let a dotted or underscored name break after its dots and underscores."""
    return Markup("<wbr>").join(_pieces(summary.printable(name)))


def _pieces(name: str) -> list[str]:
    return name.replace(".", ".\0").replace("_", "_\0").replace("/", "/\0").split("\0")


def is_web(address: str | None) -> bool:
    """Whether an address may become a link: http and https only."""
    return address is not None and address.startswith(("https://", "http://"))


def _asset(path: str) -> Markup:
    """Read one of our own files, which stand in the page as they are."""
    return Markup(files("reports").joinpath(path).read_text("utf-8"))  # noqa: S704  # our own file


def _script(path: str) -> Markup:
    """Read a script, without the pointer to a source map that the page does not hold."""
    lines = _asset(path).splitlines()
    return Markup("\n").join(line for line in lines if not line.startswith("//# sourceMappingURL"))
