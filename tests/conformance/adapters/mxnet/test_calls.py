"""The module `calls` of MXNet."""

import pytest

from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import everywhere


@everywhere
@pytest.mark.parametrize("dtype", ["bfloat16", "int16", "uint16", "uint32", "uint64"])
def test_dtypes_without_mxnet_arrays_are_unsupported(made, surface, dtype):
    for operator, more in (("max_pool", "window: [2]"), ("min_pool", "window: [2]"), ("pad", "pads: [[1, 1]]")):
        case = made(operator, f"x: {{values: [[[1, 2, 3]]], dtype: {dtype}}}, {more}")
        assert f"MXNet has no arrays of {dtype}" in translate(case, surface).reason
