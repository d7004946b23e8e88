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

from conformance.cli.options import QUIET, USUAL, VERBOSE
from reports.analysis.summary import BAD, SIGNS, WORDS, printable
from reports.results.records import STATUSES
from reports.views.terminal import STYLES

EVERY = 5.0
"""Seconds between two lines where standard error is no terminal; a run that is shorter says nothing."""
LONGEST = 200
MINUTE, HOUR = 60, 3600


class Live:
    """The run of one backend as it goes: a bar on a terminal, else a line every few seconds, nothing if it is quiet.

    `step` is told of each result, `tell` of the rest, from any thread.
    """

    def __init__(self, name: str, loudness: str = USUAL, console: Console | None = None) -> None:
        self.name = name
        self.loudness = loudness
        self.counts: Counter[str] = Counter()
        self.console = console or Console(stderr=True, highlight=False)
        self._seen = self._spoken = 0.0
        columns = (
            TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), _Rate(), _Counts(self.counts),
            TimeRemainingColumn(),
        )  # fmt: skip
        shown = self.console.is_terminal and loudness != QUIET
        self._bar = Progress(*columns, console=self.console, transient=True, disable=not shown)
        self._task = self._bar.add_task(name, total=None)

    def __enter__(self) -> Live:
        self._seen = self._spoken = time.monotonic()
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def step(self, done: int, total: int, result: Mapping[str, Any]) -> None:
        """Note that so many results are there of so many, and the last one, a record of the results file."""
        status = result["status"]
        self.counts[status] += 1
        if not self._bar.disable:
            self._bar.update(self._task, completed=done, total=total)
        if status in BAD:
            self.tell(_said(result), STYLES[status])
        now = time.monotonic()
        if now - self._spoken >= EVERY and not self.console.is_terminal and self.loudness != QUIET:
            self._spoken = now
            self._print(f"{self.name}: {far(done, total, now - self._seen, self.counts)}")

    def tell(self, text: str, style: str = "dim") -> None:
        """Say something that only those want to know who asked for much."""
        if self.loudness == VERBOSE:
            self._print(f"{self.name}: {text}", style)

    def _print(self, text: str, style: str = "") -> None:
        shown = printable(text)
        shown = shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
        self.console.print(Text(shown, style), soft_wrap=True)


def far(done: int, total: int, seconds: float, counts: Mapping[str, int]) -> str:
    """Say how far a run is after so many seconds: `1,200 of 6,064, 240/s, 1,190 pass, 10 known, 20 s left`."""
    rate = done / seconds
    left = round((total - done) / rate)
    return f"{done:,} of {total:,}, {_speed(rate)}, {_counted(counts)}, {span(left)} left"


def span(seconds: int) -> str:
    """Say a time in two units at most: `45 s`, `3 min`, `2 h 5 min`."""
    if seconds < 2 * MINUTE:
        return f"{seconds} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE} min"
    return f"{seconds // HOUR} h {seconds % HOUR // MINUTE} min"


def _speed(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"  # noqa: PLR2004 - one digit more where there is but one


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[status]:,} {WORDS[status]}" for status in reversed(STATUSES) if counts.get(status))


def _said(result: Mapping[str, Any]) -> str:
    """Say of an unexpected result what it is: `✗ fail max_pool/a on numpy.loops: value: …`."""
    why = ": ".join(filter(None, [result.get("kind"), result.get("message") or result.get("reason")]))
    sign = f"{SIGNS[result['status']]} {WORDS[result['status']]}"
    return f"{sign} {result['case']} on {result['surface']}{f': {why}' if why else ''}"


class _Rate(ProgressColumn):
    """Results a second, since the first one."""

    def render(self, task: Task) -> Text:
        """Return the column for a bar as it stands."""
        return Text(_speed(task.speed) if task.speed else "", "dim")


class _Counts(ProgressColumn):
    """How many results there are of each status."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        super().__init__()
        self.counts = counts

    def render(self, task: Task) -> Text:  # noqa: ARG002 - rich asks so
        """Return the column for a bar as it stands."""
        known = [status for status in reversed(STATUSES) if self.counts.get(status)]
        return Text(" ").join(Text(f"{SIGNS[status]} {self.counts[status]:,}", STYLES[status]) for status in known)


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what to call with how much is done of how much: a bar on a terminal, nothing in a pipe."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
