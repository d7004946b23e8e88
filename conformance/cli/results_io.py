"""Results files as commands read them, and files that they write; whatever is wrong is one line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.cli.options import OUT
from conformance.execution.selection import Part
from conformance.system.atomic_write import put_below
from reports.analysis import summary
from reports.results import compatibility, reader
from reports.results.live import Growing

STANDARD_OUTPUT = "-"
FAILED, INCOMPLETE = 1, 3


def load(paths: Iterable[Path], *, mixed: bool = False) -> reader.Report:
    """Read results files into one report, see reading.load. Raises ConformanceError for one that is not sound."""
    try:
        return reader.load(paths, mixed=mixed)
    except compatibility.UnreadableResults as error:
        raise ConformanceError(str(error)) from None


def merged(written: Iterable[Growing]) -> reader.Report:
    """Return what runs of this process have written as one report. Raises ConformanceError for what is not sound."""
    try:
        return reader.merged((one.path, one.backend()) for one in written)
    except compatibility.UnreadableResults as error:
        raise ConformanceError(str(error)) from None


def load_named(paths: Iterable[Path], *, mixed: bool = False) -> reader.Report:
    """Read the results files that are named, those of folders too, or else all of the last runs, see reading.load.

    Raises IncompleteRun if there are none.
    """
    found = [file for path in list(paths) or [OUT / "results"] for file in files_of(path)]
    return load(found, mixed=mixed)


def load_all(path: Path) -> reader.Report:
    """Read a results file, or all of a folder, be it that of a run. Raises IncompleteRun if there are none."""
    return load(files_of(path))


def files_of(path: Path) -> list[Path]:
    """Return a results file, or all of a folder, be it that of a run. Raises IncompleteRun if there are none."""
    if not path.is_dir() and path != OUT / "results":
        return [path]
    found = sorted(path.glob("*.jsonl")) or sorted(path.glob("results/*.jsonl"))
    if not found:
        raise IncompleteRun(f"no results in {path} (conformance run makes them)")
    return found


def results_file(out: Path, backend: str, part: Part | None = None) -> Path:
    """Return where the results of a backend go, or those of a shard."""
    return out / "shards" / backend / part.file if part else out / "results" / f"{backend}.jsonl"


def status(results: reader.Report) -> int:
    """Return the exit status that results deserve."""
    if not results.runs or any(map(summary.faults, results.runs)) or results.mixed:
        return INCOMPLETE
    return 0 if summary.verdict(results).good else FAILED


def write(path: Path, content: str | bytes) -> bool:
    """Write a file or, for a path -, to standard output; return whether it is a file."""
    if str(path) == STANDARD_OUTPUT:
        click.echo(content, nl=False)
        return False
    put_below(path, content)
    return True
