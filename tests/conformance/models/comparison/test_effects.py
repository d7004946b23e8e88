"""Parameters of a port that differ and have the same effect are no causes."""

import numpy as np
import pytest

from conformance.models.comparison.effects import has_same_effect, setting_effects
from conformance.models.comparison.layers import ModelLayer, find_layers
from conformance.models.comparison.reasons import layer_reasons
from tests.conformance.models.comparison.test_layers import call

KERNEL = np.arange(8 * 9, dtype=np.float32).reshape(4, 2, 3, 3)
FIVE = np.arange(4 * 25, dtype=np.float32).reshape(1, 4, 5, 5)
SIX = np.arange(4 * 36, dtype=np.float32).reshape(1, 4, 6, 6)
UP = {"stride": (2, 2), "padding": ((1, 1), (1, 1)), "output_padding": (1, 1)}
CROP = {"stride": (2, 2), "padding": ((1, 0), (1, 0))}


def up(kernel=KERNEL, **given):
    return ModelLayer(call("conv_transpose", kernel=kernel, **given))


def pooling(operator, x=FIVE, **given):
    return ModelLayer(call(operator, x, window=(3, 3), stride=(2, 2), **given))


def padded(operator, *pads, x=FIVE, **given):
    """Return a layer that reads explicit padding; pads: extents, mode and value of each."""
    calls = []
    for extents, mode, value in pads:
        more = {"value": value} if mode == "constant" else {}
        calls.append(call("pad", x, pads=extents, mode=mode, **more))
        x = calls[-1].result
    calls.append(call(operator, x, **given))
    (layer,) = find_layers(calls)
    return layer


def test_output_padding_and_less_padding_have_the_same_effect():
    effects = setting_effects(up(**UP), up(**CROP))
    assert (list(effects.causes), list(effects.without_effect)) == ([], ["padding", "output_padding"])


def test_the_flipped_kernel_is_the_cause_and_comes_first():
    assert layer_reasons(up(**UP), up(KERNEL[..., ::-1, ::-1], **CROP)) == [
        "kernel: that of the source flipped on all spatial axes",
        "padding: 1 x 1 in the source, (1, 0) x (1, 0) in the port (same effect)",
        "output_padding: 1 x 1 in the source, 0 x 0 in the port (same effect)",
    ]


def test_padding_of_the_other_end_of_a_transposed_convolution_is_one_cause():
    port = up(**{**CROP, "padding": ((0, 1), (0, 1))})
    assert layer_reasons(up(**UP), port) == [
        "padding less output_padding: (1, 0) x (1, 0) in the source, (0, 1) x (0, 1) in the port: "
        "before and after are exchanged"
    ]


def test_a_lost_output_padding_is_the_only_cause():
    port = up(stride=(2, 2), padding=((1, 1), (1, 1)))
    assert layer_reasons(up(**UP), port) == ["output_padding: 1 x 1 in the source, 0 x 0 in the port"]


def test_the_divisor_is_the_cause_if_the_windows_are_the_same():
    source = pooling("avg_pool", SIX, padding=((1, 1), (1, 1)), rounding="ceil", count_include_pad=False)
    port = pooling("avg_pool", SIX, padding=((1, 2), (1, 2)), count_include_pad=True)
    assert layer_reasons(source, port) == [
        "count_include_pad: false in the source, true in the port",
        "padding: 1 x 1 in the source, (1, 2) x (1, 2) in the port (same effect)",
        "rounding: ceil in the source, floor in the port (same effect)",
    ]


@pytest.mark.parametrize(
    ("x", "padding", "has_effect"), [(FIVE, ((1, 0), (1, 0)), True), (SIX, ((1, 0), (1, 0)), False)]
)
def test_padding_that_no_window_reaches_depends_on_the_size(x, padding, has_effect):
    effects = setting_effects(pooling("max_pool", x, padding=((1, 1), (1, 1))), pooling("max_pool", x, padding=padding))
    assert (list(effects.causes), list(effects.without_effect)) == (["padding"], [])[:: 1 if has_effect else -1]


def test_rounding_has_no_effect_if_no_window_is_left_over():
    source, port = pooling("max_pool", FIVE, rounding="ceil"), pooling("max_pool", FIVE)
    assert layer_reasons(source, port) == ["rounding: ceil in the source, floor in the port (same effect)"]


def test_an_adaptive_average_may_be_one_with_a_window():
    adaptive = ModelLayer(call("adaptive_avg_pool", SIX, output_size=(3, 2)))
    same = ModelLayer(call("avg_pool", SIX, window=(2, 3), stride=(2, 3)))
    other = ModelLayer(call("avg_pool", SIX, window=(2, 3), stride=(2, 2)))
    assert has_same_effect(adaptive, same)
    assert layer_reasons(adaptive, same) == []
    assert layer_reasons(adaptive, other)[0] == "operator: adaptive_avg_pool in the source, avg_pool in the port"


def test_padding_of_one_axis_with_another_mode_is_named():
    kernel = np.ones((2, 4, 3, 3), np.float32)
    wrap = padded("conv", (((1, 1), (1, 1)), "wrap", 0), kernel=kernel)
    port = padded("conv", (((1, 1), (0, 0)), "wrap", 0), (((0, 0), (1, 1)), "constant", 0.0), x=FIVE, kernel=kernel)
    assert np.array_equal(port.x, wrap.x)
    assert layer_reasons(wrap, port) == [
        "padding mode: circular (wrap) by 1 x 1 in the source, circular (wrap) by 1 x 0 and zeros by 0 x 1 in the "
        "port; on spatial axis 1 zeros in place of circular (wrap)"
    ]


def test_padding_of_each_axis_alone_has_the_same_effect():
    kernel = np.ones((2, 4, 3, 3), np.float32)
    source = padded("conv", (((1, 1), (1, 1)), "wrap", 0), kernel=kernel)
    port = padded("conv", (((1, 1), (0, 0)), "wrap", 0), (((0, 0), (1, 1)), "wrap", 0), x=FIVE, kernel=kernel)
    assert not setting_effects(source, port).causes


def test_padding_of_a_maximum_with_negative_infinity_has_the_same_effect():
    window = {"window": (3, 3), "stride": (2, 2)}
    source = ModelLayer(call("max_pool", FIVE, **window, padding=((1, 1), (1, 1))))
    extents = ((1, 1), (1, 1))
    port = padded("max_pool", (extents, "constant", -np.inf), **window)
    assert not setting_effects(source, port).causes
    zeros = padded("max_pool", (extents, "constant", 0.0), **window)
    assert layer_reasons(source, zeros) == [
        "padding: the port pads with 0 before max_pool, so that padding can be the result"
    ]


def test_zeros_before_an_average_count():
    window = {"window": (3, 3), "stride": (2, 2), "count_include_pad": False}
    source = ModelLayer(call("avg_pool", FIVE, **window, padding=((1, 1), (1, 1))))
    port = padded("avg_pool", (((1, 1), (1, 1)), "constant", 0.0), **window)
    assert layer_reasons(source, port) == [
        "padding: zeros before the call count in the average of the port, padding of the source does not"
    ]


def test_zeros_before_an_average_are_the_cause_if_the_windows_are_the_same():
    window = {"window": (3, 3), "stride": (2, 2)}
    source = ModelLayer(call("avg_pool", SIX, **window, padding=((1, 1), (1, 1)), rounding="ceil"))
    port = padded("avg_pool", (((1, 2), (1, 2)), "constant", 0.0), x=SIX, **window)
    assert layer_reasons(source, port) == [
        "padding: zeros before the call count in the average of the port, padding of the source does not",
        "padding: 1 x 1 in the source, (1, 2) x (1, 2) in the port (same effect)",
        "rounding: ceil in the source, floor in the port (same effect)",
    ]


def test_the_extent_of_zeros_before_an_average_is_the_cause_if_padding_counts():
    window = {"window": (3, 3), "stride": (2, 2)}
    source = ModelLayer(call("avg_pool", SIX, **window, padding=((1, 1), (1, 1)), count_include_pad=True))
    port = padded("avg_pool", (((0, 1), (0, 1)), "constant", 0.0), x=SIX, **window)
    assert layer_reasons(source, port) == ["padding: 1 x 1 in the source, (0, 1) x (0, 1) in the port"]


@pytest.mark.parametrize("name", ["stride", "dilation"])
def test_exchanged_axes_are_named(name):
    source, port = (
        ModelLayer(call("conv", kernel=np.ones((1, 4, 2, 2), np.float32), **{name: one})) for one in ((2, 1), (1, 2))
    )
    assert layer_reasons(source, port) == [f"{name}: 2 x 1 in the source, 1 x 2 in the port: the axes are exchanged"]


def test_weights_of_another_layer_are_named():
    rng = np.random.default_rng(1)
    layers = [
        ModelLayer(call("conv", kernel=rng.standard_normal((4, 4, 1, 1)).astype(np.float32), name=name))
        for name in ("one", "two")
    ]
    assert layer_reasons(layers[0], layers[1], layers[1:]) == ["kernel: that of layer two of the source"]


def test_groups_with_the_same_dense_kernel_are_no_cause():
    grouped = ModelLayer(call("conv", kernel=KERNEL, groups=2))
    dense = np.zeros((4, 4, 3, 3), np.float32)
    dense[:2, :2], dense[2:, 2:] = KERNEL[:2], KERNEL[2:]
    assert layer_reasons(grouped, ModelLayer(call("conv", kernel=dense))) == []
    moved = dense[:, ::-1].copy()
    assert layer_reasons(grouped, ModelLayer(call("conv", kernel=moved))) == ["groups: 2 in the source, 1 in the port"]
