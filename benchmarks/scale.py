"""What runs in shards cost: two workers of a cluster against one, each on a core of its own, and each shard's overhead.

A worker with all that it starts is held to one core; scheduler and client go where there is room. Rounds of one worker
and of two take turns, after one run that nobody measures; the cluster is there before the clock runs. The overhead of a
shard is what many shards take longer than few, on one worker, for each that they are more. The client's part is reading
what comes, holding it against the rest, and merging: what a run takes that finds all its shards.

    python benchmarks/scale.py --backend torch=PATH/TO/python --operator conv --write docs/scale.md
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

import distributed

from conformance.chosen import Chosen
from conformance.divided import Divided, Order
from conformance.scheduling import Dask
from conformance.selection import Selection

FEW, MANY = 4, 12
HEAD = (
    *("backend", "results", "one core s", "two cores s", "times as fast", "efficiency"),
    *("results a second and core", "s for each shard more", "client, results a second"),
)


def hold(core: int) -> None:
    """Hold this process, and all that it starts from now on, to a core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def seconds(order: Order, workers: int, shards: int) -> tuple[float, float, int]:
    """Return how long a run takes on so many workers, a core each, how long the client, and its results."""
    cluster = distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL")
    with cluster, distributed.Client(cluster, set_as_default=False) as client, tempfile.TemporaryDirectory() as folder:
        for core, address in zip(sorted(os.sched_getaffinity(0)), client.nthreads(), strict=False):
            client.run(hold, core, workers=[address])
        divided = Divided(order, Path(folder) / "shards", shards)
        results = divided.total
        start = time.perf_counter()
        divided.execute(Path(folder) / "out.jsonl", Dask("a benchmark", client))
        took = time.perf_counter() - start
        divided.execute(Path(folder) / "out.jsonl", Dask("a benchmark", client), resume=True)
        return took, time.perf_counter() - start - took, results


def main() -> None:
    """Measure, print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", required=True, metavar="NAME=PYTHON")
    parser.add_argument("--level", default="standard")
    parser.add_argument("--operator", action="append", default=[], help="only cases of this operator")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--write", type=Path, help="a page at whose end the table is added")
    given = parser.parse_args()
    rows = []
    for text in given.backend:
        name, _, python = text.partition("=")
        order = Order(
            Chosen(name, python or sys.executable), Selection(given.level, operators=tuple(given.operator)), keep=True
        )
        seconds(order, 2, FEW)
        rounds = [[seconds(order, workers, shards) for workers, shards in ((1, FEW), (2, FEW), (1, MANY))]
                  for _ in range(given.rounds)]  # fmt: skip
        one, two, many = (median(took for took, _, _ in column) for column in zip(*rounds, strict=True))
        _, merged, results = rounds[0][0]
        overhead = (many - one) / (MANY - FEW)
        took = f"{one:.1f}", f"{two:.1f}", f"**{one / two:.2f}**", f"{one / two / 2:.0%}"
        rows.append(
            [f"`{name}`", f"{results:,}", *took, f"{results / one:,.0f}", f"{overhead:.2f}", f"{results / merged:,.0f}"]
        )
    day = datetime.now(timezone.utc).date()
    which = "".join(f", {operator}" for operator in given.operator)
    title = f"### Level {given.level}{which}, {FEW} shards, {given.rounds} rounds, {day}"
    table = [title, "", line(HEAD), line(["---", *["--:"] * 8]), *map(line, rows), ""]
    print("\n".join(table))
    if given.write:
        with given.write.open("a", encoding="utf-8") as page:
            page.write("\n" + "\n".join(table))


def line(cells: Sequence[str]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
