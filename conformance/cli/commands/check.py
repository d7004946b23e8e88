"""`conformance check` and `conformance freeze`: validate the catalogue, and record it in cases/lock.json."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.catalogue import loading
from conformance.catalogue.check import MAX_SHOWN_NAMES, CaseChecker, CheckCache, check_problems, read_lock
from conformance.catalogue.export_reader import damaged_files, is_export
from conformance.catalogue.freeze import changelog_path, check_version_form, freeze_catalogue
from conformance.cli.options import CACHE_OPTION, EXHAUSTIVE_OPTION, JOBS_OPTION, PATHS_ARGUMENT
from conformance.cli.progress import progress_bar, reading_progress
from conformance.judging import ledger
from conformance.system.error_lines import sort_errors
from reports.analysis.summary import count_text


@click.command()
@PATHS_ARGUMENT
@EXHAUSTIVE_OPTION
@CACHE_OPTION
@JOBS_OPTION
def check(paths: tuple[Path, ...], level: str, cache: bool, jobs: int | None) -> None:
    """Check that the catalogue or other case files are valid.

    PATHS are case files, folders of case files or exported catalogues. Every case is parsed, every expected result
    written in a case is compared with the reference, and the coverage of every sweep is verified. Without PATHS, the
    ledger and the digests in cases/lock.json are checked too; for each case that differs from the lock, the changed
    part is reported.

    Example: conformance check cases/pooling/max_pool.yaml
    """
    with reading_progress() as progress:
        cases, errors = loading.load_with_errors(paths, level=level, progress=progress)
    errors += [line for path in paths if is_export(path) for line in damaged_files(path)]
    # A case that cannot be read would be reported again, as missing from the catalogue, by the ledger and the lock.
    own = (
        {}
        if paths or errors
        else {"ledger": ledger.load_ledger(further=registry.external_ledgers()), "lock": read_lock()}
    )
    with progress_bar("check") as step:
        checker = CaseChecker(CheckCache() if cache else None, jobs, step)
        errors += check_problems(cases, **own, checker=checker)  # type: ignore[arg-type]
    if errors:
        raise ConformanceError("\n".join(sort_errors(dict.fromkeys(errors))))
    if not cases.cases:
        raise ConformanceError(f"{', '.join(map(str, paths))}: contains no cases")
    verb = "is" if len(cases.cases) == 1 else "are"
    click.echo(f"{count_text(len(cases.cases), 'case')} {verb} valid")


@click.command()
@click.option("--remove", is_flag=True, help="Remove ids from the lock that are no longer in the catalogue.")
@click.option("--change", is_flag=True, help="Update the lock for cases that changed since they were frozen.")
@click.option("--release", metavar="VERSION", help="Make a release of the catalogue, such as 1.4.0.")
@EXHAUSTIVE_OPTION
@CACHE_OPTION
@JOBS_OPTION
def freeze(  # noqa: PLR0917 - click gives the options by name
    remove: bool, change: bool, release: str | None, level: str, cache: bool, jobs: int | None
) -> None:
    """Record new cases in cases/lock.json.

    The added, removed and changed cases are listed. Ids and expected results of frozen cases are permanent, so review
    the changes before you commit them. A sweep whose factors have grown gets the additional rows that it needs; its
    frozen rows stay. If a frozen id is gone or its expected result has changed, nothing is written unless --remove or
    --change is given. A release adds a section to cases/CHANGELOG.md. The first number of its version must increase if
    cases were removed or changed, the second if cases were added.

    Example: conformance freeze && git diff cases/lock.json
    """
    if release is not None:
        check_version_form(release)  # before the work
    cases = loading.load_catalogue(extend=True, level=level)
    with progress_bar("freeze") as step:
        checker = CaseChecker(CheckCache() if cache else None, jobs, step)
        found = freeze_catalogue(cases, remove=remove, change=change, release=release, checker=checker)
    changed = [f"{name}: {what}" for name, what in found.changed.items()]
    for word, names in (("added", found.added), ("removed", found.removed), ("changed", changed)):
        _print_names(word, names)
    counts = f"{len(found.added)} added, {len(found.removed)} removed, {len(changed)} changed"
    click.echo(f"{count_text(len(cases.cases), 'case')} frozen: {counts}")
    if release is not None:
        click.echo(f"release {release}: {changelog_path()}")


def _print_names(word: str, names: Iterable[str]) -> None:
    names = list(names)
    for name in names[:MAX_SHOWN_NAMES]:
        click.echo(f"{word} {name}")
    if len(names) > MAX_SHOWN_NAMES:
        click.echo(f"{word} {len(names) - MAX_SHOWN_NAMES} more")
