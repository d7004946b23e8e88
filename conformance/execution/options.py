"""Options of a run. The command line or the pytest plugin builds them once; everything else passes them on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conformance.execution.job import DEFAULT_LIMITS, Limits
from conformance.execution.selection import DEFAULT_SELECTION, Selection

MAX_TIME_LIMIT_SECONDS = 86_400
"""Maximum time limit for a case or a start in seconds: one day."""
MAX_REPEATS = 1000


@dataclass(frozen=True)
class RunOptions:
    """Options of a run that are the same for all its backends and, except for the selection, for all its shards.

    selection: level, filters and shard; paths: case files, folders and exports, empty for the built-in catalogue;
    limits: of one worker process; jobs: number of parallel workers, None for a number that suits the programs and the
    cores; repeat: how many times each case is run; use_caches: whether programs and expected results are cached on
    disk; resume: whether to complete partial results files; out: output folder; batches: whether programs of routes run
    in batches.
    """

    selection: Selection = DEFAULT_SELECTION
    paths: tuple[Path, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    jobs: int | None = None
    repeat: int = 1
    use_caches: bool = False
    resume: bool = False
    out: Path = Path("build/conformance")
    batches: bool = True


DEFAULT_OPTIONS = RunOptions()
"""The default of `Run`: level smoke, no filters, no caches."""
