"""The HTML report: one self-contained file that opens offline and asks no network for anything."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import TYPE_CHECKING
from unicodedata import category
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from reports.analysis import causes, comparison_text, summary, timing
from reports.analysis.contradictions import contradiction_lines, find_contradictions
from reports.analysis.deviation import deviation_text
from reports.results.records import STATUSES
from reports.views.html_data import compress_json, report_payload

if TYPE_CHECKING:
    from reports.analysis.comparison import ReportDifference
    from reports.results.exploration import FindingRecord
    from reports.results.reader import BackendRun, Report
    from reports.results.records import ConventionRecord, ResultRecord

LIBRARY_FILES = (
    "vendor/preact/preact.umd.js",
    "vendor/preact/hooks.umd.js",
    "vendor/htm/htm.umd.js",
    "vendor/table/table.umd.min.js",
    "vendor/d3/d3.min.js",
    "vendor/plot/plot.umd.min.js",
)
MAX_GROUPS = 200  # shown on the page itself; the list holds all results
MAX_CHANGES = 50  # of one group on the page that compares; `conformance diff` tells all
MAX_OVERVIEW_CHANGES = 12  # groups of changes in the overview
MAX_PRINTED_SURFACES = 10  # surfaces beside each other on paper; more stand in lines
MAX_PRINTED_ANSWERS = 5  # likewise, with the words that they answer
MINUTE_SECONDS = 60  # seconds
PAGE_TEMPLATES = (
    ("overview", "matrix"),
    ("findings",),
    ("differences",),
    ("conventions", "contradictions"),
    ("compare",),
    ("run",),
)
SCRIPT_NAMES = (
    "data", "numbers", "grid", "parts", "table", "list",
    "geometry", "window", "case", "findings", "translations", "accuracy", "app",
)  # fmt: skip


def render_html(report: Report, difference: ReportDifference | None = None) -> str:
    """Return the whole report as the text of one HTML file; difference: what is otherwise than in an earlier run."""
    template = _jinja_environment().get_template("report.html.j2")
    found = causes.CommonConditions(report)
    page = template.render(
        report=report,
        verdict=summary.report_verdict(report),
        problems=summary.report_problems(report),
        matrix=summary.counts_by_operator(report),
        totals=summary.counts_by_surface(report),
        groups=found.split(summary.difference_groups(report)),
        common=found.common,
        sentence=found.sentence,
        contradictions=find_contradictions(report),
        conventions=split_by_documented(summary.answers_by_convention(report)),
        broken=contradicting_answers(report),
        unsupported=summary.unsupported_by_reason(report),
        difference=difference,
        changes=comparison_text.change_groups(difference) if difference else [],
        timing=timing,
        cases=report.cases,
        statuses=STATUSES,
        smallest=smallest_case_result,
        pages=_visible_pages(report, difference),
        most_groups=MAX_GROUPS,
        most_changes=MAX_CHANGES,
        most_news=MAX_OVERVIEW_CHANGES,
        most_counted=MAX_PRINTED_SURFACES,
        most_answering=MAX_PRINTED_ANSWERS,
        data=Markup(compress_json(report_payload(report))),  # noqa: S704  # letters and digits only
        libraries=[_read_script(path) for path in LIBRARY_FILES],
        pages_script=_read_script("static/pages.js"),
        scripts=[_read_script(f"static/{name}.js") for name in SCRIPT_NAMES],
        style=_read_asset("static/report.css"),
    )
    return page.encode("utf-8", "backslashreplace").decode()  # a message may hold bytes that were no text


def _visible_pages(report: Report, difference: ReportDifference | None) -> list[tuple[str, ...]]:
    """List the pages there is something to show on."""
    missing = {*(() if difference else ("compare",)), *(() if report.explorations else ("findings",))}
    return [page for page in PAGE_TEMPLATES if page[0] not in missing]


def smallest_case_result(run: BackendRun, finding: FindingRecord) -> ResultRecord | None:
    """Return what came of the smallest case of a finding, on the surface where that is worst; None of a cut file."""
    found = [one for one in run.results if one.case == finding.case and one.surface in finding.surfaces]
    return min(found, key=lambda one: STATUSES.index(one.status), default=None)


def _jinja_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(
            lambda name: files("reports.views").joinpath(f"templates/{name}").read_text("utf-8")
        ),
        autoescape=True,
        finalize=_escape_control_characters,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        sign=summary.STATUS_SIGNS,
        word=summary.STATUS_TEXTS,
        share=summary.passing_share,
        changed=comparison_text,
        results_link=results_link,
        case_link=case_link,
    )
    environment.filters.update(
        plural=summary.count_text,
        in_words=summary.predicate_text,
        deviation=deviation_text,
        in_common=causes.common_text,
        breakable=with_line_breaks,
        web=is_web_address,
        said=contradiction_lines,
        percent=percent_text,
        length_of_time=duration_text,
    )
    return environment


def _escape_control_characters(value: object) -> object:
    """Spell out, in a text that is not ours, signs that a terminal obeys or that turn the direction of a line."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join("\t".join(map(summary.escape_control_characters, line.split("\t"))) for line in value.split("\n"))


def contradicting_answers(report: Report) -> list[tuple[ConventionRecord, str]]:
    """List the answers that are not those declared, each with the status of its result; the worst first."""
    statuses = {(one.case, one.surface): one.status for one in report.results}
    found = [one for backend in report.backends for one in backend.conventions if one.contradicted]
    told = [(one, statuses.get((one.case, one.surface), "fail")) for one in found]
    return sorted(told, key=lambda pair: STATUSES.index(pair[1]))


def split_by_documented(
    rows: dict[str, dict[str, ConventionRecord]],
) -> dict[str, dict[str, dict[str, ConventionRecord]]]:
    """Part questions by whether the document of any surface answers them."""
    parts: dict[str, dict[str, dict[str, ConventionRecord]]] = {"documented": {}, "undocumented": {}}
    for question, answers in rows.items():
        told = any(one.declared is not None and one.documented for one in answers.values())
        parts["documented" if told else "undocumented"][question] = answers
    return parts


def results_link(operator: str = "", surface: str = "", status: str = "", kind: str = "") -> str:
    """Link into the list of results, filtered."""
    filters = {"operator": operator, "surface": surface, "status": status, "kind": kind}
    return "#/results?" + urlencode({key: value for key, value in filters.items() if value}, quote_via=quote)


def case_link(case: str, surface: str = "") -> str:
    """Link to the section of a case on a surface."""
    return f"#/case/{quote(case, safe='/')}" + (
        f"?{urlencode({'surface': surface}, quote_via=quote)}" if surface else ""
    )


def percent_text(share: float | None) -> str:
    """Write a share in whole per cents, rounded down so that only all of them are 100; a dash where there is none."""
    return "–" if share is None else f"{math.floor(share * 100)} %"


def duration_text(seconds: float) -> str:
    """Write how long something took: "3.2 s", "4 min 5 s"."""
    if seconds < MINUTE_SECONDS:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), MINUTE_SECONDS)
    return f"{minutes} min {rest} s"


def with_line_breaks(name: str) -> Markup:
    """Let a dotted or underscored name break after its dots and underscores."""
    return Markup("<wbr>").join(_name_parts(summary.escape_control_characters(name)))


def _name_parts(name: str) -> list[str]:
    return name.replace(".", ".\0").replace("_", "_\0").replace("/", "/\0").split("\0")


def is_web_address(address: str | None) -> bool:
    """Whether an address may become a link: http and https only."""
    return address is not None and address.startswith(("https://", "http://"))


def _read_asset(path: str) -> Markup:
    """Read one of our own files, which stand in the page as they are."""
    return Markup(files("reports.views").joinpath(path).read_text("utf-8"))  # noqa: S704  # our own file


def _read_script(path: str) -> Markup:
    """Read a script, its invisible signs escaped, without the pointer to a source map that the page does not hold."""
    lines = _read_asset(path).splitlines()
    whole = "\n".join(line for line in lines if not line.startswith("//# sourceMappingURL"))
    seen = "".join(f"\\u{ord(sign):04x}" if category(sign) == "Cf" else sign for sign in whole)
    return Markup(seen)  # noqa: S704  # our own file; such signs stand in strings, where the escape means the same
