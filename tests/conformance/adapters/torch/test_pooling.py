"""The module `pooling` of PyTorch."""

import numpy as np
import pytest

from conformance.adapters.api import Unsupported
from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.torch.programs import NN, PLANE, ROW, F, lines


@pytest.mark.parametrize(
    ("operator", "text", "functional", "layer"),
    [
        ("lp_pool", "window: 2", "F.lp_pool2d(x, 2, 2)", "nn.LPPool2d(2, 2)(x)"),
        (
            "max_pool_with_indices",
            "window: 2, stride: 1, output: indices",
            "F.max_pool2d(x, 2, stride=1, return_indices=True)[1]",
            "nn.MaxPool2d(2, stride=1, return_indices=True)(x)[1]",
        ),
        ("global_avg_pool", "about: b", "F.adaptive_avg_pool2d(x, 1)", "nn.AdaptiveAvgPool2d(1)(x)"),
        (
            "adaptive_max_pool",
            "output_size: [2, 3]",
            "F.adaptive_max_pool2d(x, (2, 3))",
            "nn.AdaptiveMaxPool2d((2, 3))(x)",
        ),
        (
            "pad",
            "pads: [[1, 2], [3, 4]], mode: edge",
            'F.pad(x, (3, 4, 1, 2), mode="replicate")',
            "nn.ReplicationPad2d((3, 4, 1, 2))(x)",
        ),
        (
            "pad",
            "pads: [[1, 1], [1, 1]], mode: reflect",
            'F.pad(x, (1, 1, 1, 1), mode="reflect")',
            "nn.ReflectionPad2d((1, 1, 1, 1))(x)",
        ),
        (
            "pad",
            "pads: [[5, 5], [5, 5]], mode: wrap",
            'F.pad(x, (5, 5, 5, 5), mode="circular")',
            "nn.CircularPad2d((5, 5, 5, 5))(x)",
        ),
    ],
)
def test_native_calls(tmp_path, operator, text, functional, layer):
    for surface, call in ((F, functional), (NN, layer)):
        assert lines(tmp_path, operator, f"{PLANE}, {text}", surface) == ([f"x = {call}"], "native")


@pytest.mark.parametrize("p", [1, 3, 2.5])
def test_norm_with_a_power_that_is_not_even_uses_absolute_values(tmp_path, p):
    body, how = lines(tmp_path, "lp_pool", f"{ROW}, window: 2, p: {p}")
    assert (body, how) == ([f"x = F.lp_pool1d(x.abs(), {p}, 2)"], "composed")


def test_norm_of_padded_and_dilated_windows_is_composed(tmp_path):
    body, how = lines(
        tmp_path, "lp_pool", f"{PLANE}, window: 2, padding: [[1, 0], [0, 1]], stride: 1, dilation: 2, p: 3"
    )
    assert how == "composed"
    assert body == [
        "x = F.pad(x, (0, 1, 1, 0))",
        "windows = x.unfold(2, 3, 1).unfold(3, 3, 1)[..., ::2, ::2]",
        "x = torch.linalg.vector_norm(windows, 3, dim=(-2, -1))",
    ]


def test_norm_is_composed_if_windows_extend_past_the_input(tmp_path):
    body, _ = lines(tmp_path, "lp_pool", f"{PLANE}, window: 2, rounding: ceil, p: 3")
    assert "vector_norm" in body[-1]


def test_indices_in_a_padded_plane_are_converted_to_the_input():
    """The expression is evaluated on all indices of a 3 x 4 plane with one row of padding above and one column left."""
    step = Step(
        "max_pool_with_indices",
        (1, 1, 3, 4),
        "float32",
        {"window": (2, 2), "stride": (1, 1), "padding": ((1, 0), (2, 1)), "dilation": (1, 1), "rounding": "floor"},
    ).with_parameters(output="indices")
    pads = step.with_parameters(padding=((1, 0), (1, 0)))
    text = lower_step(pads, F, native_only=False, inner=False)[0][-1]
    plane = np.arange(12).reshape(3, 4)
    padded = np.pad(plane, ((1, 0), (1, 0)), constant_values=-1).ravel()
    converted = eval(text.removeprefix("x = "), {"x": np.arange(padded.size)})  # noqa: S307
    assert (converted[padded >= 0] == padded[padded >= 0]).all()
    assert isinstance(lower_step(step, F, native_only=False, inner=False), Unsupported)  # a window of padding only


def test_maximum_of_integers_in_one_dimension_uses_the_call_with_indices(tmp_path):
    text = "x: {values: [[[1, 2, 3]]], dtype: int16}, window: 2"
    assert lines(tmp_path, "max_pool", text)[0] == ["x = F.max_pool1d(x, 2, return_indices=True)[0]"]


def test_minimum_of_integers_is_the_complement_of_the_maximum_of_complements(tmp_path):
    text = "x: {values: [[[-128, 127]]], dtype: int8}, window: 2"
    assert lines(tmp_path, "min_pool", text)[0] == [
        "x = ~x",
        "x = F.max_pool1d(x, 2, return_indices=True)[0]",
        "x = ~x",
    ]


def test_minimum_of_integers_with_asymmetric_padding_pads_the_complement_explicitly(tmp_path):
    text = "x: {values: integers, shape: [1, 1, 3, 3], dtype: int8}, window: 2, padding: [[1, 0], [1, 0]]"
    body, how = lines(tmp_path, "min_pool", text)
    assert how == "composed"
    assert body == ["x = ~x", "x = F.pad(x, (1, 0, 1, 0), value=-128)", "x = F.max_pool2d(x, 2)", "x = ~x"]


def test_averages_of_16_bit_floats_in_three_dimensions_are_computed_in_float32(tmp_path):
    text = "x: {values: integers, shape: [1, 1, 4, 4, 4], dtype: float16}, window: 2, padding"
    body, how = lines(tmp_path, "avg_pool", f"{text}: 0")
    assert (body, how) == (["x = x.to(torch.float32)", "x = F.avg_pool3d(x, 2)", "x = x.to(torch.float16)"], "composed")
    assert lines(tmp_path, "avg_pool", f"{text}: [[1, 0], [0, 0], [0, 0]], count_include_pad: true")[0][1:] == body
