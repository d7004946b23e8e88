"""`conformance ledger`: list the known deviations, and propose an entry for failures of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import click
from packaging.version import InvalidVersion, Version

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api import without_label
from conformance.cases.features.case_features import CaseFeatures
from conformance.catalogue import loading
from conformance.catalogue.loading import Catalogue
from conformance.cli.failures import Failures, failure_kind, matching_failures
from conformance.cli.options import CASES_OPTION
from conformance.cli.parameter_types import SURFACE_NAME
from conformance.cli.results_io import load_given_or_latest
from conformance.judging import ledger, ledger_entry
from conformance.judging.ledger import Ledger
from conformance.judging.ledger_entry import LedgerEntryDraft
from reports.results import Report, ResultRecord

MAX_OBSERVED_LENGTH = 160
"""Maximum length in characters of an error message in the key `observed`."""


@click.group("ledger", invoke_without_command=True)
@CASES_OPTION
@click.pass_context
def ledger_group(context: click.Context, paths: tuple[Path, ...]) -> None:
    """List the known deviations of backends.

    Each line has the id of a ledger entry, the number of cases that it applies to, and its surfaces.

    Example: conformance ledger
    """
    if context.invoked_subcommand:
        return
    full = _full_ledger()
    width = max((len(entry.id) for entry in full.entries), default=0)
    for entry, matched in full.matched_cases(loading.load_catalogue(paths).cases):
        click.echo(f"{entry.id:<{width}}  {_count_text(len(matched), 'case'):>11}  {', '.join(entry.surfaces)}")


def _check_reason(_context: click.Context, option: click.Parameter, reason: str) -> str:
    """Return the reason. Raises BadParameter before any file is read if it is too short."""
    if len(reason.strip()) < ledger_entry.MIN_REASON_LENGTH:
        limit = f"a sentence of at least {ledger_entry.MIN_REASON_LENGTH} characters that says why the backend differs"
        raise click.BadParameter(f"{reason!r} is not {limit}", param=option)
    return reason


@ledger_group.command()
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@CASES_OPTION
@click.option(
    "--case",
    "globs",
    multiple=True,
    required=True,
    metavar="GLOB",
    help="Failing cases whose id matches. Repeatable.",
)
@click.option(
    "--surface",
    "surfaces",
    multiple=True,
    type=SURFACE_NAME,
    metavar="GLOB",
    help="Only failures on these surfaces. Repeatable.",
)
@click.option(
    "--reason",
    required=True,
    metavar="TEXT",
    callback=_check_reason,
    help=f"Why the backend differs, for readers of the report: a sentence of at least {ledger_entry.MIN_REASON_LENGTH} "
    "characters.",
)
@click.option("--issue", metavar="URL", help="URL of the upstream issue.")
@click.option("--id", "name", metavar="ID", help="Id of the entry. [default: from surface, operator and kind]")
@click.option("--observed", metavar="TEXT", help="Result of the backend. [default: from the worst result]")
@click.option("--write", is_flag=True, help="Append the entry to the ledger file.")
def add(  # noqa: PLR0917 - click passes the options by name
    results: tuple[Path, ...],
    paths: tuple[Path, ...],
    globs: tuple[str, ...],
    surfaces: tuple[str, ...],
    reason: str,
    issue: str | None,
    name: str | None,
    observed: str | None,
    write: bool,
) -> None:
    """Print a ledger entry for failures of a run.

    The selector of the entry covers the failures with the fewest conditions, and covers no passing case. The failures
    may be of several kinds, which the entry then lists. Find out why the backend differs before you record the failure
    as known; --reason is printed in reports. Without RESULTS, all files of build/conformance/results are read.

    Example: conformance ledger add --case 'pad/*' --surface 'numpy.*' --reason 'It ignores the value and pads with 0.'
    """
    cases, deviations, report = loading.load_catalogue(paths), _full_ledger(), load_given_or_latest(results)
    _check_results(report, cases)
    failures = matching_failures(report, cases, deviations, globs, surfaces or ("*",))
    draft, notes = _draft_entry(failures, cases, name or _entry_id(failures, deviations), reason, issue, observed)
    file = _ledger_file(failures)
    text = ledger_entry.append_entry(file, draft, first=file != ledger.ledger_path())
    if write:
        ledger_entry.write_ledger(file, text)
        notes.append(f"written to {file}")
    click.echo(draft.text(), nl=False)
    for note in notes:
        click.echo(note, err=True)


def _full_ledger() -> Ledger:
    """Return the ledger with the entries of installed backend packages."""
    return ledger.load_ledger(further=registry.external_ledgers())


def _ledger_file(failures: Failures) -> Path:
    """Return the file that an entry belongs to: that of the backend's own package, or the suite's ledger."""
    names = {without_label(backend.name) for backend in failures.backends}
    paths = {registry.get_backend(name).ledger for name in names if name in registry.backend_names()}
    return (paths.pop() if len(paths) == 1 else None) or ledger.ledger_path()


def _check_results(report: Report, cases: Catalogue) -> None:
    """Raise ConformanceError for results that cannot justify an entry: incomplete runs, or runs of other cases."""
    for backend in report.backends:
        if not backend.complete:
            raise IncompleteRun(
                f"backend {backend.name}: the run is incomplete; `conformance run --resume` completes it"
            )
        if backend.header.catalogue.digest != cases.digest:
            raise ConformanceError(f"backend {backend.name}: the run used another catalogue; run it again")


def _draft_entry(  # noqa: PLR0917 - three of them are texts of the user
    failures: Failures, cases: Catalogue, name: str, reason: str, issue: str | None, observed: str | None
) -> tuple[LedgerEntryDraft, list[str]]:
    """Return the entry, and notes for its author."""
    agreeing = {case for case, _ in failures.agreeing_results}
    not_run = [case for case in cases.cases if case.id not in failures.cases_run]
    selector = ledger_entry.smallest_selector(
        [cases.by_id[case] for case in failures.cases], [cases.by_id[case] for case in sorted(agreeing)], not_run
    )
    versions, notes = _version_specifiers(failures)
    draft = LedgerEntryDraft(
        id=name,
        surfaces=failures.surfaces,
        kinds=failures.kinds,
        reason=reason,
        observed=observed or _observed_text(failures.results, cases),
        # If no selector separates the failures from passing cases, the entry lists the case ids.
        selector=selector or {},
        cases=() if selector else failures.cases,
        versions=versions,
        device=sorted({backend.header.environment.device for backend in failures.backends}),
        issue=issue,
    )
    return draft, [*notes, *_kinds_note(failures), *_coverage_note(draft, failures, cases)]


def _kinds_note(failures: Failures) -> list[str]:
    """Return a note with an example of each kind, if there are several."""
    examples = {failure_kind(one): one for one in reversed(failures.results)}
    texts = [f"{kind} ({one.case} on {one.surface})" for kind, one in sorted(examples.items())]
    if len(texts) == 1:
        return []
    return [f"kinds: {', '.join(texts)}; if their reasons differ, add one entry for each with --case or --surface"]


def _version_specifiers(failures: Failures) -> tuple[dict[str, str], list[str]]:
    """Return a specifier for each version that was run, which allows its minor version and patches, and notes."""
    if len(failures.backends) > 1:
        return {}, ["versions: omitted, because the surfaces belong to several backends"]
    (backend,) = failures.backends
    packages = backend.header.environment.packages
    heads = {surface.split(".")[0] for surface in failures.surfaces}
    versions = {}
    for package in sorted(heads & packages.keys()) or [without_label(backend.name)]:
        try:
            major, minor = (*Version(packages.get(package, "")).release, 0)[:2]
        except InvalidVersion:
            return {}, [f"versions: omitted, because the version of {package} is unknown"]
        versions[package] = f">={major}.{minor},<{major}.{minor + 1}"
    tested = ", ".join(f"{package} {packages[package]}" for package in versions)
    return versions, [f"versions: the tested minor version ({tested}); extend them only to versions that you tested"]


def _coverage_note(draft: LedgerEntryDraft, failures: Failures, cases: Catalogue) -> list[str]:
    """Return a note with the number of covered failures, and of matching cases without a result."""
    entry = ledger.LedgerEntry(draft.id, tuple(draft.cases), ("*",), (), "", selector=draft.selector)
    others = [
        case.id for case in cases.cases if case.id not in failures.cases_run and entry.matches_case(CaseFeatures(case))
    ]
    covered = (
        f"covers {_count_text(len(failures.cases), 'failing case')} on {_count_text(len(failures.surfaces), 'surface')}"
    )
    return [
        f"{covered}, and matches {_count_text(len(others), 'case')} without a result, such as {others[0]}"
        if others
        else covered
    ]


def _count_text(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _observed_text(results: Sequence[ResultRecord], cases: Catalogue) -> str:
    """Return the observed result of the smallest failing case: its worst element, or its message."""
    result = min(results, key=lambda one: sum(math.prod(spec.shape) for spec in cases.by_id[one.case].inputs.values()))
    if result.worst:
        position = f"at {list(result.worst.index)} of {result.case}"
        return f"{result.worst.got} instead of {result.worst.expected}, {position}"
    text = " ".join((result.message or failure_kind(result)).split())
    return f"{text if len(text) <= MAX_OBSERVED_LENGTH else text[:MAX_OBSERVED_LENGTH] + '…'} ({result.case})"


def _entry_id(failures: Failures, deviations: Ledger) -> str:
    """Return an unused id for the entry, made of the package of the surfaces, the operator and the kinds."""
    words = [failures.surfaces[0].split(".")[0], failures.cases[0].split("/")[0], *failures.kinds]
    name, taken = "-".join(words).replace("_", "-"), {entry.id for entry in deviations.entries}
    return next(free for free in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if free not in taken)
