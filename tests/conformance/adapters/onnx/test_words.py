"""ONNX: earlier nodes that resize, and the opset of a graph that has one."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.graph import model_lines
from conformance.adapters.onnx.words import NO_ANTIALIASING, NO_SCALE, resize
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

CASES = cases_by_id("standard")


def resizing(**parameters):
    return Step("resize", (1, 1, 4, 4), "float32", {"mode": "linear", "coordinates": "asymmetric", **parameters})


def opset(lines):
    text = "\n".join(model_lines(lines, ["x"]))
    return next(version for version in (9, 10, 12, 26) if f'helper.make_opsetid("", {version})' in text)


@pytest.mark.parametrize(
    ("scale", "node", "version"),
    [
        ((2, 2), 'Upsample(x, scales, mode="linear")', 9),
        ((1, 1.5), 'Upsample(x, scales, mode="linear")', 9),
        ((2, 0.5), 'Resize(x, scales, mode="linear")', 10),
    ],
)
def test_asymmetric_coordinates_have_no_word(scale, node, version):
    lines = resize(resizing(scale=scale))
    assert lines[-1] == f"x = {node}"
    assert opset(lines) == version


def test_other_coordinates_are_those_of_opset_11():
    lines = resize(resizing(size=(8, 8), coordinates="align_corners"))
    assert lines[-1].startswith("x = Resize(x, roi, scales, sizes, ")
    assert "axes=" not in lines[-1]
    assert opset(lines) == 12
    assert opset(resize(resizing(scale=(2, 2), coordinates="half_pixel"))) == 12


def test_a_crop_by_a_scale_has_the_newest_opset():
    ends = {"roi_start": (0.25, 0.25), "roi_end": (0.75, 0.75)}
    lines = nodes.resize(resizing(scale=(2, 2), coordinates="tf_crop_and_resize", **ends))
    assert lines[-1].startswith("x = Resize(x, roi, scales, axes=")
    assert opset(lines) == 26


def test_nearest_cells_are_those_before_a_coordinate():
    nearest = {"mode": "nearest", "scale": (2, 2)}
    assert 'mode="nearest"' in resize(resizing(**nearest, nearest_rounding="floor"))[-1]
    assert isinstance(resize(resizing(**nearest, nearest_rounding="ceil")), Unsupported)
    assert isinstance(resize(resizing(mode="cubic", scale=(2, 2))), Unsupported)


def test_what_earlier_nodes_do_not_have():
    assert resize(resizing(size=(8, 8))) is NO_SCALE
    assert resize(resizing(size=(2, 2), antialias=True)) is NO_ANTIALIASING


@pytest.mark.parametrize(
    ("backend", "case", "written"),
    [
        ("onnxruntime", "resize/words/2d-linear-upsampled", True),
        ("onnx", "resize/words/2d-linear-upsampled", False),
        ("onnx", "resize/words/2d-nearest-upsampled", True),
        ("onnx", "resize/words/2d-linear-down-by-two", False),
        ("onnx", "resize/words/2d-linear-half-pixel", True),
        ("tract", "resize/words/2d-linear-upsampled", False),
        ("tract", "resize/words/2d-linear-down-by-two", True),
        ("tvm", "resize/words/2d-linear-half-pixel", False),
        ("tvm", "resize/words/2d-linear-half-pixel-by-a-scale", True),
        ("opencv", "resize/words/2d-linear-upsampled", False),
        ("opencv", "resize/words/2d-nearest-upsampled", True),
        ("onnx2torch", "resize/words/2d-nearest-upsampled", False),
        ("ortjs", "resize/words/2d-nearest-upsampled", False),
    ],
)
def test_runtimes_have_some_of_the_earlier_nodes(backend, case, written):
    surface = registry.get_backend(backend).surfaces[0]
    assert isinstance(translate(CASES[case], surface), Unsupported) is not written
