"""`conformance run`: parse the options, launch the first worker, then import the rest of the suite and run.

The worker imports its framework meanwhile. Imports at the top of this module delay it and must be small.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from conformance.adapters.api.devices import AVX2, NATIVE, Device
from conformance.cli.options import (
    CACHE_OPTION,
    CASES_OPTION,
    DEFAULT_OUTPUT_FOLDER,
    DEVICE_OPTION,
    LEVEL_CHOICES,
    OPERATOR_OPTION,
    PRECISION_OPTION,
    QUIET_OPTION,
    QUIET_OUTPUT,
    SCHEDULER_OPTION,
    SHARDS_OPTION,
    VERBOSE_OPTION,
)
from conformance.execution.job import Limits, WorkerFailed
from conformance.execution.options import MAX_REPEATS, MAX_TIME_LIMIT_SECONDS, RunOptions
from conformance.execution.selection import Selection, Shard, parse_shard
from conformance.execution.targets import RunTarget, run_targets
from conformance.execution.worker_process import Worker


def _at_most_a_day(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not value <= MAX_TIME_LIMIT_SECONDS:  # also true for NaN
        raise click.BadParameter(f"{value} is not a number of seconds up to {MAX_TIME_LIMIT_SECONDS} (a day)")
    return value


def _finite_number(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not value < math.inf:
        raise click.BadParameter(f"{value} is not a number of gigabytes; 0 means no limit")
    return value


def _parse_shard_option(_context: click.Context, _option: click.Parameter, value: str | None) -> Shard | None:
    try:
        return None if value is None else parse_shard(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


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
@click.option("--surface", "surfaces", multiple=True, metavar="S", help="Only this surface. Repeatable.")
@OPERATOR_OPTION
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches this pattern.")
@CASES_OPTION
@click.option(
    "--level", type=click.Choice(LEVEL_CHOICES), default="smoke", show_default=True, help="Only cases up to this level."
)
@click.option(
    "--timeout",
    "limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.case_seconds,
    callback=_at_most_a_day,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for one case.",
)
@click.option(
    "--start-timeout",
    "start_limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.start_seconds,
    callback=_at_most_a_day,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for the start of a backend: its interpreter and its imports.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0),
    callback=_finite_number,
    metavar="GB",
    help="Memory limit for a process of a backend, which is killed above it. 0: no limit. [default: half of the "
    "machine's memory]",
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
@click.option(
    "--instructions",
    type=click.Choice([AVX2, NATIVE]),
    default=AVX2,
    show_default=True,
    help="Processor instructions that a framework may use: avx2, which nearly every x86 processor has, gives the same "
    "results on different machines; native allows all.",
)
@DEVICE_OPTION
@PRECISION_OPTION
@click.option(
    "--slow",
    is_flag=True,
    help="Also run all cases of the level on slow surfaces, which compile every call. By default they run the cases of "
    "one level less, and cases tagged for them.",
)
@click.option(
    "--shard",
    "part",
    callback=_parse_shard_option,
    metavar="K/N",
    help="Run only the K-th of N shards, into DIR/shards/<backend>/K-of-N.jsonl. `conformance merge` joins the shards.",
)
@SCHEDULER_OPTION
@SHARDS_OPTION
@click.option("--resume", is_flag=True, help="Complete partial results files instead of starting again.")
@CACHE_OPTION
@QUIET_OPTION
@VERBOSE_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUTPUT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="Output folder: DIR/results/<backend>.jsonl.",
)
def run(  # noqa: PLR0917 - click passes the options by name
    backends: tuple[str, ...],
    surfaces: tuple[str, ...],
    operators: tuple[str, ...],
    globs: tuple[str, ...],
    paths: tuple[Path, ...],
    level: str,
    limit: float,
    start_limit: float,
    memory: float | None,
    repeat: int,
    jobs: int | None,
    instructions: str,
    device: str,
    precision: str,
    slow: bool,
    part: Shard | None,
    scheduler: str | None,
    shards: int | None,
    resume: bool,
    cache: bool,
    verbosity: str | None,
    out: Path,
) -> None:
    """Run cases on backends, compare every result with the reference, and write results files.

    A case that crashes or times out is run once more in a new process; if its outcome then differs, it is flaky.

    Exit status: 0 all results as expected; 1 a case failed, crashed, timed out or is flaky, or a ledger entry is stale;
    2 wrong usage or an invalid catalogue; 3 nothing ran, a backend is missing, or the run is incomplete; 130
    interrupted.

    Example: conformance run --backend numpy --operator max_pool
    """
    targets = run_targets(backends, surfaces, instructions, Device(device, precision))
    selection = Selection(level, surfaces, operators, globs, slow, part)
    _check_option_combination(scheduler, shards, part)
    limits = Limits(limit, start_limit, None if memory is None else round(memory * 1e9))
    options = RunOptions(selection, paths, limits, jobs, repeat, cache, resume, out)
    if scheduler is not None:
        from conformance.cli.run_backends import run_on_cluster  # noqa: PLC0415 - rarely used

        written, problems = run_on_cluster(targets, options, verbosity, scheduler, shards)
    else:
        with _launched_worker(targets[0], options) as worker:
            from conformance.cli.run_backends import run_backends  # noqa: PLC0415 - while the worker imports the framework

            written, problems = run_backends(targets, options, verbosity, worker)
    from conformance.cli.run_backends import print_summary  # noqa: PLC0415 - imported above in either case

    status = print_summary(written, brief=verbosity == QUIET_OUTPUT)
    if problems:
        worst = max(problems, key=lambda problem: problem.exit_status)
        raise type(worst)("\n".join(map(str, problems)))
    sys.exit(status)


def _check_option_combination(scheduler: str | None, shards: int | None, part: Shard | None) -> None:
    if shards is not None and scheduler is None:
        raise click.UsageError("--shards needs --scheduler; --shard K/N runs a single shard on this machine")
    if part is not None and scheduler is not None:
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
