"""The HTML report: one self-contained file that opens offline and makes no network requests."""

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
from reports.analysis.differences import difference_groups
from reports.analysis.summary import STATUS_RANKS
from reports.results import Status
from reports.views.html_data import compress_json, report_payload
from reports.views.template_environment import template_environment

if TYPE_CHECKING:
    from reports.analysis.comparison import ReportDifference
    from reports.results import BackendRun, ConventionRecord, FindingRecord, Report, ResultRecord

LIBRARY_FILES = (
    "vendor/preact/preact.umd.js",
    "vendor/preact/hooks.umd.js",
    "vendor/htm/htm.umd.js",
    "vendor/table/table.umd.min.js",
    "vendor/d3/d3.min.js",
    "vendor/plot/plot.umd.min.js",
)
MAX_GROUPS = 200  # per page; the list contains all results
MAX_CHANGES = 50  # per group; `conformance diff` lists all
MAX_OVERVIEW_CHANGES = 12  # groups of changes in the overview
MAX_PRINTED_SURFACES = 10  # columns of a printed table of counts; wider tables are printed as lines
MAX_PRINTED_ANSWERS = 5  # columns of a printed table of answers
MINUTE_SECONDS = 60
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
    """Return the report as one HTML file. difference: comparison with an earlier run, if any."""
    template = _jinja_environment().get_template("report.html.j2")
    conditions = causes.CommonConditions(report)
    page = template.render(
        report=report,
        verdict=summary.report_verdict(report),
        problems=summary.report_problems(report),
        matrix=summary.counts_by_operator(report),
        totals=summary.counts_by_surface(report),
        groups=conditions.split(difference_groups(report)),
        common=conditions.common,
        sentence=conditions.sentence,
        contradictions=find_contradictions(report),
        conventions=split_by_documented(summary.answers_by_convention(report)),
        broken=contradicting_answers(report),
        unsupported=summary.unsupported_by_reason(report),
        difference=difference,
        changes=comparison_text.change_groups(difference) if difference else [],
        timing=timing,
        cases=report.cases,
        statuses=tuple(Status),
        smallest=smallest_case_result,
        pages=_visible_pages(report, difference),
        max_groups=MAX_GROUPS,
        max_changes=MAX_CHANGES,
        max_overview_changes=MAX_OVERVIEW_CHANGES,
        max_printed_surfaces=MAX_PRINTED_SURFACES,
        max_printed_answers=MAX_PRINTED_ANSWERS,
        data=Markup(compress_json(report_payload(report))),  # noqa: S704  # letters and digits only
        libraries=[_read_script(path) for path in LIBRARY_FILES],
        pages_script=_read_script("static/pages.js"),
        scripts=[_read_script(f"static/{name}.js") for name in SCRIPT_NAMES],
        style=_read_asset("static/report.css"),
    )
    # Framework messages may contain surrogates of bytes that are not UTF-8.
    return page.encode("utf-8", "backslashreplace").decode()


def _visible_pages(report: Report, difference: ReportDifference | None) -> list[tuple[str, ...]]:
    """List the pages that have content."""
    missing = {*(() if difference else ("compare",)), *(() if report.explorations else ("findings",))}
    return [page for page in PAGE_TEMPLATES if page[0] not in missing]


def smallest_case_result(run: BackendRun, finding: FindingRecord) -> ResultRecord | None:
    """Return the worst result of the smallest case of a finding; None if the file is incomplete."""
    results = [one for one in run.results if one.case == finding.case and one.surface in finding.surfaces]
    return min(results, key=lambda one: STATUS_RANKS[one.status], default=None)


def _jinja_environment() -> jinja2.Environment:
    environment = template_environment("reports.views", autoescape=True, finalize=_escape_control_characters)
    environment.globals.update(
        sign=summary.STATUS_SIGNS,
        word=summary.STATUS_TEXTS,
        share=summary.passing_share,
        comparison=comparison_text,
        results_link=results_link,
        case_link=case_link,
    )
    environment.filters.update(
        plural=summary.count_text,
        deviation=deviation_text,
        common_text=causes.common_text,
        breakable=with_line_breaks,
        is_web_address=is_web_address,
        contradiction_lines=contradiction_lines,
        percent=percent_text,
        duration=duration_text,
    )
    return environment


def _escape_control_characters(value: object) -> object:
    """Escape control characters and characters that change the text direction, except in our own markup."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join("\t".join(map(summary.escape_control_characters, line.split("\t"))) for line in value.split("\n"))


def contradicting_answers(report: Report) -> list[tuple[ConventionRecord, Status]]:
    """List the answers that contradict the declared ones, with the status of each result; the worst first."""
    statuses = {(one.case, one.surface): one.status for one in report.results}
    contradicted = [one for backend in report.backends for one in backend.conventions if one.contradicted]
    with_status = [(one, statuses.get((one.case, one.surface), Status.FAIL)) for one in contradicted]
    return sorted(with_status, key=lambda pair: STATUS_RANKS[pair[1]])


def split_by_documented(
    rows: dict[str, dict[str, ConventionRecord]],
) -> dict[str, dict[str, dict[str, ConventionRecord]]]:
    """Split conventions into those that the document of at least one surface answers, and the others."""
    parts: dict[str, dict[str, dict[str, ConventionRecord]]] = {"documented": {}, "undocumented": {}}
    for convention, answers in rows.items():
        documented = any(one.declared is not None and one.documented for one in answers.values())
        parts["documented" if documented else "undocumented"][convention] = answers
    return parts


def results_link(operator: str = "", surface: str = "", status: str = "", kind: str = "") -> str:
    """Return a link to the filtered list of results."""
    filters = {"operator": operator, "surface": surface, "status": status, "kind": kind}
    return "#/results?" + urlencode({key: value for key, value in filters.items() if value}, quote_via=quote)


def case_link(case: str, surface: str = "") -> str:
    """Return a link to the page of a case on a surface."""
    return f"#/case/{quote(case, safe='/')}" + (
        f"?{urlencode({'surface': surface}, quote_via=quote)}" if surface else ""
    )


def percent_text(share: float | None) -> str:
    """Return a share as a percentage, or a dash for None. Rounded down, so only a complete pass shows 100 %."""
    return "–" if share is None else f"{math.floor(share * 100)} %"


def duration_text(seconds: float) -> str:
    """Return a duration as text: "3.2 s", "4 min 5 s"."""
    if seconds < MINUTE_SECONDS:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), MINUTE_SECONDS)
    return f"{minutes} min {rest} s"


def with_line_breaks(name: str) -> Markup:
    """Allow line breaks after the dots, underscores and slashes of a name."""
    return Markup("<wbr>").join(_name_parts(summary.escape_control_characters(name)))


def _name_parts(name: str) -> list[str]:
    return name.replace(".", ".\0").replace("_", "_\0").replace("/", "/\0").split("\0")


def is_web_address(address: str | None) -> bool:
    """Whether an address may become a link: only http and https."""
    return address is not None and address.startswith(("https://", "http://"))


def _read_asset(path: str) -> Markup:
    """Read a file of this package, which is included in the page without escaping."""
    return Markup(files("reports.views").joinpath(path).read_text("utf-8"))  # noqa: S704  # our own file


def _read_script(path: str) -> Markup:
    """Read a script. Removes references to source maps, and escapes invisible characters."""
    lines = _read_asset(path).splitlines()
    code = "\n".join(line for line in lines if not line.startswith("//# sourceMappingURL"))
    # Invisible characters occur only in string literals, where the escape sequence has the same meaning.
    escaped = "".join(f"\\u{ord(sign):04x}" if category(sign) == "Cf" else sign for sign in code)
    return Markup(escaped)  # noqa: S704  # our own file
