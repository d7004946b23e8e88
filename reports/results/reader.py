"""Read and validate results files and merge them into one report."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from msgspec.json import Decoder
from msgspec.structs import replace

from reports.results.compatibility import (
    ResultsFileRun,
    UnreadableResults,
    check_same_cases,
    check_same_origin,
    check_unique,
    describe_mixture,
)
from reports.results.consistency import RecordChecks
from reports.results.files import open_regular
from reports.results.json_structs import RecordError, decode
from reports.results.lazy_cases import CaseFile, LazyCase
from reports.results.records import (
    AnyRecord,
    CaseRecord,
    ConventionRecord,
    Footer,
    Header,
    ProgramRecord,
    ResultRecord,
    decode_line,
    without_label,
)

MAX_RECORD_BYTES = 1 << 28
"""Maximum length of a line. Values of large arrays are not recorded, so that lines are much shorter."""
_ANY_JSON: Decoder[object] = Decoder()


@dataclass(frozen=True)
class BackendRun:
    """The run of one backend: the content of one results file.

    If the backend has a label, as in "numpy@old", its surfaces have it too. Views then distinguish two versions of one
    framework.
    """

    header: Header
    cases: Mapping[str, CaseRecord]
    programs: Mapping[str, ProgramRecord]
    results: Collection[ResultRecord]
    conventions: tuple[ConventionRecord, ...]
    footer: Footer | None

    @property
    def name(self) -> str:
        """The backend's name, with its label."""
        return self.header.backend

    @property
    def complete(self) -> bool:
        """Whether the run finished."""
        return self.footer is not None

    @property
    def version(self) -> str | None:
        """Version of the package with the name of the backend or its first part; else None.

        A backend "NAME-ENGINE" has the version of the package "NAME".
        """
        packages, own = self.header.environment.packages, without_label(self.name)
        return (
            packages.get(own)
            or packages.get(own.partition("-")[0])
            or next((version for name, version in sorted(packages.items()) if name.startswith(f"{own}-")), None)
        )


@dataclass(frozen=True)
class Report:
    """The runs of several backends, sorted by name.

    mixture_notes: sentences about files with different catalogues or ledgers.
    explorations: runs of `conformance explore`, if shown separately, because their cases are not in a catalogue.
    case_count: number of cases, if some are only counted.
    """

    backends: tuple[BackendRun, ...]
    mixture_notes: tuple[str, ...] = ()
    explorations: tuple[BackendRun, ...] = ()
    case_count: int | None = None

    @property
    def runs(self) -> tuple[BackendRun, ...]:
        """All runs; runs of catalogue cases first."""
        return (*self.backends, *self.explorations)

    @property
    def results(self) -> Iterator[ResultRecord]:
        """All results by backend, in the order of the files."""
        return (result for backend in self.backends for result in backend.results)

    @property
    def surfaces(self) -> tuple[str, ...]:
        """All surfaces, in the order of the adapters."""
        return tuple(surface for backend in self.backends for surface in backend.header.surfaces)

    def case(self, name: str) -> CaseRecord:
        """Return a case by its id."""
        return next(backend.cases[name] for backend in self.backends if name in backend.cases)

    @property
    def cases(self) -> dict[str, CaseRecord]:
        """All cases, sorted by id."""
        merged = {name: case for backend in self.backends for name, case in backend.cases.items()}
        return dict(sorted(merged.items()))

    @property
    def size(self) -> int:
        """Number of cases."""
        if self.case_count is not None:
            return self.case_count
        return len({name for backend in self.backends for name in backend.cases})


def load_report(paths: Iterable[str | Path], *, lazy: bool = False, allow_mixed: bool = False) -> Report:
    """Read results files, in any order, into one report.

    lazy: load only the fields of cases that summaries need, and read other fields from the files when they are used.
    allow_mixed: accept files with different catalogues or ledgers, with a note in the report, and separate explorations
    from runs of catalogue cases.
    Raises UnreadableResults with one line that contains file, line and reason.
    """
    shared: dict[str, CaseRecord] | None = None if lazy else {}
    return merge_runs(((Path(path), _read_file(Path(path), shared)) for path in paths), allow_mixed=allow_mixed)


def merge_runs(read: Iterable[tuple[Path, BackendRun]], *, allow_mixed: bool = False) -> Report:
    """Merge the runs of several files into one report. Raises UnreadableResults for incompatible files."""
    all_runs = sorted(read, key=lambda run: run[1].name)
    ran = [run for run in all_runs if not (allow_mixed and run[1].header.explored)]
    explored = [run for run in all_runs if allow_mixed and run[1].header.explored]
    runs, others = ([ResultsFileRun(path, one.header, one.cases) for path, one in some] for some in (ran, explored))
    for group in (runs, others):
        check_unique(group)
    if not allow_mixed:
        check_same_origin(runs)
    check_same_cases([*runs, *others])
    return Report(
        tuple(backend for _, backend in ran), describe_mixture(runs), tuple(backend for _, backend in explored)
    )


def _read_file(path: Path, shared: dict[str, CaseRecord] | None) -> BackendRun:
    """Read one file. shared: cases of all files by id; None to load cases lazily."""
    try:
        with open_regular(path) as stream:
            builder = RunBuilder(shared, CaseFile(stream) if shared is None else None)
            for line in read_records(path, stream, builder.checks):
                builder.collect(line.record, line.offset, line.length)
    except OSError as error:
        raise UnreadableResults(path, None, f"cannot be read: {error.strerror}") from None
    return builder.build()


def read_header(path: Path) -> Header:
    """Read the header of a results file. Raises UnreadableResults if its first line is not one."""
    checks = RecordChecks()
    try:
        with open_regular(path) as stream:
            next(read_records(path, stream, checks))
    except OSError as error:
        raise UnreadableResults(path, None, f"cannot be read: {error.strerror}") from None
    assert checks.header is not None  # noqa: S101 - the first record of a file is its header
    return checks.header


class RecordLine(NamedTuple):
    """A record and its line. offset, length: of the line in the file, in bytes, without the newline."""

    record: AnyRecord
    offset: int
    length: int


def read_records(
    path: Path, stream: IO[bytes], checks: RecordChecks, *, allow_empty: bool = False
) -> Iterator[RecordLine]:
    """Yield all records of a results file after they have been added to the checks.

    Raises UnreadableResults for a line that is not a record or not valid after the lines before it, and for a file
    without a header. path: used in error messages. allow_empty: accept a file without a complete line.
    """
    for number, (offset, line) in enumerate(complete_lines(stream), 1):
        try:
            record = decode_line(line)
            checks.add(record)
        except RecordError as error:
            raise UnreadableResults(path, number, str(error)) from None
        yield RecordLine(record, offset, len(line))
    if checks.header is None and not allow_empty:
        raise UnreadableResults(path, 1, "missing header: the file is empty or was cut in its first line")


def complete_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its offset in bytes. Omit a last line that an interrupted run did not finish.

    Raises OSError for a line of more than MAX_RECORD_BYTES.
    """
    offset = 0
    while line := stream.readline(MAX_RECORD_BYTES + 1):
        if len(line) > MAX_RECORD_BYTES:
            raise OSError(errno.EFBIG, f"a line is longer than {MAX_RECORD_BYTES:,} bytes")
        if not line.endswith(b"\n"):
            try:
                decode(line, _ANY_JSON)
            except RecordError:
                return
        yield offset, line.removesuffix(b"\n")
        offset += len(line)


@dataclass
class RunBuilder:
    """Collect the records of one file.

    shared: cases of all files by id, so that equal cases are stored once. case_file: the file, if cases are to be read
    from it when they are used.
    """

    shared: dict[str, CaseRecord] | None = None
    case_file: CaseFile | None = None
    checks: RecordChecks = field(default_factory=RecordChecks)
    cases: dict[str, CaseRecord] = field(default_factory=dict)
    programs: list[ProgramRecord] = field(default_factory=list)
    results: list[ResultRecord] = field(default_factory=list)
    conventions: list[ConventionRecord] = field(default_factory=list)

    def add(self, record: AnyRecord, offset: int = 0, length: int = 0) -> None:
        """Check and collect a record. Raises RecordError. offset, length: of its line, to read a case again."""
        self.checks.add(record)
        self.collect(record, offset, length)

    def collect(self, record: AnyRecord, offset: int = 0, length: int = 0) -> None:
        """Collect a record that has been checked."""
        if isinstance(record, ResultRecord):
            self.results.append(record)
        elif isinstance(record, CaseRecord):
            self.cases[record.case] = self._stored_case(record, offset, length)
        elif isinstance(record, ProgramRecord):
            self.programs.append(record)
        elif isinstance(record, ConventionRecord):
            self.conventions.append(record)

    def _stored_case(self, case: CaseRecord, offset: int, length: int) -> CaseRecord:
        if self.case_file:
            return LazyCase(case, self.case_file, offset, length)
        known = case if self.shared is None else self.shared.setdefault(case.case, case)
        return known if known == case else case

    @property
    def header(self) -> Header:
        """The header, which must have been added."""
        assert self.checks.header is not None  # noqa: S101 - read_records requires it
        return self.checks.header

    def build(self) -> BackendRun:
        """Return the run. The label of the backend, if any, is appended to all surface names."""
        header = self.header
        label = header.backend.removeprefix(without_label(header.backend))
        programs = {program.program: program for program in _with_label(self.programs, label)}
        results, conventions = _with_label(self.results, label), _with_label(self.conventions, label)
        return BackendRun(header.with_label(label), self.cases, programs, results, conventions, self.checks.footer)


_SurfaceRecord = TypeVar("_SurfaceRecord", ProgramRecord, ResultRecord, ConventionRecord)


def _with_label(records: Iterable[_SurfaceRecord], label: str) -> tuple[_SurfaceRecord, ...]:
    """Add the label of a backend to the surface of each record."""
    return tuple(replace(one, surface=one.surface + label) for one in records) if label else tuple(records)
