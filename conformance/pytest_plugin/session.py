"""pytest session with the suite: options, workers of the backends, collection and exit status."""

from __future__ import annotations

import math
import pickle
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.adapters.api import CPU, FLOAT32, ON_CPU, Device, Program
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.catalogue.declarations import check_declarations_of_run
from conformance.catalogue.loading import Catalogue
from conformance.execution.expectation_cache import open_expectation_cache
from conformance.execution.job import Limits
from conformance.execution.options import MAX_REPEATS, MAX_TIME_LIMIT_SECONDS, RunOptions
from conformance.execution.pinned_check import check_printed_outputs
from conformance.execution.run import Run
from conformance.execution.selection import Selection
from conformance.execution.targets import RunTarget, run_targets
from conformance.execution.task import ComputeExpected
from conformance.judging.expected import compute_expected
from conformance.pytest_plugin.items import CaseItem, SurfaceCollector
from conformance.pytest_plugin.prefetch import ExpectedCache, Prefetcher
from conformance.system.suggestions import unknown_name_text

NOTHING_RAN_MESSAGE = "conformance: nothing ran, every selected case is unsupported"
CASES_KEY = "conformance-cases"
"""Key of the pickled cases in the input of a pytest-xdist worker."""


def register_session(config: pytest.Config) -> None:
    """Register the suite in a session. Raises UsageError for invalid options."""
    line = "conformance: a case of the conformance suite on one surface of a backend"
    config.addinivalue_line("markers", line)
    with as_usage_errors():
        config.pluginmanager.register(ConformanceSession(config), "conformance-session")


@contextmanager
def as_usage_errors() -> Iterator[None]:
    """Convert errors of the suite to UsageError, which pytest reports in one line each without a traceback."""
    try:
        yield
    except ConformanceError as error:
        raise pytest.UsageError(*(f"conformance: {line}" for line in str(error).splitlines())) from None


class ConformanceSession:
    """Plugin object of the suite in one pytest session, or in one process of pytest-xdist.

    Under pytest-xdist the controller process runs no cases. It loads the catalogue for all processes, starts each
    backend once to check that it works, and collects the reports.
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
        timeout, memory = self._value_option("timeout", Limits.case_seconds), self._value_option("memory", None)
        repeat: int = self._value_option("repeat", 1)
        self._check_options(timeout, memory, repeat)
        limits = Limits(timeout, memory_bytes=None if memory is None else round(memory * 1e9))
        self.options = RunOptions(self.selection, tuple(map(Path, self._text_options("cases"))), limits, repeat=repeat)
        self.named_cases: list[str] = []
        self.reported_outcomes: set[str] = set()
        # pytest calls it also if the session ends before pytest_sessionfinish, for example with a usage error.
        self.cleanup = ExitStack()
        config.add_cleanup(self.cleanup.close)

    def _text_options(self, name: str) -> list[str]:
        texts: list[str] = self.config.getoption(f"conformance_{name}")
        return texts

    def _value_option(self, name: str, default: Any) -> Any:
        """Return the value of an option, the default if it was not given."""
        value = self.config.getoption(f"conformance_{name}")
        return default if value is None else value

    def _check_options(self, timeout: float, memory: float | None, repeat: int) -> None:
        """Check the same limits as `conformance run`. Raises ConformanceError."""
        if not 0 < timeout <= MAX_TIME_LIMIT_SECONDS:
            raise ConformanceError(
                f"--conformance-timeout {timeout}: not a number of seconds from 0 to {MAX_TIME_LIMIT_SECONDS} (a day)"
            )
        if memory is not None and not 0 <= memory < math.inf:
            raise ConformanceError(f"--conformance-memory {memory}: not a number of gigabytes, or 0 for no limit")
        if not 1 <= repeat <= MAX_REPEATS:
            raise ConformanceError(f"--conformance-repeat {repeat}: not a number from 1 to {MAX_REPEATS}")
        for name in self.selection.operators:
            if name not in OPERATORS:
                unknown = unknown_name_text(name, sorted(OPERATORS), "conformance list")
                raise ConformanceError(f"operator {name!r}: {unknown}")

    @property
    def is_xdist_controller(self) -> bool:
        """Whether this is the controller of pytest-xdist, whose worker processes run the cases."""
        return self.config.pluginmanager.hasplugin("dsession")

    @property
    def is_xdist_worker(self) -> bool:
        """Whether this is a worker process of pytest-xdist."""
        return hasattr(self.config, "workerinput")

    @cached_property
    def cases(self) -> Sequence[Case]:
        """The selected cases. Raises CatalogueError, and IncompleteRun if no case is selected."""
        if self.is_xdist_worker:
            cases: Sequence[Case] = pickle.loads(vars(self.config)["workerinput"][CASES_KEY])  # noqa: S301 - from the controller of this session
            return cases
        level, operators, globs = self.selection.level, self.selection.operators, self.selection.globs
        loaded = loading.load_catalogue(self.options.paths, level=level, operators=operators, globs=globs)
        for target in self.targets:
            check_declarations_of_run(target.backend, loaded, self.options.paths)
        selected = loaded.select(level, operators, globs)
        if not selected:
            raise IncompleteRun("no case is selected")
        if self.options.paths:  # `conformance check` has checked the built-in catalogue
            check_printed_outputs(selected, compute_expected)
        return selected

    @cached_property
    def prefetchers(self) -> list[Prefetcher]:
        """A prefetcher for each backend, not started yet. Raises IncompleteRun if a backend has no program to run."""
        expected = ExpectedCache(self.cleanup.enter_context(open_expectation_cache())).expected
        prefetchers = [self._make_prefetcher(target, expected) for target in self.targets]
        for prefetcher in prefetchers:
            self.cleanup.callback(prefetcher.stop)
        return prefetchers

    def _make_prefetcher(self, target: RunTarget, expected: ComputeExpected) -> Prefetcher:
        run = Run(
            target.backend,
            Catalogue(tuple(self.cases)),  # processes of pytest-xdist have only the selected cases
            target.ledger(),
            self.options,
            python=target.python,
            compute_expected=expected,
        )
        if not any(isinstance(task.program, Program) for task in run.tasks()):
            raise IncompleteRun(f"backend {target.name}: nothing to run, no selected case has a program")
        return Prefetcher(run)

    def start(self, prefetcher: Prefetcher) -> None:
        """Start a worker. Raises IncompleteRun, with the command that installs a missing framework."""
        try:
            prefetcher.start()
        except IncompleteRun as error:
            target = next(target for target in self.targets if target.name == prefetcher.run.backend.name)
            raise IncompleteRun(target.with_install_hint(str(error))) from None

    def pytest_report_header(self) -> str:
        """Return the header line: backends, interpreters and level."""
        names = ", ".join(f"{target.name} ({target.python})" for target in self.targets)
        device = "" if self.device == ON_CPU else f"; {self.device.precision} on {self.device.name}"
        return f"conformance: {names}; level {self.selection.level}{device}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Check that the backends can be started before pytest-xdist starts its processes."""
        if self.is_xdist_controller:
            with as_usage_errors():
                for prefetcher in self.prefetchers:
                    self.start(prefetcher)
                    prefetcher.stop()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the cases to a worker process of pytest-xdist, which then does not load the catalogue."""
        node.workerinput[CASES_KEY] = pickle.dumps(list(self.cases))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Remove the arguments that are node ids of surfaces or of cases on them. pytest expects files."""
        backends = [target.backend for target in self.targets]
        surfaces = {surface.name + backend.label for backend in backends for surface in backend.surfaces}
        for text in list(self.config.args):  # a copy, because arguments are removed
            path, colons, name = text.partition("::")
            if Path(path).name in surfaces and not (self.config.invocation_params.dir / path).exists():
                self.config.args.remove(text)
                self.named_cases.append(f"{Path(path).name}{colons}{name}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the cases to the items from files. First, so that -k, -m and other plugins can deselect them."""
        repro_options = [text for path in self.options.paths for text in ("--cases", str(path))]
        if self.device != ON_CPU:
            repro_options += ["--device", self.device.name, "--precision", self.device.precision]
        rest = {"named_cases": self.named_cases, "repro_options": repro_options}
        with as_usage_errors():
            pairs = [(prefetcher, surface) for prefetcher in self.prefetchers for surface in prefetcher.run.surfaces]
        for prefetcher, surface in pairs:
            name = surface.name + prefetcher.run.backend.label
            collector = SurfaceCollector.from_parent(session, name=name, prefetcher=prefetcher, surface=surface, **rest)
            items += session.genitems(collector)
        found = {item.nodeid for item in items} | {item.parent.name for item in items if isinstance(item, CaseItem)}
        missing = [name for name in self.named_cases if name not in found]
        if missing:
            raise pytest.UsageError(*(f"not found: {name}: no selected case has this name" for name in missing))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Start the workers of the backends that have selected items, and plan their tasks."""
        # A process of pytest-xdist starts its worker with its first case: it does not know which cases it will get.
        if self.is_xdist_controller or self.is_xdist_worker or self.config.option.collectonly:
            return
        with as_usage_errors():
            for prefetcher in self.prefetchers:
                items = [item for item in session.items if isinstance(item, CaseItem) and item.prefetcher is prefetcher]
                if items:
                    self.start(prefetcher)
                    prefetcher.plan(item.task for item in items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """In a worker process of pytest-xdist, which knows only one item ahead, plan this item and the next."""
        for one in (item, nextitem) if self.is_xdist_worker else ():
            if isinstance(one, CaseItem):
                one.prefetcher.plan([one.task])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Set location and reason of skipped cases."""
        report = yield
        if isinstance(item, CaseItem):
            item.format_skip(report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the outcomes of the cases from their reports."""
        self.reported_outcomes |= {
            str(value) for name, value in report.user_properties if name == "conformance-outcome"
        }

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Stop the workers. Set an exit status other than 0 if all cases were unsupported."""
        self.cleanup.close()
        if self._nothing_ran and not self.is_xdist_worker and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    @property
    def _nothing_ran(self) -> bool:
        return self.reported_outcomes == {"unsupported"}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the reason for the exit status if no program ran."""
        if self._nothing_ran:
            terminalreporter.write_line(NOTHING_RAN_MESSAGE, red=True)
