"""The module `padding` of Keras."""

import pytest

from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.keras.programs import CHANNELS_FIRST, SURFACES, lines
from tests.support.example_steps import pooling_step


def padding(mode, shape, *pads, dtype="float32"):
    return Step("pad", shape, dtype, {"mode": mode, "pads": pads, "value": 0})


@pytest.mark.parametrize("surface", CHANNELS_FIRST)
def test_spatial_axes_are_padded_with_channels_first(surface):
    padded = padding("constant", (1, 2, 3, 4), (1, 0), (0, 2))
    call = 'x = keras.layers.ZeroPadding2D(((1, 0), (0, 2)), data_format="channels_first", dtype=x.dtype)(x)'
    assert lines(padded, surface) == ("native", [call])
    step = pooling_step("max_pool", (1, 2, 5), window=(2,), stride=(2,), padding=((1, 0),))
    assert lines(step, surface)[1][0] == "x = keras.ops.pad(x, ((0, 0), (0, 0), (1, 0)), constant_values=-np.inf)"
    call = 'x = keras.ops.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)), "reflect")'
    assert lines(padding("reflect", (1, 2, 3, 4), (1, 0), (0, 2)), surface) == ("composed", [call])


def test_gather_uses_the_spatial_axis_with_channels_first():
    step = padding("wrap", (1, 2, 3, 4), (4, 0), (0, 0))
    call = "x = keras.ops.take(x, [i % 3 for i in range(-4, 3)], axis=2)"
    assert lines(step, "keras-torch.layers.channels_first") == ("composed", [call])


def test_last_of_four_axes_is_not_reflected_alone_on_pytorch():
    step = padding("reflect", (1, 2, 3, 4), (0, 0), (0, 2))
    call = "x = keras.ops.take(x, [min(i % 6, 6 - i % 6) for i in range(6)], axis=3)"
    assert lines(step, "keras-torch.layers.channels_first") == ("composed", [call])
    assert lines(step, "keras-tensorflow.layers.channels_first")[1][0].startswith("x = keras.ops.pad(")


def test_cropping1d_has_no_channels_first():
    step = padding("constant", (1, 2, 5), (-1, 0))
    lowered = lower_step(step, SURFACES["keras-torch.layers.channels_first"], native_only=True, inner=False)
    assert lowered.reason == "Cropping1D has no data_format"
    assert lines(step, "keras-torch.layers", native_only=True)[0] == "native"


@pytest.mark.parametrize(
    ("mode", "engine", "how", "ending"),
    [
        ("reflect", "torch", "native", '"reflect")'),
        ("wrap", "torch", "native", '"circular")'),
        ("edge", "torch", "composed", "keras.ops.take(x, [min(max(i, 0), 2) for i in range(5)], axis=1)"),
        ("wrap", "jax", "native", '"wrap")'),
        ("edge", "jax", "native", '"edge")'),
        ("wrap", "tensorflow", "composed", "keras.ops.take(x, [i % 3 for i in range(5)], axis=1)"),
        ("symmetric", "tensorflow", "native", '"symmetric")'),
    ],
)
def test_padding_mode_has_the_engines_name_or_is_a_gather(mode, engine, how, ending):
    found, text = lines(padding(mode, (1, 1, 3), (0, 2)), f"keras-{engine}.ops")
    assert found == how
    assert text[-1].endswith(ending)


def test_layers_pad_with_zeros_or_crop_and_other_modes_are_operations():
    assert lines(padding("constant", (1, 1, 3), (0, 2)), "keras-jax.layers") == (
        "native",
        ["x = keras.layers.ZeroPadding1D((0, 2), dtype=x.dtype)(x)"],
    )
    assert lines(padding("constant", (1, 1, 3), (-1, 0)), "keras-jax.layers")[1] == [
        "x = keras.layers.Cropping1D((1, 0), dtype=x.dtype)(x)"
    ]
    assert lines(padding("reflect", (1, 1, 3), (0, 2)), "keras-jax.layers") == (
        "composed",
        ['x = keras.ops.pad(x, ((0, 0), (0, 2), (0, 0)), "reflect")'],
    )
