"""The functions that convert a graph and run the model, with packages that stand in for those of the route."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.adapters.routes import onnx_lite
from conformance.catalogue.loading import load_catalogue
from conformance.translation.lowering import translate

(ROUTE,) = onnx_lite.SURFACES
CASES = {case.id: case for case in load_catalogue().select("standard")}
# An interpreter whose model is the text of what it does: it returns its input, raises an exception or ends the process.
INTERPRETER = """\
import os
from enum import Enum
from pathlib import Path

OpResolverType = Enum("OpResolverType", ["AUTO", "BUILTIN_REF"])


class Interpreter:
    def __init__(self, path, *, experimental_op_resolver_type, num_threads):
        self.action = Path(path).read_text()
        assert num_threads == 1

    def get_signature_list(self):
        return {} if self.action == "no signature" else {"serving_default": {}}

    def get_signature_runner(self):
        return self.run

    def allocate_tensors(self):
        self.tensors = {}

    def get_input_details(self):
        return [{"index": 3}]

    def get_output_details(self):
        return [{"index": 4}]

    def set_tensor(self, index, array):
        self.tensors[index] = array

    def invoke(self):
        self.tensors[4] = self.tensors[3] + 1

    def get_tensor(self, index):
        return self.tensors[index]

    def run(self, x):
        if self.action == "exit":
            os.kill(os.getpid(), 9)
        if self.action == "raise":
            raise ValueError("not\\nallocated")
        return {"y": x}
"""


@pytest.fixture
def functions(monkeypatch, tmp_path):
    """Return the names of the setup. PYTHONPATH has an interpreter that stands in for LiteRT."""
    onnx2tf, onnx, onnxruntime = (ModuleType(name) for name in ("onnx2tf", "onnx", "onnxruntime"))
    onnx2tf.onnx2tf = SimpleNamespace()
    onnx.TensorProto = onnx.helper = onnx.numpy_helper = None
    onnxruntime.SessionOptions = SimpleNamespace
    for module in (onnx2tf, onnx, onnxruntime, ModuleType("tf_keras")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    (tmp_path / "ai_edge_litert").mkdir()
    (tmp_path / "ai_edge_litert" / "interpreter.py").write_text(INTERPRETER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    names = {}
    exec(onnx_lite.SETUP, names)  # noqa: S102 - as a worker does
    return SimpleNamespace(**names)


def test_arrays_have_channels_last(functions):
    outputs = functions.run_lite_model(b"return", "AUTO", x=np.zeros((1, 2, 3, 4)))
    assert outputs["y"].shape == (1, 3, 4, 2)
    # Other numbers of axes have no channels.
    assert functions.run_lite_model(b"return", "AUTO", x=np.zeros((3, 4)))["y"].shape == (3, 4)


def test_model_without_a_signature_is_run(functions):
    outputs = functions.run_lite_model(b"no signature", "AUTO", x=np.zeros((1, 2, 3)))
    assert [array.tolist() for array in outputs.values()] == [np.ones((1, 3, 2)).tolist()]


def test_exception_of_the_runtime_has_one_line(functions):
    with pytest.raises(RuntimeError, match=r"^ValueError: not allocated$"):
        functions.run_lite_model(b"raise", "AUTO", x=np.zeros(1))


def test_signal_that_ends_the_runtime_ends_the_program(tmp_path, functions):
    setup = f"{functions.litert_program!r}"
    lines = onnx_lite.SETUP[onnx_lite.SETUP.index("def run_lite_model") : onnx_lite.SETUP.index("def channels_first")]
    imports = "import signal, subprocess, sys, tempfile\nfrom pathlib import Path\nimport numpy as np\n"
    text = f"{imports}litert_program = {setup}\n{lines}\nrun_lite_model(b'exit', 'AUTO', x=np.zeros(1))\n"
    assert subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=False).returncode == -9


@pytest.mark.parametrize(
    ("given", "expected", "result"),
    [
        ((1, 3, 4, 2), (1, 2, 3, 4), (1, 2, 3, 4)),
        ((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)),  # the shape of the graph
        ((1, 2, 2), (1, 3, 2), (1, 2, 2)),  # a wrong shape
        ((4, 3), (4, 3), (4, 3)),
    ],
)
def test_output_has_channels_first(functions, given, expected, result):
    assert functions.channels_first(np.zeros(given), expected).shape == result


def test_output_that_may_have_either_order_has_channels_last(functions):
    array = np.arange(8).reshape(1, 2, 2, 2)
    assert functions.channels_first(array, array.shape)[0, 1].tolist() == [[1, 3], [5, 7]]


def test_error_that_is_printed_before_an_exit_is_an_exception(functions):
    def convert(**_arguments):
        print("\x1b[31mERROR:\x1b[0m no\nsuch node")
        sys.exit(1)

    sys.modules["onnx2tf"].convert = convert
    with pytest.raises(RuntimeError, match=r"^ERROR: no such node$"):
        functions.convert(None)


def test_sizes_are_those_of_all_axes():
    # onnx2tf does not read the attribute `axes`.
    program = translate(CASES["resize/2d-linear-two-channels"], ROUTE)
    assert "sizes = np.array([1, 2, 1, 1])" in program.text
    assert "axes" not in program.text


def test_graph_has_the_newest_opset_of_its_release_of_onnx_runtime():
    program = translate(CASES["conv/2d-groups"], ROUTE)
    assert isinstance(program, Program)
    assert f'helper.make_opsetid("", {onnx_lite.OPSET_VERSION})' in program.text
    source = registry.backend_of_release("onnxruntime", onnx_lite.ONNXRUNTIME_RELEASE).surfaces[0]
    assert f'helper.make_opsetid("", {onnx_lite.OPSET_VERSION})' in translate(CASES["conv/2d-groups"], source).text
