"""Recorded nodes of ONNX files. CONFORMANCE_ONNXRUNTIME_PYTHON is a Python that has onnxruntime and onnx."""

import subprocess

import numpy as np
import pytest
from click.testing import CliRunner

from conformance.cli import cli
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


DENSE = {
    "gemm": "save([node('Gemm', ['x', 'w', 'b'], ['y'], name='fc', transB=1)], X2, "
    "[weights('w', 6, 5), weights('b', 6)])",
    "gemm without transposition": "save([node('Gemm', ['x', 'w', 'b'], ['y'], name='fc')], X2, "
    "[weights('w', 5, 6), weights('b', 6)])",
    "matmul": "save([node('MatMul', ['x', 'w'], ['y'], name='fc')], X2, [weights('w', 5, 6)])",
}


@pytest.mark.parametrize("body", DENSE.values(), ids=DENSE)
def test_a_product_with_a_matrix_is_a_dense_layer(tmp_path, body):
    found = run(tmp_path, f"X2 = [('x', [3, 5])]\n{body}", (3, 5))
    assert_reference_agrees(found, "conv")
    (call,) = found.calls
    assert (call.kind, call.name, call.shaped_result.shape) == ("dense", "fc", (3, 6))
    assert np.array_equal(call.x[..., 0], numbers((3, 5)))
    assert np.array_equal(call.shaped_result, found.results[0])


def test_a_matmul_of_a_sequence_is_a_dense_layer_of_each_position(tmp_path):
    body = "save([node('MatMul', ['x', 'w'], ['y'], name='fc')], [('x', [2, 7, 5])], [weights('w', 5, 6)])"
    found = run(tmp_path, body, (2, 7, 5))
    assert_reference_agrees(found, "conv")
    assert found.calls[0].x.shape == (2, 5, 7)


def compared(folder, *heads):
    """Return the output of compare-models for two files with the same convolution and other nodes after it."""
    paths = []
    for number, head in enumerate(heads):
        paths.append(folder / f"net{number}.onnx")
        body = (
            "conv = node('Conv', ['x', 'k'], ['c'], name='conv')\n"
            "matrix = node('MatMul', ['m', 'w'], ['d'], name='fc')\n"
            "K = [weights('k', 5, 4, 3, 2), whole('axes', 2, 3), weights('w', 5, 6), weights('b', 6)]\n"
            f"save([conv, {head}], X, K)"
        )
        subprocess.run([python_of("onnxruntime"), "-c", PRELUDE + body, paths[-1]], check=True)
    arguments = ["--input", "2x4x9x8", "--values", "integers", "--quiet"]
    python = f"onnxruntime={python_of('onnxruntime')}"
    result = CliRunner().invoke(cli, ["compare-models", *map(str, paths), *arguments, "--backend", python])
    assert result.exit_code in {0, 1}, result.output
    return result.exit_code, " ".join(result.output.split())


MEAN = "node('ReduceMean', ['c', 'axes'], ['m'], keepdims=0)"
MAXIMUM = "node('ReduceMax', ['c', 'axes'], ['m'], keepdims=0)"
SOFTMAX = "node('Softmax', ['d'], ['y'], axis=1)"
LOG_SOFTMAX = "node('LogSoftmax', ['d'], ['y'], axis=1)"


def test_reductions_and_dense_layers_that_are_the_same_agree(tmp_path):
    status, output = compared(tmp_path, *[f"{MEAN}, matrix, {SOFTMAX}"] * 2)
    assert status == 0
    assert "fc fc dense 2x6 same" in output


def test_another_reduction_before_a_dense_layer_is_named(tmp_path):
    status, output = compared(tmp_path, f"{MEAN}, matrix, {SOFTMAX}", f"{MAXIMUM}, matrix, {SOFTMAX}")
    assert status == 1
    assert (
        "The source reads the mean of the result of conv; the port reads the maximum of the result of conv." in output
    )


def test_another_function_after_a_dense_layer_is_named(tmp_path):
    status, output = compared(tmp_path, f"{MEAN}, matrix, {SOFTMAX}", f"{MEAN}, matrix, {LOG_SOFTMAX}")
    assert status == 1
    assert "softmax of the result of fc; the port returns log softmax of the result of fc." in output


def test_a_lost_bias_of_a_dense_layer_is_named(tmp_path):
    gemm = "node('Gemm', ['m', 'w', 'b'], ['y'], name='fc')"
    status, output = compared(tmp_path, f"{MEAN}, {gemm}", f"{MEAN}, matrix, node('Identity', ['d'], ['y'])")
    assert status == 1
    assert "without its bias" in output
