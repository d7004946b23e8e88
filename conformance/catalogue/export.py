"""`conformance export`: the catalogue as files that need no Python: JSON, NumPy's array format, and digests.

The format is docs/export.md; conformance.exported reads it back.
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
from conformance.cases.arrays import Array, encoded
from conformance.cases.case import Answers, Case, Value
from conformance.cases.parameters import plain
from conformance.cases.schema import catalogue_folder
from conformance.cases.selectors import marks
from conformance.catalogue.export_reader import ARRAYS, CATALOGUE, FORMAT, MANIFEST, MARK, SCHEMA, is_exact
from conformance.catalogue.loading import Catalogue
from conformance.judging.expected import Expected, Target, expected

ARRAY_FILE = re.compile(r"[0-9a-f]{32}\.npy")


def write(
    catalogue: Catalogue,
    cases: Sequence[Case],
    folder: Path,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Export some cases of a catalogue into a folder: a new or empty one, or one that holds an export.

    Raises ConformanceError where it cannot be written or holds something else, CatalogueError for a faulty case.
    """
    try:
        _claim(folder)
        export = _Export(folder)
        about = {"version": catalogue.version, "digest": catalogue.digest, "cases": len(cases)}
        export.document(CATALOGUE, _catalogue_text(export, cases, about, progress))
        export.document(SCHEMA, iter([schema_path().read_text("utf-8")]))
        export.finish(about)
    except OSError as error:
        raise ConformanceError(f"{error.filename or folder}: {error.strerror}") from None


def schema_path() -> Path:
    """Return the JSON Schema of an exported catalogue."""
    return catalogue_folder() / "export.schema.json"


def _claim(folder: Path) -> None:
    """Make the folder an export that is not finished. Raises ConformanceError if it is someone else's."""
    if folder.is_dir() and any(folder.iterdir()) and not _ours(folder):
        raise ConformanceError(f"{folder}: not empty, and no export of a catalogue: nothing is written there")
    (folder / ARRAYS).mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).write_text(json.dumps({"export": MARK, "format": FORMAT, "files": None}) + "\n", "utf-8")


def _ours(folder: Path) -> bool:
    """Whether a folder holds an export, finished or not, of whatever format."""
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
        return isinstance(found, dict) and found.get("export") == MARK
    except (OSError, ValueError):
        return False


@dataclass
class _Export:
    """An export that is being written: its folder, and the SHA-256 of every file in it so far."""

    folder: Path
    files: dict[str, str] = field(default_factory=dict)

    def array(self, array: Array) -> dict[str, Any]:
        """Write an array unless one with the same content stands there, and return what the catalogue says of it."""
        content = _npy(array)
        digest = hashlib.sha256(content).hexdigest()
        name = f"{ARRAYS}/{digest[:32]}.npy"
        if name not in self.files:
            (self.folder / name).write_bytes(content)
            self.files[name] = digest
        return {"file": name, "shape": list(array.shape), "dtype": array.dtype.name}

    def document(self, name: str, parts: Iterator[str]) -> None:
        """Write a text file part by part."""
        state = hashlib.sha256()
        with (self.folder / name).open("wb") as stream:
            for part in parts:
                state.update(part.encode())
                stream.write(part.encode())
        self.files[name] = state.hexdigest()

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write the manifest, and remove the arrays of an earlier export."""
        for path in (self.folder / ARRAYS).iterdir():
            if ARRAY_FILE.fullmatch(path.name) and f"{ARRAYS}/{path.name}" not in self.files:
                path.unlink()
        made = {"nn-conformance": __version__, "numpy": np.__version__}
        whole = {
            "export": MARK,
            "format": FORMAT,
            "catalogue": about,
            "made_by": made,
            "files": dict(sorted(self.files.items())),
        }
        (self.folder / MANIFEST).write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


def _npy(array: Array) -> bytes:
    """Return an array as a .npy file, version 1.0, little-endian, row-major; bfloat16 as 16-bit words."""
    plain = np.ascontiguousarray(array).reshape(array.shape)
    plain = plain.view(np.uint16) if plain.dtype.kind == "V" else plain
    stream = io.BytesIO()
    np.lib.format.write_array(stream, plain.astype(plain.dtype.newbyteorder("<")), (1, 0), allow_pickle=False)
    return stream.getvalue()


def _catalogue_text(
    export: _Export, cases: Sequence[Case], about: Mapping[str, Any], progress: Callable[[int, int], None]
) -> Iterator[str]:
    """Yield the document of all cases, one a line."""
    yield f'{{"format": {FORMAT}, "catalogue": {json.dumps(about)}, "cases": [\n'
    for done, case in enumerate(cases, 1):
        line = json.dumps(_case(export, case, expected(case)), ensure_ascii=False, allow_nan=False)
        yield line + (",\n" if done < len(cases) else "\n")
        progress(done, len(cases))
    yield "]}\n"


def _case(export: _Export, case: Case, wanted: Expected) -> dict[str, Any]:
    readings = case.expect.readings if isinstance(case.expect, Value) else ()
    return {
        "id": case.id,
        "operator": case.operator,
        "level": case.level,
        "tags": list(case.tags),
        "about": case.about,
        "source": case.source,
        "inputs": {
            name: {**export.array(array), "made": case.inputs[name].values, "marks": sorted(marks(case.inputs[name]))}
            for name, array in wanted.inputs.items()
        },
        "parameters": encoded(case.parameters),
        "omitted": list(case.omitted),
        "puts": case.puts,
        "via": list(case.via),
        "then": [{"operator": item.operator, "parameters": encoded(item.parameters)} for item in case.then],
        "expect": _expectation(export, case, wanted),
        "printed": [{"shape": list(shape), "numbers": _printed(numbers)} for shape, numbers in readings],
        "inexact": case.expect.inexact if isinstance(case.expect, Value) else "",
        "digest": wanted.digest,
    }


def _printed(numbers: Sequence[Any] | None) -> list[int | str] | None:
    """Return printed numbers: whole ones as they are, decimals as text with all the places that were printed."""
    if numbers is None:
        return None
    return [number if isinstance(number, int) else str(number) for number in numbers]


def _expectation(export: _Export, case: Case, wanted: Expected) -> dict[str, Any]:
    if wanted.target is not None:
        return _target(export, wanted.target)
    named = case.expect.named if isinstance(case.expect, Answers) else {}
    return {
        "answers": {
            name: {
                **_target(export, target),
                **({"parameters": encoded(_numbers(named[name]))} if isinstance(named[name], Mapping) else {}),
            }
            for name, target in wanted.answers.items()
        }
    }


def _numbers(parameters: Any) -> dict[str, Any]:
    """Return the parameters of an answer, which stand as the catalogue has them, with decimals as numbers."""
    return {name: plain(value) for name, value in parameters.items()}


def _target(export: _Export, target: Target) -> dict[str, Any]:
    exact = target.exact
    if exact is None:
        return {"rejected": target.rejected}
    value = {"value": export.array(exact.value)}
    if is_exact(exact) or exact.high is None or exact.low is None or target.bound is None:
        return value
    arrays = {"high": exact.high, "low": exact.low, "bound": target.bound}
    return value | {name: export.array(np.asarray(array, np.float64)) for name, array in arrays.items()}
