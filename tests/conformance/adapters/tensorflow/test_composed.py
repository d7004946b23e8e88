"""The module `composed` of TensorFlow."""

import pytest

from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.tensorflow.programs import CHANNELS_FIRST, COMPILED, LAYERS, NN, lines
from tests.support.example_steps import convolution_step, pooling_step


def test_positions_in_the_padding_are_never_the_smallest_index():
    step = pooling_step("max_pool_with_indices", (1, 1, 3), window=(2,), padding=((1, 0),), output="indices")
    how, code = lines(step)
    assert how == "composed"
    assert code[0] == "x = tf.pad(x, ((0, 0), (1, 0), (0, 0)), constant_values=-np.inf)"
    assert code[3] == "places = np.pad(np.arange(3).reshape(1, 3, 1), ((0, 0), (1, 0), (0, 0)), constant_values=3)"


@pytest.mark.parametrize(("mode", "pads"), [("edge", (1, 2)), ("wrap", (1, 2)), ("reflect", (3, 0))])
def test_padding_unsupported_by_tf_pad_is_a_gather_with_numpy_indices(mode, pads):
    step = Step("pad", (1, 1, 3), "float32", {"pads": (pads,), "mode": mode, "value": 0})
    assert lines(step) == ("composed", [f'x = tf.gather(x, np.pad(np.arange(3), {pads}, "{mode}"), axis=1)'])


def test_mirrored_padding_up_to_the_input_extent_is_one_call():
    step = Step("pad", (1, 1, 3), "float32", {"pads": ((2, 2),), "mode": "reflect", "value": 0})
    assert lines(step) == ("native", ['x = tf.pad(x, ((0, 0), (2, 2), (0, 0)), "REFLECT")'])


def test_bins_are_reduced_one_axis_at_a_time():
    step = Step("adaptive_avg_pool", (1, 1, 5, 4), "float32", {"output_size": (3, 4)})
    bins = "[(o * 5 // 3, -(-(o + 1) * 5 // 3)) for o in range(3)]"
    text = f"x = tf.stack([tf.reduce_mean(x[:, i:j], axis=1) for i, j in {bins}], 1)"
    assert lines(step) == ("composed", [text])


@pytest.mark.parametrize(("dtype", "reduction"), [("bool", "any"), ("uint32", "max")])
def test_maximum_in_a_dtype_without_a_pooling_kernel_is_stacked(dtype, reduction):
    how, code = lines(pooling_step("max_pool", (1, 1, 4), dtype, window=(2,)))
    assert how == "composed"
    assert code[-1].startswith(f"x = tf.reduce_{reduction}(tf.stack(")


def test_three_dimensional_float64_average_divides_by_the_cells_of_the_input():
    step = pooling_step("avg_pool", (1, 1, 2, 2, 2), "float64", window=(2, 2, 2), padding=((1, 0), (0, 0), (0, 0)))
    how, code = lines(step)
    assert how == "composed"
    assert code[-1] == "x = total(x) / total(tf.ones_like(x))"


@pytest.mark.parametrize("surface", [NN, COMPILED, LAYERS])
@pytest.mark.parametrize(("operator", "reduction"), [("max_pool", "max"), ("avg_pool", "sum")])
def test_pooling_of_four_axes_is_stacked(surface, operator, reduction):
    how, code = lines(pooling_step(operator, (1, 1, 3, 3, 3, 3), window=(2,) * 4), surface)
    assert how == "composed"
    assert code[-1].startswith(f"x = tf.reduce_{reduction}(tf.stack(")


@pytest.mark.parametrize("operator", ["conv", "conv_transpose"])
def test_convolution_of_four_axes_is_unsupported(operator):
    step = convolution_step(operator, (1, 1, 3, 3, 3, 3), (1, 1, 2, 2, 2, 2))
    for surface in (NN, COMPILED, CHANNELS_FIRST, LAYERS):
        lowered = lower_step(step, surface, native_only=False, inner=False)
        assert lowered.reason == "more than 3 spatial axes are not supported"


def test_padding_of_many_axes_is_a_call_up_to_the_limit_of_its_mode():
    def pad(rank, mode):
        return Step("pad", (1, 1, *[3] * rank), "float32", {"pads": ((1, 1),) * rank, "mode": mode, "value": 0})

    assert lines(pad(4, "constant"))[1][0].startswith("x = tf.pad(x, ")
    assert "4 spatial axes" in lower_step(pad(5, "constant"), NN, native_only=False, inner=False).reason
    # With channels first, batch and channels are neighbours without padding.
    assert lines(pad(5, "constant"), CHANNELS_FIRST)[1][0].startswith("x = tf.pad(x, ")
    assert lines(pad(3, "reflect"))[1][0].endswith('"REFLECT")')
    assert lines(pad(4, "reflect"))[1][0].startswith("x = tf.gather(x, ")
