import sys

import numpy as np
import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.execution.job import Limits
from conformance.models.comparison import recording
from conformance.models.comparison.recording import nudged, record_model
from conformance.models.comparison.source import ModelSource

CAPTURE = """
def build_model(factory, weights):
    return call_factory(factory, weights)


def model_weights(model):
    return {"w": np.float32([2])}


def run_model(model, inputs, recorder):
    recorder.path.append("first")
    y = model(*inputs.values())
    recorder.add("max_pool", {"window": [2], "stride": [2]}, {"x": next(iter(inputs.values()))}, y)
    return [y]
"""
X = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
POOL = "lambda x: x.reshape(1, 2, 2, 2).max(-1)"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Return a function that records the model of a file with this text."""
    monkeypatch.setattr(registry, "capture_text", lambda _name: CAPTURE)

    def run(text, weights=None, inputs=(X,), seconds=60.0):
        path = tmp_path / "net.py"
        path.write_text(text, "utf-8")
        source = ModelSource("numpy", str(path), "make")
        limits = Limits(case_seconds=seconds)
        given = [one if isinstance(one, dict) else {"0": one} for one in inputs]
        return record_model(source, given, python=sys.executable, limits=limits, weights=weights)

    return run


def test_calls_results_and_weights_are_read(record):
    model = record(f"def make():\n    return {POOL}\n", inputs=(X, -X))
    assert len(model.runs) == 2
    (call,) = model.runs[0].calls
    assert (call.operator, call.name, call.parameters) == ("max_pool", "first", {"window": (2,), "stride": (2,)})
    assert np.array_equal(call.x, X)
    assert np.array_equal(model.runs[1].results[0], [[[0, -2], [-4, -6]]])
    assert 0 < call.input_noise < 1e-5
    assert np.array_equal(model.weights["w"], [2])


def test_an_error_has_the_advice_of_the_readers_of_models(record):
    with pytest.raises(ConformanceError, match="torchvision was built for another torch"):
        record("raise RuntimeError('operator torchvision::nms does not exist')\n")
    with pytest.raises(ConformanceError) as error:
        record("raise RuntimeError('no such size')\n")
    assert ";" not in str(error.value)


def test_arrays_that_change_later_are_copied(record, monkeypatch):
    changed = CAPTURE.replace("    return [y]", "    y += 100\n    next(iter(inputs.values()))[:] = 0\n    return [y]")
    monkeypatch.setattr(registry, "capture_text", lambda _name: changed)
    (call,) = record(f"def make():\n    return {POOL}\n", inputs=(X.copy(),)).runs[0].calls
    assert np.array_equal(call.x, X)
    assert np.array_equal(call.result, [[[1, 3], [5, 7]]])


def test_several_inputs_are_passed_in_order_and_nudged_together(record):
    inputs = [{"0": X, "mask": 2 * X}, {"0": -X, "mask": X}]
    model = record("def make():\n    return lambda x, mask: 3 * x + mask\n", inputs=inputs)
    assert np.array_equal(model.runs[0].results[0], 5 * X)
    assert np.array_equal(model.runs[1].results[0], -2 * X)
    assert model.runs[0].noise[0] > 0


def test_the_factory_of_a_port_receives_weights(record):
    weights = {"scale": np.float32([3])}
    model = record("def make(w, other=1):\n    return lambda x: x[..., ::2] * w['scale']\n", weights)
    assert np.array_equal(model.runs[0].results[0], 3 * X[..., ::2])


def test_modules_next_to_the_file_can_be_imported(record, tmp_path):
    (tmp_path / "helper_of_net.py").write_text(f"pool = {POOL}\n", "utf-8")
    assert record("from helper_of_net import pool\n\ndef make():\n    return pool\n").runs[0].calls


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def make():\n    raise ValueError('too small')\n", "ValueError: too small (net.py, line 2)"),
        ("def other(): pass\n", "has no attribute 'make'"),
        ("def make(:\n", "SyntaxError"),
        ("import os\n\ndef make():\n    os._exit(3)\n", "status 3"),
        ("def make():\n    return lambda x: 5\n", "AttributeError: 'int' object has no attribute 'shape'"),
    ],
)
def test_models_that_cannot_be_run_are_one_line(record, text, message):
    with pytest.raises(ConformanceError, match=r"^numpy:\S*net.py:make: [^\n]*$") as error:
        record(text)
    assert message in str(error.value)


def test_an_error_names_the_last_line_of_the_model(record):
    with pytest.raises(ConformanceError, match=r" \(net.py, line 5\)$"):
        record("import numpy\n\ndef make():\n    def pool(x):\n        return numpy.pad(x, 1, '')\n    return pool\n")


def test_an_error_has_no_colours_and_the_line_after_its_first_line(record):
    with pytest.raises(ConformanceError, match=r": ValueError: bold \(net.py, line 2\)\nlast$"):
        record("def make():\n    raise ValueError('\\x1b[1mbold\\x1b[0m\\nlast')\n")


def test_a_model_that_hangs_is_stopped(record):
    with pytest.raises(ConformanceError, match="1 s"):
        record("import time\n\ndef make():\n    time.sleep(60)\n", seconds=1.0)


def test_the_number_of_calls_is_limited(record, monkeypatch):
    monkeypatch.setattr(recording, "MAX_CALLS", 0)
    with pytest.raises(ConformanceError, match="1 calls of window operators, the limit is 0"):
        record(f"def make():\n    return {POOL}\n")


def test_numbers_change_by_one_unit():
    x = np.array([1, -1, 0], np.float32)
    changed = nudged(x)
    assert (changed != x).all()
    assert np.abs(changed - x).max() <= np.finfo(np.float32).eps
    assert nudged(np.array([1, 2])).tolist() == [1, 2]
