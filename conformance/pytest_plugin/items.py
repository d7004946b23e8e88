"""Collector and items of the pytest plugin: one collector for each surface, one item for each case on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from conformance import ConformanceError
from conformance.adapters.api import Surface
from conformance.cases.case import Case
from conformance.execution.task import Task
from conformance.judging.verdict import ProgramOutcome
from conformance.pytest_plugin.prefetch import Prefetcher
from conformance.pytest_plugin.text import failure_report, unsupported_or_known_reason
from reports.results import ResultRecord, Status
from reports.results.vocabulary import AGREEING_STATUSES

REPORTED_FIELDS = ("status", "outcome", "verdict", "kind", "how")


class SurfaceCollector(pytest.Collector):
    """Collector of the selected cases on one surface. Its parent is the session, not a file.

    name: name of the surface, with the label of the backend if it has one; named_cases: node ids of surfaces and cases
    to which the selection is restricted, empty for no restriction; repro_options: options that `conformance repro`
    needs to find the cases.
    """

    def __init__(
        self,
        *,
        name: str,
        prefetcher: Prefetcher,
        surface: Surface,
        named_cases: Collection[str],
        repro_options: Sequence[str],
        **rest: Any,
    ) -> None:
        super().__init__(name=name, nodeid=name, **rest)
        self.prefetcher = prefetcher
        self.surface = surface
        self.named_cases = named_cases
        self.repro_options = repro_options
        # `-m conformance` selects the cases in a session that also runs the tests of a project.
        self.add_marker("conformance")

    def collect(self) -> Iterator[CaseItem]:
        """Yield an item for each case that is run on the surface."""
        for case in self.prefetcher.run.cases:
            # Node ids on the command line restrict the selection: those of a whole surface, or of single cases on it.
            named = {self.nodeid, f"{self.nodeid}::{case.id}"}
            if self.named_cases and named.isdisjoint(self.named_cases):
                continue
            if self.prefetcher.run.is_run(case, self.surface):
                yield CaseItem.from_parent(self, name=case.id, case=case)


class CaseItem(pytest.Item):
    """A case on a surface; its node id is `<surface>::<case>`."""

    parent: SurfaceCollector

    def __init__(self, *, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.prefetcher = self.parent.prefetcher
        self.surface = self.parent.surface

    @cached_property
    def task(self) -> Task:
        """The task of the case, translated on first access."""
        return self.prefetcher.run.make_task(self.case, self.surface)

    def runtest(self) -> None:
        """Run the case, and pass, fail, skip or xfail according to its status."""
        outcome, result = self._run_case()
        reported = {name: getattr(result, name) for name in REPORTED_FIELDS}
        self.user_properties += [(f"conformance-{name}", str(text)) for name, text in reported.items() if text]
        if result.status == Status.UNDECLARED:
            pytest.skip(f"undeclared: {result.message}")
        if result.status in {Status.UNSUPPORTED, Status.REFUSED}:
            pytest.skip(unsupported_or_known_reason(result))
        if result.status == Status.KNOWN:
            pytest.xfail(unsupported_or_known_reason(result))
        if result.status not in AGREEING_STATUSES:
            pytest.fail(
                failure_report(self.prefetcher.run, self.task, outcome, result, self.parent.repro_options),
                pytrace=False,
            )

    def _run_case(self) -> tuple[ProgramOutcome, ResultRecord]:
        """Return outcome and result. End the session if the worker cannot be restarted: all later cases would fail."""
        try:
            return self.prefetcher.judge_task(self.task)
        except ConformanceError as error:
            problem = str(error)
        self.session.shouldfail = f"conformance: {problem}"
        pytest.fail(problem, pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return path and line of the case in the catalogue, and the heading of a failure."""
        heading = f"{self.case.id} on {self.parent.name}"
        # A case of an exported catalogue has no line, and a path may contain a colon.
        path, colon, line = self.case.location.rpartition(":")
        if colon and line.isdigit():
            return Path(path), int(line) - 1, heading
        return Path(self.case.location), None, heading

    def format_skip(self, report: pytest.TestReport) -> None:
        """Set the location of a skip to the surface. By default it is the line of this plugin that raised it."""
        if report.skipped and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail"):
            report.longrepr = (self.parent.name, None, report.longrepr[2])  # type: ignore[assignment]
