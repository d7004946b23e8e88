"""The adapters for onnx.reference and ONNX Runtime: their programs, and graphs built from lines."""

import re

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.adapters.onnx.graph import GraphBuilder, model_lines
from conformance.translation.lowering import translate

(RUNTIME,) = registry.get_backend("onnxruntime").surfaces
(EVALUATOR,) = registry.get_backend("onnx").surfaces
both = pytest.mark.parametrize("surface", [RUNTIME, EVALUATOR], ids=lambda surface: surface.name)


def nodes(program):
    """Return the arguments of each make_node call of a program."""
    assert isinstance(program, Program), program
    return re.findall(r"helper\.make_node\((.*)\)[,\]]", program.text)


ROW = "x: {values: [[[1, 2, 3]]]}"
PLANE = "x: {values: [[[[1, 2], [3, 4]]]]}"


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


def test_evaluator_runs_the_same_model(made):
    case = made("max_pool", f"{PLANE}, window: [2, 1], stride: [2, 1]")
    runtime, evaluator = (translate(case, surface).text.splitlines() for surface in (RUNTIME, EVALUATOR))
    assert evaluator[:-2] == runtime[:-3]
    assert evaluator[-2:] == ["    (x,) = ReferenceEvaluator(model).run(None, inputs)", "    return x"]


def test_reassigned_names_are_numbered_and_the_last_one_is_the_output():
    graph = GraphBuilder(["x = Neg(x)", "x = MaxPool(x, kernel_shape=[2])", "x = Neg(x)"], ["x"])
    assert graph.nodes == [
        'helper.make_node("Neg", ["x"], ["x1"])',
        'helper.make_node("MaxPool", ["x1"], ["x2"], kernel_shape=[2])',
        'helper.make_node("Neg", ["x2"], ["y"])',
    ]


def test_nested_call_becomes_a_separate_node():
    graph = GraphBuilder(["x = Div(x, ReduceSum(x))"], ["x"])
    assert graph.nodes == [
        'helper.make_node("ReduceSum", ["x"], ["reducesum"])',
        'helper.make_node("Div", ["x", "reducesum"], ["y"])',
    ]


def test_output_can_be_the_second_output_of_a_node():
    assert GraphBuilder(["values, x = MaxPool(x)"], ["x"]).nodes == [
        'helper.make_node("MaxPool", ["x"], ["values", "y"])'
    ]


def test_omitted_input_has_an_empty_name():
    graph = GraphBuilder(["pads = np.array([1, 1])", 'x = Pad(x, pads, "", axes)'], ["x", "axes"])
    assert graph.nodes == ['helper.make_node("Pad", ["x", "pads", "", "axes"], ["y"])']


def test_numpy_array_is_a_constant_if_a_node_reads_it():
    lines = ["size = np.array(4)", "shape = np.array([size])", "x = Reshape(x, shape)"]
    graph = GraphBuilder(lines, ["x"])
    assert graph.python_lines == lines[:2]
    assert list(graph.constants) == ["shape"]


def test_constant_that_is_reassigned_before_it_is_read_has_the_same_name():
    lines = ["scale = np.ones(3)", "scale = scale.astype(ml_dtypes.bfloat16)", "x = Mul(x, scale)"]
    graph = GraphBuilder(lines, ["x"])
    assert graph.python_lines == lines[:2]
    assert list(graph.constants) == ["scale"]


def test_constant_that_is_reassigned_after_it_is_read_gets_a_new_name():
    lines = ["kernel = np.ones(1)", "x = Conv(x, kernel)", "kernel = np.ones(2)", "x = Conv(x, kernel)"]
    graph = GraphBuilder(lines, ["x"])
    assert graph.python_lines == ["kernel = np.ones(1)", "kernel1 = np.ones(2)"]
    assert [re.findall(r'"Conv", \["\w+", "(\w+)"', node) for node in graph.nodes] == [["kernel"], ["kernel1"]]


def test_graph_contains_the_constants_by_name():
    lines = model_lines(["pads = np.array([1, 1])", "x = Pad(x, pads)"], ["x"])
    assert 'constants = [numpy_helper.from_array(pads, "pads")]' in lines
    assert 'graph = helper.make_graph(nodes, "graph", types, outputs, constants)' in lines


@both
def test_pads_before_all_axes_come_first(made, surface):
    case = made("pad", f"{PLANE}, pads: [[1, 2], [3, 0]], value: 7")
    text = translate(case, surface).text
    assert "pads = np.array([0, 0, 1, 3, 0, 0, 2, 0])" in text
    assert "value = np.array(7, x.dtype)" in text
    assert nodes(translate(case, surface)) == ['"Pad", ["x", "pads", "value"], ["y"]']


def test_evaluator_crops_with_a_slice_and_the_runtime_with_negative_pads(made):
    case = made("pad", f"{ROW}, pads: [[-1, 1]]")
    assert [node.split('"')[1] for node in nodes(translate(case, EVALUATOR))] == ["Slice", "Pad"]
    assert [node.split('"')[1] for node in nodes(translate(case, RUNTIME))] == ["Pad"]


@both
def test_indices_are_converted_to_indices_in_each_channel(made, surface):
    x = "x: {values: arange, shape: [2, 2, 1, 4]}"
    case = made("max_pool_with_indices", f"{x}, window: [1, 2], stride: [1, 2], output: indices")
    program = translate(case, surface)
    assert program.how == "composed"
    assert "plane = np.array(4)" in program.text
    assert nodes(program)[1] == '"Mod", ["indices", "plane"], ["y"]'


@both
def test_indices_of_one_channel_are_not_converted(made, surface):
    case = made("max_pool_with_indices", f"{PLANE}, window: [1, 2], stride: [1, 2], output: indices")
    program = translate(case, surface)
    assert (program.how, len(nodes(program))) == ("native", 1)


def test_evaluator_composes_indices_of_windows_with_stride_one(made):
    case = made("max_pool_with_indices", f"{PLANE}, window: [1, 2], stride: [1, 1], output: indices")
    assert "MaxPool" not in translate(case, EVALUATOR).text
    assert translate(case, RUNTIME).how == "native"


@pytest.mark.parametrize(("pads", "how"), [("[0, 1]", "composed"), ("[1, 0]", "native")])
def test_evaluator_composes_averages_if_a_window_starts_in_the_end_padding(made, pads, how):
    text = f"{ROW}, window: [1], stride: [1], padding: [{pads}], rounding: ceil, count_include_pad: true"
    assert translate(made("avg_pool", text), EVALUATOR).how == how


@both
def test_unpooling_converts_indices_to_indices_in_the_whole_tensor(made, surface):
    case = made(
        "max_unpool",
        "x: {values: arange, shape: [1, 3, 2]}, indices: {values: [[[0, 1], [2, 3], [0, 3]]]}, output_size: [4]",
    )
    program = translate(case, surface)
    assert "first = np.arange(3).reshape(1, 3, 1) * 4" in program.text
    assert nodes(program)[0] == '"Add", ["indices", "first"], ["add"]'


@both
def test_integers_that_pooling_does_not_take_are_cast_to_a_wider_type(made, surface):
    case = made("max_pool", "x: {values: [[[1, 2, 3]]], dtype: int32}, window: [2], stride: [2]")
    types = [node.split('"')[1] for node in nodes(translate(case, surface))]
    assert types == ["Cast", "MaxPool", "Cast"]
    assert "to=TensorProto.DOUBLE" in translate(case, surface).text


def test_evaluator_pads_explicitly_if_max_pool_would_read_out_of_bounds(made):
    case = made("max_pool", f"{ROW}, window: [2], stride: [1], padding: [[1, 0]]")
    assert translate(case, EVALUATOR).how == "padded"
    assert translate(case, RUNTIME).how == "native"


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


@both
def test_gradients_are_unsupported(made, surface):
    case = made("global_avg_pool_grad", f"{ROW}, grad: {{values: [[[1]]]}}")
    assert translate(case, surface) == Unsupported(f"{surface.name} computes no gradients")


@both
def test_conventions_about_other_dtypes_use_the_node(catalogue, surface):
    program = translate(catalogue.by_id["max_pool/integers-in-int32"], surface)
    assert nodes(program) == ['"MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]']


@both
def test_convention_about_the_default_stride_passes_no_strides(catalogue, surface):
    assert "strides" not in translate(catalogue.by_id["max_pool/stride-when-none-is-given"], surface).text


@both
def test_flat_pads_are_passed_with_their_axes(catalogue, surface):
    program = translate(catalogue.by_id["pad/order-of-pads"], surface)
    assert "pads = np.array([1, 2, 3, 0])" in program.text
    assert nodes(program) == ['"Pad", ["x", "pads", "", "axes"], ["y"]']


@both
def test_every_tensor_of_a_program_is_assigned_once(catalogue, surface):
    programs = [translate(case, surface) for case in catalogue.cases if case.level == "smoke"]
    assigned = [outputs(program) for program in programs if isinstance(program, Program)]
    assert any(len(names) > 1 for names in assigned)
    for names in assigned:
        assert len(names) == len(set(names))
        assert names.count("y") == 1


def outputs(program):
    """Return the names of the outputs of all nodes of a program."""
    lists = [re.findall(r"\[.*?\]", node)[1] for node in nodes(program)]
    return [name for text in lists for name in re.findall(r'"(\w+)"', text)]


@both
def test_program_without_effect_is_an_identity_node(made, surface):
    program = translate(made("pad", f"{ROW}, pads: [[0, 0]], mode: symmetric"), surface)
    assert nodes(program) == ['"Identity", ["x"], ["y"]']


@both
def test_unpooling_to_a_smaller_size_pads_by_less_than_the_window(made, surface):
    case = made("max_unpool", "x: {values: [[[1, 2, 3]]]}, indices: {values: [[[0, 0, 0]]]}, output_size: [1]")
    (node,) = nodes(translate(case, surface))
    assert "kernel_shape=[3], pads=[2, 2]" in node
