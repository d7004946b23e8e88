"""The module `dtypes` of ONNX."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.onnx import dtypes
from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import both, nodes
from tests.support.example_steps import convolution_step, pooling_step


@both
def test_conventions_about_other_dtypes_use_the_node(catalogue, surface):
    program = translate(catalogue.by_id["max_pool/integers-in-int32"], surface)
    assert nodes(program) == ['"MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]']


def test_node_that_a_runtime_cannot_use_is_still_the_rejected_call():
    lowerings = dtypes.limited_lowerings(lambda _step: Unsupported("broken", rejected_call=dtypes.ANY_CALL))
    step = pooling_step("global_max_pool", (1, 1, 4))
    assert lowerings["global_max_pool"](step) == Unsupported("broken", rejected_call="GlobalMaxPool(x)")


def test_limit_without_a_call_runs_nothing():
    lowerings = dtypes.limited_lowerings(lambda _step: Unsupported("it crashes"))
    assert lowerings["relu"](pooling_step("relu", (1, 1, 4))) == Unsupported("it crashes")


def test_reason_of_the_node_comes_before_that_of_the_runtime():
    lowerings = dtypes.limited_lowerings(lambda _step: Unsupported("broken"))
    step = pooling_step("avg_pool", (1, 1, 4), window=(2,), divisor=3)
    assert lowerings["avg_pool"](step).reason == "AveragePool has no divisor"


@pytest.mark.parametrize(("operator", "dtype", "allowed"), [("max_pool", "int8", True), ("max_pool", "int32", False)])
def test_schema_limits_the_dtypes(operator, dtype, allowed):
    found = dtypes.unsupported_by_schema(pooling_step(operator, (1, 1, 4), dtype, window=(2,)))
    assert (found is None) is allowed
    assert allowed or found.reason == "the schema of MaxPool does not allow int32"


@pytest.mark.parametrize(("stride", "allowed"), [(1, False), (2, True)])
def test_output_padding_is_less_than_the_stride_even_with_a_dilation(stride, allowed):
    parameters = {"stride": (stride,), "dilation": (3,), "output_padding": (1,)}
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 2), **parameters)
    assert (dtypes.unsupported_output_padding(step) is None) is allowed


def test_unsupported_dtypes_are_removed_for_one_operator_or_for_all():
    reason = Unsupported("none")
    found = dtypes.dtypes_without({"": {"bfloat16": reason}, "max_pool": {"uint64": reason}})
    assert not any("bfloat16" in supported for supported in found.values())
    assert "uint64" not in found["max_pool"]
    assert "uint64" in found["pad"]
