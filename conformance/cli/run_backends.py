"""The work of `conformance run`; imported once its first worker is on its way, as that takes time too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial

import click
from rich.console import Console

from conformance import IncompleteRun
from conformance.catalogue import loading
from conformance.cli.options import QUIET, USUAL, Asked
from conformance.cli.progress import Live
from conformance.cli.results_io import INCOMPLETE, merged, results_file, status
from conformance.execution.cluster import cluster
from conformance.execution.expectation_cache import kept
from conformance.execution.run import Run
from conformance.execution.shards import Divided, Order
from conformance.execution.targets import Chosen
from conformance.execution.worker_process import Worker
from conformance.judging.expected import expected
from reports.results.live import Growing
from reports.views.terminal import render_terminal

Came = tuple[list[Growing], list[IncompleteRun]]
"""What was written, and what went wrong."""


def carried_out(wanted: Sequence[Chosen], asked: Asked, begun: Worker) -> Came:
    """Run the backends. begun: the first one's first worker."""
    selection = asked.selection
    level, operators, globs = selection.level, selection.operators, selection.globs
    cases = loading.load(asked.paths, level=level, operators=operators, globs=globs)
    if not cases.select(level, operators, globs):
        raise IncompleteRun("no case is selected")
    faults: list[IncompleteRun] = []
    written: list[Growing] = []
    how = partial(Run, selection=selection, limits=asked.limits, jobs=asked.jobs, repeat=asked.repeat, keep=asked.keep)
    with kept() if asked.keep else nullcontext(expected) as expect:
        for number, one in enumerate(wanted):
            grown = Growing(results_file(asked.out, one.name, selection.part))
            worker = None if number else begun
            job = how(one.backend, cases, one.known(), python=one.python, expect=expect, begun=worker)
            for surface, why in job.lacking.items() if asked.loudness != QUIET else ():
                click.echo(f"{surface}: {why}", err=True)
            try:
                with Live(one.name, asked.loudness or USUAL) as live:
                    job.execute(grown.path, resume=asked.resume, progress=live.step, tell=live.tell, hear=grown.add)
                written.append(grown)
            except IncompleteRun as error:
                faults.append(type(error)(one.with_hint(str(error))))
    return written, faults


def shown(written: Sequence[Growing], *, brief: bool = False) -> int:
    """Print the summary of what was written, and return the exit status that it deserves."""
    if not written:
        return INCOMPLETE
    results = merged(written)
    Console().print(render_terminal(results, brief=brief))
    for one in written if not brief else ():
        click.echo(f"results: {one.path}")
    return status(results)


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
