"""Results files as commands read them, and files that they write; whatever is wrong is one line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.cli.options import DEFAULT_OUTPUT_FOLDER
from conformance.execution.selection import Shard
from conformance.system.atomic_write import write_in_folder
from reports.analysis import summary
from reports.results import compatibility, reader
from reports.results.live import LiveResults

STANDARD_OUTPUT = "-"
FAILED_EXIT_STATUS, INCOMPLETE_EXIT_STATUS = 1, 3


def load_results(paths: Iterable[Path], *, mixed: bool = False) -> reader.Report:
    """Read results files into one report, see reading.load. Raises ConformanceError for one that is not sound."""
    try:
        return reader.load_report(paths, allow_mixed=mixed)
    except compatibility.UnreadableResults as error:
        raise ConformanceError(str(error)) from None


def merge_live_results(written: Iterable[LiveResults]) -> reader.Report:
    """Return what runs of this process have written as one report. Raises ConformanceError for what is not sound."""
    try:
        return reader.merge_runs((one.path, one.build_run()) for one in written)
    except compatibility.UnreadableResults as error:
        raise ConformanceError(str(error)) from None


def load_given_or_latest(paths: Iterable[Path], *, mixed: bool = False) -> reader.Report:
    """Read the results files that are named, those of folders too, or else all of the last runs, see reading.load.

    Raises IncompleteRun if there are none.
    """
    found = [file for path in list(paths) or [DEFAULT_OUTPUT_FOLDER / "results"] for file in results_files(path)]
    return load_results(found, mixed=mixed)


def load_file_or_folder(path: Path) -> reader.Report:
    """Read a results file, or all of a folder, be it that of a run. Raises IncompleteRun if there are none."""
    return load_results(results_files(path))


def results_files(path: Path) -> list[Path]:
    """Return a results file, or all of a folder, be it that of a run. Raises IncompleteRun if there are none."""
    if not path.is_dir() and path != DEFAULT_OUTPUT_FOLDER / "results":
        return [path]
    found = sorted(path.glob("*.jsonl")) or sorted(path.glob("results/*.jsonl"))
    if not found:
        raise IncompleteRun(f"no results in {path} (conformance run makes them)")
    return found


def results_path(out: Path, backend: str, part: Shard | None = None) -> Path:
    """Return where the results of a backend go, or those of a shard."""
    return out / "shards" / backend / part.file_name if part else out / "results" / f"{backend}.jsonl"


def exit_status(results: reader.Report) -> int:
    """Return the exit status that results deserve."""
    if not results.runs or any(map(summary.run_problems, results.runs)) or results.mixture_notes:
        return INCOMPLETE_EXIT_STATUS
    return 0 if summary.report_verdict(results).is_good else FAILED_EXIT_STATUS


def write_output(path: Path, content: str | bytes) -> bool:
    """Write a file or, for a path -, to standard output; return whether it is a file."""
    if str(path) == STANDARD_OUTPUT:
        click.echo(content, nl=False)
        return False
    write_in_folder(path, content)
    return True
