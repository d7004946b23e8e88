"""Measure runs and explorations in shards: two workers of a cluster compared with one, each on its own core.

A worker and all its child processes are pinned to one core; scheduler and client are not pinned. Rounds with one worker
and with two alternate, after one round that is not measured. The cluster starts before the measurement.

The overhead of a shard is the additional time of a run with many shards, divided by the number of additional shards.
The client's part of a run is the reading, checking and merging of shards, measured as a run that finds all its shards.
The client's part of an exploration is the processor time of this process, including the thread of the scheduler.

    python benchmarks/scale.py --backend torch=PATH/TO/python --operator conv --write docs/scale.md
    python benchmarks/scale.py --backend torch=PATH/TO/python --explore 1000
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import distributed
import tables

from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.execution.distributed.cluster import DaskWorkers
from conformance.execution.distributed.shards import ShardedRun
from conformance.execution.options import RunOptions
from conformance.execution.selection import Selection
from conformance.execution.targets import RunTarget
from conformance.exploration.cluster import ClusterEvaluator, EvaluatorSpec
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.space import OperatorSpace

FEW_SHARDS, MANY_SHARDS = 4, 12
SPEEDUP_COLUMNS = ("one core s", "two cores s", "speedup", "efficiency")
RUN_COLUMNS = (
    "backend",
    "results",
    *SPEEDUP_COLUMNS,
    "results per second and core",
    "s per additional shard",
    "client, results per second",
)
EXPLORATION_COLUMNS = ("backend", "cases", *SPEEDUP_COLUMNS, "findings", "client CPU s")


def pin_to_core(core: int) -> None:
    """Pin this process, and all processes that it starts later, to one core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


@contextmanager
def cluster_of(workers: int) -> Iterator[DaskWorkers]:
    """Yield a cluster with this number of workers, each pinned to one core."""
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        for core, address in zip(sorted(os.sched_getaffinity(0)), client.nthreads(), strict=False):
            client.run(pin_to_core, core, workers=[address])
        yield DaskWorkers("a benchmark", client)


def run(target: RunTarget, options: RunOptions, workers: int, shards: int) -> tuple[float, float, int]:
    """Return the seconds of a run, the seconds of the client, and the number of results."""
    with cluster_of(workers) as dask, tempfile.TemporaryDirectory() as folder:
        sharded = ShardedRun(target, options, Path(folder) / "shards", shards)
        results = sharded.result_count
        start = time.perf_counter()
        sharded.execute(Path(folder) / "out.jsonl", dask)
        taken = time.perf_counter() - start
        # All shards exist now, so the second run consists of the client's work only.
        resumed = replace(sharded, options=replace(options, resume=True))
        resumed.execute(Path(folder) / "out.jsonl", dask)
        return taken, time.perf_counter() - start - taken, results


def explore(
    spec: EvaluatorSpec, spaces: dict[str, OperatorSpace], cases: int, workers: int
) -> tuple[float, float, int]:
    """Return the seconds of an exploration, the processor seconds of the client, and the number of findings."""
    with cluster_of(workers) as dask:
        explorer = Explorer(ClusterEvaluator(spec, dask), spaces)
        start, own = time.perf_counter(), time.process_time()
        explorer.explore(StopCondition(cases))
        return time.perf_counter() - start, time.process_time() - own, len(explorer.findings.findings)


def speedup_cells(one: float, two: float) -> tuple[str, ...]:
    """Return the table cells that compare two workers with one."""
    return f"{one:.1f}", f"{two:.1f}", f"**{one / two:.2f}**", f"{one / two / 2:.0%}"


def run_row(target: RunTarget, selection: Selection, rounds: int) -> list[str]:
    """Measure a run and return its table row."""
    options = RunOptions(selection, jobs=1, use_caches=True)
    run(target, options, 2, FEW_SHARDS)
    settings = ((1, FEW_SHARDS), (2, FEW_SHARDS), (1, MANY_SHARDS))
    measured = [[run(target, options, *setting) for setting in settings] for _ in range(rounds)]
    one, two, many = (median(taken for taken, _, _ in column) for column in zip(*measured, strict=True))
    _, merge_seconds, results = measured[0][0]
    overhead = (many - one) / (MANY_SHARDS - FEW_SHARDS)
    rates = f"{results / one:,.0f}", f"{overhead:.2f}", f"{results / merge_seconds:,.0f}"
    return [f"`{target.name}`", f"{results:,}", *speedup_cells(one, two), *rates]


def exploration_row(target: RunTarget, spaces: dict[str, OperatorSpace], rounds: int, cases: int) -> list[str]:
    """Measure an exploration and return its table row."""
    measure = partial(explore, EvaluatorSpec(target), spaces, cases)
    measured = [[measure(workers) for workers in (1, 2)] for _ in range(rounds)]
    one, two = (median(taken for taken, _, _ in column) for column in zip(*measured, strict=True))
    _, client_seconds, findings = measured[0][0]
    return [f"`{target.name}`", f"{cases:,}", *speedup_cells(one, two), f"{findings}", f"{client_seconds:.1f}"]


def main() -> None:
    """Parse the command line, measure, print the table, and write it if requested."""
    parser = tables.arguments(__doc__)
    parser.add_argument("--backend", action="append", required=True, metavar="NAME=PYTHON")
    parser.add_argument("--level", default="standard")
    parser.add_argument("--operator", action="append", default=[], help="only cases of this operator")
    parser.add_argument("--surface", action="append", default=[], help="only this surface")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--explore", type=int, metavar="CASES", help="measure an exploration with this number of cases instead of a run"
    )
    arguments = parser.parse_args()
    pairs = [
        (name, python or sys.executable) for name, _, python in (text.partition("=") for text in arguments.backend)
    ]
    selection = Selection(arguments.level, tuple(arguments.surface), tuple(arguments.operator))
    if arguments.explore:
        sweeps = loading.load_catalogue().sweeps
        spaces = {name: OperatorSpace.from_sweeps(name, sweeps) for name in arguments.operator or OPERATORS}
        rows = [exploration_row(RunTarget(*pair), spaces, arguments.rounds, arguments.explore) for pair in pairs]
    else:
        rows = [run_row(RunTarget(*pair), selection, arguments.rounds) for pair in pairs]
    measurement = "exploring" if arguments.explore else f"level {arguments.level}"
    selected = "".join(f", {name}" for name in arguments.operator + arguments.surface)
    title = f"{measurement}{selected}, {arguments.rounds} rounds, {tables.environment()}"
    tables.write_table(title, EXPLORATION_COLUMNS if arguments.explore else RUN_COLUMNS, rows, arguments.write)


if __name__ == "__main__":
    main()
