"""`conformance explore`: search for differences that no case of the catalogue shows."""

from __future__ import annotations

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
from conformance.cli.declared_answers import print_declared_answers
from conformance.cli.options import DEFAULT_OUTPUT_FOLDER, OPERATOR_OPTION, SCHEDULER_OPTION, timeout_option
from conformance.cli.parameter_types import SURFACE_NAME, RangeWithoutNaN
from conformance.execution.distributed.cluster import open_cluster
from conformance.execution.job import Limits
from conformance.execution.targets import run_targets
from conformance.exploration.cluster import EvaluatorSpec, make_evaluator
from conformance.exploration.evaluation import Evaluator
from conformance.exploration.explorer import CANDIDATES_PER_GENERATION, ExplorationCounts, Explorer, StopCondition
from conformance.exploration.findings import ExplorationFinding
from conformance.exploration.output import clear_folders, prepare_folders, write_cases_and_scripts, write_exploration
from conformance.exploration.promote import promote_finding
from conformance.exploration.space import OperatorSpace
from conformance.system.cache import source_digest
from reports.results import ExplorationRecord

DEFAULT_CASES = 2000
"""Number of cases without --cases and --minutes."""
DEFAULT_TIMEOUT_SECONDS = 30.0
MINUTE_SECONDS = 60
FINDINGS_EXIT_STATUS = 1


@click.command()
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME[@LABEL][=PYTHON]",
    help="A backend, as in `conformance run`. Repeatable; the backends are explored one after the other.",
)
@click.option(
    "--surface",
    "surfaces",
    multiple=True,
    type=SURFACE_NAME,
    metavar="S",
    help="Only this surface. Without it, surfaces that are slow or run only level smoke are left out. Repeatable.",
)
@OPERATOR_OPTION
@click.option("--cases", type=click.IntRange(1), metavar="N", help=f"Number of cases. [default: {DEFAULT_CASES:,}]")
@click.option(
    "--minutes",
    type=RangeWithoutNaN(0, 100_000, min_open=True),
    metavar="M",
    help=f"Run full generations of {CANDIDATES_PER_GENERATION:,} cases until this many minutes have passed.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the generated cases.")
@click.option(
    "--jobs", type=click.IntRange(1, 256), metavar="N", help="Number of parallel processes. [default: one per core]"
)
@timeout_option(DEFAULT_TIMEOUT_SECONDS)
@click.option(
    "--conventions",
    is_flag=True,
    help="Generate no cases. Change size, rank, dtype and channels of the cases of conventions, and list the changes "
    "with which a surface does not give its declared answer.",
)
@click.option(
    "--variants-per-change",
    type=click.IntRange(1),
    metavar="N",
    help="With --conventions: a sample of N variants for each kind of change of a case. [default: all]",
)
@SCHEDULER_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUTPUT_FOLDER / "explored",
    show_default=True,
    metavar="DIR",
    help="Output folder for results, cases, scripts and a page of the findings.",
)
@click.option("--promote", "finding", metavar="ID", help="Add the case of a finding to the catalogue, and exit.")
@click.option("--as", "name", metavar="NAME", help="Name of the promoted case, without its operator.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Catalogue to which the promoted case is added. [default: the suite's catalogue]",
)
def explore(  # noqa: PLR0917 - click passes the options by name
    backends: tuple[str, ...],
    surfaces: tuple[str, ...],
    operators: tuple[str, ...],
    cases: int | None,
    minutes: float | None,
    seed: int,
    jobs: int | None,
    timeout: float,
    conventions: bool,
    variants_per_change: int | None,
    scheduler: str | None,
    out: Path,
    finding: str | None,
    name: str | None,
    into: Path | None,
) -> None:
    """Search for differences with generated cases.

    Random cases are generated and checked on backends. Cases that differ are reduced to small ones and grouped.

    Each finding has a case for the catalogue, a sentence that describes when the difference occurs, and a script
    that needs only the framework and NumPy. The same seed gives the same findings, regardless of the number and speed
    of processes, on one machine or on a cluster.

    Exit status: 0 no findings; 1 findings; 2 wrong usage; 3 a backend cannot be started.

    Example: conformance explore --backend numpy --operator max_pool --cases 1000
    """
    if finding:
        path, case = promote_finding(out, finding, into or catalogue_folder(), name or "")
        click.echo(f"{case}: written to {path}; `conformance freeze` adds it to the lock")
        return
    if name or into:
        raise ConformanceError("--as and --into need --promote")
    if cases is not None and minutes is not None:
        raise ConformanceError("--cases and --minutes cannot be combined")
    if variants_per_change and not conventions:
        raise ConformanceError("--variants-per-change needs --conventions")
    if conventions:
        if cases is not None or minutes is not None or scheduler:
            raise ConformanceError("--conventions cannot be combined with --cases, --minutes and --scheduler")
        targets = run_targets(backends, surfaces)
        options = surfaces, operators, Limits(timeout), jobs or os.cpu_count() or 1
        found = [print_declared_answers(target, *options, per_change=variants_per_change) for target in targets]
        sys.exit(FINDINGS_EXIT_STATUS if any(found) else 0)
    until = StopCondition(cases if cases or minutes else DEFAULT_CASES, minutes * MINUTE_SECONDS if minutes else None)
    sweeps = loading.load_catalogue().sweeps
    spaces = {operator: OperatorSpace.from_sweeps(operator, sweeps) for operator in operators or OPERATORS}
    targets = run_targets(backends, surfaces)
    for target in targets:
        # A folder that cannot be written is reported before the exploration, not after it.
        prepare_folders(out, target.name)
    # On a cluster, `jobs` is the number of processes of each worker of the scheduler.
    finding_count, process_count = 0, jobs or (1 if scheduler else os.cpu_count() or 1)
    with nullcontext() if scheduler is None else open_cluster(scheduler) as workers:
        for target in targets:
            spec = EvaluatorSpec(target.portable, surfaces, timeout, process_count)
            with make_evaluator(spec, workers) as evaluator:
                explorer = Explorer(evaluator, spaces, seed)
                finding_count += _explore_backend(target.name, evaluator, explorer, until, out)
    sys.exit(FINDINGS_EXIT_STATUS if finding_count else 0)


def _explore_backend(name: str, evaluator: Evaluator, explorer: Explorer, until: StopCondition, out: Path) -> int:
    """Explore one backend, write the findings, also if interrupted, and return their number."""

    def on_generation(counts: ExplorationCounts, new_findings: Sequence[ExplorationFinding]) -> None:
        _print_progress(name, counts, new_findings)
        # Written after every generation, so that findings survive a process that is killed.
        write_cases_and_scripts(out, evaluator.backend, explorer.findings.findings)

    clear_folders(out, evaluator.backend.name)
    try:
        explorer.explore(until, on_generation)
    except KeyboardInterrupt:
        click.echo(f"{name}: interrupted; the findings so far are written", err=True)
        _write_findings(name, evaluator, explorer, out)
        raise
    return _write_findings(name, evaluator, explorer, out)


def _write_findings(name: str, evaluator: Evaluator, explorer: Explorer, out: Path) -> int:
    """Write and print the findings, and return their number."""
    counts, findings = explorer.counts, explorer.findings
    explored = ExplorationRecord(
        seed=explorer.seed,
        cases=counts.cases,
        statuses=dict(sorted(counts.statuses.items())),
        code=source_digest(),
        uncounted=findings.uncounted,
        findings=(),
    )
    files = write_exploration(out, evaluator, findings.findings, explored)
    for finding in findings.findings:
        click.echo(f"{finding.id}: {finding.sentence}")
    statuses = ", ".join(f"{count:,} {status}" for status, count in sorted(counts.statuses.items()))
    click.echo(f"{name}: {counts.cases:,} cases, {statuses}; {len(findings.findings)} findings")
    if findings.uncounted:
        click.echo(f"{findings.uncounted:,} further differences were not analysed: enough had the same symptom")
    if findings.passing_candidates:
        click.echo(
            f"{findings.passing_candidates:,} cases differed once and passed when run again: "
            "an earlier case may have corrupted memory"
        )
    # The results file and the page of the findings; the folder has a file for each case and script.
    for path in files[:1] + files[-1:] if findings.findings else []:
        click.echo(f"written: {path}")
    return len(findings.findings)


def _print_progress(name: str, counts: ExplorationCounts, new_findings: Sequence[ExplorationFinding]) -> None:
    """Print the number of cases so far and new findings to standard error."""
    rate = counts.cases / counts.seconds if counts.seconds else 0
    line = f"{name}: {counts.cases:,} cases, {rate:.0f} per second"
    click.echo(line + (f", {len(new_findings)} new findings" if new_findings else ""), err=True)
    for finding in new_findings:
        click.echo(f"  {finding.sentence}", err=True)
