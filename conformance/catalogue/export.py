"""`conformance export`: write the catalogue as files that can be read without Python: JSON, .npy arrays and digests.

docs/export.md specifies the format; conformance.catalogue.export_reader reads it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from conformance import ConformanceError, __version__
from conformance.cases.arrays import BFLOAT16, Array, json_value
from conformance.cases.case import Answers, Case, FollowingOperator, Value
from conformance.cases.parameters import plain_value
from conformance.cases.schema import catalogue_folder
from conformance.cases.selector_values import special_values_of
from conformance.catalogue.export_check import is_exact_result
from conformance.catalogue.export_reader import (
    ARRAYS_FOLDER,
    CATALOGUE_FILE,
    EXPORT_FORMAT,
    EXPORT_MARK,
    EXPORT_SCHEMA_FILE,
    MANIFEST_FILE,
)
from conformance.catalogue.loading import Catalogue
from conformance.judging.expected import Expected, Target, compute_expected

ARRAY_FILE_PATTERN = re.compile(r"[0-9a-f]{32}\.npy")


def write_export(
    catalogue: Catalogue,
    cases: Sequence[Case],
    folder: Path,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Export some cases of a catalogue to a folder that is new, empty, or contains an export.

    Raises ConformanceError if the folder cannot be written or has other content, CatalogueError for an invalid case.
    """
    try:
        _claim_folder(folder)
        export = _Export(folder)
        about = {"version": catalogue.version, "digest": catalogue.digest, "cases": len(cases)}
        export.document(CATALOGUE_FILE, _catalogue_text(export, cases, about, progress))
        export.document(EXPORT_SCHEMA_FILE, iter([export_schema_path().read_text("utf-8")]))
        export.finish(about)
    except OSError as error:
        raise ConformanceError(f"{error.filename or folder}: {error.strerror}") from None


def export_schema_path() -> Path:
    """Return the path of the JSON Schema of exported catalogues."""
    return catalogue_folder() / "export.schema.json"


def _claim_folder(folder: Path) -> None:
    """Mark the folder as an unfinished export. Raises ConformanceError if it has other content."""
    if folder.is_dir() and any(folder.iterdir()) and not _is_export_folder(folder):
        raise ConformanceError(f"{folder}: not empty and not an exported catalogue; choose another folder")
    (folder / ARRAYS_FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST_FILE).write_text(
        json.dumps({"export": EXPORT_MARK, "format": EXPORT_FORMAT, "files": None}) + "\n", "utf-8"
    )


def _is_export_folder(folder: Path) -> bool:
    """Whether a folder contains an export of any format version, finished or not."""
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
        return isinstance(manifest, dict) and manifest.get("export") == EXPORT_MARK
    except (OSError, ValueError):
        return False


@dataclass
class _Export:
    """Writer of an export: its folder, and the SHA-256 of every file written so far."""

    folder: Path
    files: dict[str, str] = field(default_factory=dict)

    def array(self, array: Array) -> dict[str, Any]:
        """Write an array, unless its content is already written, and return its record in the catalogue."""
        content = _npy_bytes(array)
        digest = hashlib.sha256(content).hexdigest()
        name = f"{ARRAYS_FOLDER}/{digest[:32]}.npy"
        # Many cases share an array, such as the same kernel, which is written once.
        if name not in self.files:
            (self.folder / name).write_bytes(content)
            self.files[name] = digest
        return {"file": name, "shape": list(array.shape), "dtype": array.dtype.name}

    def document(self, name: str, parts: Iterator[str]) -> None:
        """Write a text file from parts, so that the whole text need not be in memory."""
        state = hashlib.sha256()
        with (self.folder / name).open("wb") as stream:
            for part in parts:
                state.update(part.encode())
                stream.write(part.encode())
        self.files[name] = state.hexdigest()

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write the manifest and remove the arrays of an earlier export."""
        for path in (self.folder / ARRAYS_FOLDER).iterdir():
            if ARRAY_FILE_PATTERN.fullmatch(path.name) and f"{ARRAYS_FOLDER}/{path.name}" not in self.files:
                path.unlink()
        versions = {"nn-conformance": __version__, "numpy": np.__version__}
        manifest = {
            "export": EXPORT_MARK,
            "format": EXPORT_FORMAT,
            "catalogue": about,
            "made_by": versions,
            "files": dict(sorted(self.files.items())),
        }
        (self.folder / MANIFEST_FILE).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


def _npy_bytes(array: Array) -> bytes:
    """Return an array as a .npy file, version 1.0, little-endian, row-major; bfloat16 as 16-bit words."""
    # ascontiguousarray makes 0-d arrays 1-d, so the shape is restored.
    words = np.ascontiguousarray(array).reshape(array.shape)
    words = words.view(np.uint16) if words.dtype.name == BFLOAT16 else words
    stream = io.BytesIO()
    np.lib.format.write_array(stream, words.astype(words.dtype.newbyteorder("<")), (1, 0), allow_pickle=False)
    return stream.getvalue()


def _catalogue_text(
    export: _Export, cases: Sequence[Case], about: Mapping[str, Any], progress: Callable[[int, int], None]
) -> Iterator[str]:
    """Yield the JSON document of all cases, with one case per line."""
    yield f'{{"format": {EXPORT_FORMAT}, "catalogue": {json.dumps(about)}, "cases": [\n'
    for done, case in enumerate(cases, 1):
        line = json.dumps(_case_record(export, case, compute_expected(case)), ensure_ascii=False, allow_nan=False)
        yield line + (",\n" if done < len(cases) else "\n")
        progress(done, len(cases))
    yield "]}\n"


def _case_record(export: _Export, case: Case, expected: Expected) -> dict[str, Any]:
    printed = case.expect.printed if isinstance(case.expect, Value) else ()
    return {
        "id": case.id,
        "operator": case.operator,
        "level": case.level,
        "tags": list(case.tags),
        "about": case.about,
        "source": case.source,
        "inputs": {
            name: {
                **export.array(array),
                "made": case.inputs[name].values,
                "marks": sorted(special_values_of(case.inputs[name])),
            }
            for name, array in expected.inputs.items()
        },
        "parameters": json_value(case.parameters),
        "omitted": list(case.omitted_parameters),
        "puts": case.convention_name,
        "via": list(case.via),
        "then": [_following_record(export, item) for item in case.then],
        "expect": _expectation_record(export, case, expected),
        "printed": [{"shape": list(shape), "numbers": _printed_numbers(numbers)} for shape, numbers in printed],
        "inexact": case.expect.inexact if isinstance(case.expect, Value) else "",
        "digest": expected.digest,
    }


def _following_record(export: _Export, following: FollowingOperator) -> dict[str, Any]:
    record = {"operator": following.operator, "parameters": json_value(following.parameters)}
    arrays = {name: export.array(spec.make()) for name, spec in following.inputs.items()}
    return {**record, "inputs": arrays} if arrays else record


def _printed_numbers(numbers: Sequence[Any] | None) -> list[int | str] | None:
    """Return printed numbers: integers unchanged, decimals as text with all printed digits."""
    if numbers is None:
        return None
    return [number if isinstance(number, int) else str(number) for number in numbers]


def _expectation_record(export: _Export, case: Case, expected: Expected) -> dict[str, Any]:
    if expected.target is not None:
        return _target_record(export, expected.target)
    named = case.expect.named if isinstance(case.expect, Answers) else {}
    return {
        "answers": {
            name: {**_target_record(export, target), **_answer_parameters(named[name])}
            for name, target in expected.answers.items()
        }
    }


def _answer_parameters(answer: Any) -> dict[str, Any]:
    """Return the key for the parameters of an answer, with decimals as floats; empty for an array or a rejection."""
    if not isinstance(answer, Mapping):
        return {}
    return {"parameters": json_value({name: plain_value(value) for name, value in answer.items()})}


def _target_record(export: _Export, target: Target) -> dict[str, Any]:
    exact = target.exact
    if exact is None:
        return {"rejected": target.violation}
    value = {"value": export.array(exact.value)}
    if is_exact_result(exact) or exact.high is None or exact.low is None or target.bound is None:
        return value
    arrays = {"high": exact.high, "low": exact.low, "bound": target.bound}
    return value | {name: export.array(np.asarray(array, np.float64)) for name, array in arrays.items()}
