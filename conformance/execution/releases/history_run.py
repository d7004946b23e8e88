"""Run the cases of a history on one release after the other, into one results file for each release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from conformance import IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api import Backend
from conformance.cases.case import Case
from conformance.cases.features.case_features import CaseFeatures
from conformance.catalogue.loading import Catalogue
from conformance.execution.options import RunOptions
from conformance.execution.releases.environments import ReleaseEnvironments
from conformance.execution.run import Run
from conformance.execution.targets import ledger_for
from conformance.execution.task import ComputeExpected
from conformance.judging.ledger import Ledger
from reports.results import Level, Outcome, ResultRecord, UnreadableResults, load_report

MAX_CRASHES = 20
"""Number of crashes in a row after which a release is given up."""


def history_cases(catalogue: Catalogue, backend: Backend, level: str) -> Catalogue:
    """Return the cases up to a level, those of all conventions, and those that a ledger entry of the backend names."""
    surfaces = [surface.name for surface in backend.surfaces]
    ledger = ledger_for(backend)
    entries = [one for one in ledger.entries if any(map(one.matches_surface, surfaces))]
    own = Ledger(tuple(entries))
    at_level = {case.id for case in catalogue.select(level)}

    def is_chosen(case: Case) -> bool:
        if case.id in at_level or case.convention_id:
            return True
        possible = [one for one in own.entries if one.may_match_operator(case.operator)]
        features = CaseFeatures(case)
        return any(one.matches_case(features) for one in possible)

    return replace(catalogue, cases=tuple(filter(is_chosen, catalogue.cases)))


@dataclass(frozen=True)
class ReleaseRuns:
    """Runs of the releases of a backend. Results are in <out>/<backend>/<version>.jsonl.

    cases: the cases of the history; options: the level must include all of them.
    """

    backend: str
    cases: Catalogue
    options: RunOptions
    environments: ReleaseEnvironments
    expected: ComputeExpected

    def path(self, version: str) -> Path:
        """Return the results file of a release, apart from those of the current verdict."""
        return self.options.out / self.backend / f"{version}.jsonl"

    def is_complete(self, version: str) -> bool:
        """Whether the results file of a release is complete and has the selected cases of the current catalogue."""
        path, selection = self.path(version), self.options.selection
        if not path.exists():
            return False
        try:
            (run,) = load_report([path]).runs
        except UnreadableResults:
            return False
        recorded = run.header.selection
        same = (recorded.surfaces, recorded.operators, recorded.cases) == (
            selection.surfaces, selection.operators, selection.globs,
        )  # fmt: skip
        return run.complete and same and run.header.catalogue.digest == self.cases.digest

    def run_release(
        self, version: str, progress: Callable[[int, int, ResultRecord], None], log: Callable[[str], None]
    ) -> Path:
        """Install and run a release, and return its results file. Raises IncompleteRun with the reason."""
        python = self.environments.python_of(version)
        backend = registry.backend_of_release(f"{self.backend}@{version}", version)
        crashes = 0

        def count_crashes(done: int, total: int, result: ResultRecord) -> None:
            nonlocal crashes
            if result.outcome is not Outcome.UNSUPPORTED:
                crashes = crashes + 1 if result.outcome is Outcome.CRASHED else 0
            if crashes >= MAX_CRASHES:
                raise IncompleteRun(f"{self.backend} {version}: given up after {crashes} crashes in a row")
            progress(done, total, result)

        # Programs are not cached: the cache does not distinguish the adapters of two releases.
        options = replace(
            self.options, use_caches=False, selection=replace(self.options.selection, level=Level.STANDARD)
        )
        run = Run(backend, self.cases, ledger_for(backend), options, python=python, compute_expected=self.expected)
        run.execute(self.path(version), progress=count_crashes, log=log)
        return self.path(version)
