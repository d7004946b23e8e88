"""What a person sees of a run while it goes, on standard error: how far it is, how fast, and what came of it so far."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from conformance.cli.options import NORMAL_OUTPUT, QUIET_OUTPUT, VERBOSE_OUTPUT
from reports.analysis.summary import STATUS_SIGNS, STATUS_TEXTS, UNEXPECTED_STATUSES, escape_control_characters
from reports.results.records import STATUSES
from reports.views.terminal import STATUS_STYLES

PROGRESS_INTERVAL_SECONDS = 5.0
"""Seconds between two lines where standard error is no terminal; a run that is shorter says nothing."""
MAX_PROGRESS_LINE_LENGTH = 200
MINUTE_SECONDS, HOUR_SECONDS = 60, 3600


class RunProgress:
    """The run of one backend as it goes: a bar on a terminal, else a line every few seconds, nothing if it is quiet.

    `step` is told of each result, `tell` of the rest, from any thread.
    """

    def __init__(self, name: str, verbosity: str = NORMAL_OUTPUT, console: Console | None = None) -> None:
        self.name = name
        self.verbosity = verbosity
        self.counts: Counter[str] = Counter()
        self.console = console or Console(stderr=True, highlight=False)
        self._result_count = self._printed_at = 0.0
        columns = (
            TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), _RateColumn(), _CountsColumn(self.counts),
            TimeRemainingColumn(),
        )  # fmt: skip
        shown = self.console.is_terminal and verbosity != QUIET_OUTPUT
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

    def add_result(self, done: int, total: int, result: Mapping[str, Any]) -> None:
        """Note that so many results are there of so many, and the last one, a record of the results file."""
        status = result["status"]
        self.counts[status] += 1
        if not self._bar.disable:
            self._bar.update(self._task, completed=done, total=total)
        if status in UNEXPECTED_STATUSES:
            self.log(_unexpected_result_text(result), STATUS_STYLES[status])
        now = time.monotonic()
        if (
            now - self._printed_at >= PROGRESS_INTERVAL_SECONDS
            and not self.console.is_terminal
            and self.verbosity != QUIET_OUTPUT
        ):
            self._printed_at = now
            self._print(f"{self.name}: {progress_text(done, total, now - self._result_count, self.counts)}")

    def log(self, text: str, style: str = "dim") -> None:
        """Say something that only those want to know who asked for much."""
        if self.verbosity == VERBOSE_OUTPUT:
            self._print(f"{self.name}: {text}", style)

    def _print(self, text: str, style: str = "") -> None:
        shown = escape_control_characters(text)
        shown = shown if len(shown) <= MAX_PROGRESS_LINE_LENGTH else f"{shown[: MAX_PROGRESS_LINE_LENGTH - 1]}…"
        self.console.print(Text(shown, style), soft_wrap=True)


def progress_text(done: int, total: int, seconds: float, counts: Mapping[str, int]) -> str:
    """Say how far a run is after so many seconds: `1,200 of 6,064, 240/s, 1,190 pass, 10 known, 20 s left`."""
    rate = done / seconds
    left = round((total - done) / rate)
    return f"{done:,} of {total:,}, {_rate_text(rate)}, {_counts_text(counts)}, {duration_text(left)} left"


def duration_text(seconds: int) -> str:
    """Say a time in two units at most: `45 s`, `3 min`, `2 h 5 min`."""
    if seconds < 2 * MINUTE_SECONDS:
        return f"{seconds} s"
    if seconds < HOUR_SECONDS:
        return f"{seconds // MINUTE_SECONDS} min"
    return f"{seconds // HOUR_SECONDS} h {seconds % HOUR_SECONDS // MINUTE_SECONDS} min"


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"  # noqa: PLR2004 - one digit more where there is but one


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{counts[status]:,} {STATUS_TEXTS[status]}" for status in reversed(STATUSES) if counts.get(status)
    )


def _unexpected_result_text(result: Mapping[str, Any]) -> str:
    """Say of an unexpected result what it is: `✗ fail max_pool/a on numpy.loops: value: …`."""
    why = ": ".join(filter(None, [result.get("kind"), result.get("message") or result.get("reason")]))
    sign = f"{STATUS_SIGNS[result['status']]} {STATUS_TEXTS[result['status']]}"
    return f"{sign} {result['case']} on {result['surface']}{f': {why}' if why else ''}"


class _RateColumn(ProgressColumn):
    """Results a second, since the first one."""

    def render(self, task: Task) -> Text:
        """Return the column for a bar as it stands."""
        return Text(_rate_text(task.speed) if task.speed else "", "dim")


class _CountsColumn(ProgressColumn):
    """How many results there are of each status."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        super().__init__()
        self.counts = counts

    def render(self, task: Task) -> Text:  # noqa: ARG002 - rich asks so
        """Return the column for a bar as it stands."""
        known = [status for status in reversed(STATUSES) if self.counts.get(status)]
        return Text(" ").join(
            Text(f"{STATUS_SIGNS[status]} {self.counts[status]:,}", STATUS_STYLES[status]) for status in known
        )


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what to call with how much is done of how much: a bar on a terminal, nothing in a pipe."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
