"""The module `normalization` of the adapter for ONNX, and the limits of its runtimes."""

from conformance.adapters import onnx, onnx2torch, onnxruntime, opencv
from conformance.adapters.api.normalization.recipes import EVEN_IS_AFTER
from conformance.adapters.onnx.normalization import ROUNDED_ATTRIBUTE, lrn
from conformance.cases.steps import Step

NUMBERS = {"alpha": 1, "beta": 0.75, "k": 2, "alpha_over_size": True, "extra_channel": "after"}


def step(size=3, shape=(1, 4, 2, 3), dtype="float32", **parameters):
    return Step("lrn", shape, dtype, {"local_size": size, **NUMBERS, **parameters})


def test_the_node_has_attributes_of_type_float():
    assert lrn(step()) == "LRN(x, alpha=1.0, beta=0.75, bias=2.0, size=3)"
    assert lrn(step(alpha_over_size=False)).startswith("LRN(x, alpha=3.0,")
    assert lrn(Step("lrn", (1, 4, 2, 3), "float32", {"local_size": 3})) == "LRN(x, size=3)"


def test_an_attribute_that_float32_rounds_is_written_for_shorter_dtypes_only():
    assert lrn(step(alpha=0.0001, dtype="float64")) is ROUNDED_ATTRIBUTE
    assert lrn(step(beta=0.3, dtype="float64")) is ROUNDED_ATTRIBUTE
    assert lrn(step(alpha=0.0001)).startswith("LRN(x, alpha=0.0001,")
    assert lrn(step(alpha=0.5, dtype="float64")).startswith("LRN(x, alpha=0.5,")


def test_an_even_window_of_the_node_has_its_extra_channel_after():
    assert lrn(step(4, extra_channel="before")) is EVEN_IS_AFTER
    assert lrn(step(4)).endswith("size=4)")


def test_the_evaluator_is_right_for_as_many_channels_as_items():
    assert onnx.node_limit(step(shape=(4, 4, 2, 3))) is None
    assert onnx.node_limit(step()) is onnx.ONE_CHANNEL_PER_ITEM
    assert onnx.node_limit(step(shape=(4, 4, 2))) is onnx.NO_LRN_RANK
    assert onnx.node_limit(step(shape=(4, 4, 2, 3), dtype="float64")) is onnx.FLOAT32_ATTRIBUTES


def test_onnx_runtime_takes_odd_windows_of_planes_and_positive_numbers():
    assert onnxruntime.node_limit(step()) is None
    assert onnxruntime.node_limit(step(4)) is onnxruntime.NO_EVEN_SIZE
    assert onnxruntime.node_limit(step(shape=(1, 4, 2))) is onnxruntime.NO_LRN_RANK
    assert onnxruntime.node_limit(step(beta=0)) is onnxruntime.NO_FACTOR_OF_ZERO
    assert onnxruntime.node_limit(step(0)) is None  # a call that must be rejected


def test_opencv_takes_odd_windows_of_planes():
    assert opencv.node_limit(step()) is None
    assert opencv.node_limit(step(4)) is opencv.NO_EVEN_SIZE
    assert opencv.node_limit(step(shape=(1, 4, 2))) is opencv.NO_LRN_RANK


def test_onnx2torch_has_the_windows_and_the_kernels_of_pytorch():
    assert onnx2torch.node_limit(step()) is None
    assert onnx2torch.node_limit(step(4)) is onnx2torch.EVEN_IS_BEFORE
    assert onnx2torch.node_limit(step(dtype="float16")) is onnx2torch.NO_HALF_LRN
    assert onnx2torch.node_limit(step(shape=(1, 4, 2), dtype="float16")) is None
