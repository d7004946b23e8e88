"""Nodes of ONNX: parameters that agree with their observed behaviour."""

import pytest

from conformance.translation.layer import layer_notes, parse_layer
from tests.support.layer_calls import DIALECTS, IMAGE, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "onnxruntime"
KERNEL_SHAPES = {"conv": (4, 3, 3, 2), "conv_transpose": WEIGHTS}
READ = [
    (
        'helper.make_node("Pad", ["x"], ["y"], pads=[0, 0, 1, -2, 0, 0, -1, 3], value=2.5)',
        "pad",
        {"pads": ((1, -1), (-2, 3)), "value": 2.5},
    ),
]


@pytest.mark.parametrize(("text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(text, operator, parameters):
    check_case(case_of(SURFACE, text, IMAGE, KERNEL_SHAPES.get(operator)), operator, parameters)


def test_unpooling_has_the_output_size_of_its_window():
    text = 'helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[3, 3], strides=[2, 3], pads=[1, 0, 0, 1])'
    check_case(case_of("onnxruntime", text), "max_unpool", {"output_size": (14, 17)})


def test_indices_of_onnx_have_a_note_on_their_order():
    text = 'helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])'
    assert "count through the whole tensor" in " ".join(
        layer_notes(parse_layer(text, DIALECTS["onnxruntime"], IMAGE), {})
    )


REJECTED = [
    ('helper.make_node("Pad", ["x", "pads"], ["y"])', None, None, "write the attribute pads=[…]"),
    (
        'helper.make_node("MaxUnpool", ["x", "i", "s"], ["y"], kernel_shape=[2])',
        None,
        None,
        "output_shape given as an input cannot be read",
    ),
]


@pytest.mark.parametrize(("text", "shape", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, shape, kernel, message):
    check_rejected(SURFACE, text, shape, kernel, message)
