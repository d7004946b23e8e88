"""`conformance run --scheduler`: have a run carried out by a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import click

from conformance.chosen import Chosen
from conformance.cli_asked import Asked
from conformance.cli_options import QUIET, USUAL
from conformance.cli_progress import Live
from conformance.cli_results import results_file
from conformance.divided import Divided, Order
from conformance.errors import IncompleteRun
from conformance.scheduling import cluster
from reports.growing import Growing


def scheduled(
    wanted: Iterable[Chosen], asked: Asked, address: str, shards: int | None
) -> tuple[list[Growing], list[IncompleteRun]]:
    """Run the backends; return what was written, and what went wrong."""
    order = partial(Order, selection=asked.selection, paths=asked.paths, limits=asked.seconds, memory=asked.memory)
    faults: list[IncompleteRun] = []
    written: list[Growing] = []
    with cluster(address) as workers:
        if not workers.size and asked.loudness != QUIET:
            click.echo(f"scheduler {address}: has no worker yet", err=True)
        for one in wanted:
            path = results_file(asked.out, one.name)
            whole = order(one.anywhere, jobs=asked.jobs or 1, repeat=asked.repeat, keep=asked.keep)
            divided = Divided(whole, asked.out / "shards" / one.name, shards)
            try:
                with Live(one.name, asked.loudness or USUAL) as live:
                    divided.execute(path, workers, resume=asked.resume, progress=live.step, tell=live.tell)
                written.append(Growing(path))
            except IncompleteRun as error:
                faults.append(type(error)(one.with_hint(str(error))))
    return written, faults
