"""`conformance rejudge`: results of an earlier run, held against the ledger and the declarations of today."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api.devices import NATIVE, Device
from conformance.cases.case import LEVELS
from conformance.catalogue import loading
from conformance.cli.options import CACHE_OPTION, CASES_OPTION, DEFAULT_OUTPUT_FOLDER
from conformance.execution import rejudge
from conformance.execution.expectation_cache import open_expectation_cache
from conformance.execution.targets import ledger_for
from conformance.judging.expected import compute_expected
from reports.analysis.summary import escape_control_characters

MAX_SHOWN_CHANGES = 3
INCOMPLETE_EXIT_STATUS = 3


@click.command("rejudge")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@CASES_OPTION
@CACHE_OPTION
def rejudge_command(results: tuple[Path, ...], paths: tuple[Path, ...], cache: bool) -> None:
    """Bring results files up to the ledger and the declarations as they stand now, without running anything.

    A result holds as long as its case, its program and the setup of its surface are what they were; its status is
    counted anew. One that no longer holds is dropped from the file: `conformance run --resume` with the options of the
    first run runs it again, and nothing else. RESULTS are all files of build/conformance/results if none is given.

    Exit status: 0 every result stands, 2 a file is none of ours, 3 something is left to run.

    Example: conformance rejudge build/conformance/results/numpy.jsonl
    """
    files = results or tuple(sorted((DEFAULT_OUTPUT_FOLDER / "results").glob("*.jsonl")))
    if not files:
        raise IncompleteRun(f"no results in {DEFAULT_OUTPUT_FOLDER / 'results'} (conformance run makes them)")
    whole = [_rejudge_one(path, paths, cache=cache) for path in files]
    if not all(whole):
        raise IncompleteRun("not complete: `conformance run --resume` with the options of the first run runs the rest")


def _rejudge_one(path: Path, paths: tuple[Path, ...], *, cache: bool) -> bool:
    header = next(rejudge.read_records(path))
    try:
        name, level = header["backend"], header["level"]
        where = header["environment"]
        backend = registry.get_backend(name, where.get("instructions", NATIVE), Device.from_environment(where))
    except KeyError as error:
        raise ConformanceError(f"{path}:1: not the header of a results file: no {error}") from None
    except (TypeError, AttributeError) as error:
        raise ConformanceError(f"{path}:1: not the header of a results file: {error}") from None
    if level not in LEVELS:
        raise ConformanceError(f"{path}:1: not the header of a results file: {level!r} is no level")
    cases = loading.load_catalogue(paths, level=level)
    with open_expectation_cache() if cache else nullcontext(compute_expected) as expect:
        made = rejudge.rejudge_file(path, backend, cases, ledger_for(backend), expect)
    rejudge.replace_records(path, made.records)
    click.echo(escape_control_characters(f"{path}: {_summary_lines(made)}"))
    return made.complete


def _summary_lines(made: rejudge.RejudgedResults) -> str:
    kept_ = sum(record["record"] == "result" for record in made.records)
    parts = [f"{kept_:,} results hold"]
    parts += [f"{count:,} went from {then} to {now}" for (then, now), count in sorted(made.status_changes.items())]
    if made.invalid_results:
        first = ", ".join(f"{case} on {surface}" for case, surface in made.invalid_results[:MAX_SHOWN_CHANGES])
        parts.append(
            f"{len(made.invalid_results):,} hold no longer ({first}{', …' if len(made.invalid_results) > MAX_SHOWN_CHANGES else ''})"
        )
    return "; ".join(parts)
