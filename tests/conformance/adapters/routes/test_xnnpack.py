"""Pooling of int8 by XNNPACK in ExecuTorch: the lines, and the formula of the mean of a plane."""

import pytest

from conformance.adapters import registry, torch
from conformance.adapters.api import Unsupported
from conformance.adapters.routes import xnnpack
from conformance.cases.steps import Step

OPERATOR = "torch.ops.quantized_decomposed"
GEOMETRY = {"stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "rounding": "floor"}
AVERAGE = {"count_include_pad": False, "divisor": None, "x_zero_point": 3, "round_mode": "half_even"}


def average(shape=(1, 2, 4, 6), window=(1, 2), formula="reciprocal", **parameters):
    given = {**GEOMETRY, **AVERAGE, "window": window, "formula": formula, **parameters}
    return xnnpack.avg_pool(Step("quantized_avg_pool", shape, "int8", given))


def maximum(dtype="int8", shape=(1, 2, 4, 6), **parameters):
    return xnnpack.max_pool(Step("max_pool", shape, dtype, {**GEOMETRY, "window": (2, 2), **parameters}))


def test_a_maximum_of_int8_is_between_two_conversions():
    assert maximum()[1:] == (
        f"x = {OPERATOR}.dequantize_per_tensor(x, 0.5, 3, -128, 127, torch.int8)",
        "x = F.max_pool2d(x, 2, stride=(1, 2))",
        f"x = {OPERATOR}.quantize_per_tensor(x, 0.5, 3, -128, 127, torch.int8)",
    )


def test_a_maximum_without_a_stride_has_that_of_its_window():
    assert "x = F.max_pool2d(x, 2)" in maximum(stride=None)


LINE = {"shape": (1, 2, 6), "window": (2,), "stride": (1,), "padding": ((0, 0),), "dilation": (1,)}


@pytest.mark.parametrize("call", [{"dtype": "float32"}, {"dtype": "uint8"}, {"stride": (1, 3)}, LINE])
def test_other_maxima_are_those_of_pytorch(call):
    given = {**GEOMETRY, "window": (2, 2), **call}
    shape, dtype = given.pop("shape", (1, 2, 4, 6)), given.pop("dtype", "int8")
    assert maximum(**call) == torch.FUNCTIONAL_LOWERINGS["max_pool"](Step("max_pool", shape, dtype, given))


def test_an_average_is_one_of_float32_between_two_conversions():
    assert average()[1:] == (
        f"x = {OPERATOR}.dequantize_per_tensor(x, 1.0, 3, -128, 127, torch.int8)",
        "x = F.avg_pool2d(x, (1, 2))",
        f"x = {OPERATOR}.quantize_per_tensor(x, 1.0, 3, -128, 127, torch.int8)",
    )


PADDED = {"window": (3, 3), "stride": (1, 1), "padding": ((1, 1), (1, 1))}


@pytest.mark.parametrize(
    "parameters",
    [
        {**PADDED, "count_include_pad": True},
        {"window": (3, 3), "stride": (2, 2), "rounding": "ceil"},
        {"window": (3, 3), "divisor": 5},
    ],
)
def test_averages_that_xnnpack_does_not_compute_have_the_formula_of_the_portable_kernel(parameters):
    assert isinstance(average(formula="quotient", **parameters), tuple)
    assert average(**parameters).reason == "the portable kernel computes the formula quotient"
    assert isinstance(average(**PADDED), tuple)
    assert average(formula="quotient", **PADDED).reason == "XNNPACK computes the formula reciprocal"


MEAN = "x = F.adaptive_avg_pool2d(x, 1)"


@pytest.mark.parametrize(
    ("extents", "zero_point", "formula", "is_mean"),
    [
        # The reciprocal of six rounds no tie to another number, and the offset is the zero point.
        ((2, 3), 3, "quotient_plus_zero_point", True),
        ((2, 3), 3, "reciprocal_plus_zero_point", True),
        ((2, 3), 3, "reciprocal", False),
        ((4, 4), -7, "quotient_plus_zero_point", True),
        ((2, 7), 0, "reciprocal", True),
        ((2, 7), 0, "quotient", False),
        # With a zero point, the offset 3 − 42 / 14 is not 0.
        ((2, 7), 3, "reciprocal_plus_zero_point", False),
        ((2, 7), 3, "fused", False),
    ],
)
def test_the_mean_of_a_plane_is_written_if_its_formula_is_that_of_the_step(extents, zero_point, formula, is_mean):
    code = average((1, 2, *extents), extents, formula, x_zero_point=zero_point)
    assert (not isinstance(code, Unsupported) and MEAN in code) == is_mean


@pytest.mark.parametrize(
    "change",
    [
        {"window": (2, 2)},
        {"padding": ((1, 0), (0, 0))},
        {"divisor": 5},
        {"round_mode": "half_away"},
        {**LINE, "window": (6,)},
    ],
)
def test_other_averages_are_no_mean_of_a_plane(change):
    call = {"shape": (1, 2, 2, 3), "window": (2, 3), "formula": "quotient_plus_zero_point", **change}
    code = average(**call)
    assert isinstance(code, Unsupported) or MEAN not in code


def test_volumes_are_not_averaged():
    assert average((1, 1, 2, 2, 2), (2, 2, 2)) is xnnpack.NO_VOLUMES


def test_a_default_formula_is_observed_with_the_window():
    given = {**GEOMETRY, **AVERAGE, "window": (4, 6)}
    code = xnnpack.avg_pool(Step("quantized_avg_pool", (1, 2, 4, 6), "int8", given))
    assert "x = F.avg_pool2d(x, (4, 6), stride=(1, 2))" in code


def test_only_the_route_to_xnnpack_averages_quantized_numbers():
    routes = {route.name: route for route in registry.get_backend("routes-executorch").surfaces}
    assert routes["torch.export→executorch.xnnpack"].dtypes["quantized_avg_pool"] == {"int8"}
    assert "quantized_avg_pool" not in routes["torch.export→executorch"].lowerings
