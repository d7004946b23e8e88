"""`conformance since`: print which releases of a framework give an answer."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import click

from conformance import IncompleteRun
from conformance.adapters import registry
from conformance.cases.features.case_features import CaseFeatures
from conformance.catalogue import loading
from conformance.cli.lookup import check_surface_globs, find_case
from conformance.cli.options import SURFACE_GLOB_OPTION
from conformance.judging import ledger
from conformance.judging.release_answers import (
    CaseHistory,
    ReleaseData,
    read_release_data,
    release_data_files,
)
from conformance.judging.release_changes import grouped, groups_with_words, read_groups
from conformance.judging.release_findings import read_findings, records_of_finding


@click.command("since")
@click.argument("name")
@SURFACE_GLOB_OPTION
@click.option(
    "--data",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Data that `conformance compat` has written, instead of that of the suite. Repeatable.",
)
def since_command(name: str, surface_globs: tuple[str, ...], files: tuple[Path, ...]) -> None:
    """Print which releases give which answer.

    NAME is the id of a case, of a convention or of a ledger entry, the anchor of a section of the findings, or words of
    a change, such as 'ceil mode'. For words, the command prints the changes between releases whose descriptions contain
    them. The first release with an answer is the first one that was run; releases between two of them are unknown.

    Exit status: 2 unknown name; 3 no data about it.

    Example: conformance since 'ceil mode'
    """
    check_surface_globs(surface_globs)
    found = [read_release_data(path) for path in files or release_data_files()]
    lines = [line for data in found for line in since_lines(data, _named_records(data, name, surface_globs))]
    if not lines and not surface_globs:
        lines = [line for data in found for line in _change_lines(data, name)]
    if not lines:
        _check_name(name)
        known = ", ".join(sorted({data.backend for data in found})) or "none"
        raise IncompleteRun(f"{name}: no data about releases on the selected surfaces (backends with data: {known})")
    click.echo("\n".join(lines))


def _named_records(data: ReleaseData, name: str, surface_globs: Sequence[str]) -> list[CaseHistory]:
    """Return the records of a case, or of all cases of a convention, of a finding or of a ledger entry."""
    found = [one for one in data.records if name in (one.case, one.question)] or records_of_finding(data, name)
    entry = None if found else _ledger_entry(name)
    if entry:
        named = [one for one in data.records if entry.matches_surface(one.surface)]
        wanted, catalogue = {one.case for one in named}, loading.load_catalogue()
        cases = {case.id for case in catalogue.cases if case.id in wanted and entry.matches_case(CaseFeatures(case))}
        found = [one for one in named if one.case in cases]
    globs = surface_globs or ("*",)
    return [one for one in found if any(fnmatch.fnmatchcase(one.surface, glob) for glob in globs)]


def _change_lines(data: ReleaseData, text: str) -> Iterator[str]:
    """Yield a line for each group of changes that has the words of a text, and below it the first of its cases."""
    groups = read_groups(data.backend)
    chosen = groups_with_words(groups, text)
    changes = grouped(data, groups) if chosen else {}
    for number, group in enumerate(groups):
        if group in chosen:
            yield f"{data.backend} {group.releases}  {group.class_}: {group.change}"
            yield f"  conformance since {changes[number][0].record.case}"


def _ledger_entry(name: str) -> ledger.LedgerEntry | None:
    if "/" in name:  # an id of a case
        return None
    entries = ledger.load_ledger(further=registry.external_ledgers()).entries
    return next((entry for entry in entries if entry.id == name), None)


def _check_name(name: str) -> None:
    """Raise ConformanceError if there is no such case, convention, finding or ledger entry."""
    if _ledger_entry(name) is None and name not in {one.name for one in read_findings()}:
        find_case([], name)


def since_lines(data: ReleaseData, records: Iterable[CaseHistory]) -> Iterator[str]:
    """Yield lines: each case, below it its surfaces, and below them the ranges of releases with their answers."""
    shown: str | None = None
    for record in sorted(records, key=lambda one: (one.case, one.surface)):
        if record.case != shown:
            shown = record.case
            yield shown
        yield f"  {record.surface}"
        width = max(len(span.releases_text) for span in record.ranges)
        answers = max(len(span.answer) for span in record.ranges)
        for span in record.ranges:
            yield f"    {span.releases_text:<{width}}  {span.answer:<{answers}}  {span.evidence.observed}".rstrip()
        yield from _program_notes(record)
    if shown is not None:
        platforms = dict.fromkeys(one.platform or data.platform for one in data.releases)
        for name in platforms:
            versions = [one.version for one in data.releases if (one.platform or data.platform) == name]
            yield f"releases run on {name}: {', '.join(versions)}"


def _program_notes(record: CaseHistory) -> Iterator[str]:
    for old, new in pairwise(record.ranges):
        first, before = new.run[0], old.run[-1]
        if new.evidence.cause == "program":
            yield f"    {first} ran another program than {before}. It gives another answer to the program of {before}"
        elif new.evidence.cause == "unknown":
            yield f"    {first} ran another program than {before}, which may cause the change"
