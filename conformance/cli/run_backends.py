"""Run backends here or on a cluster, and print the summary: the part of `conformance run` with slow imports.

It is imported after the first worker has been launched, so that these imports overlap with those of the framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import click

from conformance import IncompleteRun
from conformance.catalogue import loading
from conformance.catalogue.declarations import check_declarations_of_run
from conformance.cli.console import output_console
from conformance.cli.options import Verbosity
from conformance.cli.program_errors import program_error_lines
from conformance.cli.progress import RunProgress, reading_progress
from conformance.cli.results_io import (
    INCOMPLETE_EXIT_STATUS,
    exit_status,
    merge_live_results,
    results_path,
)
from conformance.execution.expectation_cache import expectation_source
from conformance.execution.options import RunOptions
from conformance.execution.pinned_check import check_printed_outputs
from conformance.execution.run import Run
from conformance.execution.targets import RunTarget
from conformance.execution.worker_process import Worker
from reports.analysis.summary import escape_control_characters
from reports.results import LiveResults
from reports.views.terminal import render_terminal

RunResults = tuple[list[LiveResults], list[IncompleteRun]]
"""Results files written, and the problems of runs that did not complete."""


def run_backends(
    targets: Sequence[RunTarget], options: RunOptions, verbosity: Verbosity, first_worker: Worker
) -> RunResults:
    """Run the backends one after the other. first_worker: a launched worker of the first backend."""
    selection = options.selection
    level, operators, globs = selection.level, selection.operators, selection.globs
    with reading_progress(verbosity) as progress:
        cases = loading.load_catalogue(options.paths, level=level, operators=operators, globs=globs, progress=progress)
    if not cases.select(level, operators, globs):
        raise IncompleteRun("no case is selected")
    for target in targets:
        check_declarations_of_run(target.backend, cases, options.paths)
    problems: list[IncompleteRun] = []
    written: list[LiveResults] = []
    with expectation_source(use_caches=options.use_caches) as expected:
        if options.paths:  # `conformance check` has checked the built-in catalogue
            check_printed_outputs(cases.select(level, operators, globs), expected)
        for number, target in enumerate(targets):
            results = LiveResults(results_path(options.out, target.name, selection.shard))
            worker = None if number else first_worker  # the workers of further backends start when their runs start
            run = Run(
                target.backend, cases, target.ledger(), options,
                python=target.python, compute_expected=expected, first_worker=worker,
            )  # fmt: skip
            for surface, why in run.missing_requirements.items() if verbosity is not Verbosity.QUIET else ():
                click.echo(f"{surface}: {why}", err=True)
            try:
                with RunProgress(target.name, verbosity) as live:
                    # Lines are collected while they are written: the summary need not read the file again.
                    run.execute(
                        results.path,
                        resume=options.resume,
                        progress=live.add_result,
                        log=live.log,
                        on_line=results.add_line,
                    )
                written.append(results)
            except IncompleteRun as error:
                # The other backends still run; the problems are reported together at the end.
                problems.append(type(error)(target.with_install_hint(str(error))))
    return written, problems


def print_summary(written: Sequence[LiveResults], *, brief: bool = False) -> int:
    """Print the summary of the results, and return their exit status."""
    if not written:
        return INCOMPLETE_EXIT_STATUS
    # Only the files of this process: the folder may contain results of other backends from earlier runs.
    results = merge_live_results(written)
    output_console().print(render_terminal(results, brief=brief))
    for one in written if not brief else ():
        click.echo(f"results: {one.path}")
    for line in program_error_lines(results):
        click.echo(f"conformance: {escape_control_characters(line)}", err=True)
    return exit_status(results)


def run_on_cluster(
    targets: Iterable[RunTarget], options: RunOptions, verbosity: Verbosity, address: str, shards: int | None
) -> RunResults:
    """Run the backends one after the other, each in shards on the workers of a Dask scheduler."""
    # Imported here, as runs on this machine do not need them.
    from conformance.execution.distributed.cluster import open_cluster  # noqa: PLC0415
    from conformance.execution.distributed.shards import ShardedRun  # noqa: PLC0415

    # Every worker of the scheduler runs one shard at a time, so by default it has one process for the framework.
    options = replace(options, jobs=options.jobs or 1)
    problems: list[IncompleteRun] = []
    written: list[LiveResults] = []
    with open_cluster(address) as workers:
        if not workers.size and verbosity is not Verbosity.QUIET:
            click.echo(f"scheduler {address}: no worker has connected yet", err=True)
        for target in targets:
            path = results_path(options.out, target.name)
            run = ShardedRun(target.portable, options, options.out / "shards" / target.name, shards)
            try:
                with RunProgress(target.name, verbosity) as live:
                    run.execute(path, workers, progress=live.add_result, log=live.log)
                written.append(LiveResults(path))
            except IncompleteRun as error:
                problems.append(type(error)(target.with_install_hint(str(error))))
    return written, problems
