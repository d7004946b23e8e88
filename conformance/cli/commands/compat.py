"""`conformance compat`: write the answers of releases as data, or add releases to such data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from packaging.version import InvalidVersion, Version

from conformance import ConformanceError, IncompleteRun
from conformance.cli.results_io import STANDARD_OUTPUT, load_results, results_files, write_output
from conformance.judging.release_answers import read_release_data
from reports.analysis.releases.history import release_data, release_data_json
from reports.analysis.releases.joined import JoinedRelease, join_release
from reports.results import BackendRun
from reports.results.vocabulary import WITH_PROGRAMS
from reports.views.release_markdown import release_page


@click.command("compat")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("-"), metavar="FILE", help="Output file.")
@click.option(
    "--onto",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Add the releases that are newer or older than all releases of this data. The file is not changed.",
)
@click.option(
    "--changes",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --onto: write the changed answers of the newer releases to this Markdown file.",
)
def compat_command(results: tuple[Path, ...], out: Path, onto: Path | None, page: Path | None) -> None:
    """Write the answers of releases as data.

    RESULTS are the files that `conformance history` has written for one backend, or their folder. The
    data has one record for each surface and case, with the range of releases of each answer. docs/compat/schema.json
    describes it.

    Example: conformance compat build/conformance/history/NAME --out docs/compat/NAME.json
    """
    if page and not onto:
        raise click.UsageError("--changes needs --onto")
    files = {label: run for path in results for label, run in map(_labelled_run, results_files(path))}
    runs = {new: run for (new, old), run in files.items() if not old}
    by_version = {version: runs[version] for version in sorted(runs, key=Version)}
    try:
        if onto:
            data = _joined(onto, by_version, page)
        else:
            data = release_data(by_version, {(old, new): run for (new, old), run in files.items() if old})
    except ValueError as error:
        raise ConformanceError(str(error)) from None
    text = release_data_json(data)
    if str(out) == STANDARD_OUTPUT:
        click.echo(text, nl=False)
    else:
        write_output(out, text)


def _joined(path: Path, runs: Mapping[str, BackendRun], page: Path | None) -> Mapping[str, Any]:
    """Return the data of a file with the releases that it can be extended by. Raises ConformanceError, ValueError."""
    read_release_data(path)  # raises ConformanceError for an invalid file
    data: Mapping[str, Any] = json.loads(path.read_bytes())
    oldest, newest = (Version(data["releases"][end]["version"]) for end in (0, -1))
    # The nearest release first, so that each one is compared with its neighbour.
    older = [version for version in reversed([*runs]) if Version(version) < oldest]
    newer = [version for version in runs if Version(version) > newest]
    added: list[JoinedRelease] = []
    for version in (*older, *newer):
        added.append(join_release(data, version, runs[version]))
        data = added[-1].data
    if page:
        write_output(page, release_page([one for one in added if one.version in newer], data["backend"]))
    for one in added:
        click.echo(f"{data['backend']} {one.version}: {len(one.changes)} changed answers of {one.compared}", err=True)
    if not added:
        click.echo(f"{data['backend']}: no release is newer than {newest} or older than {oldest}", err=True)
    return data


def _labelled_run(path: Path) -> tuple[tuple[str, str], BackendRun]:
    """Return a run with its release and the older release whose programs it has run, "" for its own programs."""
    # One file at a time: releases differ in their environments, which a joined report would reject.
    (run,) = load_results([path]).runs
    version, _, older = run.name.partition("@")[2].partition(WITH_PROGRAMS)
    try:
        Version(version)
    except InvalidVersion:
        raise ConformanceError(f"{path}: results of no release (`conformance history` writes them)") from None
    if not run.complete:
        raise IncompleteRun(f"{path}: incomplete results")
    return (version, older), run
