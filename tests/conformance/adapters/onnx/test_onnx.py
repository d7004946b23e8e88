"""The adapters for ONNX: what their programs say, and how lines become a graph."""

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
    """Return the nodes of a program: the kind, what goes in and out, and the attributes."""
    assert isinstance(program, Program), program
    return re.findall(r"helper\.make_node\((.*)\)[,\]]", program.text)


ROW = "x: {values: [[[1, 2, 3]]]}"
PLANE = "x: {values: [[[[1, 2], [3, 4]]]]}"


def test_program_builds_a_model_of_one_node_and_runs_it_in_a_session(made):
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
    ran, evaluated = (translate(case, surface).text.splitlines() for surface in (RUNTIME, EVALUATOR))
    assert evaluated[:-2] == ran[:-3]
    assert evaluated[-2:] == ["    (x,) = ReferenceEvaluator(model).run(None, inputs)", "    return x"]


def test_name_that_is_given_again_gets_a_number_and_the_last_is_the_result():
    graph = GraphBuilder(["x = Neg(x)", "x = MaxPool(x, kernel_shape=[2])", "x = Neg(x)"], ["x"])
    assert graph.nodes == [
        'helper.make_node("Neg", ["x"], ["x1"])',
        'helper.make_node("MaxPool", ["x1"], ["x2"], kernel_shape=[2])',
        'helper.make_node("Neg", ["x2"], ["y"])',
    ]


def test_call_inside_a_call_becomes_a_node_of_its_own():
    graph = GraphBuilder(["x = Div(x, ReduceSum(x))"], ["x"])
    assert graph.nodes == [
        'helper.make_node("ReduceSum", ["x"], ["reducesum"])',
        'helper.make_node("Div", ["x", "reducesum"], ["y"])',
    ]


def test_result_may_be_the_second_of_what_a_node_gives():
    assert GraphBuilder(["values, x = MaxPool(x)"], ["x"]).nodes == [
        'helper.make_node("MaxPool", ["x"], ["values", "y"])'
    ]


def test_input_that_is_left_out_has_no_name():
    graph = GraphBuilder(["pads = np.array([1, 1])", 'x = Pad(x, pads, "", axes)'], ["x", "axes"])
    assert graph.nodes == ['helper.make_node("Pad", ["x", "pads", "", "axes"], ["y"])']


def test_what_numpy_makes_is_a_constant_if_a_node_reads_it():
    lines = ["size = np.array(4)", "shape = np.array([size])", "x = Reshape(x, shape)"]
    graph = GraphBuilder(lines, ["x"])
    assert graph.python_lines == lines[:2]
    assert list(graph.constants) == ["shape"]


def test_constant_made_anew_before_it_is_read_keeps_its_name():
    lines = ["scale = np.ones(3)", "scale = scale.astype(ml_dtypes.bfloat16)", "x = Mul(x, scale)"]
    graph = GraphBuilder(lines, ["x"])
    assert graph.python_lines == lines[:2]
    assert list(graph.constants) == ["scale"]


def test_second_constant_of_a_name_does_not_change_the_first():
    lines = ["kernel = np.ones(1)", "x = Conv(x, kernel)", "kernel = np.ones(2)", "x = Conv(x, kernel)"]
    graph = GraphBuilder(lines, ["x"])
    assert graph.python_lines == ["kernel = np.ones(1)", "kernel1 = np.ones(2)"]
    assert [re.findall(r'"Conv", \["\w+", "(\w+)"', node) for node in graph.nodes] == [["kernel"], ["kernel1"]]


def test_constants_go_into_the_graph_by_their_names():
    lines = model_lines(["pads = np.array([1, 1])", "x = Pad(x, pads)"], ["x"])
    assert 'constants = [numpy_helper.from_array(pads, "pads")]' in lines
    assert 'graph = helper.make_graph(nodes, "graph", types, outputs, constants)' in lines


@both
def test_pads_of_all_that_come_before_stand_first(made, surface):
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
def test_indices_are_those_of_the_plane(made, surface):
    x = "x: {values: arange, shape: [2, 2, 1, 4]}"
    case = made("max_pool_with_indices", f"{x}, window: [1, 2], stride: [1, 2], output: indices")
    program = translate(case, surface)
    assert program.how == "composed"
    assert "plane = np.array(4)" in program.text
    assert nodes(program)[1] == '"Mod", ["indices", "plane"], ["y"]'


@both
def test_indices_of_one_plane_need_no_change(made, surface):
    case = made("max_pool_with_indices", f"{PLANE}, window: [1, 2], stride: [1, 2], output: indices")
    program = translate(case, surface)
    assert (program.how, len(nodes(program))) == ("native", 1)


def test_evaluator_finds_indices_by_itself_where_windows_step_by_one(made):
    case = made("max_pool_with_indices", f"{PLANE}, window: [1, 2], stride: [1, 1], output: indices")
    assert "MaxPool" not in translate(case, EVALUATOR).text
    assert translate(case, RUNTIME).how == "native"


@pytest.mark.parametrize(("pads", "how"), [("[0, 1]", "composed"), ("[1, 0]", "native")])
def test_evaluator_does_not_read_an_average_that_is_left_out(made, pads, how):
    asked = f"{ROW}, window: [1], stride: [1], padding: [{pads}], rounding: ceil, count_include_pad: true"
    assert translate(made("avg_pool", asked), EVALUATOR).how == how


@both
def test_unpooling_gets_indices_of_the_whole_tensor(made, surface):
    case = made(
        "max_unpool",
        "x: {values: arange, shape: [1, 3, 2]}, indices: {values: [[[0, 1], [2, 3], [0, 3]]]}, output_size: [4]",
    )
    program = translate(case, surface)
    assert "first = np.arange(3).reshape(1, 3, 1) * 4" in program.text
    assert nodes(program)[0] == '"Add", ["indices", "first"], ["add"]'


@both
def test_integers_that_pooling_does_not_take_pass_through_a_type_that_holds_them(made, surface):
    case = made("max_pool", "x: {values: [[[1, 2, 3]]], dtype: int32}, window: [2], stride: [2]")
    kinds = [node.split('"')[1] for node in nodes(translate(case, surface))]
    assert kinds == ["Cast", "MaxPool", "Cast"]
    assert "to=TensorProto.DOUBLE" in translate(case, surface).text


def test_evaluator_pads_first_where_its_maximum_reads_out_of_bounds(made):
    case = made("max_pool", f"{ROW}, window: [2], stride: [1], padding: [[1, 0]]")
    assert translate(case, EVALUATOR).how == "padded"
    assert translate(case, RUNTIME).how == "native"


def test_runtime_pads_first_where_the_padding_is_as_large_as_the_window(made):
    case = made("max_pool", f"{ROW}, window: [1], stride: [2], padding: [[1, 0]]")
    assert translate(case, RUNTIME).how == "padded"
    assert translate(case, EVALUATOR).how == "native"


def test_runtime_has_no_way_for_bfloat16_to_come_out(made):
    case = made("max_pool", "x: {values: [[[1, 2, 3]]], dtype: bfloat16}, window: [2], stride: [1]")
    refusal = translate(case, RUNTIME)
    assert isinstance(refusal, Unsupported)
    assert "No corresponding Numpy type" in refusal.reason
    assert "x.view(ml_dtypes.bfloat16)" in translate(case, EVALUATOR).text


def test_runtime_has_no_kernel_for_convolution_in_float64(made):
    case = made("conv", "x: {values: [[[1, 2, 3]]], dtype: float64}, kernel: {values: [[[1, 2]]], dtype: float64}")
    refusal = translate(case, RUNTIME)
    assert isinstance(refusal, Unsupported)
    assert 'Could not find an implementation for Conv" in float64' in refusal.reason


@both
def test_neither_computes_gradients(made, surface):
    case = made("global_avg_pool_grad", f"{ROW}, grad: {{values: [[[1]]]}}")
    assert translate(case, surface) == Unsupported(f"{surface.name} computes no gradients")


@both
def test_questions_about_other_types_go_to_the_node_itself(catalogue, surface):
    program = translate(catalogue.by_id["max_pool/integers-in-int32"], surface)
    assert nodes(program) == ['"MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]']


@both
def test_default_stride_is_left_to_the_node(catalogue, surface):
    assert "strides" not in translate(catalogue.by_id["max_pool/stride-when-none-is-given"], surface).text


@both
def test_pads_in_one_list_come_with_their_axes(catalogue, surface):
    program = translate(catalogue.by_id["pad/order-of-pads"], surface)
    assert "pads = np.array([1, 2, 3, 0])" in program.text
    assert nodes(program) == ['"Pad", ["x", "pads", "", "axes"], ["y"]']


@both
def test_every_tensor_of_a_program_is_given_once(catalogue, surface):
    programs = [translate(case, surface) for case in catalogue.cases if case.level == "smoke"]
    given = [outputs(program) for program in programs if isinstance(program, Program)]
    assert any(len(names) > 1 for names in given)
    for names in given:
        assert len(names) == len(set(names))
        assert names.count("y") == 1


def outputs(program):
    """Return the names that all nodes of a program give."""
    lists = [re.findall(r"\[.*?\]", node)[1] for node in nodes(program)]
    return [name for text in lists for name in re.findall(r'"(\w+)"', text)]


@both
def test_what_changes_nothing_is_a_graph_all_the_same(made, surface):
    program = translate(made("pad", f"{ROW}, pads: [[0, 0]], mode: symmetric"), surface)
    assert nodes(program) == ['"Identity", ["x"], ["y"]']


@both
def test_unpooling_to_fewer_cells_pads_less_than_its_window(made, surface):
    case = made("max_unpool", "x: {values: [[[1, 2, 3]]]}, indices: {values: [[[0, 0, 0]]]}, output_size: [1]")
    (node,) = nodes(translate(case, surface))
    assert "kernel_shape=[3], pads=[2, 2]" in node
