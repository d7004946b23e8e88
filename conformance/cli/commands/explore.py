"""`conformance explore`: look for differences that no case of the catalogue shows."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from conformance import ConformanceError
from conformance.cases.operators import OPERATORS
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import loading
from conformance.cli.options import OPERATOR_OPTION, OUT, SCHEDULER_OPTION
from conformance.execution.cluster import cluster
from conformance.execution.targets import chosen
from conformance.exploration.cluster import Site, bench
from conformance.exploration.evaluation import Bench
from conformance.exploration.explorer import GENERATION, Explorer, Tally, Until
from conformance.exploration.findings import Finding
from conformance.exploration.output import clear, keep, prepare, write
from conformance.exploration.promote import promote
from conformance.exploration.space import Space
from conformance.system.cache import environment

USUAL = 2000
MINUTE = 60
FOUND = 1


def _number(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # which a range takes
        raise click.BadParameter(f"{value} is not a number")
    return value


@click.command()
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME[@LABEL][=PYTHON]",
    help="A backend, as in conformance run. Several may be given; they are explored one after the other.",
)
@click.option("--surface", "surfaces", multiple=True, metavar="S", help="Only this surface; slow ones run if named.")
@OPERATOR_OPTION
@click.option("--cases", type=click.IntRange(1), metavar="N", help=f"Try so many cases. [default: {USUAL:,}]")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True, max=100_000),
    callback=_number,
    metavar="M",
    help=f"Try whole generations of {GENERATION:,} cases until so many minutes have passed.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="What is drawn follows from it.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes side by side. [default: one a core]")
@click.option(
    "--timeout",
    "limit",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=30.0,
    callback=_number,
    show_default=True,
    metavar="SECONDS",
    help="Limit for one case.",
)
@SCHEDULER_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=OUT / "explored",
    show_default=True,
    metavar="DIR",
    help="Where findings go: results, cases, scripts and a page.",
)
@click.option("--promote", "finding", metavar="ID", help="Write the case of a finding into the catalogue, and leave.")
@click.option("--as", "name", metavar="NAME", help="What the promoted case is called, behind its operator.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="The catalogue that the promoted case goes into. [default: the suite's own]",
)
def explore(  # noqa: PLR0917 - click gives the options by name
    backends: tuple[str, ...],
    surfaces: tuple[str, ...],
    operators: tuple[str, ...],
    cases: int | None,
    minutes: float | None,
    seed: int,
    jobs: int | None,
    limit: float,
    scheduler: str | None,
    out: Path,
    finding: str | None,
    name: str | None,
    into: Path | None,
) -> None:
    """Draw cases that nobody wrote, judge them like any other, and shrink what differs to the smallest case.

    Each finding is a case ready for the catalogue, a sentence that says when it shows, and a script that needs the
    framework alone. The same seed finds the same, whatever the number of processes and their speed, here or on
    a cluster.

    Exit status: 0 nothing new; 1 something was found; 2 wrong usage; 3 a backend cannot be started.

    Example: conformance explore --backend numpy --operator max_pool --cases 1000
    """
    if finding:
        path, case = promote(out, finding, into or catalogue_folder(), name or "")
        click.echo(f"{case}: written to {path}; conformance freeze takes it into the lock")
        return
    if name or into:
        raise ConformanceError("--as and --into go with --promote")
    if cases is not None and minutes is not None:
        raise ConformanceError("--cases and --minutes: give one of them")
    until = Until(cases if cases or minutes else USUAL, minutes * MINUTE if minutes else None)
    spaces = _spaces(operators)
    wanted = chosen(backends, surfaces)
    for one in wanted:
        prepare(out, one.name)
    found, each = 0, jobs or (1 if scheduler else os.cpu_count() or 1)
    with nullcontext() if scheduler is None else cluster(scheduler) as workers:
        for one in wanted:
            with bench(Site(one.anywhere, surfaces, limit, each), workers) as lab:
                found += _explore(one.name, lab, Explorer(lab, spaces, seed), until, out)
    sys.exit(FOUND if found else 0)


def _spaces(operators: Sequence[str]) -> dict[str, Space]:
    sweeps = loading.load().sweeps
    return {operator: Space.of(operator, sweeps) for operator in operators or OPERATORS}


def _explore(name: str, lab: Bench, explorer: Explorer, until: Until, out: Path) -> int:
    """Explore one backend, write what was found, even if interrupted, and return how many findings there are."""

    def told(tally: Tally, fresh: Sequence[Finding]) -> None:
        _tell(name, tally, fresh)
        keep(out, lab.backend, explorer.findings.found)  # whatever ends this process, what was found is there

    clear(out, lab.backend.name)
    try:
        explorer.explore(until, told)
    except KeyboardInterrupt:
        click.echo(f"{name}: interrupted; what was found so far is written", err=True)
        _leave(name, lab, explorer, out)
        raise
    return _leave(name, lab, explorer, out)


def _leave(name: str, lab: Bench, explorer: Explorer, out: Path) -> int:
    """Write what was found, say so, and return how many findings there are."""
    tally, findings = explorer.tally, explorer.findings
    told = {"seed": explorer.seed, "cases": tally.cases, "statuses": dict(sorted(tally.statuses.items()))}
    files = write(out, lab, findings.found, {**told, "code": environment(), "beyond": findings.beyond})
    for finding in findings.found:
        click.echo(f"{finding.id}: {finding.sentence}")
    counts = ", ".join(f"{count:,} {status}" for status, count in sorted(tally.statuses.items()))
    click.echo(f"{name}: {tally.cases:,} cases, {counts}; {len(findings.found)} findings")
    if findings.beyond:
        click.echo(f"{findings.beyond:,} further differences were not looked into: enough of the same way were")
    if findings.passing:
        click.echo(f"{findings.passing:,} differed once and not when run again: the memory may have been spoilt")
    for path in files[:1] + files[-1:] if findings.found else []:
        click.echo(f"written: {path}")
    return len(findings.found)


def _tell(name: str, tally: Tally, fresh: Sequence[Finding]) -> None:
    """Say on standard error how far it is."""
    rate = tally.cases / tally.seconds if tally.seconds else 0
    said = f"{name}: {tally.cases:,} cases, {rate:.0f} a second"
    click.echo(said + (f", {len(fresh)} new findings" if fresh else ""), err=True)
    for finding in fresh:
        click.echo(f"  {finding.sentence}", err=True)
