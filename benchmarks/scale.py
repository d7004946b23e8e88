"""What runs and explorations in shards cost: two workers of a cluster against one, each on a core of its own.

A worker with all that it starts is held to one core; scheduler and client go where there is room. Rounds of one worker
and of two take turns, after one that nobody measures; the cluster is there before the clock runs. The overhead of a
shard is what many shards take longer than few, on one worker, for each that they are more. The client's part of a run
is reading what comes, holding it against the rest, and merging: what a run takes that finds all its shards. Of an
exploration it is the processor time of this process, which draws the cases and has the scheduler's thread, too.

    python benchmarks/scale.py --backend torch=PATH/TO/python --operator conv --write docs/scale.md
    python benchmarks/scale.py --backend torch=PATH/TO/python --explore 1000
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import distributed
import tables

from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.execution.cluster import DaskWorkers
from conformance.execution.selection import Selection
from conformance.execution.shards import RunOrder, ShardedRun
from conformance.execution.targets import RunTarget
from conformance.exploration.cluster import ClusterEvaluator, EvaluatorSpec
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.space import OperatorSpace

FEW, MANY = 4, 12
FASTER = ("one core s", "two cores s", "speedup", "efficiency")
OF_A_RUN = (
    "backend",
    "results",
    *FASTER,
    "results per second and core",
    "s per additional shard",
    "client, results per second",
)
OF_EXPLORING = ("backend", "cases", *FASTER, "findings", "client CPU s")


def hold(core: int) -> None:
    """Hold this process, and all that it starts from now on, to a core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


@contextmanager
def on(workers: int) -> Iterator[DaskWorkers]:
    """Yield a cluster of so many workers, a core each."""
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        for core, address in zip(sorted(os.sched_getaffinity(0)), client.nthreads(), strict=False):
            client.run(hold, core, workers=[address])
        yield DaskWorkers("a benchmark", client)


def run(order: RunOrder, workers: int, shards: int) -> tuple[float, float, int]:
    """Return how long a run takes on so many workers, how long the client, and its results."""
    with on(workers) as dask, tempfile.TemporaryDirectory() as folder:
        divided = ShardedRun(order, Path(folder) / "shards", shards)
        results = divided.result_count
        start = time.perf_counter()
        divided.execute(Path(folder) / "out.jsonl", dask)
        took = time.perf_counter() - start
        divided.execute(Path(folder) / "out.jsonl", dask, resume=True)
        return took, time.perf_counter() - start - took, results


def explore(
    site: EvaluatorSpec, spaces: dict[str, OperatorSpace], cases: int, workers: int
) -> tuple[float, float, int]:
    """Return how long an exploration takes on so many workers, how long the client, and its findings."""
    with on(workers) as dask:
        explorer = Explorer(ClusterEvaluator(site, dask), spaces)
        start, own = time.perf_counter(), time.process_time()
        explorer.explore(StopCondition(cases))
        return time.perf_counter() - start, time.process_time() - own, len(explorer.findings.findings)


def faster(one: float, two: float) -> tuple[str, ...]:
    """Return what two workers are to one."""
    return f"{one:.1f}", f"{two:.1f}", f"**{one / two:.2f}**", f"{one / two / 2:.0%}"


def of_a_run(chosen: RunTarget, selection: Selection, rounds: int) -> list[str]:
    """Measure a run, and return its row."""
    order = RunOrder(chosen, selection, use_caches=True)
    run(order, 2, FEW)
    found = [[run(order, *how) for how in ((1, FEW), (2, FEW), (1, MANY))] for _ in range(rounds)]
    one, two, many = (median(took for took, _, _ in column) for column in zip(*found, strict=True))
    _, merged, results = found[0][0]
    overhead = (many - one) / (MANY - FEW)
    rates = f"{results / one:,.0f}", f"{overhead:.2f}", f"{results / merged:,.0f}"
    return [f"`{chosen.name}`", f"{results:,}", *faster(one, two), *rates]


def of_exploring(chosen: RunTarget, spaces: dict[str, OperatorSpace], rounds: int, cases: int) -> list[str]:
    """Measure an exploration, and return its row."""
    measure = partial(explore, EvaluatorSpec(chosen), spaces, cases)
    found = [[measure(workers) for workers in (1, 2)] for _ in range(rounds)]
    one, two = (median(took for took, _, _ in column) for column in zip(*found, strict=True))
    _, own, findings = found[0][0]
    return [f"`{chosen.name}`", f"{cases:,}", *faster(one, two), f"{findings}", f"{own:.1f}"]


def main() -> None:
    """Measure, print the table, and write it if asked."""
    parser = tables.arguments(__doc__)
    parser.add_argument("--backend", action="append", required=True, metavar="NAME=PYTHON")
    parser.add_argument("--level", default="standard")
    parser.add_argument("--operator", action="append", default=[], help="only cases of this operator")
    parser.add_argument("--surface", action="append", default=[], help="only this surface")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--explore", type=int, metavar="CASES", help="explore with so many cases instead of running")
    given = parser.parse_args()
    pairs = [(name, python or sys.executable) for name, _, python in (text.partition("=") for text in given.backend)]
    selection = Selection(given.level, tuple(given.surface), tuple(given.operator))
    if given.explore:
        sweeps = loading.load_catalogue().sweeps
        spaces = {name: OperatorSpace.from_sweeps(name, sweeps) for name in given.operator or OPERATORS}
        rows = [of_exploring(RunTarget(*pair), spaces, given.rounds, given.explore) for pair in pairs]
    else:
        rows = [of_a_run(RunTarget(*pair), selection, given.rounds) for pair in pairs]
    what = "exploring" if given.explore else f"level {given.level}"
    which = "".join(f", {name}" for name in given.operator + given.surface)
    title = f"{what}{which}, {given.rounds} rounds, {tables.here()}"
    tables.tell(title, OF_EXPLORING if given.explore else OF_A_RUN, rows, given.write)


if __name__ == "__main__":
    main()
