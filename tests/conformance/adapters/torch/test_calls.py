"""The module `calls` of PyTorch."""

import numpy as np
import pytest

from conformance.adapters.api import Unsupported
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.torch.programs import F, lines


def test_dtype_without_a_kernel_is_computed_in_a_wider_dtype(tmp_path):
    text = "x: {values: integers, low: 0, high: 1, shape: [1, 1, 4, 4], dtype: bool}, window: 2"
    body, how = lines(tmp_path, "max_pool", text)
    assert (body, how) == (["x = x.to(torch.uint8)", "x = F.max_pool2d(x, 2)", "x = x.to(torch.bool)"], "composed")


@pytest.mark.parametrize("operator", ["max_pool", "adaptive_max_pool", "max_unpool"])
def test_wider_dtype_represents_all_values(operator):
    bits_of = {"uint8": 8, "int32": 31, "int64": 63, "float64": 53}
    for name in NUMPY_DTYPES:
        parameters = {"window": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
        parameters |= {"output_size": (2,)}
        answer = lower_step(Step(operator, (1, 1, 4), name, parameters), F, native_only=False, inner=False)
        if not isinstance(answer, Unsupported) and answer[0][0].startswith("x = x.to("):
            wider = answer[0][0].removeprefix("x = x.to(torch.").rstrip(")")
            bits = 1 if name == "bool" else np.iinfo(name).bits - name.startswith("int")
            assert bits <= bits_of[wider], f"{name} in {wider}"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_several_calls_on_16_bit_floats_are_computed_in_float32(tmp_path, dtype):
    body, _ = lines(tmp_path, "softmax_pool", f"x: {{values: [[[1, 2]]], dtype: {dtype}}}, window: 2")
    assert (body[-1], "x = x.to(torch.float32)" in body) == (f"x = x.to(torch.{dtype})", True)
