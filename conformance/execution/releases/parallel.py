"""Run several releases at the same time, in processes of this machine or on the workers of a cluster.

A worker makes the environment of its release in a temporary folder, and removes it at the end of the run.
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance import ConformanceError, IncompleteRun, __version__
from conformance.adapters import registry
from conformance.catalogue import loading
from conformance.catalogue.loading import Catalogue
from conformance.execution.distributed.cluster import ClusterWorkers, WorkItem
from conformance.execution.expectation_cache import expectation_source
from conformance.execution.options import RunOptions
from conformance.execution.releases.environments import ReleaseEnvironments
from conformance.execution.releases.history_run import ReleaseRuns, history_cases
from conformance.execution.selection import Selection
from conformance.system.atomic_write import write_atomically


def history_catalogue(backend: str, selection: Selection) -> Catalogue:
    """Return the cases of a history: those that the selection names, or those of `history_cases`. Reads the catalogue.

    Raises ConformanceError if no case matches.
    """
    catalogue = loading.load_catalogue()
    if not selection.globs:
        return history_cases(catalogue, registry.get_backend(backend), selection.level)
    if not catalogue.select(globs=selection.globs):
        raise ConformanceError(f"--case {' '.join(selection.globs)}: matches no case up to level standard")
    return catalogue


@dataclass(frozen=True)
class ReleaseWork:
    """What a worker needs to run a release.

    environments: with the interpreter "", those of the worker are made with its own. identity: the suite and the cases
    of the machine that started the runs.
    """

    backend: str
    selection: Selection
    environments: ReleaseEnvironments
    identity: str

    @staticmethod
    def identity_of(cases: Catalogue) -> str:
        """Return the version of the suite and the digest of the cases."""
        return f"suite {__version__}, cases {cases.digest}"

    def run(self, version: str) -> bytes:
        """Run a release in this process, and return its compressed results file.

        Raises ConformanceError if this machine has another suite or other cases, IncompleteRun if the release cannot be
        run.
        """
        cases = history_catalogue(self.backend, self.selection)
        if self.identity_of(cases) != self.identity:
            raise ConformanceError(
                f"the machine that started the runs has {self.identity}, expected {self.identity_of(cases)}"
            )
        with (
            tempfile.TemporaryDirectory(prefix="conformance-") as folder,
            expectation_source(use_caches=True) as expected,
        ):
            python = self.environments.python or sys.executable
            environments = replace(self.environments, folder=Path(folder) / "environments", python=python)
            options = RunOptions(self.selection, jobs=1, out=Path(folder))
            runs = ReleaseRuns(self.backend, cases, options, environments, expected)
            return zlib.compress(runs.run_release(version, _ignore, _ignore).read_bytes(), 1)


def _ignore(*_arguments: Any) -> None:
    """Ignore progress and messages, which stay on the worker."""


def _attempt(work: ReleaseWork, version: str) -> tuple[bytes, str]:
    """Run a release. Return the results file, or the reason why the release cannot be run."""
    try:
        return work.run(version), ""
    except IncompleteRun as error:
        return b"", str(error)


def run_releases(
    work: ReleaseWork, versions: Sequence[str], workers: ClusterWorkers, path_of: Callable[[str], Path]
) -> Iterator[tuple[str, str]]:
    """Run releases on workers, and write each results file as soon as its release is done.

    Yields each release with "", or with the reason why it cannot be run, in the order of completion.
    """
    for item, (content, problem) in workers.submit(WorkItem(one, _attempt, (work, one)) for one in versions):
        if content:
            path = path_of(item.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, zlib.decompress(content))
        yield item.name, problem
