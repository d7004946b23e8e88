"""The nodes that IREE's compiler does not lower, and the nearest ones that it does."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.iree.limits import (
    NO_AUTO_PAD,
    NO_BFLOAT16,
    NO_CHANNEL_ZERO_POINTS,
    NO_FORMULA,
    NO_GRID,
    NO_GRID_DTYPE,
    NO_LINEAR_RANK,
    NO_QUANTIZED_GROUPS,
    NO_QUANTIZED_ROWS,
    NO_RESIZE,
    NO_RESIZE_DTYPE,
    NO_WRAP,
    NODES,
    node_limit,
)
from conformance.cases.operators import PadMode
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

(SURFACE,) = registry.get_backend("iree").surfaces
CASES = cases_by_id("standard")
PLANE, ROW, VOLUME = (1, 1, 4, 4), (1, 1, 4), (1, 1, 2, 2, 2)


def resizing(shape=PLANE, dtype="float32", mode="linear", **parameters):
    size = (7,) * (len(shape) - 2)
    return Step("resize", shape, dtype, {"size": size, "mode": mode, **parameters})


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (resizing(), None),
        (resizing(ROW), NO_LINEAR_RANK),
        (resizing(VOLUME), NO_LINEAR_RANK),
        (resizing(ROW, mode="nearest"), None),
        (resizing(dtype="float16"), NO_RESIZE_DTYPE),
        (resizing(dtype="float64"), NO_RESIZE_DTYPE),
        (resizing(dtype="float64", mode="nearest"), None),
        (resizing(antialias=True), NO_RESIZE),
        (resizing(coordinates="align_corners"), None),
        (resizing(coordinates="align_corners", mode="nearest"), NO_RESIZE),
        (resizing(coordinates="asymmetric", mode="nearest"), None),
        (resizing(coordinates="tf_crop_and_resize"), NO_RESIZE),
        (resizing(mode="cubic", cubic_a=-0.75), None),
        (resizing(mode="cubic", cubic_a=-0.5), NO_RESIZE),
        (resizing(mode="cubic", exclude_outside=True), NO_RESIZE),
    ],
)
def test_resizing_that_is_lowered(step, reason):
    assert node_limit(step) is reason


@pytest.mark.parametrize(
    ("shape", "dtype", "parameters", "reason"),
    [
        (PLANE, "float32", {"mode": "linear", "padding_mode": "zeros"}, None),
        (PLANE, "float32", {"mode": "nearest", "padding_mode": "zeros"}, None),
        (PLANE, "float32", {"mode": "cubic", "padding_mode": "zeros"}, NO_GRID),
        (PLANE, "float32", {"mode": "linear", "padding_mode": "border"}, NO_GRID),
        (PLANE, "float16", {"mode": "linear", "padding_mode": "zeros"}, NO_GRID_DTYPE),
        (PLANE, "float64", {"mode": "nearest", "padding_mode": "zeros"}, NO_GRID_DTYPE),
        (VOLUME, "float32", {"mode": "linear", "padding_mode": "zeros"}, NO_GRID),
    ],
)
def test_sampling_that_is_lowered(shape, dtype, parameters, reason):
    assert node_limit(Step("grid_sample", shape, dtype, parameters)) is reason


def test_padding_that_wraps_is_not_compiled():
    assert node_limit(Step("pad", ROW, "float32", {"pads": ((1, 0),), "mode": PadMode.WRAP})) is NO_WRAP
    assert node_limit(Step("pad", ROW, "float32", {"pads": ((1, 0),), "mode": PadMode.REFLECT})) is None


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("conv_integer/1d", NO_QUANTIZED_ROWS),
        ("conv_integer/2d-channels", NO_CHANNEL_ZERO_POINTS),
        ("conv_integer/uint8/3d-n2-c1-o2-i9x5x9-w1-s2-g2-xz1-uint8", NO_QUANTIZED_GROUPS),
        ("quantized_conv/2d-image-decimal-scales", NO_FORMULA),
        ("lrn/accumulation-in-bfloat16", NO_BFLOAT16),
        ("conv_transpose/same-cropping", NO_AUTO_PAD),
        ("fold/2d-rows", NODES["fold"]),
        ("affine_grid/2d-identity", NODES["affine_grid"]),
        ("deform_conv/2d-mask", NODES["deform_conv"]),
    ],
)
def test_cases_that_are_not_lowered(case, reason):
    written = translate(CASES[case], SURFACE)
    assert isinstance(written, Unsupported)
    assert written.reason == reason.reason


def test_resize_of_opset_10_is_not_lowered():
    assert isinstance(translate(CASES["resize/words/2d-linear-down-by-two"], SURFACE), Unsupported)


def test_unpooling_is_composed():
    assert node_limit(Step("max_unpool", ROW, "float32", {})) is NODES["max_unpool"]
    written = translate(CASES["max_unpool/1d-back-to-their-places"], SURFACE)
    assert isinstance(written, Program)
    assert "MaxUnpool" not in written.text


@pytest.mark.parametrize(
    "case",
    [
        "conv_integer/2d-groups",
        "conv_integer/3d",
        "lrn/accumulation-in-float16",
        "quantized_conv/2d-channels-uint8",
        "resize/words/2d-linear-half-pixel",
        "resize/2d-linear-up-by-two",
    ],
)
def test_cases_beside_them_are_lowered(case):
    assert isinstance(translate(CASES[case], SURFACE), Program)
