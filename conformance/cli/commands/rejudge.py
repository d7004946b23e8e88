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
from conformance.cli.options import CACHE_OPTION, CASES_OPTION, OUT
from conformance.execution import rejudge
from conformance.execution.expectation_cache import kept
from conformance.execution.targets import known
from conformance.judging.expected import expected
from reports.analysis.summary import printable

SHOWN = 3
INCOMPLETE = 3


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
    files = results or tuple(sorted((OUT / "results").glob("*.jsonl")))
    if not files:
        raise IncompleteRun(f"no results in {OUT / 'results'} (conformance run makes them)")
    whole = [_one(path, paths, cache=cache) for path in files]
    if not all(whole):
        raise IncompleteRun("not complete: `conformance run --resume` with the options of the first run runs the rest")


def _one(path: Path, paths: tuple[Path, ...], *, cache: bool) -> bool:
    header = next(rejudge.read(path))
    try:
        name, level = header["backend"], header["level"]
        where = header["environment"]
        backend = registry.backend(name, where.get("instructions", NATIVE), Device.read(where))
    except KeyError as error:
        raise ConformanceError(f"{path}:1: not the header of a results file: no {error}") from None
    except (TypeError, AttributeError) as error:
        raise ConformanceError(f"{path}:1: not the header of a results file: {error}") from None
    if level not in LEVELS:
        raise ConformanceError(f"{path}:1: not the header of a results file: {level!r} is no level")
    cases = loading.load(paths, level=level)
    with kept() if cache else nullcontext(expected) as expect:
        made = rejudge.rejudge(path, backend, cases, known(backend), expect)
    rejudge.write(path, made.records)
    click.echo(printable(f"{path}: {_said(made)}"))
    return made.complete


def _said(made: rejudge.Rejudged) -> str:
    kept_ = sum(record["record"] == "result" for record in made.records)
    parts = [f"{kept_:,} results hold"]
    parts += [f"{count:,} went from {then} to {now}" for (then, now), count in sorted(made.changed.items())]
    if made.dropped:
        first = ", ".join(f"{case} on {surface}" for case, surface in made.dropped[:SHOWN])
        parts.append(f"{len(made.dropped):,} hold no longer ({first}{', …' if len(made.dropped) > SHOWN else ''})")
    return "; ".join(parts)
