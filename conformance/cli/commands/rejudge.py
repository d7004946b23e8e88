"""`conformance rejudge`: judge earlier results again with the current ledger and declarations."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api import NATIVE, Device, backend_with_threads
from conformance.catalogue import loading
from conformance.catalogue.declarations import check_declarations_of_run
from conformance.cli.options import CACHE_OPTION, CASES_OPTION, DEFAULT_OUTPUT_FOLDER
from conformance.execution import rejudge
from conformance.execution.expectation_cache import expectation_source
from conformance.execution.targets import ledger_for
from reports.analysis.summary import escape_control_characters

MAX_SHOWN_RESULTS = 3
"""Maximum number of removed results that are named."""


@click.command("rejudge")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@CASES_OPTION
@CACHE_OPTION
def rejudge_command(results: tuple[Path, ...], paths: tuple[Path, ...], cache: bool) -> None:
    """Update results to the current ledger and declarations.

    Nothing is run. A result remains valid if its case, its program and the setup of its surface are unchanged; its
    status is computed again. An outdated result is removed from the file; `conformance run --resume` with the options
    of the original run then runs only the removed ones. Without RESULTS, all files of build/conformance/results are
    updated.

    Exit status: 0 all results are valid; 2 a file is not a results file; 3 some results must be run again.

    Example: conformance rejudge build/conformance/results/numpy.jsonl
    """
    files = results or tuple(sorted((DEFAULT_OUTPUT_FOLDER / "results").glob("*.jsonl")))
    if not files:
        raise IncompleteRun(f"no results in {DEFAULT_OUTPUT_FOLDER / 'results'} (`conformance run` writes them)")
    complete = [_rejudge_one(path, paths, cache=cache) for path in files]
    if not all(complete):
        raise IncompleteRun(
            "incomplete: `conformance run --resume` with the options of the original run runs the removed results"
        )


def _rejudge_one(path: Path, paths: tuple[Path, ...], *, cache: bool) -> bool:
    """Update one results file, print a summary, and return whether all its results are still valid."""
    results = rejudge.read_results_file(path)
    header, environment = results.header, results.header.environment
    if not environment.python:
        click.echo(
            f"{path}: skipped, these outputs were computed outside of the suite; `conformance judge` judges them"
        )
        return True
    # The programs depend on the instruction set and the device of the original run.
    device = Device(environment.device, environment.precision)
    backend = registry.get_backend(header.backend, environment.instructions or NATIVE, device)
    backend = backend_with_threads(backend, environment.threads)
    cases = loading.load_catalogue(paths, level=header.level)
    check_declarations_of_run(backend, cases, paths)
    with expectation_source(use_caches=cache) as expected:
        rejudged = rejudge.rejudge_results(results, backend, cases, ledger_for(backend), expected)
    rejudge.replace_records(path, rejudged.records)
    click.echo(escape_control_characters(f"{path}: {_summary_text(rejudged)}"))
    return rejudged.complete


def _summary_text(rejudged: rejudge.RejudgedResults) -> str:
    parts = [f"{len(rejudged.contents.results):,} results are valid"]
    parts += [f"{count:,} went from {old} to {new}" for (old, new), count in sorted(rejudged.status_changes.items())]
    invalid = rejudged.invalid_results
    if invalid:
        examples = ", ".join(f"{case} on {surface}" for case, surface in invalid[:MAX_SHOWN_RESULTS])
        more = ", …" if len(invalid) > MAX_SHOWN_RESULTS else ""
        parts.append(f"{len(invalid):,} are outdated and removed ({examples}{more})")
    return "; ".join(parts)
