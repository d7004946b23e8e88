"""The module `calls` of MXNet."""

import pytest

from conformance.adapters.api import ALL_DTYPES
from conformance.adapters.mxnet import calls
from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import everywhere


@everywhere
@pytest.mark.parametrize("dtype", ["bfloat16", "int16", "uint16", "uint32", "uint64"])
def test_dtypes_without_mxnet_arrays_are_unsupported(made, surface, dtype):
    for operator, more in (("max_pool", "window: [2]"), ("min_pool", "window: [2]"), ("pad", "pads: [[1, 1]]")):
        case = made(operator, f"x: {{values: [[[1, 2, 3]]], dtype: {dtype}}}, {more}")
        assert f"MXNet has no arrays of {dtype}" in translate(case, surface).reason


def test_every_dtype_has_arrays_or_a_reason():
    missing = calls.missing_dtypes()
    assert missing.keys() | calls.ARRAY_DTYPES == ALL_DTYPES
    assert not missing.keys() & calls.ARRAY_DTYPES
    assert "data type 'bfloat16' not understood" in missing["bfloat16"].reason


def test_int8_and_float16_convolutions_have_reasons_of_their_own():
    reasons = {name: one.reason for name, one in calls.unsupported_convolution_dtypes().items()}
    assert "saturates" in reasons["int8"]
    assert "FP16 gemm" in reasons["float16"]
    assert reasons["int32"] == reasons["bool"] == "convolution takes floating point numbers only"
    assert not {"float32", "float64"} & reasons.keys()


def test_integers_with_arrays_are_unsupported_by_an_operation_that_takes_floats():
    reasons = calls.floating_only("pooling")
    assert reasons["int32"].reason == "pooling takes floating point numbers only"
    assert reasons["int16"].reason == "MXNet has no arrays of int16"
