"""Test that the suite finds the backend, and that its programs return the right results."""

import numpy as np
import pytest
from scipy import ndimage, signal, special

from conformance.adapters import registry
from conformance.adapters.api import Step

X = np.array([[[3.0, 9.0, 1.0, 5.0, 7.0]]])
NDIMAGE, SIGNAL = registry.get_backend("scipy").surfaces


def run(text, **names):
    return eval(text, {"np": np, "ndimage": ndimage, "signal": signal, "special": special, "x": X, **names})  # noqa: S307 - a program of the adapter


def step(operator, **parameters):
    defaults = {"window": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    return Step(operator, X.shape, "float64", {**defaults, **parameters})


@pytest.mark.parametrize(
    ("operator", "expected"), [("max_pool", [[[9, 5]]]), ("min_pool", [[[3, 1]]]), ("avg_pool", [[[6, 3]]])]
)
def test_a_filter_at_every_second_position_is_a_pooling(operator, expected):
    assert run(NDIMAGE.lowerings[operator](step(operator))).tolist() == expected


@pytest.mark.parametrize(
    "parameters", [{"padding": ((1, 0),)}, {"dilation": (2,)}, {"rounding": "ceil"}, {"stride": (0,)}, {"window": (6,)}]
)
def test_parameters_that_a_filter_lacks_are_unsupported(parameters):
    assert "every position" in NDIMAGE.lowerings["max_pool"](step("max_pool", **parameters)).reason


def test_operators_that_scipy_lacks_are_composed():
    (line,) = NDIMAGE.fallbacks["lp_pool"](step("lp_pool", p=1))
    assert line == "x = np.linalg.norm(np.stack([x[:, :, i:i + 3:2] for i in range(0, 2, 1)]), 1, 0)"
    assert run(line.removeprefix("x = ")).tolist() == [[[12, 6]]]


def test_correlation_sums_over_all_channels_and_adds_the_bias():
    parameters = {"stride": (2,), "padding": ((0, 0),), "dilation": (1,), "groups": 1}
    conv = Step("conv", X.shape, "float64", parameters, (1, 1, 2), bias=True)
    text = SIGNAL.fallbacks["conv"](conv)
    assert run(text, kernel=np.array([[[1.0, 10.0]]]), bias=np.array([0.5])).tolist() == [[[93.5, 51.5]]]
    assert SIGNAL.lowerings["conv"](conv).reason == "signal.correlate adds no bias"


def test_declarations_and_ledger_come_with_the_package():
    assert NDIMAGE.declarations["avg_pool/nan-in-window"].answer == "spreads"
    assert registry.get_backend("scipy").ledger.exists()
    assert registry.unusable_backends() == []
