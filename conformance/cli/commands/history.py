"""`conformance history`: run the releases of a framework, and list the answers that changed between them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.cli.options import CASE_GLOB_OPTION, DEFAULT_OUTPUT_FOLDER, QUIET_OPTION, Verbosity, level_option
from conformance.cli.parameter_types import SURFACE_NAME
from conformance.cli.progress import RunProgress
from conformance.cli.results_io import load_results, write_output
from conformance.execution.distributed.cluster import ClusterWorkers, ProcessWorkers, open_cluster
from conformance.execution.expectation_cache import expectation_source
from conformance.execution.options import RunOptions
from conformance.execution.releases.bisection import first_changed
from conformance.execution.releases.environments import ReleaseEnvironments, further_requirements
from conformance.execution.releases.history_run import ReleaseRuns
from conformance.execution.releases.parallel import ReleaseWork, history_catalogue, run_releases
from conformance.execution.releases.version_list import available_versions, select_versions
from conformance.execution.selection import Selection
from conformance.execution.targets import run_targets
from reports.analysis.releases.history import (
    answers_of_run,
    changed_with_program,
    changes_markdown,
    history_json,
    release_changes,
)
from reports.results import Level


@click.command("history")
@click.option("--backend", required=True, metavar="NAME", help="The backend whose releases are run.")
@click.option(
    "--versions",
    default="",
    metavar="LIST",
    help="Releases, such as 1.15..1.32, 1.15,1.20 or newest. [default: all that pip finds]",
)
@click.option("--per-minor", is_flag=True, help="Only the newest patch of each minor version.")
@click.option("--surface", "surfaces", multiple=True, type=SURFACE_NAME, metavar="S", help="Only this surface.")
@CASE_GLOB_OPTION
@level_option(Level.SMOKE)
@click.option("--bisect", is_flag=True, help="Find the release in which the answer to one case on one surface changed.")
@click.option("--resume", is_flag=True, help="Do not run releases again that have complete results.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="Number of environments that remain on disk.",
)
@click.option("--python", default=sys.executable, metavar="PYTHON", help="Interpreter of the environments; needs pip.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="REQUIREMENT",
    help="Another package, such as 'numpy<2', instead of that version of the suite's extra. Repeatable.",
)
@click.option(
    "--base",
    default="",
    metavar="PYTHON",
    help="Use the packages of its environment; install only the release and those of --with. Saves most of the time.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of releases that run at the same time. With more than one, their environments are removed at the end.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run the releases on the workers of the Dask scheduler at this address; `local` uses the cores of this "
    "machine. Each worker installs its releases.",
)
@QUIET_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUTPUT_FOLDER,
    show_default=True,
    metavar="DIR",
    help="Output folder: DIR/history/<backend>/<version>.jsonl.",
)
def history_command(  # noqa: PLR0917 - click passes the options by name
    backend: str,
    versions: str,
    per_minor: bool,
    surfaces: tuple[str, ...],
    globs: tuple[str, ...],
    level: str,
    bisect: bool,
    resume: bool,
    keep: int,
    python: str,
    others: tuple[str, ...],
    base: str,
    parallel: int,
    scheduler: str | None,
    verbosity: str | None,
    out: Path,
) -> None:
    """Run releases of a framework, and list the changed answers.

    Each release is installed with pip into a separate environment, with the other packages of the suite's extra for
    the backend. The cases are those of the level, of all conventions, and of the ledger entries and findings of the
    backend, or those given with --case. The results files of the releases are in a separate folder, which
    `conformance report` and `conformance rejudge` do not read by default.

    Exit status: 0 all releases were run; 2 wrong usage; 3 a release cannot be installed, imported or run.

    Example: conformance history --backend NAME --versions 1.15..1.32 --per-minor
    """
    run_targets([backend], surfaces)  # rejects unknown names
    adapter = registry.get_backend(backend)
    if adapter.worker is not None or backend == registry.BUILT_IN_BACKEND:
        raise ConformanceError(f"backend {backend!r}: has no releases that pip installs")
    package = adapter.packages[0]
    distribution = registry.distribution_of(backend, package)
    further = [*others] if base else further_requirements(adapter, others)
    selected = select_versions(available_versions(distribution, python), versions, per_minor=per_minor)
    selection = Selection(level, surfaces, (), globs)
    catalogue = history_catalogue(backend, selection)
    if bisect and (len(catalogue.select(globs=globs)) != 1 or len(surfaces) != 1):
        raise click.UsageError("--bisect needs one case (--case ID) and one surface (--surface S)")
    if scheduler and parallel > 1:
        raise click.UsageError("--parallel and --scheduler cannot be combined: a scheduler uses all its workers")
    if bisect and (scheduler or parallel > 1):
        raise click.UsageError("--bisect runs one release at a time, without --parallel and --scheduler")
    folder = out / "history"
    environments = ReleaseEnvironments(folder / "environments", package, distribution, further, python, keep, base)
    # Results of some cases must not replace the results of all.
    folder = folder / "selected" if globs or surfaces else folder
    options = RunOptions(selection, out=folder)
    with expectation_source(use_caches=True) as expected:
        runs = ReleaseRuns(backend, catalogue, options, environments, expected)
        shown = Verbosity(verbosity or Verbosity.NORMAL)
        if bisect:
            _bisect(runs, selected, surfaces[0], shown, resume=resume)
            return
        is_parallel = scheduler is not None or parallel > 1
        failed = _run_at_once(runs, selected, shown, scheduler, parallel, resume=resume) if is_parallel else {}
        remaining = [one for one in selected if one not in failed]
        complete, problems = _run_all(runs, remaining, shown, resume=resume or is_parallel)
        problems = [*failed.values(), *problems]
    _write_history(runs, complete)
    if problems:
        raise IncompleteRun("\n".join(problems))


@contextlib.contextmanager
def _open_workers(scheduler: str | None, parallel: int) -> Iterator[ClusterWorkers]:
    if scheduler is None:
        yield ProcessWorkers(parallel)
        return
    with open_cluster(scheduler) as workers:
        yield workers


def _run_at_once(
    runs: ReleaseRuns, versions: list[str], shown: Verbosity, scheduler: str | None, parallel: int, *, resume: bool
) -> dict[str, str]:
    """Run releases at the same time. Return the reasons of those that cannot be run, by version."""
    environments = runs.environments
    if scheduler and environments.python == sys.executable:
        environments = replace(environments, python="")  # the path of another machine's interpreter may differ
    work = ReleaseWork(runs.backend, runs.options.selection, environments, ReleaseWork.identity_of(runs.cases))
    pending = [one for one in versions if not (resume and runs.is_complete(one))]
    failed = {}
    with _open_workers(scheduler, parallel) as workers:
        for number, (version, problem) in enumerate(run_releases(work, pending, workers, runs.path), start=1):
            if problem:
                failed[version] = problem
            if shown is not Verbosity.QUIET:
                click.echo(f"{runs.backend} {version}: {problem or 'done'} ({number} of {len(pending)})", err=True)
    return failed


def _run_one(runs: ReleaseRuns, version: str, shown: Verbosity, *, resume: bool) -> None:
    if resume and runs.is_complete(version):
        return
    with RunProgress(f"{runs.backend}@{version}", shown) as live:
        runs.run_release(version, live.add_result, live.log)


def _run_all(runs: ReleaseRuns, versions: list[str], shown: Verbosity, *, resume: bool) -> tuple[list[str], list[str]]:
    """Run the releases. Return those with complete results, and the reasons of the others."""
    complete: list[str] = []
    problems = []
    for version in versions:
        try:
            _run_one(runs, version, shown, resume=resume)
            complete.append(version)
            if complete[1:]:
                _run_older_programs(runs, complete[-2], version, shown, resume=resume)
        except IncompleteRun as error:
            problems.append(str(error))
    return complete, problems


def _run_older_programs(runs: ReleaseRuns, old: str, new: str, shown: Verbosity, *, resume: bool) -> None:
    """Run the programs of a release on the next one, for cases whose answer and whose program differ."""
    results, path = [runs.path(version) for version in (old, new)], runs.older_programs_path(old, new)
    # Older results belong to an earlier run of one of the two releases.
    is_current = path.exists() and path.stat().st_mtime_ns > max(one.stat().st_mtime_ns for one in results)
    if resume and is_current and load_results([path]).runs[0].complete:
        return
    path.unlink(missing_ok=True)
    first, second = (load_results([one]).runs[0] for one in results)
    if cases := changed_with_program(first, second):
        with RunProgress(f"{runs.backend}@{path.stem}", shown) as live:
            runs.run_older_programs(old, new, cases, live.add_result, live.log)


def _write_history(runs: ReleaseRuns, versions: list[str]) -> None:
    # One file at a time: releases differ in their environments, which a joined report would reject.
    answers = {version: answers_of_run(load_results([runs.path(version)]).runs[0]) for version in versions}
    changes = release_changes(answers)
    folder = runs.options.out / runs.backend
    write_output(folder / "history.json", json.dumps(history_json(runs.backend, answers), indent=1) + "\n")
    write_output(folder / "changes.md", changes_markdown(runs.backend, versions, changes))
    for one in changes:
        click.echo(f"{one.old_version} -> {one.new_version}: {one.surface} {one.case}: {one.old} -> {one.new}")
    click.echo(f"{len(versions)} releases, {len(changes)} changed answers: {folder / 'changes.md'}")


def _bisect(runs: ReleaseRuns, versions: list[str], surface: str, shown: Verbosity, *, resume: bool) -> None:
    def answer(version: str) -> str:
        _run_one(runs, version, shown, resume=resume)
        (run,) = load_results([runs.path(version)]).runs
        return next((text for (name, _), text in answers_of_run(run).items() if name == surface), "unsupported")

    found = first_changed(versions, answer)
    if found is None:
        click.echo(f"{versions[0]} and {versions[-1]} answer the same")
        return
    old, new, before, after = found
    click.echo(f"changed in {new}: {before} in {old}, {after} in {new}")
