"""Models of one operator, run in the environment of their framework, whose recorded calls the reference computes again.

CONFORMANCE_<BACKEND>_PYTHON is the path of a Python that has the framework. Without it these tests are skipped.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from conformance.execution.job import Limits
from conformance.judging.expected import compute_reference
from conformance.models.comparison.recording import RecordedRun, record_model
from conformance.models.comparison.source import parse_model_source


def python_of(name: str) -> str:
    """Return the interpreter of a framework, "" without one."""
    return os.environ.get(f"CONFORMANCE_{name.upper()}_PYTHON", "")


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of tests that need a framework."""
    return pytest.mark.skipif(not python_of(name), reason=f"CONFORMANCE_{name.upper()}_PYTHON is not set")


def captured(folder: Path, backend: str, text: str, *shapes: tuple[int, ...], python: str) -> RecordedRun:
    """Return the record of the model that the function `make` of a text returns, for whole numbers."""
    path = folder / "net.py"
    path.write_text(text, "utf-8")
    return record(f"{backend}:{path}:make", *shapes, python=python)


def record(source: str, *shapes: tuple[int, ...], python: str) -> RecordedRun:
    """Return the record of a model for whole numbers, which are exact in every order of sums."""
    inputs = {str(number): numbers(shape, number) for number, shape in enumerate(shapes)}
    limits = Limits(case_seconds=120.0)
    return record_model(parse_model_source(source), [inputs], python=python, limits=limits).runs[0]


def numbers(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Return whole numbers from -4 to 4."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def assert_reference_agrees(run: RecordedRun, *operators: str) -> None:
    """Check that a run has these calls, and that the reference computes the recorded results from what was recorded."""
    assert [call.operator for call in run.calls] == list(operators)
    for call in run.calls:
        exact = compute_reference(call.operator, dict(call.inputs), dict(call.parameters))
        assert exact.value.shape == call.result.shape, (call.operator, call.parameters)
        difference = np.abs(exact.value.astype(float) - call.result.astype(float))
        assert (difference <= exact.bound() + 1e-4 * np.abs(exact.value)).all(), (call.operator, call.parameters)
