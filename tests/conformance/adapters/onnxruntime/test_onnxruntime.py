"""The module `onnxruntime` of ONNX."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import EVALUATOR, PLANE, ROW, RUNTIME


def test_program_builds_a_model_with_one_node_and_runs_it_in_a_session(made):
    case = made("max_pool", f"{PLANE}, window: [2, 1], stride: [2, 1]")
    assert translate(case, RUNTIME).text == (
        "def run(x):\n"
        '    nodes = [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 1], strides=[2, 1])]\n'
        '    inputs = {"x": x}\n'
        "    types = [\n"
        "        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)\n"
        "        for name, array in inputs.items()\n"
        "    ]\n"
        '    outputs = [helper.make_empty_tensor_value_info("y")]\n'
        '    graph = helper.make_graph(nodes, "graph", types, outputs)\n'
        '    model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", 26)])\n'
        "    session = onnxruntime.InferenceSession("
        'model.SerializeToString(), options, ["CPUExecutionProvider"])\n'
        "    (x,) = session.run(None, inputs)\n"
        "    return x\n"
    )


def test_runtime_pads_explicitly_if_the_padding_is_as_large_as_the_window(made):
    case = made("max_pool", f"{ROW}, window: [1], stride: [2], padding: [[1, 0]]")
    assert translate(case, RUNTIME).how == "padded"
    assert translate(case, EVALUATOR).how == "native"


def test_runtime_does_not_support_bfloat16(made):
    case = made("max_pool", "x: {values: [[[1, 2, 3]]], dtype: bfloat16}, window: [2], stride: [1]")
    unsupported = translate(case, RUNTIME)
    assert isinstance(unsupported, Unsupported)
    assert "No corresponding Numpy type" in unsupported.reason
    assert "x.view(ml_dtypes.bfloat16)" in translate(case, EVALUATOR).text


def test_runtime_has_no_kernel_for_convolution_in_float64(made):
    case = made("conv", "x: {values: [[[1, 2, 3]]], dtype: float64}, kernel: {values: [[[1, 2]]], dtype: float64}")
    unsupported = translate(case, RUNTIME)
    assert isinstance(unsupported, Unsupported)
    assert 'Could not find an implementation for Conv" in float64' in unsupported.reason


@pytest.mark.parametrize(
    ("operator", "node"), [("adaptive_avg_pool", "ReduceMean"), ("adaptive_max_pool", "ReduceMax")]
)
def test_runtime_reduces_bins_of_other_sizes_as_joined_slices(made, operator, node):
    case = made(operator, "x: {values: [[[1, 2, 3, 4, 5]]], dtype: float32}, output_size: [3]")
    program = translate(case, RUNTIME)
    assert program.how == "composed"
    assert program.text.count(f'"{node}"') == 3
    assert 'helper.make_node("Concat", ["bin0", "bin1", "bin2"], ["y"], axis=2)' in program.text
    assert isinstance(translate(case, EVALUATOR), Unsupported)
