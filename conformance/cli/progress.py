"""Progress of a run on standard error: results so far, rate, counts by status, and the remaining time."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from conformance.cli.options import Verbosity
from reports.analysis.summary import STATUS_SIGNS, STATUS_TEXTS, UNEXPECTED_STATUSES, escape_control_characters
from reports.results import ResultRecord, Status
from reports.views.terminal import STATUS_STYLES

PROGRESS_INTERVAL_SECONDS = 5.0
"""Interval in seconds between two progress lines if standard error is not a terminal."""
MIN_ESTIMATE_SHARE, MIN_ESTIMATE_SECONDS = 0.05, 30.0
"""Share of the results, and time in seconds, before which the remaining time is not estimated: start-up distorts it."""
MAX_PROGRESS_LINE_LENGTH = 200
MINUTE_SECONDS, HOUR_SECONDS = 60, 3600


class RunProgress:
    """Progress of the run of one backend: a bar on a terminal, otherwise a line every few seconds; nothing if quiet.

    Call `add_result` for each result and `log` for other events. Both may be called from any thread.
    """

    def __init__(self, name: str, verbosity: Verbosity = Verbosity.NORMAL, console: Console | None = None) -> None:
        self.name = name
        self.verbosity = verbosity
        self.counts: Counter[str] = Counter()
        self.console = console or Console(stderr=True, highlight=False)
        self._result_count = self._printed_at = 0.0
        columns = (
            TextColumn("{task.description}"),
            BarColumn(24),
            MofNCompleteColumn(),
            _RateColumn(),
            _CountsColumn(self.counts),
            _TimeLeftColumn(),
        )
        shown = self.console.is_terminal and verbosity is not Verbosity.QUIET
        # Messages are printed on the console of the bar, which moves the bar below them.
        self._bar = Progress(*columns, console=self.console, transient=True, disable=not shown)
        self._task = self._bar.add_task(name, total=None)

    def __enter__(self) -> RunProgress:
        self._result_count = self._printed_at = time.monotonic()
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def add_result(self, done: int, total: int, result: ResultRecord) -> None:
        """Count a result. done, total: number of results so far and overall; result: its record in the results file."""
        status = result.status
        self.counts[status] += 1
        if not self._bar.disable:
            self._bar.update(self._task, completed=done, total=total)
        if status in UNEXPECTED_STATUSES:
            self.log(_unexpected_result_text(result), STATUS_STYLES[status])
        now = time.monotonic()
        if (
            now - self._printed_at >= PROGRESS_INTERVAL_SECONDS
            and not self.console.is_terminal
            and self.verbosity is not Verbosity.QUIET
        ):
            self._printed_at = now
            self._print(f"{self.name}: {progress_text(done, total, now - self._result_count, self.counts)}")

    def log(self, text: str, style: str = "dim") -> None:
        """Print a message if the output is verbose."""
        if self.verbosity is Verbosity.VERBOSE:
            self._print(f"{self.name}: {text}", style)

    def _print(self, text: str, style: str = "") -> None:
        shown = escape_control_characters(text)
        shown = shown if len(shown) <= MAX_PROGRESS_LINE_LENGTH else f"{shown[: MAX_PROGRESS_LINE_LENGTH - 1]}…"
        # Text, not str: Rich would interpret brackets in messages of frameworks as markup.
        self.console.print(Text(shown, style), soft_wrap=True)


def progress_text(done: int, total: int, seconds: float, counts: Mapping[str, int]) -> str:
    """Return the progress after a number of seconds: `1,200 of 6,064, 240/s, 1,190 pass, 10 known, 20 s left`.

    The remaining time is omitted as long as there is too little to estimate it from.
    """
    rate = done / seconds
    text = f"{done:,} of {total:,}, {_rate_text(rate)}, {_counts_text(counts)}"
    return f"{text}, {duration_text(round((total - done) / rate))} left" if has_estimate(done, total, seconds) else text


def has_estimate(done: float, total: float | None, seconds: float) -> bool:
    """Whether the remaining time can be estimated: after a share of the results, or after half a minute."""
    return done >= MIN_ESTIMATE_SHARE * (total or math.inf) or seconds >= MIN_ESTIMATE_SECONDS


def duration_text(seconds: int) -> str:
    """Return a duration in at most two units: `45 s`, `3 min`, `2 h 5 min`."""
    if seconds < 2 * MINUTE_SECONDS:
        return f"{seconds} s"
    if seconds < HOUR_SECONDS:
        return f"{seconds // MINUTE_SECONDS} min"
    return f"{seconds // HOUR_SECONDS} h {seconds % HOUR_SECONDS // MINUTE_SECONDS} min"


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"  # noqa: PLR2004 - two significant digits below ten


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[status]:,} {STATUS_TEXTS[status]}" for status in reversed(Status) if counts.get(status))


def _unexpected_result_text(result: ResultRecord) -> str:
    """Return a line for an unexpected result: `✗ fail max_pool/a on numpy.loops: value: …`."""
    why = ": ".join(filter(None, [result.kind, result.message or result.reason]))
    sign = f"{STATUS_SIGNS[result.status]} {STATUS_TEXTS[result.status]}"
    return f"{sign} {result.case} on {result.surface}{f': {why}' if why else ''}"


class _RateColumn(ProgressColumn):
    """Column with the number of results per second."""

    def render(self, task: Task) -> Text:
        """Return the current text of the column."""
        return Text(_rate_text(task.speed) if task.speed else "", "dim")


class _TimeLeftColumn(TimeRemainingColumn):
    """Column with the remaining time, empty until it can be estimated."""

    def render(self, task: Task) -> Text:
        """Return the current text of the column."""
        return super().render(task) if has_estimate(task.completed, task.total, task.elapsed or 0.0) else Text()


class _CountsColumn(ProgressColumn):
    """Column with the number of results of each status."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        super().__init__()
        self.counts = counts

    def render(self, task: Task) -> Text:  # noqa: ARG002 - the signature is rich's
        """Return the current text of the column."""
        known = [status for status in reversed(Status) if self.counts.get(status)]
        return Text(" ").join(
            Text(f"{STATUS_SIGNS[status]} {self.counts[status]:,}", STATUS_STYLES[status]) for status in known
        )


class _LineProgress:
    """Progress without a terminal: a line every PROGRESS_INTERVAL_SECONDS, none if the task is shorter or quiet."""

    def __init__(self, name: str, console: Console, verbosity: Verbosity) -> None:
        self._name, self._console, self._quiet = name, console, verbosity is Verbosity.QUIET
        self._printed_at = time.monotonic()

    def add(self, done: int, total: int | None = None) -> None:
        """Report the number of cases so far, and overall if it is known."""
        now = time.monotonic()
        if not self._quiet and now - self._printed_at >= PROGRESS_INTERVAL_SECONDS:
            self._printed_at = now
            self._console.print(f"{self._name}: {done:,}{f' of {total:,}' if total else ''} cases", soft_wrap=True)


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal, and a line every few seconds otherwise. Yield the callback (done, total)."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _LineProgress(name, console, Verbosity.NORMAL).add
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def phase_progress(*, is_quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show what a command does and for how long. Yield the callback (text). Nothing without a terminal, or if quiet."""
    # Not `Console.is_terminal`, see output_console.
    is_shown = sys.stderr.isatty() and not is_quiet
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, console=console, transient=True, disable=not is_shown) as bar:
        task = bar.add_task("", total=None)
        yield lambda text: bar.update(task, description=escape_control_characters(text))


@contextmanager
def reading_progress(verbosity: Verbosity = Verbosity.NORMAL) -> Iterator[Callable[[int], None]]:
    """Show the number of cases read so far. Yield the callback for `load_catalogue`.

    Without a terminal, print a line every few seconds, as RunProgress does.
    """
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _LineProgress("reading", console, verbosity).add
        return
    columns = (TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.completed:,.0f} cases"))
    with Progress(*columns, console=console, transient=True, disable=verbosity is Verbosity.QUIET) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda count: bar.update(task, completed=count)
