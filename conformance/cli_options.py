"""What several commands of the command line share: options, and a bar that shows how far long work is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from conformance.cases import LEVELS
from conformance.devices import CPU, DEVICES, FLOAT32, PRECISIONS

CASES_OPTION = click.option(
    "--cases",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A case file, a folder of them or an exported catalogue, instead of the suite's own. Several may be given.",
)
JOBS_OPTION = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many processes work at once. [default: one for each core]",
)
CACHE_OPTION = click.option(
    "--cache/--no-cache",
    default=True,
    help="Whether to believe what this very suite has found of a case before. [default: --cache]",
)
EXHAUSTIVE_OPTION = click.option(
    "--level",
    type=click.Choice(LEVELS[1:]),
    default=LEVELS[1],
    show_default=True,
    help="With the rows of exhaustive sweeps, or without.",
)
DEVICE_OPTION = click.option(
    "--device",
    type=click.Choice(DEVICES),
    default=CPU,
    show_default=True,
    help="Where programs work, for backends that can; conformance backends says which those are, and why not.",
)
PRECISION_OPTION = click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=FLOAT32,
    show_default=True,
    help="On cuda, what float32 may be multiplied in; results are held to the bound of that.",
)
PATHS_ARGUMENT = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what to call with how much is done of how much: a bar on a terminal, nothing in a pipe."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
