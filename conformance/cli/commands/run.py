"""`conformance run`: parse the options, launch the first worker, then import the rest of the suite and run.

The worker imports its framework meanwhile. Imports at the top of this module delay it and must be small.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import click

from conformance.adapters.api import Device
from conformance.cli.options import (
    CACHE_OPTION,
    CASE_GLOB_OPTION,
    CASES_OPTION,
    DEVICE_OPTION,
    INSTRUCTIONS_OPTION,
    OPERATOR_OPTION,
    PRECISION_OPTION,
    QUIET_OPTION,
    SCHEDULER_OPTION,
    SHARDS_OPTION,
    TIME_LIMIT,
    VERBOSE_OPTION,
    Verbosity,
    level_option,
    results_folder_option,
    timeout_option,
)
from conformance.cli.parameter_types import SURFACE_NAME, RangeWithoutNaN, ShardType
from conformance.execution.job import Limits, WorkerFailed
from conformance.execution.options import MAX_REPEATS, RunOptions
from conformance.execution.selection import Selection, Shard
from conformance.execution.targets import RunTarget, run_targets
from conformance.execution.worker_process import Worker
from reports.results.vocabulary import Level


@click.command()
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME[@LABEL][=PYTHON]",
    help="A backend, and the Python interpreter that has its framework if it is not this one. Repeatable. Without this "
    "option, the backends installed here run, or the built-in one if there are none. A label of your choice (letters, "
    "digits, ._-) distinguishes two versions of a framework, also in the results.",
)
@click.option(
    "--surface", "surfaces", multiple=True, type=SURFACE_NAME, metavar="S", help="Only this surface. Repeatable."
)
@OPERATOR_OPTION
@CASE_GLOB_OPTION
@CASES_OPTION
@level_option(Level.SMOKE)
@timeout_option(Limits.case_seconds)
@click.option(
    "--start-timeout",
    type=TIME_LIMIT,
    default=Limits.start_seconds,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for the start of a backend: its interpreter and its imports.",
)
@click.option(
    "--memory",
    type=RangeWithoutNaN(min=0, max=math.inf, max_open=True),
    metavar="GB",
    help="Memory limit for a process of a backend. A process above the limit is killed. 0: no limit. [default: half of "
    "the machine's memory]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, MAX_REPEATS),
    default=1,
    metavar="K",
    help="Run every case K times; a case whose results differ is flaky. [default: 1, and once more after a crash or a "
    "timeout]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Number of parallel processes per backend. [default: depends on the number of cases and of cores]",
)
@INSTRUCTIONS_OPTION
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of threads of a framework, set by its own setting. No effect on backends without such a setting. With "
    "--repeat, a case whose bits depend on the order of the threads is flaky.",
)
@DEVICE_OPTION
@PRECISION_OPTION
@click.option(
    "--slow",
    is_flag=True,
    help="Also run all cases of the level on slow surfaces, which compile every call. By default they run the "
    "cases of the next lower level, and cases tagged for them.",
)
@click.option(
    "--batches/--no-batches",
    default=True,
    show_default=True,
    help="Whether several cases of a route are exported as one model. A result counts only if its case passes; the "
    "others are exported alone.",
)
@click.option(
    "--shard",
    type=ShardType(),
    metavar="K/N",
    help="Run only the K-th of N shards, into DIR/shards/<backend>/K-of-N.jsonl. `conformance merge` joins the shards.",
)
@SCHEDULER_OPTION
@SHARDS_OPTION
@click.option("--resume", is_flag=True, help="Complete partial results files instead of starting again.")
@CACHE_OPTION
@QUIET_OPTION
@VERBOSE_OPTION
@results_folder_option("<backend>")
def run(  # noqa: PLR0917 - click passes the options by name
    backends: tuple[str, ...],
    surfaces: tuple[str, ...],
    operators: tuple[str, ...],
    globs: tuple[str, ...],
    paths: tuple[Path, ...],
    level: str,
    timeout: float,
    start_timeout: float,
    memory: float | None,
    repeat: int,
    jobs: int | None,
    instructions: str,
    threads: int,
    device: str,
    precision: str,
    slow: bool,
    batches: bool,
    shard: Shard | None,
    scheduler: str | None,
    shards: int | None,
    resume: bool,
    cache: bool,
    verbosity: str | None,
    out: Path,
) -> None:
    """Run cases on backends, and judge every result.

    Each result is compared with the result of the reference, and written to the results file of its backend. A case
    that crashes or times out is run once more in a new process. If it timed out and then agrees, it is slow. If its
    outcome differs in any other way, it is flaky.

    Exit status: 0 all results as expected; 1 a case failed, crashed, timed out or is flaky, or a ledger entry is stale;
    2 wrong usage, an invalid catalogue or an error of an adapter; 3 nothing ran, a backend is missing, or the run is
    incomplete; 130 interrupted.

    Example: conformance run --backend numpy --operator max_pool
    """
    targets = [
        replace(target, threads=threads)
        for target in run_targets(backends, surfaces, instructions, Device(device, precision))
    ]
    selection = Selection(level, surfaces, operators, globs, slow, shard)
    _check_option_combination(scheduler, shards, shard)
    limits = Limits(timeout, start_timeout, None if memory is None else round(memory * 1e9))
    output = Verbosity(verbosity or Verbosity.NORMAL)
    options = RunOptions(selection, paths, limits, jobs, repeat, cache, resume, out, batches)
    if scheduler is not None:
        from conformance.cli.run_backends import run_on_cluster  # noqa: PLC0415 - rarely used

        written, problems = run_on_cluster(targets, options, output, scheduler, shards)
    else:
        with _launched_worker(targets[0], options) as worker:
            from conformance.cli.run_backends import run_backends  # noqa: PLC0415 - while the worker imports the framework

            written, problems = run_backends(targets, options, output, worker)
    from conformance.cli.run_backends import print_summary  # noqa: PLC0415 - imported above in either case

    status = print_summary(written, brief=output is Verbosity.QUIET)
    # Raised after the summary of the backends that have run. The most severe problem sets the exit status.
    if problems:
        worst = max(problems, key=lambda problem: problem.exit_status)
        raise type(worst)("\n".join(map(str, problems)))
    sys.exit(status)


def _check_option_combination(scheduler: str | None, shards: int | None, shard: Shard | None) -> None:
    if shards is not None and scheduler is None:
        raise click.UsageError("--shards needs --scheduler; --shard K/N runs a single shard on this machine")
    if shard is not None and scheduler is not None:
        raise click.UsageError("--shard and --scheduler cannot be combined: a scheduler runs all shards")


@contextmanager
def _launched_worker(first: RunTarget, options: RunOptions) -> Iterator[Worker]:
    """Launch the first worker, whose framework is then imported while the catalogue is read; kill it afterwards."""
    worker = Worker(first.backend, first.python, options.limits, retry=options.repeat == 1)
    with suppress(WorkerFailed):  # the run reports the failure when it starts the worker
        worker.launch()
    try:
        yield worker
    finally:
        worker.kill()
