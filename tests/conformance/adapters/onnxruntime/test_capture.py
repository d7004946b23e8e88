"""Recorded nodes of ONNX files. CONFORMANCE_ONNXRUNTIME_PYTHON is a Python that has onnxruntime and onnx."""

import subprocess

import numpy as np
import pytest

from tests.support.captured_models import assert_reference_agrees, needs, numbers, python_of, record

pytestmark = needs("onnxruntime")
PRELUDE = """\
import sys, numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh
def weights(name, *shape):
    return nh.from_array(((np.arange(np.prod(shape)) * 7) % 5 - 2).astype('f4').reshape(shape), name)
def whole(name, *values): return nh.from_array(np.array(values, 'i8'), name)
def value(name, shape): return h.make_tensor_value_info(name, T.FLOAT, shape)
def save(nodes, inputs, initializers=()):
    given, results = [value(*one) for one in inputs], [value(nodes[-1].output[0], None)]
    graph = h.make_graph(nodes, 'g', given, results, list(initializers))
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid('', 21)], ir_version=10), sys.argv[1])
node = h.make_node
X = [('x', [2, 4, 9, 8])]
"""


def run(folder, body, *shapes):
    path = folder / "net.onnx"
    subprocess.run([python_of("onnxruntime"), "-c", PRELUDE + body, path], check=True)
    return record(str(path), *shapes, python=python_of("onnxruntime"))


@pytest.mark.parametrize(
    ("body", "operator"),
    [
        (
            "save([node('Conv', ['x', 'w', 'b'], ['y'], name='layer', strides=[2, 1], pads=[1, 0, 0, 1], group=2)], X, "
            "[weights('w', 6, 2, 3, 2), weights('b', 6)])",
            "conv",
        ),
        (
            "save([node('Conv', ['x', 'w'], ['y'], name='layer', auto_pad='SAME_LOWER', strides=[2, 2])], X, "
            "[weights('w', 6, 4, 3, 3)])",
            "conv",
        ),
        (
            "save([node('ConvTranspose', ['x', 'w'], ['y'], name='layer', strides=[2, 2], pads=[1, 0, 0, 1], "
            "output_padding=[1, 0])], X, [weights('w', 4, 3, 3, 3)])",
            "conv_transpose",
        ),
        (
            "save([node('MaxPool', ['x'], ['y'], name='layer', kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1, "
            "pads=[1, 0, 1, 0])], X)",
            "max_pool",
        ),
        (
            "save([node('AveragePool', ['x'], ['y'], name='layer', kernel_shape=[3, 3], pads=[1, 1, 1, 1], "
            "count_include_pad=1)], X)",
            "avg_pool",
        ),
        ("save([node('GlobalAveragePool', ['x'], ['y'], name='layer')], X)", "global_avg_pool"),
        (
            "save([node('Pad', ['x', 'p'], ['y'], name='layer', mode='reflect')], X, "
            "[whole('p', 0, 0, 1, 2, 0, 0, 2, 1)])",
            "pad",
        ),
    ],
)
def test_the_reference_computes_what_was_recorded(tmp_path, body, operator):
    found = run(tmp_path, body, (2, 4, 9, 8))
    assert_reference_agrees(found, operator)
    assert found.calls[0].name == "layer"
    assert np.array_equal(found.calls[0].x, numbers((2, 4, 9, 8)))


def test_inputs_without_a_known_name_are_in_their_order(tmp_path):
    body = "save([node('MaxPool', ['x'], ['m'], kernel_shape=[2, 2]), node('Add', ['m', 'z'], ['y'])], "
    found = run(tmp_path, body + "[('x', [1, 2, 4, 4]), ('z', [1, 2, 3, 3])])", (1, 2, 4, 4), (1, 2, 3, 3))
    assert_reference_agrees(found, "max_pool")
    assert np.array_equal(found.results[0], found.calls[0].result + numbers((1, 2, 3, 3), 1))
