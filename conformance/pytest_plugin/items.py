"""What pytest collects: a surface, and in it every selected case as an item."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from conformance import ConformanceError
from conformance.adapters.api.surface import Surface
from conformance.cases.case import Case
from conformance.execution.run import Task
from conformance.judging.verdict import Outcome
from conformance.pytest_plugin.prefetch import Feed
from conformance.pytest_plugin.text import failure, reason

PROPERTIES = ("status", "outcome", "verdict", "kind", "how")


class SurfaceCollector(pytest.Collector):
    """The selected cases on one surface. It stands below the session, in no file.

    name: that of the surface, with the label of the backend where it has one.

    named: node ids of surfaces and of cases on them to which the selection is confined, if there are any;
    further: options by which a command line finds the cases.
    """

    def __init__(
        self, *, name: str, feed: Feed, surface: Surface, named: Collection[str], further: Sequence[str], **rest: Any
    ) -> None:
        super().__init__(name=name, nodeid=name, **rest)
        self.feed = feed
        self.surface = surface
        self.named = named
        self.further = further
        self.add_marker("conformance")

    def collect(self) -> Iterator[CaseItem]:
        """Yield an item for each case that is run on the surface."""
        for case in self.feed.run.cases:
            if self.feed.run.runs(case, self.surface) and self._is_wanted(case):
                yield CaseItem.from_parent(self, name=case.id, case=case)

    def _is_wanted(self, case: Case) -> bool:
        return not self.named or bool({self.nodeid, f"{self.nodeid}::{case.id}"} & {*self.named})


class CaseItem(pytest.Item):
    """A case on a surface; its node id is `<surface>::<case>`."""

    parent: SurfaceCollector

    def __init__(self, *, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.feed = self.parent.feed
        self.surface = self.parent.surface

    @cached_property
    def task(self) -> Task:
        """The case with its program, translated when it is first asked for."""
        return self.feed.run.task(self.case, self.surface)

    def runtest(self) -> None:
        """Carry the case out, and pass, fail, skip or xfail as its status says."""
        outcome = self._outcome()
        result, _ = self.feed.run.judged(self.task, outcome)
        self.user_properties += [(f"conformance-{name}", result[name]) for name in PROPERTIES if result[name]]
        if result["status"] == "unsupported":
            pytest.skip(reason(result))
        if result["status"] == "known":
            pytest.xfail(reason(result))
        if result["status"] != "pass":
            pytest.fail(failure(self.feed.run, self.task, outcome, result, self.parent.further), pytrace=False)

    def _outcome(self) -> Outcome:
        """Return what the backend did. Where it is lost for good, nothing that follows is worth a try."""
        try:
            return self.feed.outcome(self.task)
        except ConformanceError as error:
            fault = str(error)
        self.session.shouldfail = f"conformance: {fault}"
        pytest.fail(fault, pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the case stands in the catalogue, and the heading of a failure."""
        heading = f"{self.case.id} on {self.parent.name}"
        path, colon, line = self.case.place.rpartition(":")
        if colon and line.isdigit():
            return Path(path), int(line) - 1, heading
        return Path(self.case.place), None, heading

    def told(self, report: pytest.TestReport) -> None:
        """Let a skip be told by the surface and the reason, not by the line that raised it."""
        if report.skipped and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail"):
            report.longrepr = (self.parent.name, None, report.longrepr[2])  # type: ignore[assignment]
