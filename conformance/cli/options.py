"""Options that several commands of the command line share, and where results go; light, as every command imports it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from conformance.adapters.api.devices import CPU, DEVICE_NAMES, FLOAT32, PRECISIONS
from conformance.cases.case import LEVELS
from conformance.cases.operators import OPERATORS
from conformance.execution.selection import Selection
from conformance.execution.worker_process import Limits

DEFAULT_OUTPUT_FOLDER = Path("build/conformance")
"""Where results go."""
CASES_OPTION = click.option(
    "--cases",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A case file, a folder of them or an exported catalogue, instead of the suite's own. Several may be given.",
)
JOBS_OPTION = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many processes work at once. [default: one for each core]",
)
CACHE_OPTION = click.option(
    "--cache/--no-cache",
    default=True,
    help="Whether to believe what this very suite has found of a case before. [default: --cache]",
)
EXHAUSTIVE_OPTION = click.option(
    "--level",
    type=click.Choice(LEVELS[1:]),
    default=LEVELS[1],
    show_default=True,
    help="With the rows of exhaustive sweeps, or without.",
)
DEVICE_OPTION = click.option(
    "--device",
    type=click.Choice(DEVICE_NAMES),
    default=CPU,
    show_default=True,
    help="Where programs work, for backends that can; conformance backends says which those are, and why not.",
)
PRECISION_OPTION = click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=FLOAT32,
    show_default=True,
    help="On cuda, what float32 may be multiplied in; results are held to the bound of that.",
)
OPERATOR_OPTION = click.option(
    "--operator", "operators", multiple=True, type=click.Choice(sorted(OPERATORS)), help="Only cases of this operator."
)
PATHS_ARGUMENT = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
QUIET_OUTPUT, NORMAL_OUTPUT, VERBOSE_OUTPUT = "quiet", "usual", "verbose"

QUIET_OPTION = click.option(
    "--quiet",
    "loudness",
    flag_value=QUIET_OUTPUT,
    help="Say only what is unexpected, and the last line of the summary.",
)
VERBOSE_OPTION = click.option(
    "--verbose",
    "loudness",
    flag_value=VERBOSE_OUTPUT,
    help="Say also, on standard error, what is unexpected as it comes in, each start of a worker, what --resume found.",
)
SCHEDULER_OPTION = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Have it run in shards by the workers of the Dask scheduler at this address; local: of this machine's cores. "
    "The frameworks need be there alone, and PYTHON is an interpreter there.",
)
SHARDS_OPTION = click.option(
    "--shards",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="With --scheduler: how many shards. [default: four for each worker, of 250 results or more]",
)


@dataclass(frozen=True)
class RunOptions:
    """What was asked for. seconds: for a case, and for a start; memory: bytes for a process, None for the usual."""

    selection: Selection
    paths: tuple[Path, ...]
    time_limits: tuple[float, float]
    memory_bytes: int | None
    jobs: int | None
    repeat: int
    use_caches: bool
    resume: bool
    verbosity: str | None
    out: Path

    @property
    def worker_limits(self) -> Limits:
        """What a worker may take on this machine."""
        return Limits(*self.time_limits) if self.memory_bytes is None else Limits(*self.time_limits, self.memory_bytes)
