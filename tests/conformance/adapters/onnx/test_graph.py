"""The module `graph` of ONNX."""

import re

from conformance.adapters.api import Program
from conformance.adapters.onnx.graph import GraphBuilder, model_lines
from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import ROW, both, nodes


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
