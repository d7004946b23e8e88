"""Reading of outputs for an export: `outputs.jsonl` with the outcome of each case, and one file for each array.

docs/export.md specifies the format.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.json import Decoder

from conformance import CatalogueError, ConformanceError
from conformance.cases.arrays import BFLOAT16, NUMPY_DTYPES, Array
from conformance.cases.limits import MAX_ARRAY_ELEMENTS
from conformance.catalogue.export_reader import parse_npy
from conformance.judging.verdict import ProgramOutcome
from reports.results import Outcome, RecordError
from reports.results.files import open_regular
from reports.results.json_structs import JsonStruct, decode
from reports.results.records import MAX_SECONDS

OUTPUTS_FILE = "outputs.jsonl"
NPY_SUFFIX = ".npy"
MAX_LINE_BYTES = 1 << 16
"""Maximum length of a line of outputs.jsonl in bytes."""
MAX_NPY_HEADER_BYTES = 1 << 16
"""Maximum size of a .npy file without its numbers, in bytes."""
MAX_AXES = 32
"""Maximum number of axes of an array."""
MAX_SHOWN_TEXT = 100
"""Maximum number of characters of a key's value in an error message."""
ARRAY_KEYS = ("file", "shape", "dtype")
"""Keys that describe the returned array."""


class OutputRecord(JsonStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of outputs.jsonl.

    file, shape, dtype: of the returned array; a .npy file contains shape and dtype itself. message: the error, or the
    reason of `unsupported`. seconds: time of the call.
    """

    case: str
    outcome: Outcome
    file: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    message: str = ""
    seconds: float = 0.0


_DECODER: Decoder[OutputRecord] = Decoder(OutputRecord)


@dataclass(frozen=True)
class Output:
    """The output of one case. location: file, line and case for error messages."""

    record: OutputRecord
    folder: Path
    location: str

    def outcome(self) -> ProgramOutcome:
        """Return the outcome, with the array read from its file. Raises ConformanceError for an invalid file."""
        record = self.record
        arrays = (self._read_array(),) if record.outcome is Outcome.RETURNED else ()
        return ProgramOutcome(record.outcome, arrays, record.message, record.seconds)

    def _read_array(self) -> Array:
        name = str(self.record.file)
        # A path outside of the folder, or a device, could have no end.
        path = self.folder / name.replace("\0", "")
        if "\0" in name or not path.resolve().is_relative_to(self.folder.resolve()):
            raise self._error(f"{_shown(name)!r} is not a file in {self.folder}")
        return self._npy_array(path) if path.suffix == NPY_SUFFIX else self._raw_array(path)

    def _raw_array(self, path: Path) -> Array:
        record = self.record
        if record.shape is None or record.dtype is None:
            raise self._error(f"{path}: shape and dtype are keys of the line, except for {NPY_SUFFIX} files")
        dtype = self._known_dtype(record.dtype)
        size = math.prod(self._checked_shape(record.shape)) * dtype.itemsize
        content = self._read_file(path, size)
        if len(content) != size:
            described = f"{record.dtype} {list(record.shape)}"
            raise self._error(f"{path}: {len(content):,} bytes, but {described} has {size:,}")
        return np.frombuffer(content, dtype).reshape(record.shape)

    def _npy_array(self, path: Path) -> Array:
        record = self.record
        largest = MAX_ARRAY_ELEMENTS * np.dtype(np.float64).itemsize + MAX_NPY_HEADER_BYTES
        content = self._read_file(path, largest)
        try:
            file = parse_npy(path, content)
            shape = self._checked_shape(file.shape)
            name = record.dtype or file.dtype.name
            dtype = self._known_dtype(name)
            stored = np.dtype(np.uint16) if name == BFLOAT16 else dtype
            if file.dtype != stored or record.shape not in {None, shape}:
                expected = f"{stored.str} {list(shape if record.shape is None else record.shape)}"
                raise self._error(f"{path}: contains {file.dtype.str} {list(shape)}, not {expected}")
            return file.array(dtype)
        except CatalogueError as error:
            raise self._error(str(error)) from None

    def _known_dtype(self, name: str) -> np.dtype[Any]:
        if name not in NUMPY_DTYPES:
            raise self._error(f"dtype {_shown(name)!r} is not one of {', '.join(sorted(NUMPY_DTYPES))}")
        return NUMPY_DTYPES[name]

    def _checked_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) > MAX_AXES or any(extent < 0 for extent in shape) or math.prod(shape) > MAX_ARRAY_ELEMENTS:
            limits = f"at most {MAX_AXES} axes and {MAX_ARRAY_ELEMENTS:,} elements"
            raise self._error(f"{_shown(list(shape))} is not a shape of {limits}")
        return shape

    def _read_file(self, path: Path, largest: int) -> bytes:
        """Return the content of a file of at most `largest` bytes."""
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise self._error(f"{path}: not a regular file")
            if status.st_size > largest:
                raise self._error(f"{path}: {status.st_size:,} bytes, at most {largest:,} expected")
            return path.read_bytes()
        except OSError as error:
            raise self._error(f"{path}: {error.strerror}") from None

    def _error(self, problem: str) -> ConformanceError:
        return ConformanceError(f"{self.location}: {problem}")


def read_outputs(folder: Path, cases: Collection[str]) -> dict[str, Output]:
    """Return the outputs in a folder by the ids of their cases. Raises ConformanceError for an invalid line or array.

    cases: the ids of the export.
    """
    path, outputs = folder / OUTPUTS_FILE, dict[str, Output]()
    for number, line in _lines(path):
        output = _parse_line(line, path, number)
        if output.record.case not in cases:
            raise ConformanceError(f"{output.location}: the export has no such case")
        if output.record.case in outputs:
            first = outputs[output.record.case].location.split(": ")[0]
            raise ConformanceError(f"{output.location}: a second output; the first one is at {first}")
        outputs[output.record.case] = output
    # Every array is read once here, so that a damaged file is reported before a result is written.
    for output in outputs.values():
        output.outcome()
    return outputs


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each line that is not blank. Raises ConformanceError."""
    try:
        with open_regular(path) as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise ConformanceError(f"{path}:{number}: longer than {MAX_LINE_BYTES:,} bytes")
                if line.strip():
                    yield number, line
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


def _parse_line(line: bytes, path: Path, number: int) -> Output:
    try:
        record = decode(line, _DECODER)
    except RecordError as error:
        words = f", not one of {', '.join(Outcome)}" if str(error).startswith("outcome: unknown value") else ""
        raise ConformanceError(f"{path}:{number}: {error}{words}") from None
    output = Output(record, path.parent, f"{path}:{number}: case {_shown(record.case)}")
    problem = _record_problem(record)
    if problem:
        raise ConformanceError(f"{output.location}: {problem}")
    return output


def _record_problem(record: OutputRecord) -> str | None:
    """Return an error message about keys that do not belong together, or None."""
    given = [key for key in ARRAY_KEYS if getattr(record, key) is not None]
    if not 0 <= record.seconds <= MAX_SECONDS:
        return f"key 'seconds': not a number from 0 to {MAX_SECONDS:.0f}"
    if record.outcome is Outcome.RETURNED:
        return None if record.file is not None else "the outcome returned needs the key 'file'"
    if given:
        return f"key {given[0]!r}: only for the outcome returned, not for {record.outcome}"
    if record.outcome is Outcome.UNSUPPORTED and not record.message:
        return "the outcome unsupported needs its reason, in the key 'message'"
    return None


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_SHOWN_TEXT else f"{text[:MAX_SHOWN_TEXT]}…"
