"""Run the cases of a history on one release after the other, into one results file for each release."""

from __future__ import annotations

from collections.abc import Callable, Collection
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
from conformance.judging.release_answers import MISSING_FUNCTION
from conformance.judging.release_findings import cases_of_findings
from reports.results import Level, Outcome, ResultRecord, Status, UnreadableResults, load_report
from reports.results.vocabulary import WITH_PROGRAMS

Progress = Callable[[int, int, ResultRecord], None]
Log = Callable[[str], None]
MAX_CRASHES = 20
"""Number of crashes in a row that no ledger entry describes, after which a release is given up."""


def counts_as_crash(result: ResultRecord) -> bool:
    """Whether a result is an unknown crash. A call of a function that the release lacks is not a crash."""
    return result.status is Status.CRASHED and MISSING_FUNCTION not in (result.message or "")


def history_cases(catalogue: Catalogue, backend: Backend, level: str) -> Catalogue:
    """Return the cases up to a level, of all conventions, and of the ledger entries and findings of the backend."""
    surfaces = [surface.name for surface in backend.surfaces]
    ledger = ledger_for(backend)
    entries = [one for one in ledger.entries if any(map(one.matches_surface, surfaces))]
    own = Ledger(tuple(entries))
    chosen = {case.id for case in catalogue.select(level)} | cases_of_findings(backend.name)

    def is_chosen(case: Case) -> bool:
        if case.id in chosen or case.convention_id:
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

    def run_release(self, version: str, progress: Progress, log: Log) -> Path:
        """Install and run a release, and return its results file. Raises IncompleteRun with the reason."""
        label, path = f"{self.backend}@{version}", self.path(version)
        return self._run(
            version, registry.backend_of_release(label, version), self.cases, path, progress=progress, log=log
        )

    def older_programs_path(self, old: str, new: str) -> Path:
        """Return the results file of a release that has run the programs of an older one."""
        return self.path(f"{new}{WITH_PROGRAMS}{old}")

    def run_older_programs(self, old: str, new: str, cases: Collection[str], progress: Progress, log: Log) -> Path:
        """Run the programs of an older release on a newer one, and return the results file.

        cases: ids of the cases that are run. Raises IncompleteRun with the reason.
        """
        path = self.older_programs_path(old, new)
        backend = registry.backend_of_release(f"{self.backend}@{path.stem}", old)
        selected = replace(self.cases, cases=tuple(case for case in self.cases.cases if case.id in cases))
        return self._run(new, backend, selected, path, progress=progress, log=log)

    def _run(
        self, version: str, backend: Backend, cases: Catalogue, path: Path, *, progress: Progress, log: Log
    ) -> Path:
        # The setup and not the import alone, which may need settings that the setup makes.
        python = self.environments.python_of(version, backend.setup)
        crashes = 0

        def count_crashes(done: int, total: int, result: ResultRecord) -> None:
            nonlocal crashes
            if result.outcome is not Outcome.UNSUPPORTED:
                crashes = crashes + 1 if counts_as_crash(result) else 0
            if crashes >= MAX_CRASHES:
                raise IncompleteRun(f"{self.backend} {version}: given up after {crashes} crashes in a row")
            progress(done, total, result)

        # Programs are not cached: the cache does not distinguish the adapters of two releases.
        options = replace(
            self.options, use_caches=False, selection=replace(self.options.selection, level=Level.STANDARD)
        )
        run = Run(backend, cases, ledger_for(backend), options, python=python, compute_expected=self.expected)
        run.execute(path, progress=count_crashes, log=log)
        return path
