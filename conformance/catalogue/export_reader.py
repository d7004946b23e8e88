"""An exported catalogue, read back: the same cases, with inputs and expected outputs from files.

The format is docs/export.md. Every file that a run reads is held against the manifest before.
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
from conformance.cases.arrays import DTYPES, Array, ArraySpec, canonical_bytes
from conformance.cases.case import LEVELS, Answers, Case, Following, Reading, Rejected, Value
from conformance.cases.limits import MAX_ELEMENTS
from conformance.cases.operators import OPERATORS
from conformance.catalogue import allowlist as words
from conformance.judging.expected import Expected, Target
from reference import Exact

MARK, FORMAT = "nn-conformance catalogue", 1
MANIFEST, CATALOGUE, SCHEMA, ARRAYS = "manifest.json", "catalogue.json", "schema.json", "arrays"
NAME = re.compile(ARRAYS + r"/[0-9a-f]{32}\.npy")
HEADERS: Mapping[Any, Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
DETAILS = ("value", "high", "low", "bound")
SPECIAL: Mapping[str, float] = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}

# What the reference promises of high + low: a millionth of the bound. Two such may lie twice as far apart.
CLOSE = 1e-6


@dataclass(frozen=True)
class ExportedArray(ArraySpec):
    """An array in a file. `values` names the generator that once made it; the options hold the special values in it."""

    path: Path = Path()
    sha256: str = ""

    def make(self) -> Array:
        """Return the array. Raises CatalogueError if the file is not what it was, or holds something else."""
        return _decoded(verified(self.path, self.sha256), self)


@dataclass(frozen=True, eq=False)
class ExportedCase(Case):
    """A case of an exported catalogue: its record, and the arrays of what may happen by the names of answers."""

    record: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, Mapping[str, ExportedArray]] = field(default_factory=dict)

    def canonical(self) -> str:
        """Return all that gives the case its meaning, outputs included; files are named for their content."""
        return json.dumps({key: self.record[key] for key in self.record.keys() - WORDS}, sort_keys=True)


WORDS = frozenset({"level", "tags", "about", "source"})


@dataclass(frozen=True)
class ExportedCatalogue:
    """All cases of an exported catalogue, and the version of the one that it was made from."""

    cases: tuple[ExportedCase, ...]
    version: str


def is_export(path: Path) -> bool:
    """Whether a folder looks like an exported catalogue, finished or not."""
    return (path / MANIFEST).is_file() and (path / ARRAYS).is_dir()


def manifest(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a finished export. Raises CatalogueError."""
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CatalogueError(f"{path}: {error}") from None
    if not isinstance(found, dict) or (found.get("export"), found.get("format")) != (MARK, FORMAT):
        raise CatalogueError(f"{path}: not the manifest of an exported catalogue of format {FORMAT}")
    if not isinstance(found.get("files"), dict):
        raise CatalogueError(f"{path}: an export that was not finished")
    for name, digest in found["files"].items():
        # Every file is read: one outside the folder is none of the export, and might never end.
        if not (name in {CATALOGUE, SCHEMA} or NAME.fullmatch(name)) or not isinstance(digest, str):
            raise CatalogueError(f"{path}: {name!r} is no file of an export, or its SHA-256 is no text")
    return found


def read(folder: Path) -> ExportedCatalogue:
    """Read an export. Raises CatalogueError for a file that is missing or not what the manifest says."""
    known, path = manifest(folder), folder / CATALOGUE
    files: Mapping[str, Any] = known["files"]
    content = verified(path, files.get(CATALOGUE))
    try:
        records, version = list(json.loads(content)["cases"]), str(known["catalogue"]["version"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CatalogueError(f"{path}: not as its schema has it: {type(error).__name__} {error}") from None
    cases = tuple(_read_case(record, folder, files) for record in records)
    for spec in _inputs(cases):
        spec.make()
    return ExportedCatalogue(cases, version)


def _read_case(raw: Any, folder: Path, files: Mapping[str, Any]) -> ExportedCase:
    try:
        return _case(raw, folder, files)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        name = raw.get("id") if isinstance(raw, dict) else None
        name = name if isinstance(name, str) and name.isprintable() else "without an id"
        fault = f"{type(error).__name__} {error}"
        raise CatalogueError(f"{folder / CATALOGUE}: case {name}: not as its schema has it: {fault}") from None


def _inputs(cases: Iterable[ExportedCase]) -> Iterable[ExportedArray]:
    """Return each input once, however many cases read it."""
    specs = (spec for case in cases for spec in case.inputs.values())
    return {spec.sha256: spec for spec in specs if isinstance(spec, ExportedArray)}.values()


def damaged(folder: Path) -> Iterator[str]:
    """Yield a line for every file of an export that is not what the manifest says."""
    for name, digest in manifest(folder)["files"].items():
        try:
            verified(folder / name, digest)
        except CatalogueError as error:
            yield str(error)


def verified(path: Path, digest: object) -> bytes:
    """Return the content of a file. Raises CatalogueError if it cannot be read or has another SHA-256."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise CatalogueError(f"{path}: it was changed: its SHA-256 is not the one in {MANIFEST}")
    return content


def _case(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> ExportedCase:
    operator, level = OPERATORS[raw["operator"]].name, raw["level"]
    if level not in LEVELS:
        raise ValueError(f"{level!r} is no level")
    case = ExportedCase(
        id=raw["id"],
        operator=operator,
        inputs={name: array_spec(item, folder, files) for name, item in raw["inputs"].items()},
        parameters=parameters(raw["parameters"]),
        expect=_expectation(raw, folder, files),
        via=tuple(raw["via"]),
        then=tuple(Following(item["operator"], parameters(item["parameters"])) for item in raw["then"]),
        omitted=tuple(raw["omitted"]),
        puts=raw["puts"],
        level=level,
        tags=tuple(raw["tags"]),
        about=raw["about"],
        source=raw["source"],
        place=str(folder / CATALOGUE),
        record=raw,
        targets=_targets(raw["expect"], folder, files),
    )
    words.check(case)
    parsing.check(case)
    return case


def _targets(expect: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> dict[str, dict[str, ExportedArray]]:
    """Return the arrays of each thing that may happen, by the name of its answer, "" for the only one."""
    return {
        name: {key: array_spec(target[key], folder, files) for key in DETAILS if key in target}
        for name, target in expect.get("answers", {"": expect}).items()
    }


def array_spec(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> ExportedArray:
    """Return an array of the export. Raises ValueError for a file that is none of it."""
    if not NAME.fullmatch(raw["file"]) or raw["file"] not in files:
        raise ValueError(f"{raw['file']!r} is no file of the export")
    shape = raw["shape"]
    if any(type(extent) is not int or extent < 0 for extent in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise ValueError(f"{shape!r} is no shape of at most {MAX_ELEMENTS} elements")
    DTYPES[raw["dtype"]]
    path, digest, options = folder / raw["file"], files[raw["file"]], {"marks": tuple(raw.get("marks", ()))}
    return ExportedArray(raw.get("made", "file"), tuple(shape), raw["dtype"], options, path, digest)


def parameters(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a case has them: lists as tuples, words for NaN and infinities as numbers."""
    return {name: _plain(value) for name, value in raw.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return SPECIAL.get(value, value) if isinstance(value, str) else value


def _expectation(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> Value | Rejected | Answers:
    expect = raw["expect"]
    if "answers" in expect:
        return Answers({name: _answer(answer, folder, files) for name, answer in expect["answers"].items()})
    if "rejected" in expect:
        return Rejected(expect["rejected"])
    return Value(tuple(map(_reading, raw["printed"])), raw["inexact"])


def _answer(raw: Mapping[str, Any], folder: Path, files: Mapping[str, Any]) -> Mapping[str, Any] | ArraySpec | Rejected:
    if "rejected" in raw:
        return Rejected(raw["rejected"])
    return parameters(raw["parameters"]) if "parameters" in raw else array_spec(raw["value"], folder, files)


def _reading(raw: Mapping[str, Any]) -> Reading:
    numbers = raw["numbers"]
    if numbers is not None:
        numbers = tuple(Decimal(number) if isinstance(number, str) else int(number) for number in numbers)
    return tuple(raw["shape"]), numbers


def _decoded(content: bytes, spec: ExportedArray) -> Array:
    """Return the array that a .npy file holds. Raises CatalogueError if it is not of the shape and dtype stated."""
    stream, dtype = io.BytesIO(content), DTYPES[spec.dtype]
    try:
        shape, in_columns, stored = HEADERS[np.lib.format.read_magic(stream)](stream)
    except Exception as error:  # NumPy does not say all that a damaged header may raise
        raise CatalogueError(f"{spec.path}: not the header of an array: {' '.join(str(error).split())}") from None
    words = np.dtype(np.uint16) if dtype.kind == "V" else dtype
    if shape != spec.shape or stored not in (dtype, words):
        raise CatalogueError(f"{spec.path}: {stored.name} {list(shape)}, not {spec.dtype} {list(spec.shape)}")
    size, body = math.prod(shape) * dtype.itemsize, content[stream.tell() :]
    if len(body) != size:
        raise CatalogueError(f"{spec.path}: {len(body)} bytes of numbers, not {size}")
    array: Array = np.ndarray(shape, dtype, body, order="F" if in_columns else "C").copy()
    return array


def faults(case: ExportedCase, wanted: Expected) -> Iterator[str]:
    """Yield in words what was exported of a case and is not what the reference gives."""
    targets = {"": wanted.target} if wanted.target else wanted.answers
    for name, target in targets.items():
        of = f" of answer {name!r}" if name else ""
        if target.exact is not None:
            unlike = _unlike(case.targets.get(name, {}), target)
            yield from (f"its exported {what}{of} is not what the reference gives" for what in unlike)


def _unlike(arrays: Mapping[str, ExportedArray], target: Target) -> Iterator[str]:
    exact: Any = target.exact
    made = {name: spec.make() for name, spec in arrays.items()}
    value = made.get("value")
    if (
        value is None
        or (value.dtype, value.shape) != (exact.value.dtype, exact.value.shape)
        or (canonical_bytes(value) != canonical_bytes(exact.value))
    ):
        yield "output"
    elif set(made) != ({"value"} if is_exact(exact) else set(DETAILS)) or any(
        array.shape != value.shape for array in made.values()
    ):
        yield "bound"
    elif not is_exact(exact):
        yield from _distant(made, exact, target.bound)


def _distant(made: Mapping[str, Array], exact: Any, bound: Any) -> Iterator[str]:
    finite = np.isfinite(exact.high) & np.isfinite(bound)
    with np.errstate(all="ignore"):
        moved = np.abs((made["high"] - exact.high) + (made["low"] - exact.low))
        widened = np.abs(made["bound"] - bound)
    if not ((moved <= 2 * CLOSE * bound) | ~finite).all() or not _same(made["high"], exact.high, ~finite):
        yield "exact result"
    if not ((widened <= CLOSE * bound) | ~finite).all() or not _same(made["bound"], bound, ~finite):
        yield "bound"


def _same(one: Array, other: Array, where: Array) -> bool:
    return np.array_equal(one[where], other[where], equal_nan=True)


def is_exact(exact: Exact) -> bool:
    """Whether the value is the exact result itself, so that its bound is 0."""
    return exact.high is None or exact.low is None
