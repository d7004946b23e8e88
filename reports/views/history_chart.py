"""A chart of the history of a surface: one column for each run, with its unexpected results and known deviations."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from reports.analysis.past_runs import SurfaceHistory, SurfaceRun
from reports.analysis.summary import count_text, escape_control_characters

COLUMN_WIDTH = 14  # pixels, with the gap after it
GAP = 3
CHART_HEIGHT = 44
MARK_HEIGHT = 9  # of the mark of a new version, above the columns
MIN_PART_HEIGHT = 3  # so that a single result is visible


def history_chart(history: SurfaceHistory) -> Markup:
    """Return the chart as an SVG element. Its label contains the numbers of the first and of the last run."""
    largest = max(1, *(run.unexpected + run.known for run in history.runs))
    columns = [_column(number, run, largest) for number, run in enumerate(history.runs)]
    width, height = COLUMN_WIDTH * len(columns), CHART_HEIGHT + MARK_HEIGHT
    return Markup('<svg role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">{}</svg>').format(
        escape_control_characters(chart_label(history)), width, height, width, height, Markup("").join(columns)
    )


def chart_label(history: SurfaceHistory) -> str:
    """Return the label of the chart."""
    first, last = history.runs[0], history.runs[-1]
    return (
        f"{history.surface}, {count_text(len(history.runs), 'run')}: unexpected results {first.unexpected} → "
        f"{last.unexpected}, known deviations {first.known} → {last.known}"
    )


def _column(number: int, run: SurfaceRun, largest: int) -> Markup:
    """Return the parts of one column: known deviations at the bottom, unexpected results on top of them."""
    parts = Markup("").join(_rectangles(number * COLUMN_WIDTH, run, largest))
    title = f"{run.started}, {run.version or ''}: {run.unexpected} unexpected, {run.known} known"
    return Markup("<g><title>{}</title>{}</g>").format(escape_control_characters(title), parts)


def _rectangles(left: int, run: SurfaceRun, largest: int) -> Iterator[Markup]:
    bottom, width = CHART_HEIGHT + MARK_HEIGHT, COLUMN_WIDTH - GAP
    yield _rectangle("none", left, bottom - 1, width, 1)
    for name, count in (("known", run.known), ("fail", run.unexpected)):
        size = max(MIN_PART_HEIGHT, round((CHART_HEIGHT - MIN_PART_HEIGHT) * count / largest)) if count else 0
        bottom -= size
        if size:
            yield _rectangle(name, left, bottom, width, size)
    if run.facts:
        middle = left + width / 2
        yield Markup('<path class="mark" d="M{} {}h{}l{} {}z"/>').format(middle - 4, 0, 8, -4, MARK_HEIGHT - 3)


def _rectangle(name: str, left: float, top: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(name, left, top, width, height)
