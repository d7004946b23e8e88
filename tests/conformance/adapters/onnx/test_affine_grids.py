"""The node AffineGrid, and the limits of its runtimes."""

import pytest

from conformance.adapters import onnx, onnx2torch, onnxruntime, opencv, tract
from conformance.adapters.onnx.nodes import affine_grid
from conformance.adapters.openvino import onnx_graphs
from conformance.cases.steps import Step


def step(size=(4, 5), dtype="float32", **parameters):
    axes = len(size)
    return Step("affine_grid", (2, axes, axes + 1), dtype, {"grid_size": size, **parameters})


def test_the_size_is_that_of_images_with_one_channel():
    size = "size = np.array([2, 1, 4, 5])"
    assert affine_grid(step(align_corners=False)) == (size, "x = AffineGrid(x, size)")
    assert affine_grid(step()) == (size, "x = AffineGrid(x, size)")
    assert affine_grid(step(align_corners=True)) == (size, "x = AffineGrid(x, size, align_corners=1)")


@pytest.mark.parametrize("runtime", [onnx, onnxruntime, opencv, onnx_graphs])
@pytest.mark.parametrize("size", [(4, 5), (2, 3, 4)])
def test_runtimes_take_float32(runtime, size):
    assert runtime.node_limit(step(size)) is None


def test_other_dtypes_have_a_reason():
    assert onnx.node_limit(step(dtype="float64")) is onnx.FLOAT32_GRID
    assert onnxruntime.node_limit(step(dtype="float64")) is None
    assert onnxruntime.node_limit(step(dtype="float16")) is onnxruntime.NO_SHORT_GRID
    assert opencv.node_limit(step(dtype="float64")) is opencv.FLOAT32_GRID
    assert onnx_graphs.node_limit(step(dtype="float16")) is onnx_graphs.FLOAT32_COORDINATES
    assert onnx_graphs.node_limit(step(dtype="bfloat16")) is onnx_graphs.NO_BFLOAT16


@pytest.mark.parametrize("runtime", [onnx2torch, tract])
def test_converters_without_the_node_have_a_reason(runtime):
    assert "AffineGrid" in runtime.node_limit(step()).reason
