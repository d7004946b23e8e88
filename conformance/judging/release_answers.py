"""Answers of old releases of a framework, from the files in docs/compat, and ledger entries that contradict them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.cases.case import Case
from conformance.cases.schema import PACKAGE
from conformance.judging.ledger import Ledger, LedgerEntry
from reports.results.vocabulary import DifferenceKind, Outcome, Verdict

SCHEMA_FILE = "schema.json"
FINDINGS_FILE = "findings.json"
ANSWERS_OF_NO_RESULT = (Outcome.CRASHED, Outcome.TIMED_OUT)
CONVENTION_KINDS: frozenset[str] = frozenset({DifferenceKind.CONVENTION, DifferenceKind.CHANGED})
REJECTED_WRONGLY = f"{Outcome.REJECTED}, {Verdict.DIFFER}"
MISSING_FUNCTION = "AttributeError"
"""The error of a program that calls a function which the release lacks."""


@dataclass(frozen=True)
class Release:
    """A release that was run. packages: its version and those of other packages; started: time of the run.

    platform, cpu: of the machine that ran it; None if it is that of the data.
    """

    version: str
    started: str
    python: str
    packages: Mapping[str, str]
    platform: str | None = None
    cpu: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Evidence:
    """What the oldest release of a range returned or raised.

    observed: "" if it agrees with the expected result. cause: "release" if the release gives the answer to the program
    of the release before it too, "program" if it gives another answer to that program, "unknown" if the programs differ
    and this was not run, None if the release before it has no answer or was not run.
    """

    release: str
    observed: str
    cause: Literal["release", "program", "unknown"] | None


@dataclass(frozen=True)
class AnswerRange:
    """Neighbouring releases with one answer.

    version_added: the first release with the answer, None if the oldest release that was run has it already;
    version_removed: the first release without it, None if the newest one has it; run: the releases that were run.
    """

    answer: str
    version_added: str | None
    version_removed: str | None
    run: tuple[str, ...]
    evidence: Evidence

    @property
    def releases_text(self) -> str:
        """The first and the last release that were run."""
        return self.run[0] if len(self.run) == 1 else f"{self.run[0]} to {self.run[-1]}"

    @property
    def lacks_function(self) -> bool:
        """Whether the program ends because the release lacks a function that it calls."""
        return MISSING_FUNCTION in self.evidence.observed

    def differences(self, declared: str | None) -> frozenset[str]:
        """Return the kinds of difference that a ledger entry may give for the answer, none if it agrees.

        declared: the declared answer to a convention; None for a case with an expected result.
        """
        word, _, kind = self.answer.partition(" ")
        if self.answer in ANSWERS_OF_NO_RESULT:
            return frozenset({self.answer})
        if declared is not None:
            return frozenset() if self.answer == declared else CONVENTION_KINDS
        if word == Verdict.DIFFER:
            return frozenset({kind})
        return frozenset({DifferenceKind.REJECTED}) if self.answer == REJECTED_WRONGLY else frozenset()


def ranges_text(ranges: Iterable[AnswerRange]) -> str:
    """Return one text for all ranges of a case, such as "1.15.1 to 1.20.1: whole-window; 1.21.1: padding-alone"."""
    return "; ".join(f"{one.releases_text}: {one.answer}" for one in ranges)


@dataclass(frozen=True)
class CaseHistory:
    """The answers of all releases to one case on one surface.

    question: id of the convention that the case observes; digest: the digest of the case in cases/lock.json.
    """

    surface: str
    case: str
    question: str | None
    digest: str
    ranges: tuple[AnswerRange, ...]


@dataclass(frozen=True)
class CatalogueVersion:
    """Version and digest of the cases that were run."""

    version: str
    digest: str


@dataclass(frozen=True)
class ReleaseData:
    """Answers of the releases of one backend, oldest first.

    platform, cpu: of the machine that ran them, except those that have a platform and a processor themselves.
    """

    backend: str
    catalogue: CatalogueVersion
    platform: str
    cpu: tuple[str, ...]
    releases: tuple[Release, ...]
    records: tuple[CaseHistory, ...]

    def cpu_of(self, release: Release) -> tuple[str, ...]:
        """Return the instruction sets of the processor that ran a release."""
        return self.cpu if release.cpu is None else release.cpu


class _StoredRange(msgspec.Struct, frozen=True):
    """A range as in a file: without the releases that were run, which follow from the first and the last one."""

    answer: str
    version_added: str | None = None
    version_removed: str | None = None
    observed: str = ""
    cause: Literal["release", "program", "unknown"] | None = None

    def with_releases(self, versions: Sequence[str]) -> AnswerRange:
        """Return the range. versions: of all releases, oldest first. Raises ValueError if they lack one of its ends."""
        start = 0 if self.version_added is None else versions.index(self.version_added)
        end = len(versions) if self.version_removed is None else versions.index(self.version_removed)
        if start >= end:
            raise ValueError(f"the range from {self.version_added} to {self.version_removed} has no release")
        evidence = Evidence(versions[start], self.observed, self.cause)
        run = tuple(versions[start:end])
        return AnswerRange(self.answer, self.version_added, self.version_removed, run, evidence)


class _StoredCase(msgspec.Struct, frozen=True):
    surface: str
    case: str
    digest: str
    ranges: tuple[_StoredRange, ...]
    question: str | None = None


class _StoredData(msgspec.Struct, frozen=True):
    """A file, see docs/compat/schema.json."""

    format: Literal[2]
    backend: str
    catalogue: CatalogueVersion
    platform: str
    cpu: tuple[str, ...]
    releases: tuple[Release, ...]
    records: tuple[_StoredCase, ...]

    def data(self) -> ReleaseData:
        """Return the data. Raises ValueError for a range of unknown releases."""
        versions = [release.version for release in self.releases]
        records = [
            CaseHistory(
                one.surface, one.case, one.question, one.digest, tuple(x.with_releases(versions) for x in one.ranges)
            )
            for one in self.records
        ]
        return ReleaseData(self.backend, self.catalogue, self.platform, self.cpu, self.releases, tuple(records))


def release_data_folder() -> Path:
    """Return the folder of the data: in the package if installed, in the repository if in a checkout."""
    installed = PACKAGE / "_compat"
    return installed if installed.is_dir() else PACKAGE.parent / "docs" / "compat"


def release_data_files() -> list[Path]:
    """Return the files of the data, one for each backend."""
    return sorted(
        path for path in release_data_folder().glob("*.json") if path.name not in {SCHEMA_FILE, FINDINGS_FILE}
    )


def read_release_data(path: Path) -> ReleaseData:
    """Read a file of release data. Raises ConformanceError with one line."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_StoredData).data()
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ConformanceError(f"{path}: not release data: {error}") from None


def contradicted_entries(ledger: Ledger, found: Iterable[ReleaseData], cases: Mapping[str, Case]) -> Iterator[str]:
    """Yield a message for each ledger entry whose versions include a release that did not differ as the entry says.

    cases: by id. A convention is compared with the declared answer. One without a declaration is not compared.
    """
    for data in found:
        surfaces = {surface.name: surface for surface in registry.get_backend(data.backend).surfaces}
        own = Ledger(tuple(one for one in ledger.entries if any(map(one.matches_surface, surfaces))))
        problems: dict[str, str] = {}
        for record in data.records:
            case, surface = cases.get(record.case), surfaces.get(record.surface)
            declaration = surface.declarations.get(record.question) if surface and record.question else None
            if case is None or (record.question and declaration is None):
                continue
            for entry, span, release in _entries_of_releases(own, data, record, case):
                cpu = data.cpu_of(release)
                declared = declaration.for_processor(cpu).for_case(case.id).answer if declaration else None
                if not span.differences(declared) & {*entry.kinds}:
                    where = f"{record.case} on {record.surface} in {data.backend} {release.version}"
                    text = f"key 'versions': {where} gives the answer {span.answer!r}"
                    problems.setdefault(entry.id, f"{entry.location}: entry {entry.id}: {text}")
        yield from problems.values()


def _entries_of_releases(
    ledger: Ledger, data: ReleaseData, record: CaseHistory, case: Case
) -> Iterator[tuple[LedgerEntry, AnswerRange, Release]]:
    """Yield the entry that applies to each release, if any, with the range of the release.

    A release that lacks a function says nothing about the result of a call.
    """
    ranges = {version: span for span in record.ranges for version in span.run}
    for release in data.releases:
        entry = ledger.find_entry(case, record.surface, release.packages, data.cpu_of(release))
        span = ranges.get(release.version)
        if entry and not entry.is_flaky and span and not span.lacks_function:
            yield entry, span, release
