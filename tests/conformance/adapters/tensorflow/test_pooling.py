"""The module `pooling` of TensorFlow."""

import pytest

from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.tensorflow.programs import LAYERS, NN, lines
from tests.support.example_steps import pooling_step


def test_index_is_native_for_one_channel_and_divided_for_several():
    one = pooling_step("max_pool_with_indices", (1, 1, 4, 4), window=(2, 2), output="indices")
    several = pooling_step("max_pool_with_indices", (1, 3, 4, 4), window=(2, 2), output="indices")
    call = 'tf.nn.max_pool_with_argmax(x, 2, 1, "VALID").argmax'
    assert lines(one) == ("native", [f"x = {call}"])
    assert lines(several) == ("composed", [f"x = {call} // 3"])


def test_flattened_index_of_several_channels_is_observed_on_the_call_itself():
    several = pooling_step("max_pool_with_indices", (1, 3, 4, 4), window=(2, 2), output="indices")
    lowered = lower_step(several, NN, native_only=True, inner=False)
    assert lowered == (['x = tf.nn.max_pool_with_argmax(x, 2, 1, "VALID").argmax'], "native")


def test_adaptive_layer_with_one_bin_is_composed_in_float32():
    step = Step("adaptive_max_pool", (1, 1, 5), "float32", {"output_size": (1,)})
    assert lines(step, LAYERS)[0] == "composed"
    assert lower_step(step, LAYERS, native_only=True, inner=False) == (
        ["x = tf.keras.layers.AdaptiveMaxPooling1D(1, dtype=x.dtype)(x)"],
        "native",
    )


@pytest.mark.parametrize("gradient", [False, True])
def test_adaptive_layer_with_one_bin_is_native_in_float64_except_for_its_gradient(gradient):
    step = Step("adaptive_max_pool", (1, 1, 5), "float64", {"output_size": (1,)}, gradient=gradient)
    assert lines(step, LAYERS)[0] == ("composed" if gradient else "native")
