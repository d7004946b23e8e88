"""The module `pooling` of Keras."""

import pytest

from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.keras.programs import LAYERS, OPS, SURFACES, lines
from tests.support.example_steps import pooling_step


@pytest.mark.parametrize("surface", OPS)
def test_pooling_is_the_same_on_every_engine(surface):
    step = pooling_step("max_pool", (1, 2, 5, 5), window=(2, 2), stride=(2, 2), padding=((0, 1), (0, 1)))
    assert lines(step, surface) == ("native", ['x = keras.ops.max_pool(x, 2, strides=2, padding="same")'])


@pytest.mark.parametrize("surface", LAYERS)
def test_layer_gets_the_dtype_of_its_input_and_omits_a_stride_equal_to_the_window(surface):
    step = pooling_step("avg_pool", (1, 2, 4, 4), window=(2, 2), stride=(2, 2))
    assert lines(step, surface) == ("native", ["x = keras.layers.AveragePooling2D(2, dtype=x.dtype)(x)"])


@pytest.mark.parametrize("surface", OPS)
def test_stride_omitted_by_a_convention_case_is_omitted(surface):
    step = pooling_step("max_pool", (1, 1, 4), window=(2,), stride=None)
    assert lines(step, surface, native_only=True) == ("native", ["x = keras.ops.max_pool(x, 2)"])


def test_minimum_of_signed_integers_is_a_complement_of_a_maximum():
    _, text = lines(pooling_step("min_pool", (1, 1, 3), "int64", window=(2,)), "keras-torch.ops")
    assert (text[0], text[-1]) == ("x = ~x", "x = ~x")
    _, text = lines(pooling_step("min_pool", (1, 1, 3), "uint8", window=(2,)), "keras-torch.ops")
    assert text[0].startswith("x = keras.ops.min(")


def test_minimum_of_uint32_passes_jax_no_integer_above_int32():
    step = pooling_step("min_pool", (1, 1, 3), "uint32", window=(2,), padding=((1, 0),))
    assert "4294967295" not in "".join(lines(step, "keras-jax.ops")[1])
    assert "4294967295" in "".join(lines(step, "keras-tensorflow.ops")[1])


def test_three_dimensional_softmax_is_flattened_to_two_axes():
    _, text = lines(pooling_step("softmax_pool", (1, 1, 3, 3, 3), window=(2, 2, 2)), "keras-tensorflow.ops")
    assert "keras.ops.softmax(keras.ops.reshape(windows, (len(windows), -1)), axis=0)" in text[-1]


def test_integer_averages_are_unsupported_but_convention_cases_call_them():
    step = pooling_step("avg_pool", (1, 1, 4, 4), "int32", window=(2, 2))
    lowered = lower_step(step, SURFACES["keras-tensorflow.ops"], native_only=False, inner=False)
    assert "floating-point dtypes only" in lowered.reason
    assert lines(step, "keras-tensorflow.ops", native_only=True)[1] == ["x = keras.ops.average_pool(x, 2, strides=1)"]


@pytest.mark.parametrize("surface", ["keras-torch.ops", "keras-jax.layers", "keras-tensorflow.ops"])
def test_unpooling_assigns_values_at_once(surface):
    step = Step("max_unpool", (1, 1, 10_001), "float32", {"output_size": (10_001,)})
    lines, _ = lower_step(step, SURFACES[surface], native_only=False, inner=False)
    assert any("x = keras.ops.scatter_update(zeros, places, values)" in line for line in lines)


def test_pooling_of_four_axes_is_a_call_on_jax_and_stacked_elsewhere():
    step = pooling_step("max_pool", (1, 1, 3, 3, 3, 3), window=(2,) * 4)
    assert lines(step, "keras-jax.ops") == ("native", ["x = keras.ops.max_pool(x, 2, strides=1)"])
    for surface in (*LAYERS, "keras-torch.ops", "keras-tensorflow.ops"):
        how, code = lines(step, surface)
        assert (how, "keras.ops.max(keras.ops.stack(" in "".join(code)) == ("composed", True)


def test_compositions_of_five_axes_pad_only_on_engines_that_can():
    padded, full = (
        pooling_step("lp_pool", (1, 1, *[3] * 5), window=(2,) * 5, padding=((pad, 0),) * 5, p=2) for pad in (1, 0)
    )
    assert "keras.ops.pad(" in lines(padded, "keras-torch.ops")[1][0]
    lowered = lower_step(padded, SURFACES["keras-tensorflow.ops"], native_only=False, inner=False)
    assert "4 spatial axes" in lowered.reason
    assert lines(full, "keras-tensorflow.ops")[0] == "composed"
