"""The HTML report: one self-contained file that opens offline and makes no network requests."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from reports.analysis import causes, comparison_text, glossary, overview, summary, timing
from reports.analysis.cause_text import CauseWriter
from reports.analysis.contradictions import contradiction_lines, find_contradictions
from reports.analysis.convention_rows import MAX_ANSWER_COLOURS, convention_rows
from reports.analysis.deviation import deviation_text
from reports.analysis.differences import difference_groups
from reports.analysis.notes import report_notes
from reports.analysis.releases.answers import ReleasesBySurface
from reports.analysis.summary import STATUS_RANKS, STATUS_SIGNS, STATUS_TEXTS, StatusCounts
from reports.results import Status
from reports.results.vocabulary import AGREEING_STATUSES
from reports.views.audit_page import audit_values, audits_payload
from reports.views.history_chart import history_chart
from reports.views.html_data import compress_json, report_payload
from reports.views.template_environment import page_environment, read_asset, read_script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reports.analysis.comparison import ReportDifference
    from reports.analysis.past_runs import SurfaceHistory
    from reports.results import BackendRun, FindingRecord, Json, Report, ResultRecord
    from reports.results.audits import AuditRecord
    from reports.views.html_data import ProcessorAnswers

LIBRARY_FILES = (
    "vendor/preact/preact.umd.js",
    "vendor/preact/hooks.umd.js",
    "vendor/htm/htm.umd.js",
    "vendor/table/table.umd.min.js",
    "vendor/d3/d3.min.js",
    "vendor/plot/plot.umd.min.js",
)
MAX_GROUPS = 200  # per page; the list contains all results
MAX_FACTS = 6  # circumstances that differ between two runs of a history
MAX_MOVED_CASES = 3  # for each change of status in a history
MAX_CHANGES = 50  # per group; `conformance diff` lists all
MAX_UNFOLDED_CHANGES = 10  # per group; the others are folded
MAX_EXPLAINED_SURFACES = 3  # worst surfaces whose most severe cause the overview shows below the name
MAX_OVERVIEW_CHANGES = 12  # groups of changes in the overview
MAX_PRINTED_SURFACES = 10  # columns of a printed table of counts; wider tables are printed as lines
MAX_RANKED_NARROW = 4  # surfaces in the ranking on a narrow screen, before the others are shown
MINUTE_SECONDS = 60
PAGE_TEMPLATES = (
    ("overview", "matrix", "terms"),
    ("findings",),
    ("audits",),
    ("differences",),
    ("conventions", "contradictions"),
    ("compare",),
    ("history",),
    ("run",),
)
SCRIPT_NAMES = (
    "data", "numbers", "grid", "parts", "table", "list", "geometry", "window", "case", "findings", "audits",
    "translations", "accuracy", "differences", "conventions", "matrix", "pairs", "surface", "search", "tips", "app",
)  # fmt: skip


def render_html(
    report: Report,
    difference: ReportDifference | None = None,
    operators: Mapping[str, Json] = MappingProxyType({}),
    processor_answers: ProcessorAnswers = MappingProxyType({}),
    histories: Sequence[SurfaceHistory] = (),
    *,
    audits: Sequence[AuditRecord] = (),
    releases: ReleasesBySurface = MappingProxyType({}),
) -> str:
    """Return the report as one HTML file.

    difference: comparison with an earlier run, if any; operators: for each operator, the properties that the drawing of
    its windows depends on. An operator without properties has no drawing. processor_answers: declared answers to
    conventions on other processors. histories: past runs of surfaces. audits: audits of models. releases: the answers
    of frameworks by release.
    """
    template = _jinja_environment().get_template("report.html.j2")
    texts = CauseWriter(report).texts(difference_groups(report))
    totals = summary.counts_by_surface(report)
    payload = report_payload(report, texts, operators, processor_answers) | {"audits": audits_payload(audits)}
    page = template.render(
        report=report,
        verdict=summary.report_verdict(report),
        problems=summary.reliability_problems(report),
        notes=report_notes(report),
        figures=overview.overview_figures(report),
        ranking=overview.ranked_surfaces(report, texts),
        leading=overview.leading_causes(texts),
        texts=texts,
        matrix=summary.counts_by_operator(report),
        totals=totals,
        occurring=summary.occurring_statuses(totals),
        contradictions=find_contradictions(report),
        conventions=convention_rows(report),
        releases=releases,
        unsupported=summary.unsupported_by_reason(report),
        difference=difference,
        histories=histories,
        changes=comparison_text.change_groups(difference) if difference else [],
        timing=timing,
        cases=report.cases,
        statuses=tuple(Status),
        smallest=smallest_case_result,
        pages=_visible_pages(report, difference, histories, audits),
        max_groups=MAX_GROUPS,
        max_facts=MAX_FACTS,
        max_moves=MAX_MOVED_CASES,
        max_changes=MAX_CHANGES,
        max_unfolded=MAX_UNFOLDED_CHANGES,
        max_ranked=MAX_RANKED_NARROW,
        max_explained=MAX_EXPLAINED_SURFACES,
        max_answer_colours=MAX_ANSWER_COLOURS,
        max_overview_changes=MAX_OVERVIEW_CHANGES,
        max_printed_surfaces=MAX_PRINTED_SURFACES,
        **audit_values(audits),
        data=Markup(compress_json(payload)),  # noqa: S704  # letters and digits only
        libraries=[read_script(path) for path in LIBRARY_FILES],
        theme_script=read_script("static/theme.js"),
        pages_script=read_script("static/pages.js"),
        scripts=[read_script(f"static/{name}.js") for name in SCRIPT_NAMES],
        style=read_asset("static/report.css"),
    )
    # Framework messages may contain surrogates of bytes that are not UTF-8.
    return page.encode("utf-8", "backslashreplace").decode()


def _visible_pages(
    report: Report,
    difference: ReportDifference | None,
    histories: Sequence[SurfaceHistory],
    audits: Sequence[AuditRecord],
) -> list[tuple[str, ...]]:
    """List the pages that have content."""
    contents = {"compare": difference, "findings": report.explorations, "history": histories, "audits": audits}
    return [page for page in PAGE_TEMPLATES if page[0] not in contents or contents[page[0]]]


def smallest_case_result(run: BackendRun, finding: FindingRecord) -> ResultRecord | None:
    """Return the worst result of the smallest case of a finding; None if the file is incomplete."""
    results = [one for one in run.results if one.case == finding.case and one.surface in finding.surfaces]
    return min(results, key=lambda one: STATUS_RANKS[one.status], default=None)


def _jinja_environment() -> jinja2.Environment:
    environment = page_environment()
    environment.globals.update(
        sign=summary.STATUS_SIGNS,
        word=summary.STATUS_TEXTS,
        meaning=glossary.STATUS_MEANINGS,
        severity_meaning=glossary.SEVERITY_MEANINGS,
        terms=glossary.TERMS,
        comparison=comparison_text,
        results_link=results_link,
        case_link=case_link,
        surface_link=surface_link,
    )
    environment.filters.update(
        plural=summary.count_text,
        deviation=deviation_text,
        common_text=causes.common_text,
        is_web_address=is_web_address,
        contradiction_lines=contradiction_lines,
        cell_text=cell_text,
        cell_status=cell_status,
        few_judged=few_judged,
        all_agree=all_agree,
        bar_order=bar_order,
        pairs=lambda values: [(value, STATUS_TEXTS.get(value, value)) for value in values],
        duration=duration_text,
        history_chart=history_chart,
    )
    return environment


def cell_text(counts: StatusCounts) -> str:
    """Return the text of a cell of the matrix: the number of differing results, or of judged ones if all agree."""
    judged, total = summary.judged_count(counts), sum(counts.values())
    if not judged:
        return STATUS_SIGNS[cell_status(counts)]
    differing = summary.unexpected_count(counts) or counts.get(Status.KNOWN, 0)
    if differing:
        return f"{STATUS_SIGNS[cell_status(counts)]} {differing:,}"
    return f"{judged:,} of {total:,}" if few_judged(counts) else f"{judged:,}"


def cell_status(counts: StatusCounts) -> Status:
    """Return the worst status of the judged results; `unsupported` if there are none."""
    return next((status for status in counts if status != Status.UNSUPPORTED), Status.UNSUPPORTED)


def few_judged(counts: StatusCounts) -> bool:
    """Whether fewer than half of the results could be judged."""
    return summary.judged_count(counts) < sum(counts.values()) / 2


def bar_order(counts: StatusCounts) -> list[tuple[Status, int]]:
    """Return the parts of a bar: differing results, passing ones, unsupported ones."""
    return sorted(counts.items(), key=lambda part: (part[0] == Status.UNSUPPORTED, STATUS_RANKS[part[0]]))


def all_agree(row: Mapping[str, StatusCounts]) -> bool:
    """Whether no judged result of a row of the matrix differs."""
    return all(status in {*AGREEING_STATUSES, Status.UNSUPPORTED} for counts in row.values() for status in counts)


def results_link(operator: str = "", surface: str = "", status: str = "", kind: str = "") -> str:
    """Return a link to the filtered list of results."""
    filters = {"operator": operator, "surface": surface, "status": status, "kind": kind}
    return "#/results?" + urlencode({key: value for key, value in filters.items() if value}, quote_via=quote)


def case_link(case: str, surface: str = "") -> str:
    """Return a link to the page of a case on a surface."""
    return f"#/case/{quote(case, safe='/')}" + (
        f"?{urlencode({'surface': surface}, quote_via=quote)}" if surface else ""
    )


def surface_link(surface: str) -> str:
    """Return a link to the page of a surface."""
    return f"#/surface/{quote(surface, safe='')}"


def duration_text(seconds: float) -> str:
    """Return a duration as text: "3.2 s", "4 min 5 s"."""
    if seconds < MINUTE_SECONDS:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), MINUTE_SECONDS)
    return f"{minutes} min {rest} s"


def is_web_address(address: str | None) -> bool:
    """Whether an address may become a link: only http and https."""
    return address is not None and address.startswith(("https://", "http://"))
