"""Nodes without a kernel for a graphics card."""

import pytest

from conformance.adapters.ortjs import limits
from conformance.cases.steps import case_step
from tests.support.catalogue_parts import cases_by_id

CASES = cases_by_id("standard")
LIMITS = {"webgpu": limits.webgpu_limit, "jsep": limits.jsep_limit, "webgl": limits.webgl_limit}


@pytest.mark.parametrize(
    ("case", "surface", "reason"),
    [
        ("avg_pool/2d-ceil", "jsep", "not yet implemented"),
        ("max_pool/2d-ceil", "webgl", "not yet supported"),
        ("max_pool/3d-stride-2-padding-1", "jsep", "NHWC"),
        ("conv/3d-groups", "webgpu", "grouped"),
        ("conv/1d-bias", "webgl", "2-dimensional"),
        ("lp_pool/1d-third-power", "webgpu", "LpPool"),
        ("max_pool_with_indices/2d-indices", "webgpu", "indices"),
        ("max_unpool/1d-back-to-their-places", "jsep", "MaxUnpool"),
        ("grid_sample/2d-nearest", "webgl", "GridSample"),
        ("affine_grid/2d-identity", "webgl", "AffineGrid"),
        ("deform_conv/2d-zero-offsets", "webgpu", "DeformConv"),
        ("lrn/2d-three-channels", "webgpu", "LRN"),
        ("lrn/2d-three-channels", "jsep", "LRN"),
        ("lrn/1d-three-channels", "webgl", "NCHW"),
        ("space_to_depth/2d-dcr", "webgpu", "SpaceToDepth"),
        ("resize/1d-cubic-up-by-two", "webgpu", "Cubic mode"),
        ("resize/1d-cubic-up-by-two", "jsep", "Cubic mode"),
        ("resize/2d-linear-float64", "webgl", "sizes"),
        ("resize/1d-nearest-kept-scale", "webgl", "nearest"),
        ("resize/linear-scale/1d-i8-by2-linear-half.pixel", "webgl", "2-D inputs"),
    ],
)
def test_a_node_without_a_kernel_has_a_reason(case, surface, reason):
    assert reason in LIMITS[surface](case_step(CASES[case])).reason


@pytest.mark.parametrize("surface", LIMITS)
@pytest.mark.parametrize(
    "case", ["max_pool/book-2d", "avg_pool/2d-padding-1", "conv/2d-groups", "resize/2d-linear-up-by-two"]
)
def test_other_nodes_have_none(case, surface):
    assert LIMITS[surface](case_step(CASES[case])) is None


def test_normalization_has_a_kernel_in_webgl_only():
    assert limits.webgl_limit(case_step(CASES["lrn/2d-three-channels"])) is None


def test_padding_with_infinity_has_no_shader_in_webgl():
    text = "value = np.array(-np.inf, np.float32)\nx = Pad(x, pads, value)"
    step = case_step(CASES["max_pool/book-2d"])
    assert "Infinity" in limits.webgl_composition_limit(step, text).reason
    assert limits.webgpu_composition_limit(step, text) is None
