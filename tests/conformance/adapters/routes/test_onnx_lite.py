"""The functions that convert a graph and run the model, with packages that stand in for those of the route."""

import copy
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

ROUTE = onnx_lite.SURFACES[0]
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

    def resize_tensor_input(self, index, shape):
        self.shapes = {index: shape}

    def allocate_tensors(self):
        self.tensors = {}

    def get_input_details(self):
        return [{"index": 3}]

    def get_output_details(self):
        return [{"index": 4}]

    def set_tensor(self, index, array):
        assert array.shape == self.shapes[index]
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
        ((4, 3), (4, 3), (4, 3)),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_order_that_the_shape_shows_is_that_of_the_shape(functions, given, expected, result, is_last):
    assert functions.channels_first(np.zeros(given), (expected, is_last)).shape == result


@pytest.mark.parametrize(("is_last", "rows"), [(True, [[1, 3], [5, 7]]), (False, [[4, 5], [6, 7]])])
def test_order_that_the_shape_does_not_show_is_that_of_the_layout(functions, is_last, rows):
    array = np.arange(8).reshape(1, 2, 2, 2)
    assert functions.channels_first(array, (array.shape, is_last))[0, 1].tolist() == rows


def graph_model(graph):
    """Return a model of a graph. Its text is a copy of the model."""
    return SimpleNamespace(graph=graph, SerializeToString=lambda: graph_model(copy.deepcopy(graph)))


def value(name, *shape):
    dimensions = SimpleNamespace(dim=[SimpleNamespace(dim_value=size) for size in shape])
    return SimpleNamespace(name=name, type=SimpleNamespace(tensor_type=SimpleNamespace(shape=dimensions)))


def node(op_type, inputs, output):
    return SimpleNamespace(op_type=op_type, input=inputs.split(), output=[output])


def model_of(inputs, tensors, output, *nodes):
    """Return a graph. `tensors` are those that are neither inputs nor the output."""
    return graph_model(SimpleNamespace(node=nodes, input=inputs, value_info=tensors, output=[output]))


def layouts(functions, model, reported, converted):
    """Return the layouts that are read, and the number of conversions.

    reported: the tensors that onnx2tf reports as channels last. converted: other shapes than those of the graph.
    """
    conversions = []

    def convert(*, onnx_graph, disable_model_save=False, **_options):
        conversions.append(disable_model_save)
        outputs = onnx_graph.graph.output
        shapes = [converted.get(one.name, functions.extents(one)) for one in outputs]
        return SimpleNamespace(
            onnx_output_layouts={one.name: one.name in reported for one in outputs},
            outputs=[SimpleNamespace(shape=list(shape)) for shape in shapes],
        )

    sys.modules["onnx2tf"].convert = convert
    sys.modules["onnx"].ModelProto = SimpleNamespace(FromString=lambda text: text)
    return functions.read_layouts(model, functions.run_onnx2tf(model, "folder"), "folder"), conversions


SQUARE, CELLS = (1, 2, 2, 2), (1, 2, 2, 2, 9)
WINDOW_SUMS = model_of(
    [value("x", 1, 2, 3, 3)],
    [value("r", 1, 2, 9), value("cells", *CELLS)],
    value("y", *SQUARE),
    node("Reshape", "x rows", "r"),
    node("Gather", "r indices", "cells"),
    node("ReduceSum", "cells last", "y"),
)


@pytest.mark.parametrize(
    ("model", "reported", "converted", "is_last"),
    [
        # The shape of the tensor before shows the order: nine cells are last in both, and no axis moved.
        (WINDOW_SUMS, "", {"cells": CELLS}, False),
        (WINDOW_SUMS, "", {"cells": (1, 2, 2, 9, 2)}, True),
        (WINDOW_SUMS, "y", {"cells": CELLS}, True),
        # An input with three to five axes has channels last.
        (model_of([value("x", *SQUARE)], [], value("y", *SQUARE), node("Neg", "x", "y")), "", {}, True),
        (model_of([value("x", 1, *SQUARE[:1] * 6)], [], value("y", *SQUARE), node("Neg", "x", "y")), "", {}, False),
        (model_of([value("x", 1, 8)], [], value("y", *SQUARE), node("Reshape", "x s", "y")), "", {}, False),
        (
            model_of(
                [value("x", *SQUARE)],
                [value("r", *SQUARE)],
                value("y", *SQUARE),
                node("Reshape", "x s", "r"),
                node("Neg", "r", "y"),
            ),
            "",
            {},
            False,
        ),
        (
            model_of(
                [value("x", *SQUARE)],
                [value("p", *SQUARE)],
                value("y", *SQUARE),
                node("MaxPool", "x", "p"),
                node("Sub", "constant p", "y"),
            ),
            "p",
            {},
            True,
        ),
        (model_of([], [], value("y", *SQUARE), node("Neg", "constant", "y")), "", {}, False),
        # Fewer than three axes have one order.
        (
            model_of(
                [value("x", 4, 4)],
                [value("g", 4, 4)],
                value("y", *SQUARE),
                node("Neg", "x", "g"),
                node("Gather", "g i", "y"),
            ),
            "",
            {},
            False,
        ),
    ],
)
def test_layout_of_an_output_with_equal_extents(functions, model, reported, converted, is_last):
    read, conversions = layouts(functions, model, reported.split(), converted)
    assert read == {"y": (SQUARE, is_last)}
    # The model that runs has the outputs of the graph. That with all tensors is not written.
    assert conversions == ([False] if reported == "y" else [False, True])
    assert [one.name for one in model.graph.output] == ["y"]


@pytest.mark.parametrize(
    ("shape", "converted", "is_last"),
    [
        ((1, 2, 3, 2), (1, 3, 2, 2), True),
        ((1, 2, 3, 2), (1, 2, 3, 2), False),
        ((1, 2, 4), (1, 1, 2), True),  # a wrong shape
        ((1, 2, 0, 0), (1, None, None, 2), True),  # symbolic extents
        ((1, 2, 0, 0), (1, 2, None, None), False),
        ((2, 2), (2, 2), False),
        ((), (), False),
    ],
)
def test_layout_that_the_shape_shows_is_read_from_the_conversion_itself(functions, shape, converted, is_last):
    model = model_of([value("x", *shape)], [], value("y", *shape), node("Neg", "x", "y"))
    assert layouts(functions, model, [], {"y": converted}) == ({"y": (shape, is_last)}, [False])


def test_layout_of_one_cell_and_channel_does_not_matter(functions):
    shape = (5, 1, 1, 1)
    model = model_of([value("x", *shape)], [], value("y", *shape), node("Reshape", "x s", "y"))
    assert layouts(functions, model, [], {})[1] == [False]


@pytest.mark.parametrize(("is_last", "shape"), [(True, (1, 4, 2, 3)), (False, (1, 2, 3, 4))])
def test_order_of_symbolic_extents_is_that_of_the_layout(functions, is_last, shape):
    assert functions.channels_first(np.zeros((1, 2, 3, 4)), ((1, 4, 0, 0), is_last)).shape == shape


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
