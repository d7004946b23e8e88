"""Read results files and write output files, with one-line error messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.cli.options import DEFAULT_OUTPUT_FOLDER
from conformance.cli.program_errors import is_unexpected_program_error
from conformance.execution.selection import Shard
from conformance.system.atomic_write import write_in_folder
from reports.analysis import summary
from reports.results import BackendRun, LiveResults, Report, UnreadableResults, load_report, merge_runs, read_header
from reports.results.key_set import KeySet

STANDARD_OUTPUT = "-"
PAST_RUN_PATTERNS = ("*.jsonl", "*/*.jsonl", "*/results/*.jsonl")
"""Results files in a folder of past runs."""
FAILED_EXIT_STATUS, PROGRAM_ERROR_EXIT_STATUS, INCOMPLETE_EXIT_STATUS = 1, 2, 3


@contextmanager
def unreadable_as_conformance_error() -> Iterator[None]:
    """Convert UnreadableResults, an error of the results format, to ConformanceError, which is printed in one line."""
    try:
        yield
    except UnreadableResults as error:
        raise ConformanceError(str(error)) from None


def load_results(paths: Iterable[Path], *, mixed: bool = False) -> Report:
    """Read results files into one report, see load_report. Raises ConformanceError for an invalid file."""
    with unreadable_as_conformance_error():
        return load_report(paths, allow_mixed=mixed)


def merge_live_results(written: Iterable[LiveResults]) -> Report:
    """Return the results of this process's runs as one report. Raises ConformanceError for invalid results."""
    files = list(written)
    with unreadable_as_conformance_error():
        report = merge_runs((one.path, one.build_run()) for one in files)
    case_ids = KeySet()
    for one in files:
        case_ids.update(one.case_ids)
    return replace(report, case_count=len(case_ids))


def load_given_or_latest(paths: Iterable[Path], *, mixed: bool = False) -> Report:
    """Read the given results files and folders; without any, those in the default output folder.

    Raises IncompleteRun if there are none.
    """
    found = [file for path in list(paths) or [DEFAULT_OUTPUT_FOLDER / "results"] for file in results_files(path)]
    return load_results(found, mixed=mixed)


def load_file_or_folder(path: Path) -> Report:
    """Read a results file, or all results files of a folder. Raises IncompleteRun if the folder has none."""
    return load_results(results_files(path))


def results_files(path: Path) -> list[Path]:
    """Return the path itself if it is a file, or all results files of a folder or of its subfolder results/.

    Raises IncompleteRun if there are none.
    """
    # A missing file is reported when it is read. A missing default folder means that nothing has been run yet.
    if not path.is_dir() and path != DEFAULT_OUTPUT_FOLDER / "results":
        return [path]
    found = sorted(path.glob("*.jsonl")) or sorted(path.glob("results/*.jsonl"))
    if not found:
        raise IncompleteRun(f"no results in {path} (`conformance run` writes them)")
    return found


def load_past_runs(folder: Path) -> Iterator[BackendRun]:
    """Read the past runs in a folder of results files, or of folders of them, in the order of their start.

    Findings of explorations are omitted. Raises ConformanceError if there are no runs, if one is a shard or did not
    finish, or if two runs of a backend have the same start. A run is read when it is used.
    """
    found = sorted({file for pattern in PAST_RUN_PATTERNS for file in folder.glob(pattern)})
    if not found:
        problem = "contains no results files" if folder.is_dir() else "is not a folder"
        raise ConformanceError(f"--history {folder}: {problem}")
    with unreadable_as_conformance_error():
        headers = [(read_header(path), path) for path in found]
    runs = sorted((one.started, one.backend, path) for one, path in headers if not one.explored)
    for (*first, path), (*second, other) in pairwise(runs):
        if first == second:
            raise ConformanceError(f"--history {folder}: {other} contains the same run as {path}")
    for _, _, path in runs:
        yield _past_run(folder, path)


def _past_run(folder: Path, path: Path) -> BackendRun:
    (run,) = load_results([path]).backends
    if run.header.shard:
        raise ConformanceError(f"--history {folder}: {path} is a shard (combine shards with conformance merge)")
    if not run.complete:
        raise ConformanceError(f"--history {folder}: {path} is a partial run (conformance run --resume completes it)")
    return run


def results_path(out: Path, backend: str, shard: Shard | None = None) -> Path:
    """Return the path of the results file of a backend, or of one shard of its run."""
    return out / "shards" / backend / shard.file_name if shard else out / "results" / f"{backend}.jsonl"


def exit_status(results: Report) -> int:
    """Return the exit status for results: 0 expected, 1 unexpected, 2 wrong programs, 3 incomplete or mixed runs."""
    if not results.runs or any(map(summary.run_problems, results.runs)) or results.mixture_notes:
        return INCOMPLETE_EXIT_STATUS
    if any(map(is_unexpected_program_error, results.results)):
        return PROGRAM_ERROR_EXIT_STATUS
    return 0 if summary.report_verdict(results).is_good else FAILED_EXIT_STATUS


def write_output(path: Path, content: str | bytes) -> bool:
    """Write a file, or to standard output if the path is `-`. Return whether a file was written."""
    if str(path) == STANDARD_OUTPUT:
        click.echo(content, nl=False)
        return False
    write_in_folder(path, content)
    return True


def observed_answers(results: Iterable[Path]) -> dict[tuple[str, str], dict[str, str]]:
    """Return the answers observed in results files: {(convention, surface): {case: answer}}."""
    paths = list(results)
    report = load_results(paths) if paths else None
    observed: dict[tuple[str, str], dict[str, str]] = {}
    for backend in report.backends if report else ():
        for answer in backend.conventions:
            if answer.observed is not None:
                observed.setdefault((answer.question, answer.surface), {})[answer.case] = answer.observed
    return observed
