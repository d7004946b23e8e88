"""The module `resizing` of Keras."""

import pytest

from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.keras.programs import CHANNELS_FIRST, LAYERS, OPS, SURFACES, lines

DEFAULTS = {"coordinates": "half_pixel", "nearest_rounding": "round_prefer_ceil", "cubic_a": -0.75}


def resizing(shape=(1, 2, 4, 4), dtype="float32", **parameters):
    return Step("resize", shape, dtype, {**DEFAULTS, **parameters})


@pytest.mark.parametrize("surface", OPS)
def test_ops_take_the_size(surface):
    call = 'x = keras.ops.image.resize(x, (8, 2), interpolation="bilinear")'
    assert lines(resizing(size=(8, 2), mode="linear"), surface) == ("native", [call])


@pytest.mark.parametrize("surface", LAYERS)
def test_layer_has_a_number_for_each_axis(surface):
    call = 'x = keras.layers.Resizing(8, 2, interpolation="nearest", dtype=x.dtype)(x)'
    assert lines(resizing(size=(8, 2), mode="nearest"), surface) == ("native", [call])


@pytest.mark.parametrize("surface", CHANNELS_FIRST)
def test_layer_names_channels_first(surface):
    _, (call,) = lines(resizing(size=(8, 2), mode="linear"), surface)
    assert ', data_format="channels_first"' in call


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (resizing((1, 2, 4), size=(8,), mode="linear"), "planes only"),
        (resizing(size=(8, 8), mode="cubic"), "depends on the engine"),
        (resizing(size=(8, 8), mode="linear", coordinates="asymmetric"), "half_pixel"),
        (resizing(size=(2, 2), mode="nearest", nearest_rounding="round_prefer_floor"), "half_pixel"),
        (resizing(size=(8, 8), scale=(2, 2), mode="linear"), "no scale"),
    ],
)
@pytest.mark.parametrize("surface", OPS)
def test_other_rules_are_not_written(step, reason, surface):
    assert reason in lower_step(step, SURFACES[surface], native_only=False, inner=False).reason


FILTER = {"size": (2, 2), "antialias": True, "exclude_outside": True}


@pytest.mark.parametrize("surface", OPS)
@pytest.mark.parametrize(("mode", "name"), [("linear", "bilinear"), ("cubic", "bicubic")])
def test_antialiasing_leaves_out_cells_beyond_x(surface, mode, name):
    call = f'x = keras.ops.image.resize(x, (2, 2), interpolation="{name}", antialias=True)'
    assert lines(resizing(mode=mode, **{**FILTER, "cubic_a": -0.5}), surface) == ("native", [call])
    repeated = resizing(mode=mode, **{**FILTER, "exclude_outside": False})
    assert "weight 0" in lower_step(repeated, SURFACES[surface], native_only=False, inner=False).reason


def test_pytorch_has_no_kernel_of_lanczos():
    step = resizing(mode="lanczos3", **FILTER)
    lowered = lower_step(step, SURFACES["keras-torch.ops"], native_only=False, inner=False)
    assert "not supported by the PyTorch backend" in lowered.reason
    assert '"lanczos3", antialias=True' in lines(step, "keras-jax.ops")[1][0]


def test_tensorflow_computes_float64_in_float32():
    step = resizing(dtype="float64", size=(8, 8), mode="linear")
    lowered = lower_step(step, SURFACES["keras-tensorflow.ops"], native_only=False, inner=False)
    assert lowered.reason == "linear interpolation computes float64 in float32"
    assert lines(step, "keras-torch.ops")[0] == "native"
