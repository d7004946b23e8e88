"""The work of `conformance run`; imported once its first worker is on its way, as that takes time too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

import click
from rich.console import Console

from conformance import catalogue
from conformance.chosen import Chosen
from conformance.cli_asked import Asked
from conformance.cli_options import QUIET, USUAL
from conformance.cli_progress import Live
from conformance.cli_results import INCOMPLETE, merged, results_file, status
from conformance.client import Worker
from conformance.errors import IncompleteRun
from conformance.expected import expected
from conformance.kept import kept
from conformance.runner import Run
from reports.growing import Growing
from reports.terminal import render_terminal

Came = tuple[list[Growing], list[IncompleteRun]]
"""What was written, and what went wrong."""


def carried_out(wanted: Sequence[Chosen], asked: Asked, begun: Worker) -> Came:
    """Run the backends. begun: the first one's first worker."""
    selection = asked.selection
    level, operators, globs = selection.level, selection.operators, selection.globs
    cases = catalogue.load(asked.paths, level=level, operators=operators, globs=globs)
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
