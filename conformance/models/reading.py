"""Read a model in a process of its framework, with limits of time and memory. No framework is imported here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api import EXTRACTION_FILE, ModelReader
from conformance.models.factory import PYTHON_SUFFIX, parse_factory
from conformance.models.layer import Model, ModelLayer, ModelNode, Setting, validated
from conformance.models.padded_layers import with_followers
from conformance.system import processes
from conformance.system.suggestions import suggestion
from reports.results.files import NOT_REGULAR

MAX_RESULT_BYTES = 256 << 20
"""Maximum size of the list of layers."""
MAX_ERROR_LENGTH = 400
EXPECTED = "a model file, [BACKEND:]FILE.py:FACTORY or [BACKEND:]MODULE:FACTORY"
READ_SECONDS = 300.0
"""Time limit for reading a model."""
LEAST_MEMORY_BYTES = 8 << 30
"""Address space that a process may use at least. Frameworks reserve several GiB when they are imported."""


class _LayerRecord(msgspec.Struct):
    name: str
    source: str = ""
    operator: str = ""
    parameters: dict[str, Any] = {}
    shape: list[int] = []
    dtype: str = "float32"
    kernel: list[int] = []
    bias: bool = False
    weights: dict[str, Any] = {}
    problem: str = ""
    padding_word: str = ""


class _NodeRecord(msgspec.Struct):
    name: str
    kind: str
    inputs: list[str] = []
    outputs: list[str] = []


class _ResultRecord(msgspec.Struct):
    layers: list[_LayerRecord] = []
    others: dict[str, int] = {}
    settings: dict[str, list[dict[str, Setting]]] = {}
    nodes: list[_NodeRecord] = []
    surface: str = ""
    versions: dict[str, str] = {}
    error: str = ""


@dataclass(frozen=True)
class ModelSource:
    """What to read: a file or a reference MODULE:FACTORY or FILE.py:FACTORY, and the reader with its interpreter.

    reader: None for a reference whose reader depends on the class of the model.
    inputs: the shapes of inputs by name; the name "" means the only input.
    """

    text: str
    reader: ModelReader | None
    python: str
    inputs: Mapping[str, tuple[int, ...]]

    @property
    def readers(self) -> Mapping[str, ModelReader]:
        """The reader, or all that read a model which a function returns."""
        known = registry.model_readers()
        if self.reader is None:
            return {name: one for name, one in known.items() if one.returns}
        return {next((name for name, one in known.items() if one.script == self.reader.script), "reader"): self.reader}


def is_reference(model: str) -> bool:
    """Whether a model is named by a function and not by a file."""
    return ":" in model and not Path(model).exists()


def parse_source(text: str, reader: str | None, inputs: Mapping[str, tuple[int, ...]]) -> ModelSource:
    """Return what to read: a file, or the function that [BACKEND:]FILE.py:FACTORY or [BACKEND:]MODULE:FACTORY names.

    reader: NAME or NAME=PYTHON, None to choose by the backend of the model, by the ending of the file, or by the class
    of the model that a function returns. Raises ConformanceError.
    """
    if text.endswith(PYTHON_SUFFIX) and Path(text).is_file():
        raise ConformanceError(f"model {text!r}: {text} has no factory after it; expected {EXPECTED}")
    if not is_reference(text):
        return ModelSource(text, *find_reader(text, reader), inputs)
    factory = parse_factory(text, EXPECTED)
    if factory.backend and reader is None:
        reader = factory.backend
    found, python = find_reader(factory.reference, reader)
    if factory.backend and found != _reader_of(factory.backend):
        raise ConformanceError(f"--reader {reader}: the model is one of {factory.backend}")
    return ModelSource(factory.reference, found, python, inputs)


def _reader_of(name: str) -> ModelReader | None:
    """Return the reader of a name or a backend, None without one."""
    for own, reader in registry.model_readers().items():
        if name == own:
            return reader
        if name in reader.backends:
            return replace(reader, variables={**reader.variables, **reader.backends[name]})
    return None


def find_reader(model: str, reader: str | None) -> tuple[ModelReader | None, str]:
    """Return the reader of a file or reference and its interpreter. Raises ConformanceError without one.

    reader: NAME or NAME=PYTHON, None to choose by the ending of the file, or by the class of the model that a function
    returns. The returned reader is None in the last case.
    """
    known = registry.model_readers()
    if reader is not None:
        name, _, python = reader.partition("=")
        found = _reader_of(name)
        if found is None:
            raise ConformanceError(f"--reader {name}: unknown{suggestion(name, known) or ','} {_readers_text(known)}")
        if is_reference(model) and not found.reads_references:
            able = ", ".join(one for one, other in known.items() if other.reads_references)
            raise ConformanceError(f"--reader {name}: reads no models of Python functions; readers that do are {able}")
        return found, python or sys.executable
    if is_reference(model):
        return None, sys.executable
    path = Path(model)
    if not path.exists():
        raise ConformanceError(f"{model}: no such file")
    suitable = [one for one in known.values() if _reads_file(one, path)]
    if len(suitable) != 1:
        needed = "several readers" if suitable else "no reader has the ending of this file"
        raise ConformanceError(f"{model}: {needed}, name one with --reader; {_readers_text(known)}")
    return suitable[0], sys.executable


def _reads_file(reader: ModelReader, path: Path) -> bool:
    if path.is_dir():
        return bool(reader.folder_file) and (path / reader.folder_file).is_file()
    return path.name.lower().endswith(reader.suffixes)


def _readers_text(known: Mapping[str, ModelReader]) -> str:
    parts = [f"{name} ({', '.join(one.suffixes)})" for name, one in sorted(known.items())]
    return f"known readers are {', '.join(parts)}"


def read_model(source: ModelSource, seconds: float = READ_SECONDS) -> Model:
    """Return the layers of a model. Raises ConformanceError in one line that names the model and the problem."""
    path = Path(source.text)
    # The reader would wait for a pipe, and read a device until its limit of memory.
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ConformanceError(f"{source.text}: {NOT_REGULAR}")
    memory = max(processes.machine_memory_bytes() // 2, LEAST_MEMORY_BYTES)
    limits = {"memory_bytes": memory, "processor_seconds": int(seconds)}
    with tempfile.TemporaryDirectory(prefix="conformance-model-") as folder:
        request, result = Path(folder, "request.json"), Path(folder, "result.json")
        inputs = {name: list(shape) for name, shape in source.inputs.items()}
        content = {
            "source": source.text,
            "is_reference": is_reference(source.text),
            "inputs": inputs,
            "limits": limits,
            "readers": [
                {"name": name, "script": str(one.script), "returns": one.returns, "surface": one.surface}
                for name, one in source.readers.items()
            ],
        }
        request.write_text(json.dumps(content), "utf-8")
        log = _run_extraction(source, request, result, folder, seconds)
        if not result.exists():
            raise ConformanceError(f"{source.text}: cannot be read: {log or 'the process of the reader ended early'}")
        if result.stat().st_size > MAX_RESULT_BYTES:
            raise ConformanceError(f"{source.text}: its layers take more than {MAX_RESULT_BYTES:,} bytes")
        try:
            record = msgspec.json.decode(result.read_bytes(), type=_ResultRecord)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ConformanceError(f"{source.text}: the reader returned invalid data: {error}") from None
    if record.error:
        _raise_error(source, " ".join(record.error.split())[:MAX_ERROR_LENGTH])
    layers = with_followers([validated(_layer_of(one)) for one in record.layers])
    nodes = (ModelNode(one.name, one.kind, tuple(one.inputs), tuple(one.outputs)) for one in record.nodes)
    surface = record.surface or (source.reader.surface if source.reader else "")
    is_run = all(one.is_run for one in source.readers.values())
    return Model(
        source.text, surface, tuple(layers), record.others, tuple(nodes), record.settings, record.versions, is_run
    )


def _raise_error(source: ModelSource, message: str) -> None:
    is_missing = message.startswith(("ModuleNotFoundError", "ImportError"))
    for reader in source.readers.values() if is_missing else ():
        if any(f"'{package}" in message for package in reader.packages):
            needed, python = ", ".join(reader.packages), source.python
            raise IncompleteRun(f"{source.text}: {python} does not have {needed} (--reader NAME=PYTHON): {message}")
    raise ConformanceError(f"{source.text}: {message}{advice_text(message, source.readers.values())}")


def advice_text(message: str, readers: Iterable[ModelReader]) -> str:
    """Return what readers advise for an error of a framework, after a semicolon; "" without advice."""
    found = (advice for reader in readers for text, advice in reader.advice.items() if text in message)
    advice = next(found, "")
    return f"; {advice}" if advice else ""


def _layer_of(record: _LayerRecord) -> ModelLayer:
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    return ModelLayer(**{**fields, "shape": tuple(record.shape), "kernel": tuple(record.kernel)})


def _run_extraction(source: ModelSource, request: Path, result: Path, folder: str, seconds: float) -> str:
    """Run the reader in a process of its own; return the last line that it printed, or why it ended."""
    command = [source.python, "-u", str(EXTRACTION_FILE), str(request), str(result)]
    variables = {
        **os.environ,
        **(source.reader.variables if source.reader else {}),
        "TMPDIR": folder,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    log = Path(folder, "log")
    with log.open("wb") as stream:
        try:
            process = subprocess.Popen(  # noqa: S603 - the interpreter that the user named
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env={**variables, processes.WORKER_VARIABLE: (mark := Path(folder).name)},
                start_new_session=True,
            )
        except OSError as error:
            raise IncompleteRun(f"{source.python}: {error.strerror}") from None
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"it takes more than {seconds:g} seconds"
        finally:
            # The group may have processes that the reader or the user's module started.
            processes.kill_group(process.pid, mark)
            process.wait()
    if status < 0:
        return f"the process of the reader ended with {_signal_name(-status)}"
    lines = log.read_bytes()[-4000:].decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:MAX_ERROR_LENGTH]


def _signal_name(number: int) -> str:
    """Return the name of a signal, or its number if it has no name, like most real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
