"""`conformance check` and `conformance freeze`: whether the catalogue is sound, and what it is from now on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.catalogue import loading
from conformance.catalogue.check import MAX_SHOWN_NAMES, CaseChecker, CheckCache, check_problems, read_lock
from conformance.catalogue.export_reader import damaged_files, is_export
from conformance.catalogue.freeze import changelog_path, freeze_catalogue
from conformance.cli.options import CACHE_OPTION, EXHAUSTIVE_OPTION, JOBS_OPTION, PATHS_ARGUMENT
from conformance.cli.progress import progress_bar
from conformance.judging import ledger


@click.command()
@PATHS_ARGUMENT
@EXHAUSTIVE_OPTION
@CACHE_OPTION
@JOBS_OPTION
def check(paths: tuple[Path, ...], level: str, cache: bool, jobs: int | None) -> None:
    """Check the catalogue: every case, every pinned number, the cover of every sweep; or that of case files or exports.

    Without paths also the ledger and the frozen digests: whatever drifted is named, with what of it drifted.

    Example: conformance check cases/pooling/max_pool.yaml
    """
    cases, faults = loading.load_with_errors(paths, level=level)
    faults += [line for path in paths if is_export(path) for line in damaged_files(path)]
    # A case that cannot be read would be missing from the lock, and to the ledger.
    own = (
        {}
        if paths or faults
        else {"ledger": ledger.load_ledger(further=registry.external_ledgers()), "lock": read_lock()}
    )
    with progress_bar("check") as step:
        examiner = CaseChecker(CheckCache.load() if cache else None, jobs, step)
        faults += check_problems(cases, **own, checker=examiner)  # type: ignore[arg-type]
    if faults:
        raise ConformanceError("\n".join(loading.sort_errors(dict.fromkeys(faults))))
    if not cases.cases:
        raise ConformanceError(f"{', '.join(map(str, paths))}: no case in it")
    click.echo(f"{len(cases.cases)} cases are sound")


@click.command()
@click.option("--remove", is_flag=True, help="Drop the ids that are frozen and no longer in the catalogue.")
@click.option("--change", is_flag=True, help="Freeze anew what is not as it was frozen.")
@click.option("--release", metavar="VERSION", help="Make it a release of the catalogue, such as 1.4.0.")
@EXHAUSTIVE_OPTION
@CACHE_OPTION
@JOBS_OPTION
def freeze(  # noqa: PLR0917 - click gives the options by name
    remove: bool, change: bool, release: str | None, level: str, cache: bool, jobs: int | None
) -> None:
    """Add what is new in the catalogue to the lock, and say what changed. Ids and answers are for ever: look twice.

    Sweeps whose factors have grown get the rows that they need; those that are frozen stay. Nothing is written where
    a frozen id would go or its answer change, but with --remove and --change. A release gets a section in
    cases/CHANGELOG.md: its first number rises where something was removed or changed, the second where it was added.

    Example: conformance freeze && git diff cases/lock.json
    """
    cases = loading.load_catalogue(grow=True, level=level)
    with progress_bar("freeze") as step:
        examiner = CaseChecker(CheckCache.load() if cache else None, jobs, step)
        found = freeze_catalogue(cases, remove=remove, change=change, release=release, checker=examiner)
    changed = [f"{name}: {what}" for name, what in found.changed.items()]
    for word, names in (("added", found.added), ("removed", found.removed), ("changed", changed)):
        _print_names(word, names)
    counts = f"{len(found.added)} added, {len(found.removed)} removed, {len(changed)} changed"
    click.echo(f"{len(cases.cases)} cases frozen: {counts}")
    if release is not None:
        click.echo(f"release {release}: {changelog_path()}")


def _print_names(word: str, names: Iterable[str]) -> None:
    names = list(names)
    for name in names[:MAX_SHOWN_NAMES]:
        click.echo(f"{word} {name}")
    if len(names) > MAX_SHOWN_NAMES:
        click.echo(f"{word} {len(names) - MAX_SHOWN_NAMES} more")
