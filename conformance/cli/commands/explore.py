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
from conformance.cli.options import DEFAULT_OUTPUT_FOLDER, OPERATOR_OPTION, SCHEDULER_OPTION
from conformance.execution.cluster import open_cluster
from conformance.execution.targets import run_targets
from conformance.exploration.cluster import EvaluatorSpec, make_evaluator
from conformance.exploration.evaluation import Evaluator
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, ExplorationCounts, Explorer, StopCondition
from conformance.exploration.findings import ExplorationFinding
from conformance.exploration.output import clear_folders, prepare_folders, write_cases_and_scripts, write_exploration
from conformance.exploration.promote import promote_finding
from conformance.exploration.space import OperatorSpace
from conformance.system.cache import source_digest

DEFAULT_CASES = 2000
MINUTE_SECONDS = 60
FINDINGS_EXIT_STATUS = 1


def _positive_number(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
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
@click.option("--cases", type=click.IntRange(1), metavar="N", help=f"Try so many cases. [default: {DEFAULT_CASES:,}]")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True, max=100_000),
    callback=_positive_number,
    metavar="M",
    help=f"Try whole generations of {CANDIDATES_PER_GENERATION:,} cases until so many minutes have passed.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="What is drawn follows from it.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes side by side. [default: one a core]")
@click.option(
    "--timeout",
    "limit",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=30.0,
    callback=_positive_number,
    show_default=True,
    metavar="SECONDS",
    help="Limit for one case.",
)
@SCHEDULER_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUTPUT_FOLDER / "explored",
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
        path, case = promote_finding(out, finding, into or catalogue_folder(), name or "")
        click.echo(f"{case}: written to {path}; conformance freeze takes it into the lock")
        return
    if name or into:
        raise ConformanceError("--as and --into go with --promote")
    if cases is not None and minutes is not None:
        raise ConformanceError("--cases and --minutes: give one of them")
    until = StopCondition(cases if cases or minutes else DEFAULT_CASES, minutes * MINUTE_SECONDS if minutes else None)
    spaces = _operator_spaces(operators)
    wanted = run_targets(backends, surfaces)
    for one in wanted:
        prepare_folders(out, one.name)
    found, each = 0, jobs or (1 if scheduler else os.cpu_count() or 1)
    with nullcontext() if scheduler is None else open_cluster(scheduler) as workers:
        for one in wanted:
            with make_evaluator(EvaluatorSpec(one.portable, surfaces, limit, each), workers) as lab:
                found += _explore_backend(one.name, lab, Explorer(lab, spaces, seed), until, out)
    sys.exit(FINDINGS_EXIT_STATUS if found else 0)


def _operator_spaces(operators: Sequence[str]) -> dict[str, OperatorSpace]:
    sweeps = loading.load_catalogue().sweeps
    return {operator: OperatorSpace.from_sweeps(operator, sweeps) for operator in operators or OPERATORS}


def _explore_backend(name: str, lab: Evaluator, explorer: Explorer, until: StopCondition, out: Path) -> int:
    """Explore one backend, write what was found, even if interrupted, and return how many findings there are."""

    def told(tally: ExplorationCounts, fresh: Sequence[ExplorationFinding]) -> None:
        _print_progress(name, tally, fresh)
        write_cases_and_scripts(
            out, lab.backend, explorer.findings.findings
        )  # whatever ends this process, what was found is there

    clear_folders(out, lab.backend.name)
    try:
        explorer.explore(until, told)
    except KeyboardInterrupt:
        click.echo(f"{name}: interrupted; what was found so far is written", err=True)
        _write_findings(name, lab, explorer, out)
        raise
    return _write_findings(name, lab, explorer, out)


def _write_findings(name: str, lab: Evaluator, explorer: Explorer, out: Path) -> int:
    """Write what was found, say so, and return how many findings there are."""
    tally, findings = explorer.counts, explorer.findings
    told = {"seed": explorer.seed, "cases": tally.cases, "statuses": dict(sorted(tally.statuses.items()))}
    files = write_exploration(
        out, lab, findings.findings, {**told, "code": source_digest(), "beyond": findings.uncounted}
    )
    for finding in findings.findings:
        click.echo(f"{finding.id}: {finding.sentence}")
    counts = ", ".join(f"{count:,} {status}" for status, count in sorted(tally.statuses.items()))
    click.echo(f"{name}: {tally.cases:,} cases, {counts}; {len(findings.findings)} findings")
    if findings.uncounted:
        click.echo(f"{findings.uncounted:,} further differences were not looked into: enough of the same way were")
    if findings.passing_candidates:
        click.echo(
            f"{findings.passing_candidates:,} differed once and not when run again: the memory may have been spoilt"
        )
    for path in files[:1] + files[-1:] if findings.findings else []:
        click.echo(f"written: {path}")
    return len(findings.findings)


def _print_progress(name: str, tally: ExplorationCounts, fresh: Sequence[ExplorationFinding]) -> None:
    """Say on standard error how far it is."""
    rate = tally.cases / tally.seconds if tally.seconds else 0
    said = f"{name}: {tally.cases:,} cases, {rate:.0f} a second"
    click.echo(said + (f", {len(fresh)} new findings" if fresh else ""), err=True)
    for finding in fresh:
        click.echo(f"  {finding.sentence}", err=True)
