"""Run a model in a worker and read the calls of window operators that it recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.adapters.api.models.capture import RECORDER
from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS
from conformance.execution.job import Job, Limits, WorkerFailed
from conformance.execution.targets import RunTarget
from conformance.execution.worker_process import Worker
from conformance.models.comparison.source import ModelSource
from conformance.models.reading import advice_text
from reports.results.vocabulary import How, Outcome

TERMINAL_STYLE = re.compile(r"\x1b\[[0-9;]*m")
"""Colours and bold type of a terminal, which messages of some frameworks contain."""
MAX_CALLS = 5000
"""Maximum number of recorded calls in one run of a model."""
ModelInput = Mapping[str, Array]
"""The arrays with which a model is called, in order, by their names, or by their positions "0", "1", …"""


class Joining(Enum):
    """How the calls that together are one layer share its channels."""

    GROUPS = "of some groups each"
    OUTPUTS = "of some output channels each"
    INPUTS = "of some input channels each, whose results are added"
    CHANNELS = "of some channels each"


@dataclass(frozen=True)
class Parts:
    """Calls of a model that together are one layer: their number, and how they are joined."""

    count: int
    joining: Joining


@dataclass(frozen=True)
class RecordedCall:
    """One call of a window operator.

    parameters, inputs, result: in the form and layout of the reference.
    input_noise, result_noise: the largest change of the input and of the result when the input of the model changes by
    one rounding error.
    parts: the calls that this one joins, None for a call of the model.
    is_dense: whether the call is a product with a matrix, which is recorded as a convolution of windows of one cell.
    """

    operator: str
    name: str
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Array]
    result: Array
    input_noise: float = 0.0
    result_noise: float = 0.0
    parts: Parts | None = None
    is_dense: bool = False

    @property
    def x(self) -> Array:
        """The input, (n, c, *spatial)."""
        return self.inputs["x"]

    @property
    def kind(self) -> str:
        """The operator, or `dense`."""
        return "dense" if self.is_dense else self.operator

    @property
    def shaped_result(self) -> Array:
        """The result in the shape that the model has: a dense layer of vectors has no spatial axis."""
        return self.result[..., 0] if self.is_dense and self.result.shape[2:] == (1,) else self.result


@dataclass(frozen=True)
class RecordedRun:
    """One run of a model: its calls in order, its results, and the noise of each result."""

    calls: Sequence[RecordedCall]
    results: Sequence[Array]
    noise: Sequence[float]


@dataclass(frozen=True)
class RecordedModel:
    """The runs of a model, one for each input, and its weights by name."""

    source: ModelSource
    runs: Sequence[RecordedRun]
    weights: Mapping[str, Array] = field(default_factory=dict)


def record_model(
    source: ModelSource,
    inputs: Sequence[ModelInput],
    *,
    python: str,
    limits: Limits,
    weights: Mapping[str, Array] | None = None,
) -> RecordedModel:
    """Run a model in a worker on each input. All inputs have the same names.

    python: the interpreter of the worker. weights: the weights of the other model, which the factory receives if it has
    a parameter. Raises ConformanceError with the message of the framework if the model cannot be run.
    """
    weights = weights or {}
    names = list(inputs[0])
    pairs = ((one.values(), map(nudged, one.values())) for one in inputs)
    arrays = [array for pair in pairs for side in pair for array in side]
    target = RunTarget(source.backend, python)
    program = Program(source.backend, How.NATIVE, program_text(source, list(weights), names))
    worker = Worker(target.backend, python, limits, retry=False)
    try:
        (outcome,) = worker.outcomes([Job(program, [*arrays, *weights.values()])])
    except WorkerFailed as error:
        raise ConformanceError(f"{source}: {target.with_install_hint(str(error))}") from None
    finally:
        worker.stop()
    if outcome.kind != Outcome.RETURNED or not outcome.arrays:
        message = TERMINAL_STYLE.sub("", outcome.message or outcome.kind.value)
        raise ConformanceError(f"{source}: {message}{advice_text(message, registry.model_readers().values())}")
    try:
        return _read_model(source, outcome.arrays, len(inputs))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConformanceError(f"{source}: the worker returned an invalid record ({error!r})") from None


def program_text(source: ModelSource, weight_names: Sequence[str], input_names: Sequence[str]) -> str:
    """Return the program that records a model: arguments are pairs of inputs, and then the weights."""
    place = str(Path(source.place).resolve()) if Path(source.place).is_file() else source.place
    call = f"capture({place!r}, {source.attribute!r}, {list(weight_names)!r}, {list(input_names)!r}, arrays)"
    return f"{RECORDER}\n\n{registry.capture_text(source.backend)}\n\ndef run(*arrays):\n    return {call}\n"


def nudged(array: Array) -> Array:
    """Return the array with each number changed by at most one unit in the last place, in alternating directions."""
    if array.dtype.kind != "f":
        return array
    up = np.arange(array.size).reshape(array.shape) % 2 == 0
    toward = np.where(up, np.inf, -np.inf).astype(array.dtype)
    nudged_array: Array = np.nextafter(array, toward)
    return nudged_array


def _read_model(source: ModelSource, arrays: Sequence[Array], runs: int) -> RecordedModel:
    """Return the record of a model. Raises ValueError, LookupError, TypeError or AttributeError if it is invalid."""
    header, stored = json.loads(arrays[0].tobytes()), arrays[1:]
    weights = {str(name): _stored(one, stored) for name, one in header["weights"].items()}
    if len(header["runs"]) != runs:
        raise ValueError(f"{len(header['runs'])} runs instead of {runs}")
    return RecordedModel(source, [_read_run(run, stored) for run in header["runs"]], weights)


def _read_run(header: Mapping[str, Any], stored: Sequence[Array]) -> RecordedRun:
    if len(header["calls"]) > MAX_CALLS:
        raise ConformanceError(f"{len(header['calls']):,} calls of window operators, the limit is {MAX_CALLS:,}")
    calls = [_read_call(call, stored) for call in header["calls"]]
    results = [_stored(one, stored) for one in header["results"]]
    return RecordedRun(calls, results, [float(one) for one in header["noise"]])


def _read_call(header: Mapping[str, Any], stored: Sequence[Array]) -> RecordedCall:
    operator, given = OPERATORS[header["operator"]], header["parameters"]
    known = {one.name for one in operator.parameters}
    input_noise, result_noise = map(float, header["noise"])
    return RecordedCall(
        operator.name,
        str(header["name"]),
        {name: _as_tuple(value) for name, value in given.items() if name in known},
        {name: _stored(one, stored) for name, one in header["inputs"].items()},
        _stored(header["result"], stored),
        input_noise,
        result_noise,
        is_dense=bool(given.get("dense")),
    )


def _stored(reference: Sequence[Any], stored: Sequence[Array]) -> Array:
    """Return the array that a position and a shape describe. Raises ValueError, LookupError or TypeError."""
    position, shape = reference
    found: Array = stored[position].reshape(shape)
    return found


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
