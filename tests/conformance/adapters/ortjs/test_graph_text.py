"""Graphs as JavaScript."""

import pytest

from conformance.adapters.ortjs.graph_text import graph_lines


def constants(*lines, names=("x",)):
    text = graph_lines([*lines, "x = Pad(x, made)"], names)
    return [line for line in text if line.startswith("made")]


def test_kernels_are_constants_and_other_arrays_inputs():
    text = graph_lines(["x = Conv(x, kernel, bias)"], ["x", "kernel", "bias"])
    assert text[-3:-1] == ["  { x },", "  { kernel, bias },"]


def test_an_empty_program_is_the_identity():
    assert '    node("Identity", ["x"], ["y"]),' in graph_lines([], ["x"])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("made = np.array([[1, 2]])", 'array("int64", [1, 2], [1, 2])'),
        ("made = np.array(2**53)", 'array("int64", [], [9007199254740992n])'),
        ("made = np.array(-np.inf, np.float32)", 'array("float32", [], [-Infinity])'),
        ("made = np.array(7, x.dtype)", "array(x.dtype, [], [7])"),
        ("made = np.zeros((2,), x.dtype)", "array(x.dtype, [2], [0, 0])"),
        ("made = np.array(True)", 'array("bool", [], [1])'),
    ],
)
def test_constants_are_written_with_their_values(line, text):
    assert constants(line) == [f"made = {text}"]


def test_a_constant_that_no_node_reads_is_not_written():
    lines = graph_lines(["size = np.array(3)", "made = np.ones(size)", "x = Pad(x, made)"], ["x"])
    assert [line for line in lines if line.startswith("size")] == []
    assert 'made = array("float64", [3], [1, 1, 1])' in lines


def test_floats_are_objects():
    (line,) = [one for one in graph_lines(["x = Resize(x, cubic_coeff_a=-0.5)"], ["x"]) if "Resize" in one]
    assert line == '    node("Resize", ["x"], ["y"], { cubic_coeff_a: { float: -0.5 } }),'


def test_attributes_are_numbers_lists_and_texts():
    (line,) = [
        one
        for one in graph_lines(['x = Pool(x, p=2, pads=[1, 0], mode="a", to=TensorProto.INT64)'], ["x"])
        if "Pool" in one
    ]
    assert line == '    node("Pool", ["x"], ["y"], { p: 2, pads: [1, 0], mode: "a", to: 7 }),'
