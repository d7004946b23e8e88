"""What explains that two layers read other numbers, for mistakes of ports between their window operators."""

import numpy as np
import pytest

from conformance.models.comparison.compare import Place, compare_models
from conformance.models.comparison.expressions import ACTIVATIONS
from conformance.models.comparison.input_reasons import InputPair, input_reasons
from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.recording import RecordedModel, RecordedRun
from conformance.models.comparison.source import ModelSource
from tests.conformance.models.comparison.test_layers import call
from tests.support.recorded_models import Recording

RNG = np.random.default_rng(7)
SHAPE = (2, 8, 6, 5)
X = RNG.standard_normal(SHAPE).astype(np.float32)
KERNEL = RNG.standard_normal((8, 8, 3, 3)).astype(np.float32)
BIAS = RNG.standard_normal(8).astype(np.float32)
PADDING = ((1, 1), (1, 1))
FIRST = ModelLayer(call("conv", X, "first", kernel=KERNEL, bias=BIAS, padding=PADDING))
BARE = ModelLayer(call("conv", X, "conv", kernel=KERNEL, padding=PADDING))
SECOND = ModelLayer(call("conv", X, "second", kernel=KERNEL[::-1].copy(), padding=PADDING))
R, S = FIRST.call.result, SECOND.call.result


def relu(x):
    return np.maximum(x, 0)


def reasons(source, port, earlier=((FIRST, FIRST), (SECOND, SECOND)), weights=None):
    return input_reasons(InputPair(source, port, earlier, weights or {}))


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ([2, 3, 0, 1, 4, 5, 6, 7], "2, 3, 0, 1, 4, 5, 6, 7"),
        ([0, 2, 4, 6, 1, 3, 5, 7], "0, 2, 4, 6, 1, 3, 5, 7 (a channel shuffle with 4 groups)"),
        ([0, 4, 1, 5, 2, 6, 3, 7], "0, 4, 1, 5, 2, 6, 3, 7 (a channel shuffle with 2 groups)"),
    ],
)
def test_the_order_of_channels_is_named(order, text):
    assert reasons(R, R[:, order]) == [f"The port's channels are the source's in the order {text}."]


def test_the_order_of_blocks_of_many_channels_is_shown_as_ranges():
    x = RNG.standard_normal((1, 12, 4, 4)).astype(np.float32)
    order = [*range(4, 12), *range(4)]
    assert reasons(x, x[:, order], ()) == ["The port's channels are the source's in the order 4-11, 0-3."]


def test_the_order_of_blocks_is_found_if_some_channels_are_constant():
    """After ReLU, some of many channels are zeros, which are like each other."""
    x = np.concatenate([R, S, R + S], 1)
    x[:, [0, 3, 4, 7, 8, 12, 23]] = 0
    order = [*range(8, 24), *range(8)]
    assert reasons(x, x[:, order], ()) == ["The port's channels are the source's in the order 8-23, 0-7."]
    other = x[:, order].copy()
    other[:, 5] = 1
    assert "in the order" not in reasons(x, other, ())[0]


def test_the_order_of_channels_before_a_bias_is_found_nearly():
    order = [4, 5, 6, 7, 0, 1, 2, 3]
    shift = np.linspace(-0.3, 0.3, 8, dtype=np.float32).reshape(-1, 1, 1)
    (text,) = reasons(relu(R + shift), relu(R[:, order] + shift), ())
    assert text.startswith("The port's channels are nearly the source's in the order 4, 5, 6, 7, 0, 1, 2, 3")


@pytest.mark.parametrize(
    ("source", "port", "text"),
    [
        (R, 255 * R, "The port's numbers are 255 times the source's."),
        (R, R / 255, "The port's numbers are 0.00392157 (1 / 255) times the source's."),
        (R, R - np.float32(0.5), "The port's numbers are the source's plus -0.5."),
        (R, 2 * R + np.float32(1), "The port's numbers are 2 times the source's plus 1."),
        (R, R[..., ::-1], "The port has the numbers of the source flipped on spatial axis 1."),
        (relu(R), R, "The source reads ReLU of the result of first; the port reads the result of first."),
        (R + S, R, "The source reads the result of second + the result of first; the port reads the result of first."),
        (
            relu(R + S),
            R + relu(S),
            "The source reads ReLU of the result of second + the result of first; "
            "the port reads the result of first + ReLU of the result of second.",
        ),
        (
            np.where(R > 0, R, np.float32(0.1) * R),
            np.where(R > 0, R, np.float32(0.01) * R),
            "The source reads leaky ReLU with slope 0.1 of the result of first; "
            "the port reads leaky ReLU with slope 0.01 of the result of first.",
        ),
    ],
)
def test_a_relation_of_the_numbers_is_named(source, port, text):
    assert reasons(source, port)[0] == text


def test_another_crop_is_named():
    x = RNG.standard_normal((1, 2, 9, 9)).astype(np.float32)
    assert reasons(x[..., 1:, 1:], x[..., :-1, :-1], ()) == [
        "The port has the numbers of the source shifted by -1 x -1 cells: compare crops and padding."
    ]


def test_an_exchanged_axis_is_named():
    x = X[..., :5, :]
    assert reasons(x, x.swapaxes(2, 3), ()) == [
        "The port has the numbers of the source with its spatial axes exchanged."
    ]


def test_a_lost_bias_is_named():
    earlier = ((FIRST, BARE),)
    assert reasons(relu(R), relu(BARE.call.result), earlier) == [
        "The source reads ReLU of the result of first; the port reads ReLU of the result of first without its bias."
    ]


def test_approximations_of_an_activation_are_named():
    exact, tanh = (
        ACTIVATIONS[name](R.astype(np.float64)).astype(np.float32)
        for name in ("GELU of {}", "GELU (tanh approximation) of {}")
    )
    assert reasons(exact, tanh) == [
        "The source reads GELU of the result of first; the port reads GELU (tanh approximation) of the result of first."
    ]


def test_the_order_of_joined_arrays_is_named():
    (first, *_) = reasons(np.concatenate([R, S], 1), np.concatenate([S, R], 1))
    assert first == (
        "The source reads the result of first, the result of second one after another; "
        "the port reads the result of second, the result of first one after another."
    )


def test_an_active_dropout_is_named():
    used = RNG.random(SHAPE) > 0.2
    (text,) = reasons(R, np.where(used, R / np.float32(0.8), np.float32(0)), ())
    assert text.endswith("of the port's numbers are 0, and the others 1.25 times the source's: an active dropout.")


def normalized(x, epsilon, weights):
    mean, variance, scale, offset = (weights[name].reshape(-1, 1, 1) for name in ("mean", "var", "scale", "offset"))
    return ((x - mean) / np.sqrt(variance + np.float32(epsilon)) * scale + offset).astype(np.float32)


NORM = {
    "mean": RNG.standard_normal(8).astype(np.float32),
    "var": (0.01 + 0.1 * RNG.random(8)).astype(np.float32),
    "scale": (0.5 + RNG.random(8)).astype(np.float32),
    "offset": RNG.standard_normal(8).astype(np.float32),
}


@pytest.mark.parametrize("activation", [lambda x: x, relu])
def test_the_epsilons_of_a_normalization_are_named(activation):
    source, port = (activation(normalized(R, epsilon, NORM)) for epsilon in (1e-5, 1e-3))
    text = "The epsilon of a normalization is 1e-05 in the source, 0.001 in the port."
    assert reasons(source, port, weights=NORM) == [text]


def test_other_statistics_of_a_normalization_are_no_epsilon():
    other = {**NORM, "var": R.var((0, 2, 3)), "mean": R.mean((0, 2, 3))}
    (text,) = reasons(normalized(R, 1e-5, NORM), normalized(R, 1e-5, other), weights=NORM)
    assert text.startswith("Each channel of the port has a factor and a constant, as with another normalization.")


def test_another_offset_of_each_channel_is_named():
    (text,) = reasons(R, R + BIAS.reshape(-1, 1, 1), ())
    assert text.startswith("Each channel of the port differs by a constant")


def test_channels_that_are_not_finite_are_named():
    port = R.copy()
    port[:, [1, 4]] = np.nan
    assert reasons(R, port) == [
        "All numbers of the port in the channels 1, 4 are NaN or infinite, as with a negative variance of a "
        "normalization."
    ]
    port[0, 0, 0, 0] = np.inf
    assert reasons(R, port) == ["NaN or infinite numbers are at other positions."]


def test_other_shapes_are_named():
    assert reasons(R, R[:, :, :-1], ())[0] == "The shape is 2 x 8 x 6 x 5 in the source, 2 x 8 x 5 x 5 in the port."


def test_a_difference_without_an_explanation_does_not_name_epsilon_unless_it_is_small():
    other = RNG.standard_normal(SHAPE).astype(np.float32)
    assert reasons(R, other, ()) == [
        "The operators between these layers differ. Compare their order, their parameters and their weights."
    ]
    (text,) = reasons(R, R + np.float32(1e-3) * other, ())
    assert text.startswith("The difference is small: compare the epsilon of normalizations")


def record(join):
    """Return a model of a convolution in groups that is written in four parts, and a pooling. join: joins the parts."""
    op, x = Recording(), X
    kernel = KERNEL[:, :2]
    parts = [
        op("", "conv", x[:, 2 * number : 2 * number + 2], kernel=kernel[2 * number : 2 * number + 2], padding=PADDING)
        for number in range(4)
    ]
    y = op("pool", "avg_pool", join(parts), window=(2, 2))
    return RecordedModel(ModelSource("numpy", "net.py", "make"), [RecordedRun(op.calls, [y], [0.0])])


def test_parts_that_are_joined_in_another_order_are_named_before_the_next_layer():
    op = Recording()
    y = op("grouped", "conv", X, kernel=KERNEL[:, :2], padding=PADDING, groups=4)
    y = op("pool", "avg_pool", y, window=(2, 2))
    source = RecordedModel(ModelSource("numpy", "net.py", "make"), [RecordedRun(op.calls, [y], [0.0])])
    port = record(lambda parts: np.concatenate([parts[number] for number in (1, 0, 2, 3)], 1))
    (found,) = compare_models(source, port, ["normal"])
    assert (found.first.place, found.first.layer.source.name) == (Place.BETWEEN, "pool")
    assert found.first.reasons == ["The port's channels are the source's in the order 2, 3, 0, 1, 4, 5, 6, 7."]
    (found,) = compare_models(source, record(lambda parts: np.concatenate(parts, 1)), ["normal"])
    assert found.first is None
