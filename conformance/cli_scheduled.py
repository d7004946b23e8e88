"""`conformance run --scheduler`: have a run carried out by a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from conformance.chosen import Chosen
from conformance.cli_progress import QUIET, USUAL, Live
from conformance.cli_results import results_file
from conformance.divided import Divided, Order
from conformance.errors import IncompleteRun
from conformance.scheduling import cluster
from reports.growing import Growing

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


def scheduled(
    orders: Iterable[Order], address: str, shards: int | None, out: Path, *, resume: bool, loudness: str | None
) -> tuple[list[Growing], list[IncompleteRun]]:
    """Run the backends; return what was written, and what went wrong."""
    faults: list[IncompleteRun] = []
    written: list[Growing] = []
    with cluster(address) as workers:
        if not workers.size and loudness != QUIET:
            click.echo(f"scheduler {address}: has no worker yet", err=True)
        for order in orders:
            one = order.chosen
            path = results_file(out, one.name)
            divided = Divided(replace(order, chosen=_there(one)), out / "shards" / one.name, shards)
            try:
                with Live(one.name, loudness or USUAL) as live:
                    divided.execute(path, workers, resume=resume, progress=live.step, tell=live.tell)
                written.append(Growing(path))
            except IncompleteRun as error:
                faults.append(type(error)(one.with_hint(str(error))))
    return written, faults


def _there(one: Chosen) -> Chosen:
    """Return a backend with the interpreter of each worker, where the user has named none."""
    return replace(one, python="") if one.python == sys.executable else one
