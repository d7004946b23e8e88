"""Reading of exported catalogues: the same cases, with inputs and expected outputs from files.

docs/export.md specifies the format. The SHA-256 of every file is compared with the manifest when the file is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from conformance import CatalogueError
from conformance.cases import parsing
from conformance.cases.arrays import BFLOAT16, NUMPY_DTYPES, Array, ArraySpec
from conformance.cases.case import Answers, Case, FollowingOperator, PrintedArray, Rejected, Value
from conformance.cases.generators import SpecialValue
from conformance.cases.limits import MAX_ARRAY_ELEMENTS
from conformance.cases.operators import OPERATORS
from conformance.catalogue.allowlist import check_allowed
from reports.results.vocabulary import Level

EXPORT_MARK = "nn-conformance catalogue"
"""Value of the manifest's key `export`, from which an export is recognised."""
EXPORT_FORMAT = 1
"""Version of the format in docs/export.md."""
MANIFEST_FILE = "manifest.json"
CATALOGUE_FILE = "catalogue.json"
EXPORT_SCHEMA_FILE = "schema.json"
ARRAYS_FOLDER = "arrays"
ARRAY_PATH_PATTERN = re.compile(ARRAYS_FOLDER + r"/[0-9a-f]{32}\.npy")
NPY_HEADER_READERS: Mapping[Any, Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
TARGET_ARRAYS = ("value", "high", "low", "bound")
NON_FINITE_NUMBERS: Mapping[str, float] = {
    word.value: float(word) for word in (SpecialValue.NAN, SpecialValue.INF, SpecialValue.NEGATIVE_INF)
}
"""Numbers that JSON cannot express, by the words for them."""


@dataclass(frozen=True)
class ExportedArray(ArraySpec):
    """An array in a file. `values` names the generator that made it; the options name the special values in it."""

    path: Path = Path()
    sha256: str = ""

    def make(self) -> Array:
        """Read the array. Raises CatalogueError if the file was changed, or has another shape or dtype."""
        return _decode_array(read_verified(self.path, self.sha256), self)


@dataclass(frozen=True, eq=False)
class ExportedCase(Case):
    """A case of an exported catalogue: its JSON record, and the arrays of its targets by the names of answers."""

    record: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, Mapping[str, ExportedArray]] = field(default_factory=dict)

    def canonical_text(self) -> str:
        """Return the record without metadata as text. It includes the outputs, because file names are digests."""
        return json.dumps({key: self.record[key] for key in self.record.keys() - CASE_METADATA_KEYS}, sort_keys=True)


CASE_METADATA_KEYS = frozenset({"level", "tags", "about", "source"})


@dataclass(frozen=True)
class ExportedCatalogue:
    """All cases of an exported catalogue, and the version of the original catalogue."""

    cases: tuple[ExportedCase, ...]
    version: str


def is_export(path: Path) -> bool:
    """Whether a folder has the files of an exported catalogue, finished or not."""
    return (path / MANIFEST_FILE).is_file() and (path / ARRAYS_FOLDER).is_dir()


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a finished export. Raises CatalogueError."""
    path = folder / MANIFEST_FILE
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CatalogueError(f"{path}: {error}") from None
    if not isinstance(found, dict) or (found.get("export"), found.get("format")) != (EXPORT_MARK, EXPORT_FORMAT):
        raise CatalogueError(f"{path}: not the manifest of an exported catalogue of format {EXPORT_FORMAT}")
    if not isinstance(found.get("files"), dict):
        raise CatalogueError(f"{path}: the export was not finished")
    for name, digest in found["files"].items():
        # Every listed file is read. A path outside the folder could be a device that never ends.
        if not (name in {CATALOGUE_FILE, EXPORT_SCHEMA_FILE} or ARRAY_PATH_PATTERN.fullmatch(name)) or not isinstance(
            digest, str
        ):
            raise CatalogueError(f"{path}: {name!r} is not a file of an export, or its SHA-256 is not text")
    return found


def read_export(folder: Path) -> ExportedCatalogue:
    """Read an export. Raises CatalogueError for a file that is missing or differs from the manifest."""
    manifest, path = read_manifest(folder), folder / CATALOGUE_FILE
    files: Mapping[str, Any] = manifest["files"]
    content = read_verified(path, files.get(CATALOGUE_FILE))
    try:
        records, version = list(json.loads(content)["cases"]), str(manifest["catalogue"]["version"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CatalogueError(f"{path}: does not match its schema: {type(error).__name__} {error}") from None
    cases = tuple(_read_exported_case(record, folder, files) for record in records)
    # Read all inputs once, so that a damaged file is reported before the run starts.
    for spec in _unique_inputs(cases):
        spec.make()
    return ExportedCatalogue(cases, version)


def _read_exported_case(raw: Any, folder: Path, files: Mapping[str, Any]) -> ExportedCase:
    try:
        return _parse_case(raw, folder, files)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        name = raw.get("id") if isinstance(raw, dict) else None
        name = name if isinstance(name, str) and name.isprintable() else "without an id"
        message = f"{type(error).__name__} {error}"
        raise CatalogueError(f"{folder / CATALOGUE_FILE}: case {name}: does not match its schema: {message}") from None


def _unique_inputs(cases: Iterable[ExportedCase]) -> Iterable[ExportedArray]:
    """Return each input array once, also if several cases read it."""
    specs = (spec for case in cases for spec in case.inputs.values())
    return {spec.sha256: spec for spec in specs if isinstance(spec, ExportedArray)}.values()


def damaged_files(folder: Path) -> Iterator[str]:
    """Yield an error message for every file of an export that is missing or differs from the manifest."""
    for name, digest in read_manifest(folder)["files"].items():
        try:
            read_verified(folder / name, digest)
        except CatalogueError as error:
            yield str(error)


def read_verified(path: Path, digest: object) -> bytes:
    """Return the content of a file. Raises CatalogueError if it cannot be read or has another SHA-256."""
    try:
        if path.exists() and not path.is_file():
            raise CatalogueError(f"{path}: not a regular file")
        content = path.read_bytes()
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise CatalogueError(f"{path}: the file was changed: its SHA-256 is not the one in {MANIFEST_FILE}")
    return content


def _parse_case(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> ExportedCase:
    operator = OPERATORS[raw["operator"]].name
    case = ExportedCase(
        id=raw["id"],
        operator=operator,
        inputs={name: parse_array_spec(item, folder, files) for name, item in raw["inputs"].items()},
        parameters=parse_exported_parameters(raw["parameters"]),
        expect=_parse_expectation(raw, folder, files),
        via=tuple(raw["via"]),
        then=tuple(_parse_following(item, folder, files) for item in raw["then"]),
        omitted_parameters=tuple(raw["omitted"]),
        convention_name=raw["puts"],
        level=Level(raw["level"]),
        tags=tuple(raw["tags"]),
        about=raw["about"],
        source=raw["source"],
        location=str(folder / CATALOGUE_FILE),
        record=raw,
        targets=_parse_targets(raw["expect"], folder, files),
    )
    check_allowed(case)
    parsing.validate_case(case)
    return case


def _parse_following(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> FollowingOperator:
    inputs = {name: parse_array_spec(item, folder, files) for name, item in raw.get("inputs", {}).items()}
    return FollowingOperator(raw["operator"], parse_exported_parameters(raw["parameters"]), inputs)


def _parse_targets(
    expect: Mapping[str, Any], folder: Path, files: Mapping[str, Any]
) -> dict[str, dict[str, ExportedArray]]:
    """Return the arrays of each target, by the name of the answer; "" for the target of a case without answers."""
    return {
        name: {key: parse_array_spec(target[key], folder, files) for key in TARGET_ARRAYS if key in target}
        for name, target in expect.get("answers", {"": expect}).items()
    }


def parse_array_spec(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> ExportedArray:
    """Parse the record of an array. Raises ValueError for a file that is not in the export, and an invalid shape."""
    if not ARRAY_PATH_PATTERN.fullmatch(raw["file"]) or raw["file"] not in files:
        raise ValueError(f"{raw['file']!r} is not a file of the export")
    shape = raw["shape"]
    if any(type(extent) is not int or extent < 0 for extent in shape) or math.prod(shape) > MAX_ARRAY_ELEMENTS:
        raise ValueError(f"{shape!r} is not a shape of at most {MAX_ARRAY_ELEMENTS} elements")
    NUMPY_DTYPES[raw["dtype"]]  # raises KeyError for an unknown dtype
    path, digest, options = folder / raw["file"], files[raw["file"]], {"marks": tuple(raw.get("marks", ()))}
    return ExportedArray(raw.get("made", "file"), tuple(shape), raw["dtype"], options, path, digest)


def parse_exported_parameters(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with lists converted to tuples, and the words for NaN and infinities to numbers."""
    return {name: _parse_value(value) for name, value in raw.items()}


def _parse_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_parse_value, value))
    return NON_FINITE_NUMBERS.get(value, value) if isinstance(value, str) else value


def _parse_expectation(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> Value | Rejected | Answers:
    expect = raw["expect"]
    if "answers" in expect:
        return Answers({name: _parse_answer(answer, folder, files) for name, answer in expect["answers"].items()})
    if "rejected" in expect:
        return Rejected(expect["rejected"])
    return Value(tuple(map(_parse_printed_array, raw["printed"])), raw["inexact"])


def _parse_answer(
    raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]
) -> Mapping[str, Any] | ArraySpec | Rejected:
    if "rejected" in raw:
        return Rejected(raw["rejected"])
    return (
        parse_exported_parameters(raw["parameters"])
        if "parameters" in raw
        else parse_array_spec(raw["value"], folder, files)
    )


def _parse_printed_array(raw: Mapping[str, Any]) -> PrintedArray:
    numbers = raw["numbers"]
    if numbers is not None:
        numbers = tuple(Decimal(number) if isinstance(number, str) else int(number) for number in numbers)
    return tuple(raw["shape"]), numbers


@dataclass(frozen=True)
class NpyFile:
    """The content of a .npy file. body: its elements as bytes."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    body: bytes

    def array(self, dtype: np.dtype[Any]) -> Array:
        """Return the elements as an array of a dtype of the same size. Raises CatalogueError for a wrong size."""
        size = math.prod(self.shape) * dtype.itemsize
        if len(self.body) != size:
            raise CatalogueError(f"{self.path}: {len(self.body)} bytes of numbers, not {size}")
        # A copy, because an array on bytes is read-only.
        array: Array = np.ndarray(self.shape, dtype, self.body, order="F" if self.is_fortran else "C").copy()
        return array


def parse_npy(path: Path, content: bytes) -> NpyFile:
    """Parse the content of a .npy file of version 1.0 or 2.0. Raises CatalogueError for a damaged header."""
    stream = io.BytesIO(content)
    try:
        shape, is_fortran, stored = NPY_HEADER_READERS[np.lib.format.read_magic(stream)](stream)
    except Exception as error:  # NumPy does not document which exceptions a damaged header can raise
        raise CatalogueError(f"{path}: not the header of an array: {' '.join(str(error).split())}") from None
    return NpyFile(path, shape, stored, is_fortran, content[stream.tell() :])


def _decode_array(content: bytes, spec: ExportedArray) -> Array:
    """Return the array in a .npy file. Raises CatalogueError if its shape or dtype differ from the specification."""
    file, dtype = parse_npy(spec.path, content), NUMPY_DTYPES[spec.dtype]
    stored_dtype = np.dtype(np.uint16) if spec.dtype == BFLOAT16 else dtype
    if file.shape != spec.shape or file.dtype not in (dtype, stored_dtype):
        raise CatalogueError(f"{spec.path}: {file.dtype.name} {list(file.shape)}, not {spec.dtype} {list(spec.shape)}")
    return file.array(dtype)
