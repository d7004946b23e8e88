"""`conformance run`: what is asked for, and the first worker, launched before anything that it can do without."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from conformance.adapters.api.devices import AVX2, NATIVE, Device
from conformance.cases.case import LEVELS
from conformance.cli.options import (
    CACHE_OPTION,
    CASES_OPTION,
    DEFAULT_OUTPUT_FOLDER,
    DEVICE_OPTION,
    OPERATOR_OPTION,
    PRECISION_OPTION,
    QUIET_OPTION,
    QUIET_OUTPUT,
    SCHEDULER_OPTION,
    SHARDS_OPTION,
    VERBOSE_OPTION,
    RunOptions,
)
from conformance.execution.selection import Selection, Shard, parse_shard
from conformance.execution.targets import RunTarget, run_targets
from conformance.execution.worker_process import Limits, Worker, WorkerFailed

MAX_TIME_LIMIT_SECONDS = 86_400


def _at_most_a_day(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not value <= MAX_TIME_LIMIT_SECONDS:  # NaN is not below it either
        raise click.BadParameter(f"{value} is not a number of seconds of at most a day")
    return value


def _finite_number(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not value < math.inf:
        raise click.BadParameter(f"{value} is not a number of gigabytes, or 0 for no limit")
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
    help="A backend, and the interpreter that holds its framework if it is not this one. Several may be given; "
    "without any, those installed here run, or else the built-in one. A label of your choice (letters, digits, ._-) "
    "tells two versions of one framework apart, in the results too.",
)
@click.option(
    "--surface", "surfaces", multiple=True, metavar="S", help="Only this surface. May be given several times."
)
@OPERATOR_OPTION
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches, * for anything.")
@CASES_OPTION
@click.option("--level", type=click.Choice(LEVELS), default="smoke", show_default=True, help="How many cases.")
@click.option(
    "--timeout",
    "limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.case_seconds,
    callback=_at_most_a_day,
    show_default=True,
    metavar="SECONDS",
    help="Limit for one case.",
)
@click.option(
    "--start-timeout",
    "start_limit",
    type=click.FloatRange(min=0, min_open=True),
    default=Limits.start_seconds,
    callback=_at_most_a_day,
    show_default=True,
    metavar="SECONDS",
    help="Limit for the start of a backend: its interpreter and its imports.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0),
    callback=_finite_number,
    metavar="GB",
    help="Limit for a process of a backend; what grows past it is ended. 0 for none. [default: half of this machine's]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=1,
    metavar="K",
    help="Run every case K times; one that is not the same every time is flaky. [default: 1, and what crashes or hangs "
    "once more]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Processes side by side for each backend. [default: as many as the cases are worth on this machine's cores]",
)
@click.option(
    "--instructions",
    type=click.Choice([AVX2, NATIVE]),
    default=AVX2,
    show_default=True,
    help="What a framework may use of this processor: what nearly every x86 has, so that results are the same "
    "everywhere, or all of it.",
)
@DEVICE_OPTION
@PRECISION_OPTION
@click.option(
    "--slow",
    is_flag=True,
    help="Run every case of the level on surfaces that take long, too: those that compile every call. Without, they "
    "stay a level behind, beside the cases that are tagged for them.",
)
@click.option(
    "--shard",
    "part",
    callback=_parse_shard_option,
    metavar="K/N",
    help="Only the K-th of N shards of all this, into DIR/shards/<backend>/K-of-N.jsonl; conformance merge joins them.",
)
@SCHEDULER_OPTION
@SHARDS_OPTION
@click.option("--resume", is_flag=True, help="Complete partial results files instead of starting anew.")
@CACHE_OPTION
@QUIET_OPTION
@VERBOSE_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUTPUT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="Where results go: DIR/results/<backend>.jsonl.",
)
def run(  # noqa: PLR0917 - click gives the options by name
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
    loudness: str | None,
    out: Path,
) -> None:
    """Run cases on backends, judge every outcome against the reference, and write results files.

    A case that crashes or hangs is run once more in a process of its own: if it then does otherwise, it is flaky.

    Exit status: 0 all as expected; 1 something failed, crashed, hung, flickered, or a ledger entry is stale; 2 wrong
    usage or an invalid catalogue; 3 nothing ran, a backend is missing, or the run is incomplete; 130 interrupted.

    Example: conformance run --backend numpy --operator max_pool
    """
    wanted = run_targets(backends, surfaces, instructions, Device(device, precision))
    selection = Selection(level, surfaces, operators, globs, slow, part)
    _check_option_combination(scheduler, shards, part)
    size = None if memory is None else round(memory * 1e9)
    asked = RunOptions(selection, paths, (limit, start_limit), size, jobs, repeat, cache, resume, loudness, out)
    if scheduler is not None:
        from conformance.cli.run_backends import run_on_cluster  # noqa: PLC0415 - few ask for it

        written, faults = run_on_cluster(wanted, asked, scheduler, shards)
    else:
        with _launched_worker(wanted[0], asked) as begun:
            from conformance.cli.run_backends import run_backends  # noqa: PLC0415 - while the worker imports the framework

            written, faults = run_backends(wanted, asked, begun)
    from conformance.cli.run_backends import print_summary  # noqa: PLC0415 - it is there by now

    deserved = print_summary(written, brief=loudness == QUIET_OUTPUT)
    if faults:
        worst = max(faults, key=lambda fault: fault.exit_status)
        raise type(worst)("\n".join(map(str, faults)))
    sys.exit(deserved)


def _check_option_combination(scheduler: str | None, shards: int | None, part: Shard | None) -> None:
    if shards is not None and scheduler is None:
        raise click.UsageError("--shards is for --scheduler; --shard K/N runs one of them here")
    if part is not None and scheduler is not None:
        raise click.UsageError("--shard and --scheduler exclude each other: a scheduler has all shards run")


@contextmanager
def _launched_worker(first: RunTarget, options: RunOptions) -> Iterator[Worker]:
    """Launch the first worker, so that its framework is imported while the catalogue is read; end it afterwards."""
    worker = Worker(first.backend, first.python, options.worker_limits, retry=options.repeat == 1)
    with suppress(WorkerFailed):  # told when the run wants to start it
        worker.launch()
    try:
        yield worker
    finally:
        worker.kill()
