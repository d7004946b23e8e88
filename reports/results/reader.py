"""Read and validate results files and merge them into one report."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NoReturn, TypeVar

from reports.results.compatibility import (
    ResultsFileRun,
    check_same_cases,
    check_same_origin,
    check_unique,
    describe_mixture,
    raise_unreadable,
)
from reports.results.fields import Json, JsonFields, RecordError
from reports.results.lazy_cases import CaseFile, LazyCase
from reports.results.records import (
    RESULTS_FORMAT,
    CaseRecord,
    ConventionRecord,
    Footer,
    Header,
    ProgramRecord,
    ResultRecord,
    without_label,
)

CASE_LINE_PREFIX = b'{"record": "case", '  # first bytes of a case line written by the suite
CASE_DIGEST_BYTES = 16


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
    """

    backends: tuple[BackendRun, ...]
    mixture_notes: tuple[str, ...] = ()
    explorations: tuple[BackendRun, ...] = ()

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
        return len({name for backend in self.backends for name in backend.cases})


def load_report(paths: Iterable[str | Path], *, lazy: bool = False, allow_mixed: bool = False) -> Report:
    """Read results files, in any order, into one report.

    lazy: load only the fields of cases that summaries need, and read other fields from the files when they are used.
    allow_mixed: accept files with different catalogues or ledgers, with a note in the report, and separate explorations
    from runs of catalogue cases.
    Raises UnreadableResults with one line that contains file, line and reason.
    """
    shared: dict[bytes, CaseRecord] | None = None if lazy else {}
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


def _read_file(path: Path, shared: dict[bytes, CaseRecord] | None) -> BackendRun:
    """Read one file. shared: parsed cases of all files, by the digest of their lines; None to load cases lazily."""
    builder, number = RunBuilder(), 0
    try:
        with path.open("rb") as stream:
            case_file = CaseFile(stream) if shared is None else None
            for number, (offset, line) in enumerate(complete_lines(stream), 1):  # noqa: B007 - used in the error message
                added = builder.add(parse_line(line)) if shared is None else builder.add_line(line, shared)
                if case_file and isinstance(added, CaseRecord):
                    builder.cases[added.case] = LazyCase.of(added, case_file, offset, len(line))
    except OSError as error:
        raise_unreadable(path, None, f"cannot be read: {error.strerror}")
    except RecordError as error:
        raise_unreadable(path, number, str(error))
    if builder.header is None:
        raise_unreadable(path, 1, "missing header: the file is empty or was cut in its first line")
    return builder.build(builder.header)


def complete_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its offset in bytes. Omit a last line that an interrupted run did not finish."""
    offset = 0
    for line in stream:
        if not line.endswith(b"\n"):
            try:
                parse_line(line)
            except RecordError:
                return
        yield offset, line.removesuffix(b"\n")
        offset += len(line)


def parse_line(line: bytes) -> dict[str, Json]:
    """Return the record of a line. Raises RecordError."""
    try:
        record = json.loads(line.decode(), parse_constant=_reject_constant)
    except UnicodeDecodeError as error:
        raise RecordError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise RecordError(f"not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise RecordError("not readable JSON: nested too deeply") from error
    except ValueError as error:  # Python limits integers to 4,300 digits
        raise RecordError("not readable JSON: a number has too many digits") from error
    if not isinstance(record, dict):
        raise RecordError("not a JSON object")
    return record


def _reject_constant(name: str) -> NoReturn:
    raise RecordError(f'not JSON: {name} must be written as a string such as "nan"')


@dataclass
class RunBuilder:
    """Collect the records of one file and check each record against the earlier ones."""

    header: Header | None = None
    footer: Footer | None = None
    cases: dict[str, CaseRecord] = field(default_factory=dict)
    programs: dict[str, ProgramRecord] = field(default_factory=dict)
    results: dict[tuple[str, str], ResultRecord] = field(default_factory=dict)
    conventions: dict[tuple[str, str], ConventionRecord] = field(default_factory=dict)

    def add_line(self, line: bytes, shared: dict[bytes, CaseRecord]) -> CaseRecord | None:
        """Add a line; do not parse a case again that is in `shared`. Return the case if the line is a case."""
        shareable = line.startswith(CASE_LINE_PREFIX) and self.header is not None and self.footer is None
        digest = hashlib.blake2b(line, digest_size=CASE_DIGEST_BYTES).digest() if shareable else b""
        if digest in shared:
            return self.declare_case(shared[digest])
        case = self.add(parse_line(line))
        if shareable and case is not None:
            shared[digest] = case
        return case

    def add(self, record: dict[str, Json]) -> CaseRecord | None:
        """Add a record. Return the case if the record is a case."""
        fields = JsonFields(record)
        kind = fields.get("record", str)
        if self.header is None and kind != "header":
            raise RecordError(f"missing header: the first record is {kind!r}")
        if self.footer is not None:
            raise RecordError(f"the record {kind!r} follows the footer")
        if kind not in _RECORD_ADDERS:
            raise RecordError(f"unknown record {kind!r}")
        return _RECORD_ADDERS[kind](self, fields)

    def _add_header(self, fields: JsonFields) -> None:
        if self.header is not None:
            raise RecordError("a second header")
        version = fields.get("format", int)
        if version != RESULTS_FORMAT:
            raise RecordError(f"unknown format {version}, this version reads {RESULTS_FORMAT}")
        self.header = Header.parse(fields)

    def _add_case(self, fields: JsonFields) -> CaseRecord:
        return self.declare_case(CaseRecord.parse(fields))

    def declare_case(self, case: CaseRecord) -> CaseRecord:
        """Add a case. Raises RecordError if the file declares it twice."""
        if case.case in self.cases:
            raise RecordError(f"the case {case.case!r} is declared twice")
        self.cases[case.case] = case
        return case

    def _add_program(self, fields: JsonFields) -> None:
        program = ProgramRecord.parse(fields)
        self._check_surface(program.surface)
        self.programs[program.program] = program

    def _add_result(self, fields: JsonFields) -> None:
        result = ResultRecord.parse(fields)
        self._check_case(result.case)
        self._check_surface(result.surface)
        if (result.case, result.surface) in self.results:
            raise RecordError(f"a second result for the case {result.case!r} on {result.surface!r}")
        if result.program is not None and result.program not in self.programs:
            raise RecordError(f"the program {result.program!r} was never declared")
        self.results[result.case, result.surface] = result

    def _add_convention(self, fields: JsonFields) -> None:
        convention = ConventionRecord.parse(fields)
        self._check_case(convention.case)
        self._check_surface(convention.surface)
        key = (convention.case, convention.surface)
        if key in self.conventions:
            raise RecordError(f"a second answer to {convention.case!r} on {convention.surface!r}")
        self.conventions[key] = convention

    def _add_footer(self, fields: JsonFields) -> None:
        footer = Footer.parse(fields)
        counted = Counter(result.status for result in self.results.values())
        if footer.results != len(self.results):
            raise RecordError(f"the footer counts {footer.results} results, the file contains {len(self.results)}")
        if {status: count for status, count in footer.by_status.items() if count} != dict(counted):
            raise RecordError(f"the footer counts {footer.by_status}, the file contains {dict(counted)}")
        self.footer = footer

    def _check_case(self, case: str) -> None:
        if case not in self.cases:
            raise RecordError(f"the case {case!r} was never declared")

    def _check_surface(self, surface: str) -> None:
        if self.header is not None and surface not in self.header.surfaces:
            raise RecordError(f"the surface {surface!r} is not in the header")

    def build(self, header: Header) -> BackendRun:
        """Return the run. The label of the backend, if any, is appended to all surface names."""
        label = header.backend.removeprefix(without_label(header.backend))
        results, conventions = _with_label(self.results.values(), label), _with_label(self.conventions.values(), label)
        programs = _with_label(self.programs.values(), label)
        by_digest = {program.program: program for program in programs}
        return BackendRun(header.with_label(label), self.cases, by_digest, results, conventions, self.footer)


_SurfaceRecord = TypeVar("_SurfaceRecord", ProgramRecord, ResultRecord, ConventionRecord)


def _with_label(records: Iterable[_SurfaceRecord], label: str) -> tuple[_SurfaceRecord, ...]:
    """Add the label of a backend to the surface of each record."""
    return tuple(replace(one, surface=one.surface + label) for one in records) if label else tuple(records)


_RECORD_ADDERS: dict[str, Callable[[RunBuilder, JsonFields], CaseRecord | None]] = {
    "header": RunBuilder._add_header,
    "case": RunBuilder._add_case,
    "program": RunBuilder._add_program,
    "result": RunBuilder._add_result,
    "convention": RunBuilder._add_convention,
    "footer": RunBuilder._add_footer,
}
