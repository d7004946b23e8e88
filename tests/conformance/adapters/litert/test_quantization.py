"""The module `quantization` of the adapter for LiteRT."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.litert.quantization import (
    NO_REMAINDER,
    builtin_limit,
    dequantize,
    quantize,
    reference_limit,
    xnnpack_limit,
)
from conformance.cases.steps import Step

GIVEN = {"y_scale": 0.5, "y_zero_point": 3, "output_dtype": "uint8", "round_mode": "half_even", "formula": "reciprocal"}
BY_REFERENCE = {"round_mode": "half_away", "formula": "quotient"}


def step(shape=(1, 2, 4), **parameters):
    return Step("quantize", shape, "float32", {**GIVEN, **parameters})


def test_the_result_has_a_scale_and_a_zero_point():
    assert quantize(xnnpack_limit, step()) == (
        "x = graph.node('QUANTIZE', [x], schema.QuantizeOptionsT(), np.uint8)",
        "graph.quantize(x, 0.5, 3)",
    )


def test_numbers_of_channels_belong_to_the_last_axis():
    code = quantize(reference_limit, step((1, 2, 3, 4), y_scale=(0.5, 2), **BY_REFERENCE))
    assert code[-1] == "graph.quantize(x, [0.5, 2], [3, 3], 3)"
    read = dequantize(Step("dequantize", (1, 2, 4), "int8", {"x_scale": (1, 2), "x_zero_point": (0, 5)}))
    assert read == (
        "graph.quantize(x, [1, 2], [0, 5], 2)",
        "x = graph.node('DEQUANTIZE', [x], schema.DequantizeOptionsT(), np.float32)",
    )


@pytest.mark.parametrize(
    ("limit", "parameters", "reason"),
    [
        (xnnpack_limit, {"round_mode": "half_away"}, "has the rounding rule half_even"),
        (xnnpack_limit, {"y_scale": 0.3, "formula": "fused"}, "computes the formula reciprocal"),
        (xnnpack_limit, {"y_scale": (0.3, 0.7)}, "has the rounding rule half_away"),
        (reference_limit, {"round_mode": "half_up"}, "has the rounding rule half_away"),
        (reference_limit, {"y_scale": 0.3, "round_mode": "half_away"}, "computes the formula quotient"),
    ],
)
def test_each_set_of_kernels_has_one_formula(limit, parameters, reason):
    code = quantize(limit, step(**parameters))
    assert isinstance(code, Unsupported)
    assert reason in code.reason


def test_the_built_in_kernel_computes_eight_cells_at_once():
    assert builtin_limit(step((1, 1, 16))) is None
    assert builtin_limit(step((1, 1, 9))) is NO_REMAINDER
    assert "half_away" in builtin_limit(step((1, 1, 7))).reason
    assert builtin_limit(step((1, 1, 7), **BY_REFERENCE)) is None
    assert builtin_limit(step((1, 1, 7), y_scale=0.3, **BY_REFERENCE)) is NO_REMAINDER
    assert builtin_limit(step((1, 2, 9), y_scale=(0.3, 0.7), **BY_REFERENCE)) is None


def test_a_convention_observes_any_number_of_cells():
    bare = {"y_scale": 1, "y_zero_point": 0, "output_dtype": "int8", "formula": "quotient"}
    assert builtin_limit(Step("quantize", (1, 1, 9), "float32", bare)) is None
