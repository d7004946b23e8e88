"""Read results files and merge them into one report; refuse what is not sound, naming file and line."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NoReturn, TypeVar

from reports.results.compatibility import Run, join, refuse, refuse_mixed, refuse_other_cases, refuse_twins
from reports.results.fields import Fields, Json, RecordError
from reports.results.lazy_cases import Shelf, Shelved
from reports.results.records import FORMAT, Case, Convention, Footer, Header, Program, Result, plain

CASE = b'{"record": "case", '  # how the suite begins the line of a case
DIGEST = 16  # bytes


@dataclass(frozen=True)
class Backend:
    """One backend's run: what one results file holds.

    Where the run has given the backend a label, "numpy@old", its surfaces bear it too, so that no view mixes up two
    versions of one framework.
    """

    header: Header
    cases: Mapping[str, Case]
    programs: Mapping[str, Program]
    results: Collection[Result]
    conventions: tuple[Convention, ...]
    footer: Footer | None

    @property
    def name(self) -> str:
        """The backend's name, with its label."""
        return self.header.backend

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.footer is not None

    @property
    def version(self) -> str | None:
        """Version of the package that bears the backend's name, or its first word; None where there is none."""
        packages, own = self.header.environment.packages, plain(self.name)
        return (
            packages.get(own)
            or packages.get(own.partition("-")[0])
            or next((version for name, version in sorted(packages.items()) if name.startswith(f"{own}-")), None)
        )


@dataclass(frozen=True)
class Report:
    """All that the views show: the runs of several backends, sorted by name; mixed: what does not go together.

    explored: what explorations left, where that is shown apart: their cases are of no catalogue.
    """

    backends: tuple[Backend, ...]
    mixed: tuple[str, ...] = ()
    explored: tuple[Backend, ...] = ()

    @property
    def runs(self) -> tuple[Backend, ...]:
        """Every run, those of a catalogue first."""
        return (*self.backends, *self.explored)

    @property
    def results(self) -> Iterator[Result]:
        """Every result, backend by backend, in the order it was written."""
        return (result for backend in self.backends for result in backend.results)

    @property
    def surfaces(self) -> tuple[str, ...]:
        """Every surface, in its adapter's order."""
        return tuple(surface for backend in self.backends for surface in backend.header.surfaces)

    def case(self, name: str) -> Case:
        """Return a case by its id."""
        return next(backend.cases[name] for backend in self.backends if name in backend.cases)

    @property
    def cases(self) -> dict[str, Case]:
        """Every case once, sorted by id."""
        merged = {name: case for backend in self.backends for name, case in backend.cases.items()}
        return dict(sorted(merged.items()))

    @property
    def size(self) -> int:
        """How many cases there are."""
        return len({name for backend in self.backends for name in backend.cases})


def load(paths: Iterable[str | Path], *, shelved: bool = False, mixed: bool = False) -> Report:
    """Read results files, in any order, into one report.

    shelved: whether of each case only what a summary asks of all is kept, and the rest read again where it is asked
    for. mixed: whether runs of different catalogues or ledgers are joined, as the report then says, or refused, and
    explorations kept apart from runs of a catalogue.
    Raises UnreadableResults with one line that names file, line and reason.
    """
    shared: dict[bytes, Case] | None = None if shelved else {}
    return merged(((Path(path), _read(Path(path), shared)) for path in paths), mixed=mixed)


def merged(read: Iterable[tuple[Path, Backend]], *, mixed: bool = False) -> Report:
    """Return what several files hold as one report. Raises UnreadableResults for files that do not go together."""
    found = sorted(read, key=lambda run: run[1].name)
    ran = [run for run in found if not (mixed and run[1].header.explored)]
    explored = [run for run in found if mixed and run[1].header.explored]
    runs, others = ([Run(path, one.header, one.cases) for path, one in some] for some in (ran, explored))
    for some in (runs, others):
        refuse_twins(some)
    if not mixed:
        refuse_mixed(runs)
    refuse_other_cases([*runs, *others])
    return Report(tuple(backend for _, backend in ran), join(runs), tuple(backend for _, backend in explored))


def _read(path: Path, shared: dict[bytes, Case] | None) -> Backend:
    """Read one file; shared: cases by a digest of their lines, for other files; None to shelve them."""
    builder, number = Builder(), 0
    try:
        with path.open("rb") as stream:
            shelf = Shelf(stream) if shared is None else None
            for number, (place, line) in enumerate(whole_lines(stream), 1):  # noqa: B007 - told of one that is refused
                added = builder.add(parse(line)) if shared is None else builder.add_line(line, shared)
                if shelf and isinstance(added, Case):
                    builder.cases[added.case] = Shelved.of(added, shelf, place, len(line))
    except OSError as error:
        refuse(path, None, f"cannot be read: {error.strerror}")
    except RecordError as error:
        refuse(path, number, str(error))
    if builder.header is None:
        refuse(path, 1, "missing header: the file is empty or was cut in its first line")
    return builder.build(builder.header)


def whole_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its place in the file, without a last line that a killed run has cut in the middle."""
    place = 0
    for line in stream:
        if not line.endswith(b"\n"):
            try:
                parse(line)
            except RecordError:
                return
        yield place, line.removesuffix(b"\n")
        place += len(line)


def parse(line: bytes) -> dict[str, Json]:
    """Return the record of a line. Raises RecordError."""
    try:
        record = json.loads(line.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise RecordError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise RecordError(f"not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise RecordError("not JSON that can be read: nested too deep") from error
    except ValueError as error:  # Python reads no whole number of more than 4,300 digits
        raise RecordError("not JSON that can be read: a number of too many digits") from error
    if not isinstance(record, dict):
        raise RecordError("not a JSON object")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise RecordError(f'not JSON: {name} must be written as a text such as "nan"')


@dataclass
class Builder:
    """Collects the records of one file and holds each to those before it."""

    header: Header | None = None
    footer: Footer | None = None
    cases: dict[str, Case] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)
    results: dict[tuple[str, str], Result] = field(default_factory=dict)
    conventions: dict[tuple[str, str], Convention] = field(default_factory=dict)

    def add_line(self, line: bytes, shared: dict[bytes, Case]) -> Case | None:
        """Add a record, parsing no case anew that is shared; return the case that it is, if it is one."""
        plain_case = line.startswith(CASE) and self.header is not None and self.footer is None
        digest = hashlib.blake2b(line, digest_size=DIGEST).digest() if plain_case else b""
        if digest in shared:
            return self.hold(shared[digest])
        case = self.add(parse(line))
        if plain_case and case is not None:
            shared[digest] = case
        return case

    def add(self, record: dict[str, Json]) -> Case | None:
        """Add a record; return the case that it is, if it is one."""
        fields = Fields(record)
        kind = fields.get("record", str)
        if self.header is None and kind != "header":
            raise RecordError(f"missing header: the first record is {kind!r}")
        if self.footer is not None:
            raise RecordError(f"the record {kind!r} stands after the footer")
        if kind not in _ADDERS:
            raise RecordError(f"unknown record {kind!r}")
        return _ADDERS[kind](self, fields)

    def _add_header(self, fields: Fields) -> None:
        if self.header is not None:
            raise RecordError("a second header")
        version = fields.get("format", int)
        if version != FORMAT:
            raise RecordError(f"unknown format {version}, this version reads {FORMAT}")
        self.header = Header.parse(fields)

    def _add_case(self, fields: Fields) -> Case:
        return self.hold(Case.parse(fields))

    def hold(self, case: Case) -> Case:
        """Keep a case that this file declares."""
        if case.case in self.cases:
            raise RecordError(f"the case {case.case!r} is declared twice")
        self.cases[case.case] = case
        return case

    def _add_program(self, fields: Fields) -> None:
        program = Program.parse(fields)
        self._hold_surface(program.surface)
        self.programs[program.program] = program

    def _add_result(self, fields: Fields) -> None:
        result = Result.parse(fields)
        self._hold_case(result.case)
        self._hold_surface(result.surface)
        if (result.case, result.surface) in self.results:
            raise RecordError(f"a second result for the case {result.case!r} on {result.surface!r}")
        if result.program is not None and result.program not in self.programs:
            raise RecordError(f"the program {result.program!r} was never declared")
        self.results[result.case, result.surface] = result

    def _add_convention(self, fields: Fields) -> None:
        convention = Convention.parse(fields)
        self._hold_case(convention.case)
        self._hold_surface(convention.surface)
        key = (convention.case, convention.surface)
        if key in self.conventions:
            raise RecordError(f"a second answer to {convention.case!r} on {convention.surface!r}")
        self.conventions[key] = convention

    def _add_footer(self, fields: Fields) -> None:
        footer = Footer.parse(fields)
        counted = Counter(result.status for result in self.results.values())
        if footer.results != len(self.results):
            raise RecordError(f"the footer counts {footer.results} results, the file holds {len(self.results)}")
        if {status: count for status, count in footer.by_status.items() if count} != dict(counted):
            raise RecordError(f"the footer counts {footer.by_status}, the file holds {dict(counted)}")
        self.footer = footer

    def _hold_case(self, case: str) -> None:
        if case not in self.cases:
            raise RecordError(f"the case {case!r} was never declared")

    def _hold_surface(self, surface: str) -> None:
        if self.header is not None and surface not in self.header.surfaces:
            raise RecordError(f"the surface {surface!r} is not one of the header's")

    def build(self, header: Header) -> Backend:
        """Return the run, whose header this is; where it has a label, every surface bears it."""
        label = header.backend.removeprefix(plain(header.backend))
        results, conventions = _labelled(self.results.values(), label), _labelled(self.conventions.values(), label)
        programs = _labelled(self.programs.values(), label)
        by_digest = {program.program: program for program in programs}
        return Backend(header.labelled(label), self.cases, by_digest, results, conventions, self.footer)


_OnSurface = TypeVar("_OnSurface", Program, Result, Convention)


def _labelled(records: Iterable[_OnSurface], label: str) -> tuple[_OnSurface, ...]:
    """Add the label of a backend to the surface of each record."""
    return tuple(replace(one, surface=one.surface + label) for one in records) if label else tuple(records)


_ADDERS: dict[str, Callable[[Builder, Fields], Case | None]] = {
    "header": Builder._add_header,
    "case": Builder._add_case,
    "program": Builder._add_program,
    "result": Builder._add_result,
    "convention": Builder._add_convention,
    "footer": Builder._add_footer,
}
