"""The work of `conformance run`; imported once its first worker is on its way, as that takes time too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial

import click
from rich.console import Console

from conformance import IncompleteRun
from conformance.catalogue import loading
from conformance.cli.options import NORMAL_OUTPUT, QUIET_OUTPUT, RunOptions
from conformance.cli.progress import RunProgress
from conformance.cli.results_io import INCOMPLETE_EXIT_STATUS, exit_status, merge_live_results, results_path
from conformance.execution.cluster import open_cluster
from conformance.execution.expectation_cache import open_expectation_cache
from conformance.execution.run import Run
from conformance.execution.shards import RunOrder, ShardedRun
from conformance.execution.targets import RunTarget
from conformance.execution.worker_process import Worker
from conformance.judging.expected import compute_expected
from reports.results.live import LiveResults
from reports.views.terminal import render_terminal

RunResults = tuple[list[LiveResults], list[IncompleteRun]]
"""What was written, and what went wrong."""


def run_backends(targets: Sequence[RunTarget], options: RunOptions, first_worker: Worker) -> RunResults:
    """Run the backends. begun: the first one's first worker."""
    selection = options.selection
    level, operators, globs = selection.level, selection.operators, selection.globs
    cases = loading.load_catalogue(options.paths, level=level, operators=operators, globs=globs)
    if not cases.select(level, operators, globs):
        raise IncompleteRun("no case is selected")
    faults: list[IncompleteRun] = []
    written: list[LiveResults] = []
    how = partial(
        Run,
        selection=selection,
        limits=options.worker_limits,
        jobs=options.jobs,
        repeat=options.repeat,
        cache_programs=options.use_caches,
    )
    with open_expectation_cache() if options.use_caches else nullcontext(compute_expected) as expect:
        for number, one in enumerate(targets):
            grown = LiveResults(results_path(options.out, one.name, selection.shard))
            worker = None if number else first_worker
            job = how(one.backend, cases, one.ledger(), python=one.python, compute_expected=expect, first_worker=worker)
            for surface, why in job.missing_requirements.items() if options.verbosity != QUIET_OUTPUT else ():
                click.echo(f"{surface}: {why}", err=True)
            try:
                with RunProgress(one.name, options.verbosity or NORMAL_OUTPUT) as live:
                    job.execute(
                        grown.path,
                        resume=options.resume,
                        progress=live.add_result,
                        log=live.log,
                        on_line=grown.add_line,
                    )
                written.append(grown)
            except IncompleteRun as error:
                faults.append(type(error)(one.with_install_hint(str(error))))
    return written, faults


def print_summary(written: Sequence[LiveResults], *, brief: bool = False) -> int:
    """Print the summary of what was written, and return the exit status that it deserves."""
    if not written:
        return INCOMPLETE_EXIT_STATUS
    results = merge_live_results(written)
    Console().print(render_terminal(results, brief=brief))
    for one in written if not brief else ():
        click.echo(f"results: {one.path}")
    return exit_status(results)


def run_on_cluster(
    targets: Iterable[RunTarget], options: RunOptions, address: str, shards: int | None
) -> tuple[list[LiveResults], list[IncompleteRun]]:
    """Run the backends; return what was written, and what went wrong."""
    order = partial(
        RunOrder,
        selection=options.selection,
        paths=options.paths,
        limits=options.time_limits,
        memory=options.memory_bytes,
    )
    faults: list[IncompleteRun] = []
    written: list[LiveResults] = []
    with open_cluster(address) as workers:
        if not workers.size and options.verbosity != QUIET_OUTPUT:
            click.echo(f"scheduler {address}: has no worker yet", err=True)
        for one in targets:
            path = results_path(options.out, one.name)
            whole = order(one.portable, jobs=options.jobs or 1, repeat=options.repeat, use_caches=options.use_caches)
            divided = ShardedRun(whole, options.out / "shards" / one.name, shards)
            try:
                with RunProgress(one.name, options.verbosity or NORMAL_OUTPUT) as live:
                    divided.execute(path, workers, resume=options.resume, progress=live.add_result, log=live.log)
                written.append(LiveResults(path))
            except IncompleteRun as error:
                faults.append(type(error)(one.with_install_hint(str(error))))
    return written, faults
