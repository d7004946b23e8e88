"""Options shared by several commands, and the default output folder.

Every command imports this module, so that it imports nothing large.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from conformance.adapters.api import AVX2, CPU, DEVICE_NAMES, FLOAT32, NATIVE, PRECISIONS
from conformance.cases.operators import OPERATORS
from conformance.cli.parameter_types import SURFACE_NAME, NameChoice, RangeWithoutNaN
from conformance.execution.options import MAX_TIME_LIMIT_SECONDS, RunOptions
from conformance.execution.selection import MAX_SHARDS
from reports.results.vocabulary import Level, Word

Command = TypeVar("Command", bound=Callable[..., Any])

LEVEL_CHOICES = tuple(str(level) for level in Level)
"""The levels as choices of an option; click would show the names of enum members instead of their texts."""
DEFAULT_OUTPUT_FOLDER = RunOptions.out
"""Default folder for results and reports."""
CASES_OPTION = click.option(
    "--cases",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Use this case file, folder of case files or exported catalogue instead of the suite's catalogue. Repeatable.",
)
JOBS_OPTION = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of parallel processes. [default: one per core]",
)
CACHE_OPTION = click.option(
    "--cache/--no-cache",
    default=True,
    help="Whether to reuse results cached by this version of the suite. [default: --cache]",
)


def results_folder_option(name: str) -> Callable[[Command], Command]:
    """Return the option --out of a command that writes a results file, whose name is described by `name`."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_OUTPUT_FOLDER,
        show_default=True,
        metavar="DIR",
        help=f"Output folder: DIR/results/{name}.jsonl.",
    )


def level_option(default: Level) -> Callable[[Command], Command]:
    """Return the option for the level of the cases."""
    return click.option(
        "--level",
        type=click.Choice(LEVEL_CHOICES),
        default=default.value,
        show_default=True,
        help="Only cases up to this level.",
    )


TIME_LIMIT = RangeWithoutNaN(0, MAX_TIME_LIMIT_SECONDS, min_open=True)
"""Type of the value of an option for a time limit in seconds."""


def timeout_option(default: float) -> Callable[[Command], Command]:
    """Return the option for the time limit of one case, in seconds."""
    return click.option(
        "--timeout",
        type=TIME_LIMIT,
        default=default,
        show_default=True,
        metavar="SECONDS",
        help="Time limit for one case.",
    )


EXHAUSTIVE_OPTION = click.option(
    "--level",
    type=click.Choice(LEVEL_CHOICES[1:]),
    default=LEVEL_CHOICES[1],
    show_default=True,
    help="Whether to include the rows of exhaustive sweeps.",
)
INSTRUCTIONS_OPTION = click.option(
    "--instructions",
    type=click.Choice([AVX2, NATIVE]),
    default=AVX2,
    show_default=True,
    help="Processor instructions that a framework may use. avx2: those that nearly every x86 processor has, so that "
    "results depend less on the machine; native: all.",
)
DEVICE_OPTION = click.option(
    "--device",
    type=click.Choice(DEVICE_NAMES),
    default=CPU,
    show_default=True,
    help="Device on which programs run. `conformance backends` lists the devices that each backend can use.",
)
PRECISION_OPTION = click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=FLOAT32,
    show_default=True,
    help="On cuda, precision in which float32 values are multiplied. The error bound follows from it.",
)
OPERATOR_OPTION = click.option(
    "--operator",
    "operators",
    multiple=True,
    type=NameChoice(sorted(OPERATORS)),
    help="Only cases of this operator. Repeatable.",
)
CASE_GLOB_OPTION = click.option(
    "--case", "globs", multiple=True, metavar="GLOB", help="Only cases whose id matches this pattern. Repeatable."
)
SURFACE_GLOB_OPTION = click.option(
    "--surface",
    "surface_globs",
    multiple=True,
    type=SURFACE_NAME,
    metavar="GLOB",
    help="Only surfaces whose name matches this pattern. Repeatable.",
)
PATHS_ARGUMENT = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))


class Verbosity(Word):
    """How much a run prints."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


QUIET_OPTION = click.option(
    "--quiet",
    "verbosity",
    flag_value=Verbosity.QUIET.value,
    help="Print only unexpected results and the last line of the summary.",
)
NO_PROGRESS_OPTION = click.option("--quiet", is_flag=True, help="Show no progress on the terminal.")
VERBOSE_OPTION = click.option(
    "--verbose",
    "verbosity",
    flag_value=Verbosity.VERBOSE.value,
    help="Also print to standard error: unexpected results as they arrive, worker starts, results found by --resume.",
)
SCHEDULER_OPTION = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run in shards on the workers of the Dask scheduler at this address; `local` uses the cores of this machine. "
    "The frameworks must be installed on the workers only, and PYTHON is an interpreter there.",
)
SHARDS_OPTION = click.option(
    "--shards",
    type=click.IntRange(1, MAX_SHARDS),
    metavar="N",
    help="Number of shards for --scheduler. [default: four per worker, of at least 250 results each]",
)
