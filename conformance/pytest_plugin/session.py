"""A pytest session that runs the suite: the backends it asks for, their workers, what is collected, when it is red."""

from __future__ import annotations

import math
import pickle
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.adapters.api.devices import CPU, FLOAT32, ON_CPU, Device
from conformance.adapters.api.surface import Program
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.catalogue.loading import Catalogue
from conformance.execution.expectation_cache import open_expectation_cache
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.execution.targets import RunTarget, run_targets
from conformance.execution.worker_process import Limits
from conformance.pytest_plugin.items import CaseItem, SurfaceCollector
from conformance.pytest_plugin.prefetch import ExpectedCache, Prefetcher

MAX_TIME_LIMIT_SECONDS = 86_400
MAX_REPEATS = 1000
NOTHING_RAN_MESSAGE = "conformance: nothing ran, every selected case is unsupported"
CASES_KEY = "conformance-cases"


def register_session(config: pytest.Config) -> None:
    """Bring the suite into a session. Raises UsageError for options that are none."""
    line = "conformance: a case of the conformance suite on one surface of a backend"
    config.addinivalue_line("markers", line)
    with as_usage_errors():
        config.pluginmanager.register(ConformanceSession(config), "conformance-session")


@contextmanager
def as_usage_errors() -> Iterator[None]:
    """Let pytest tell an error of the suite as its own: a line each, and no traceback."""
    try:
        yield
    except ConformanceError as error:
        raise pytest.UsageError(*(f"conformance: {line}" for line in str(error).splitlines())) from None


class ConformanceSession:
    """The suite's part in one session of pytest, or in one process of pytest-xdist.

    Under pytest-xdist one process, here called the head, collects nothing: it reads the catalogue for all, tries every
    backend once, and watches the reports.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.device = Device(self._value_option("device", CPU), self._value_option("precision", FLOAT32))
        self.targets = run_targets(self._text_options("backend"), self._text_options("surface"), device=self.device)
        self.selection = Selection(
            self._value_option("level", "smoke"),
            surfaces=tuple(self._text_options("surface")),
            operators=tuple(self._text_options("operator")),
            globs=tuple(self._text_options("case")),
        )
        self.repeat: int = self._value_option("repeat", 1)
        memory = self._value_option("memory", None)
        self._check_options(self._value_option("timeout", Limits.case_seconds), memory)
        limits = Limits(self._value_option("timeout", Limits.case_seconds))
        self.limits = limits if memory is None else replace(limits, memory_bytes=round(memory * 1e9))
        self.paths = [Path(text) for text in self._text_options("cases")]
        self.named_cases: list[str] = []
        self.reported_outcomes: set[str] = set()
        self.cleanup = ExitStack()
        config.add_cleanup(self.cleanup.close)

    def _text_options(self, name: str) -> list[str]:
        texts: list[str] = self.config.getoption(f"conformance_{name}")
        return texts

    def _value_option(self, name: str, usual: Any) -> Any:
        """Return the value of an option, the usual one where it was not given."""
        value = self.config.getoption(f"conformance_{name}")
        return usual if value is None else value

    def _check_options(self, limit: float, memory: float | None) -> None:
        """Refuse what conformance run refuses, too. Raises ConformanceError."""
        if not 0 < limit <= MAX_TIME_LIMIT_SECONDS:
            raise ConformanceError(f"--conformance-timeout {limit}: not a number of seconds of at most a day")
        if memory is not None and not 0 <= memory < math.inf:
            raise ConformanceError(f"--conformance-memory {memory}: not a number of gigabytes, or 0 for no limit")
        if not 1 <= self.repeat <= MAX_REPEATS:
            raise ConformanceError(f"--conformance-repeat {self.repeat}: not a number from 1 to {MAX_REPEATS}")
        for name in self.selection.operators:
            if name not in OPERATORS:
                raise ConformanceError(f"operator {name!r}: unknown, known are {', '.join(sorted(OPERATORS))}")

    @property
    def is_xdist_controller(self) -> bool:
        """Whether other processes run the cases."""
        return self.config.pluginmanager.hasplugin("dsession")

    @property
    def is_xdist_worker(self) -> bool:
        """Whether this process runs what the head tells it to."""
        return hasattr(self.config, "workerinput")

    @cached_property
    def cases(self) -> Sequence[Case]:
        """The selected cases. Raises CatalogueError, and IncompleteRun if there is none."""
        if self.is_xdist_worker:
            found: Sequence[Case] = pickle.loads(vars(self.config)["workerinput"][CASES_KEY])  # noqa: S301 - of this very session
            return found
        level, operators, globs = self.selection.level, self.selection.operators, self.selection.globs
        loaded = loading.load_catalogue(self.paths, level=level, operators=operators, globs=globs)
        selected = loaded.select(level, operators, globs)
        if not selected:
            raise IncompleteRun("no case is selected")
        return selected

    @cached_property
    def prefetchers(self) -> list[Prefetcher]:
        """A worker for each backend, not started yet. Raises IncompleteRun if one of them had nothing to do."""
        expect = ExpectedCache(self.cleanup.enter_context(open_expectation_cache())).expected
        found = [self._make_prefetcher(one, expect) for one in self.targets]
        for feed in found:
            self.cleanup.callback(feed.stop)
        return found

    def _make_prefetcher(self, one: RunTarget, expect: Any) -> Prefetcher:
        cases = Catalogue(tuple(self.cases))
        how = {"python": one.python, "limits": self.limits, "repeat": self.repeat, "expect": expect}
        run = Run(one.backend, cases, one.ledger(), self.selection, **how)
        tasks = run.tasks()
        if not any(isinstance(task.program, Program) for task in tasks):
            raise IncompleteRun(f"backend {one.name}: nothing to run, no selected case has a program")
        return Prefetcher(run)

    def start(self, feeds: Sequence[Prefetcher]) -> None:
        """Start workers. Raises IncompleteRun, with how to install what is missing."""
        for feed in feeds:
            try:
                feed.start()
            except IncompleteRun as error:
                one = next(one for one in self.targets if one.name == feed.run.backend.name)
                raise IncompleteRun(one.with_install_hint(str(error))) from None

    def pytest_report_header(self) -> str:
        """Say what is run, at the top."""
        names = ", ".join(f"{one.name} ({one.python})" for one in self.targets)
        where = "" if self.device == ON_CPU else f"; {self.device.precision} on {self.device.name}"
        return f"conformance: {names}; level {self.selection.level}{where}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Find out before processes are started whether the backends can be."""
        if self.is_xdist_controller:
            with as_usage_errors():
                for feed in self.prefetchers:
                    self.start([feed])
                    feed.stop()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the cases to a process of pytest-xdist, which so need not read the catalogue."""
        node.workerinput[CASES_KEY] = pickle.dumps(list(self.cases))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Take arguments that name a surface, or a case on one, as they stand in reports; the rest are files."""
        backends = [one.backend for one in self.targets]
        surfaces = {surface.name + backend.label for backend in backends for surface in backend.surfaces}
        for text in list(self.config.args):
            path, colons, name = text.partition("::")
            if Path(path).name in surfaces and not (self.config.invocation_params.dir / path).exists():
                self.config.args.remove(text)
                self.named_cases.append(f"{Path(path).name}{colons}{name}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the cases to what was found in files, before anybody chooses among them."""
        further = [text for path in self.paths for text in ("--cases", str(path))]
        if self.device != ON_CPU:
            further += ["--device", self.device.name, "--precision", self.device.precision]
        rest = {"named": self.named_cases, "further": further}
        with as_usage_errors():
            of_surfaces = [(feed, surface) for feed in self.prefetchers for surface in feed.run.surfaces]
        for feed, surface in of_surfaces:
            name = surface.name + feed.run.backend.label
            collector = SurfaceCollector.from_parent(session, name=name, prefetcher=feed, surface=surface, **rest)
            items += session.genitems(collector)
        found = {item.nodeid for item in items} | {item.parent.name for item in items if isinstance(item, CaseItem)}
        missing = [name for name in self.named_cases if name not in found]
        if missing:
            raise pytest.UsageError(*(f"not found: {name}: no selected case is called so" for name in missing))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Start the workers of backends that have anything left to do, and tell them what."""
        if self.is_xdist_controller or self.is_xdist_worker or self.config.option.collectonly:
            return
        with as_usage_errors():
            for feed in self.prefetchers:
                items = [item for item in session.items if isinstance(item, CaseItem) and item.prefetcher is feed]
                if items:
                    self.start([feed])
                    feed.plan(item.task for item in items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Under pytest-xdist, which tells one case ahead, plan that one."""
        for one in (item, nextitem) if self.is_xdist_worker else ():
            if isinstance(one, CaseItem):
                one.prefetcher.plan([one.task])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let a case say itself where and why it was skipped."""
        report = yield
        if isinstance(item, CaseItem):
            item.format_skip(report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what cases came to."""
        self.reported_outcomes |= {
            str(value) for name, value in report.user_properties if name == "conformance-outcome"
        }

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End the workers, and be red where no program of any case was run."""
        self.cleanup.close()
        if self._nothing_ran and not self.is_xdist_worker and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    @property
    def _nothing_ran(self) -> bool:
        return self.reported_outcomes == {"unsupported"}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why the session is red though nothing failed."""
        if self._nothing_ran:
            terminalreporter.write_line(NOTHING_RAN_MESSAGE, red=True)
