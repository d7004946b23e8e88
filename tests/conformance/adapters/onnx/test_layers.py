"""Nodes of ONNX: parameters that agree with their observed behaviour."""

import pytest

from conformance.translation.layer import layer_notes, parse_layer
from tests.support.layer_calls import DIALECTS, IMAGE, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "onnxruntime"
SCALES = "scales = np.array([2.5], np.float32)"
SIZES = "sizes = np.array([1, 3, 4, 3])"
KERNEL_SHAPES = {"conv": (4, 3, 3, 2), "conv_transpose": WEIGHTS}
READ = [
    (
        'helper.make_node("Pad", ["x"], ["y"], pads=[0, 0, 1, -2, 0, 0, -1, 3], value=2.5)',
        "pad",
        {"pads": ((1, -1), (-2, 3)), "value": 2.5},
    ),
    (
        """pads = np.array([0, 0, 1, -2, 0, 0, -1, 3]); value = np.array(2.5, np.float32)
helper.make_node("Pad", ["x", "pads", "value"], ["y"])""",
        "pad",
        {"pads": ((1, -1), (-2, 3)), "value": 2.5},
    ),
    (
        """sizes = np.array([4, 3], np.int64)
y = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], axes=[2, 3], mode="cubic", antialias=1)""",
        "resize",
        {"size": (4, 3), "mode": "cubic", "coordinates": "half_pixel", "cubic_a": -0.75, "antialias": True},
    ),
    (
        f"{SCALES}; helper.make_node('Resize', ['x', '', 'scales'], ['y'], axes=[3], antialias=1)",
        "resize",
        {"scale": (1.0, 2.5), "mode": "nearest", "nearest_rounding": "round_prefer_floor", "antialias": False},
    ),
    (
        f"{SCALES}; helper.make_node('Resize', ['x', '', 'scales'], ['y'], axes=[-2], mode='linear')",
        "resize",
        {"scale": (2.5, 1.0), "mode": "linear"},
    ),
    (
        "sizes = np.array([9]); helper.make_node('Resize', ['x', '', '', 'sizes'], ['y'], axes=[3])",
        "resize",
        {"size": (7, 9)},
    ),
    (
        "region = np.array([0, 0, 0.25, 0, 1, 1, 1, 0.5], np.float32); n = np.array([1, 3, 4, 3]); helper.make_node("
        "'Resize', ['x', 'region', '', 'n'], ['y'], mode='linear', extrapolation_value=2.0, "
        "coordinate_transformation_mode='tf_crop_and_resize')",
        "resize",
        {"size": (4, 3), "roi_start": (0.25, 0), "roi_end": (1, 0.5), "extrapolation_value": 2.0},
    ),
    (
        "s = np.array([1, 1, 2, 0.5], np.float32); helper.make_node('Resize', ['x', 's'], ['y'], mode='linear')",
        "resize",
        {"scale": (2.0, 0.5), "mode": "linear", "coordinates": "asymmetric"},
    ),
    (
        "s = np.array([1, 1, 2, 3], np.float32); helper.make_node('Upsample', ['x', 's'], ['y'])",
        "resize",
        {"scale": (2.0, 3.0), "mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"},
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
    ('helper.make_node("Pad", ["x", "pads"], ["y"])', None, None, "write the array of pads in a line before the node"),
    ('helper.make_node("Pad", ["x"], ["y"])', None, None, "pads are needed"),
    (
        'p = np.array([1, 1]); a = np.array([2]); helper.make_node("Pad", ["x", "p", "", "a"], ["y"])',
        None,
        None,
        "axes cannot be read",
    ),
    ('helper.make_node("Resize", ["x", "", "", "n"], ["y"])', None, None, "before the node: n = np.array([…])"),
    ('helper.make_node("Resize", ["x", "", ""], ["y"])', None, None, "one of scales and sizes is needed"),
    (f'{SIZES}; helper.make_node("Resize", ["x", "", "sizes", "sizes"], ["y"])', None, None, "one of scales and sizes"),
    (f'{SIZES}; helper.make_node("Resize", ["x", "", "", "sizes"], ["y"])', (1, 4, 7, 6), None, "channels are resized"),
    (f'{SIZES}; helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], axes=[2, 3])', None, None, "4 numbers for"),
    (f'{SCALES}; helper.make_node("Resize", ["x", "", "scales"], ["y"], axes=[3])', None, None, "add --shape"),
    (f'{SCALES}; helper.make_node("Resize", ["x", "", "", "scales"], ["y"], axes=[2])', IMAGE, None, "not integers"),
    (
        f'{SIZES}; helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], keep_aspect_ratio_policy="not_larger")',
        None,
        None,
        "only 'stretch' can be translated",
    ),
    (
        f'{SIZES}; helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], '
        'coordinate_transformation_mode="tf_crop_and_resize")',
        None,
        None,
        "roi has the starts of all axes",
    ),
    ('n = 2; n += 1; helper.make_node("Pad", ["x"], ["y"])', None, None, "line 1: only lines name = …"),
    ('n = "a"; helper.make_node("Pad", ["x", "n"], ["y"])', None, None, "n: not a list of numbers"),
    ('n = [1, "a"]; helper.make_node("Pad", ["x", "n"], ["y"])', None, None, "n: not a list of numbers"),
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
