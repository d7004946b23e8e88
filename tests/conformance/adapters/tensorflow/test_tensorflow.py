"""What TensorFlow's programs say, as text; no framework is imported."""

import os
import platform
import sys

import numpy as np
import pytest

from conformance.adapters import registry, tensorflow
from conformance.adapters.api.surface import Unsupported
from conformance.cases.steps import Step
from conformance.translation.lowering import lower_step
from tests.support.example_steps import pooling, weights

BACKEND = registry.get_backend("tensorflow")
NN, LAYERS, COMPILED, FIRST = (
    next(s for s in tensorflow.SURFACES if s.name == name)
    for name in ("tf.nn", "tf.keras.layers", "tf.function", "tf.nn.nchw")
)


def lines(step, surface=NN):
    """Return how a step is carried out, and its lines."""
    lowered = lower_step(step, surface, native_only=False, inner=False)
    assert not isinstance(lowered, Unsupported), lowered.reason
    return lowered[1], lowered[0]


def test_gradient_is_asked_of_a_tape_that_watches_the_input():
    assert NN.write_gradient(["x = tf.nn.relu(x)"], ["x"], "x") == (
        "with tf.GradientTape() as tape:",
        "    leaf = x",
        "    tape.watch(leaf)",
        "    x = tf.nn.relu(x)",
        "x = tape.gradient(x, leaf, grad)",
    )


def test_gradient_of_weights_is_asked_of_the_layer_that_has_them():
    way, layer = lines(weights("conv", (1, 2, 5), (4, 2, 3)), LAYERS)
    taped = LAYERS.write_gradient(layer, ["x", "kernel"], "kernel")
    assert way == "native"
    assert taped[-1] == "x = tape.gradient(x, conv.kernel, grad)"
    assert not any("watch" in line for line in taped)


def test_gradient_of_a_kernel_that_is_handed_to_a_layer_is_asked_of_the_kernel():
    step = weights("conv_transpose", (1, 4, 3), (4, 1, 2), groups=2)
    taped = LAYERS.write_gradient(lines(step, LAYERS)[1], ["x", "kernel"], "kernel")
    assert "    leaf = kernel" in taped


def test_index_of_one_channel_is_native_and_of_several_is_divided():
    one = pooling("max_pool_with_indices", (1, 1, 4, 4), window=(2, 2), output="indices")
    several = pooling("max_pool_with_indices", (1, 3, 4, 4), window=(2, 2), output="indices")
    call = 'tf.nn.max_pool_with_argmax(x, 2, 1, "VALID").argmax'
    assert lines(one) == ("native", [f"x = {call}"])
    assert lines(several) == ("composed", [f"x = {call} // 3"])


def test_flattening_is_asked_of_the_call_itself():
    several = pooling("max_pool_with_indices", (1, 3, 4, 4), window=(2, 2), output="indices")
    asked = lower_step(several, NN, native_only=True, inner=False)
    assert asked == (['x = tf.nn.max_pool_with_argmax(x, 2, 1, "VALID").argmax'], "native")


def test_places_beside_the_input_are_never_the_smallest():
    step = pooling("max_pool_with_indices", (1, 1, 3), window=(2,), padding=((1, 0),), output="indices")
    way, written = lines(step)
    assert way == "composed"
    assert written[0] == "x = tf.pad(x, ((0, 0), (1, 0), (0, 0)), constant_values=-np.inf)"
    assert "constant_values=3" in written[1]


@pytest.mark.parametrize(("mode", "pads"), [("edge", (1, 2)), ("wrap", (1, 2)), ("reflect", (3, 0))])
def test_padding_that_tf_pad_lacks_takes_cells_in_the_order_of_numpy(mode, pads):
    step = Step("pad", (1, 1, 3), "float32", {"pads": (pads,), "mode": mode, "value": 0})
    assert lines(step) == ("composed", [f'x = tf.gather(x, np.pad(np.arange(3), {pads}, "{mode}"), axis=1)'])


def test_mirrored_padding_is_one_call_up_to_what_there_is():
    step = Step("pad", (1, 1, 3), "float32", {"pads": ((2, 2),), "mode": "reflect", "value": 0})
    assert lines(step) == ("native", ['x = tf.pad(x, ((0, 0), (2, 2), (0, 0)), "REFLECT")'])


def test_layer_crops():
    step = Step("pad", (1, 1, 4, 4), "float32", {"pads": ((-1, 0), (0, -2)), "mode": "constant", "value": 0})
    assert lines(step, LAYERS) == ("native", ["x = tf.keras.layers.Cropping2D(((1, 0), (0, 2)), dtype=x.dtype)(x)"])


def test_transposed_convolution_names_the_shape_that_it_leaves():
    step = weights("conv_transpose", (2, 3, 4), (3, 5, 3), stride=(2,), output_padding=(1,))
    assert lines(step) == ("native", ['x = tf.nn.conv1d_transpose(x, kernel, (2, 10, 5), 2, "VALID")'])


def test_transposed_convolution_with_the_padding_of_same_says_so():
    step = weights("conv_transpose", (1, 1, 4), (1, 1, 3), stride=(2,), padding=((0, 1),))
    assert lines(step) == ("native", ['x = tf.nn.conv1d_transpose(x, kernel, (1, 8, 1), 2, "SAME")'])
    assert '"same"' in lines(step, LAYERS)[1][0]


def test_transposed_convolution_is_cropped_where_the_call_cannot():
    step = weights("conv_transpose", (1, 1, 4), (1, 1, 3), padding=((2, 0),))
    call = 'tf.nn.conv1d_transpose(x, kernel, (1, 6, 1), 1, "VALID")'
    assert lines(step) == ("composed", [f"x = {call}", "x = x[:, 2:, :]"])


def test_zeros_follow_where_nothing_was_laid_out_and_the_bias_comes_last():
    step = weights("conv_transpose", (1, 1, 3), (1, 1, 2), dilation=(3,), output_padding=(2,), bias=True)
    _, written = lines(step)
    assert written[-2:] == ["x = tf.pad(x, ((0, 0), (0, 2), (0, 0)))", "x = tf.nn.bias_add(x, bias)"]


def test_holes_of_a_transposed_convolution_are_zeros_of_the_kernel_in_float64():
    step = weights("conv_transpose", (1, 1, 4), (1, 1, 2), "float64", dilation=(2,))
    _, written = lines(step)
    assert written[0] == "kernel = tf.scatter_nd(np.moveaxis(np.mgrid[0:3:2,], 0, -1), kernel, (3, 1, 1))"
    assert "dilations" not in written[1]


def test_zeros_between_the_kernel_stand_where_the_holes_are():
    _, written = lines(weights("conv_transpose", (1, 1, 4, 4), (1, 1, 2, 2), "float64", dilation=(2, 3)))
    places = eval(written[0].split("scatter_nd(")[1].split(", kernel")[0], {"np": np})  # noqa: S307 - our own text
    assert places.shape == (2, 2, 2)
    assert places[1, 1].tolist() == [2, 3]


def test_groups_are_one_call_but_for_gradients_in_float64():
    forward = weights("conv", (1, 4, 5), (4, 2, 3), "float64", groups=2)
    backward = weights("conv", (1, 4, 5), (4, 2, 3), "float64", groups=2, gradient=True)
    assert lines(forward) == ("native", ['x = tf.nn.conv1d(x, kernel, 1, "VALID")'])
    way, (text,) = lines(backward)
    assert way == "composed"
    assert "zip(tf.split(x, 2, -1), tf.split(kernel, 2, -1))" in text


def test_gradient_with_holes_comes_from_the_call_that_cuts_the_input_up():
    step = weights("conv", (1, 1, 5), (1, 1, 2), "float64", dilation=(2,), gradient=True)
    assert lines(step) == ("native", ['x = tf.nn.convolution(x, kernel, padding="VALID", dilations=2)'])


def test_explicit_padding_comes_first_where_onednn_must_compute_the_gradient():
    step = weights("conv", (1, 1, 5, 5), (1, 1, 2, 2), padding=((1, 0), (1, 0)), dilation=(2, 2), gradient=True)
    assert lines(step)[0] == "padded"


def test_adaptive_layer_with_one_bin_is_not_written_for_its_window_is_larger_than_the_input():
    asked = Step("adaptive_max_pool", (1, 1, 5), "float32", {"output_size": (1,)})
    assert lines(asked, LAYERS)[0] == "composed"
    assert lower_step(asked, LAYERS, native_only=True, inner=False) == (
        ["x = tf.keras.layers.AdaptiveMaxPooling1D(1, dtype=x.dtype)(x)"],
        "native",
    )


@pytest.mark.parametrize("gradient", [False, True])
def test_adaptive_layer_with_one_bin_is_right_in_float64_but_for_its_gradient(gradient):
    step = Step("adaptive_max_pool", (1, 1, 5), "float64", {"output_size": (1,)}, gradient=gradient)
    assert lines(step, LAYERS)[0] == ("composed" if gradient else "native")


def test_bins_are_reduced_axis_by_axis():
    step = Step("adaptive_avg_pool", (1, 1, 5, 4), "float32", {"output_size": (3, 4)})
    bins = "[(o * 5 // 3, -(-(o + 1) * 5 // 3)) for o in range(3)]"
    text = f"x = tf.stack([tf.reduce_mean(x[:, start:stop], 1) for start, stop in {bins}], 1)"
    assert lines(step) == ("composed", [text])


@pytest.mark.parametrize(("dtype", "word"), [("bool", "any"), ("uint32", "max")])
def test_maximum_in_a_dtype_that_pooling_lacks_is_stacked(dtype, word):
    way, written = lines(pooling("max_pool", (1, 1, 4), dtype, window=(2,)))
    assert way == "composed"
    assert written[-1].startswith(f"x = tf.reduce_{word}(tf.stack(")


def test_space_in_float64_is_averaged_over_real_cells():
    step = pooling("avg_pool", (1, 1, 2, 2, 2), "float64", window=(2, 2, 2), padding=((1, 0), (0, 0), (0, 0)))
    way, written = lines(step)
    assert way == "composed"
    assert written[-1] == "x = total(x) / total(tf.ones_like(x))"


def test_samples_cannot_be_given():
    step = Step("fractional_max_pool", (1, 1, 5, 5), "float32", {"window": (2, 2), "output_size": (2, 2)})
    refusal = lower_step(step, NN, native_only=False, inner=False)
    assert "takes no samples" in refusal.reason


@pytest.mark.parametrize("verb", ["avg_pool", "conv", "lp_pool"])
def test_dtype_that_the_framework_refuses_has_its_reason(verb):
    refusal = NN.unsupported_reason(verb, "uint8")
    assert refusal is not None
    assert not NN.supports(verb, "uint8")


class TensorFlow:
    """What the text for threads asks of TensorFlow."""

    __version__ = "2.0"
    config = threading = property(lambda self: self)

    def set_intra_op_parallelism_threads(self, count):
        assert count == 1

    set_inter_op_parallelism_threads = set_intra_op_parallelism_threads


@pytest.fixture
def flags(tmp_path, monkeypatch):
    """Run the text for threads without TensorFlow; return the flags that it leaves."""
    monkeypatch.setitem(sys.modules, "tensorflow", TensorFlow())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TF_XLA_FLAGS", "")
    monkeypatch.delenv("TF_XLA_FLAGS")

    def run():
        exec(BACKEND.threads, {})  # noqa: S102 - the adapter's own text
        return os.environ["TF_XLA_FLAGS"]

    return run


def test_compiled_layers_are_kept_in_the_users_cache(tmp_path, flags, monkeypatch):
    kept = tmp_path / "nn-conformance" / "tensorflow" / "2.0" / platform.node()
    assert f"--tf_xla_persistent_cache_directory={kept} " in flags()
    monkeypatch.setenv("TF_XLA_FLAGS", "--mine")
    assert flags() == "--mine"


@pytest.mark.parametrize(("files", "left"), [(4000, 4000), (4001, 0)])
def test_cache_of_compiled_layers_is_emptied_once_it_is_full(tmp_path, flags, files, left):
    kept = tmp_path / "nn-conformance" / "tensorflow" / "2.0" / platform.node()
    kept.mkdir(parents=True)
    for number in range(files):
        (kept / str(number)).touch()
    flags()
    assert len(list(kept.glob("*"))) == left


def test_compiled_function_takes_the_inputs_and_returns_what_the_lines_leave():
    assert COMPILED.wrap_program(['x = tf.nn.conv1d(x, kernel, 1, "VALID")'], ["x", "kernel"]) == (
        "@tf.function(jit_compile=True)",
        "def compiled(x, kernel):",
        '    x = tf.nn.conv1d(x, kernel, 1, "VALID")',
        "    return x",
        "x = compiled(x, kernel)",
    )


def test_tape_of_a_compiled_function_is_in_it():
    written = COMPILED.write_gradient(["x = tf.nn.relu(x)"], ["x"], "x")
    assert written[:2] == ("@tf.function(jit_compile=True)", "def compiled(grad, x):")
    assert written[2:-2] == tuple(f"    {line}" for line in NN.write_gradient(["x = tf.nn.relu(x)"], ["x"], "x"))
    assert written[-2:] == ("    return x", "x = compiled(grad, x)")


def test_maximum_writes_its_padding_first_where_xla_compiles():
    step = pooling("max_pool", (1, 1, 5, 5), window=(3, 3), padding=((1, 0), (0, 1)))
    assert lines(step)[0] == "native"
    way, written = lines(step, COMPILED)
    assert way == "padded"
    assert written[0].startswith("x = tf.pad(x,")
    asked = lower_step(step, COMPILED, native_only=True, inner=False)
    assert asked == (lines(step)[1], "native")


def test_same_padding_stays_the_calls_own_where_xla_compiles():
    step = pooling("max_pool", (1, 1, 5, 5), window=(3, 3), padding=((1, 1), (1, 1)))
    assert lines(step, COMPILED) == lines(step) == ("native", ['x = tf.nn.max_pool2d(x, 3, 1, "SAME")'])


@pytest.mark.parametrize("output", ["values", "indices"])
def test_xla_knows_no_argmax(output):
    step = pooling("max_pool_with_indices", (1, 1, 4, 4), window=(2, 2), output=output)
    assert lines(step)[0] == "native"
    way, written = lines(step, COMPILED)
    assert way == "composed"
    assert not any("argmax" in line for line in written)
    refusal = lower_step(step, COMPILED, native_only=True, inner=False)
    assert isinstance(refusal, Unsupported)
    assert "MaxPoolWithArgmax" in refusal.reason


def test_softmax_of_a_space_needs_no_reshaping_where_xla_compiles():
    step = pooling("softmax_pool", (1, 1, 3, 3, 3), window=(2, 2, 2))
    assert "reshape" in " ".join(lines(step)[1])
    assert "reshape" not in " ".join(lines(step, COMPILED)[1])


def test_compiled_surface_runs_the_small_cases_and_those_with_its_tag():
    assert COMPILED.is_run("smoke", ())
    assert COMPILED.is_run("standard", ("compiled",))
    assert not COMPILED.is_run("standard", ())


@pytest.mark.parametrize(("shape", "name"), [((1, 1, 5), "NCW"), ((1, 1, 5, 5), "NCHW"), ((1, 1, 5, 5, 5), "NCDHW")])
def test_channels_first_is_said_in_the_call(shape, name):
    rank = len(shape) - 2
    step = pooling("avg_pool", shape, window=(2,) * rank)
    call = f'x = tf.nn.avg_pool{rank}d(x, 2, 1, "VALID", data_format="{name}")'
    assert lines(step, FIRST) == ("native", [call])


def test_convolution_of_a_space_names_its_strides_alone_where_channels_come_first():
    step = weights("conv", (1, 2, 5, 5, 5), (4, 2, 3, 3, 3), stride=(2, 2, 1))
    call = 'x = tf.nn.convolution(x, kernel, strides=(2, 2, 1), padding="VALID", data_format="NCDHW")'
    assert lines(step, FIRST) == ("native", [call])


def test_bias_and_the_shape_of_a_transposed_convolution_follow_the_format():
    _, written = lines(weights("conv", (1, 2, 5), (4, 2, 3), bias=True), FIRST)
    assert written == [
        'x = tf.nn.conv1d(x, kernel, 1, "VALID", data_format="NCW")',
        'x = tf.nn.bias_add(x, bias, data_format="NCW")',
    ]
    step = weights("conv_transpose", (2, 3, 4), (3, 5, 3), stride=(2,), output_padding=(1,))
    call = 'x = tf.nn.conv1d_transpose(x, kernel, (2, 5, 10), 2, "VALID", data_format="NCW")'
    assert lines(step, FIRST) == ("native", [call])


def test_padding_is_written_before_the_pooling_where_channels_come_first():
    step = pooling("max_pool", (1, 1, 5, 5), window=(3, 3), padding=((1, 0), (0, 1)))
    way, written = lines(step, FIRST)
    assert (way, written[0]) == ("padded", "x = tf.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=-np.inf)")


@pytest.mark.parametrize("refused", [{"dtype": "float64"}, {"dtype": "float32", "gradient": True}])
def test_what_only_channels_last_has_is_refused_in_words(refused):
    step = pooling("max_pool", (1, 1, 5), window=(2,), **refused)
    assert lines(step, NN)[0] == "native"
    answer = lower_step(step, FIRST, native_only=False, inner=False)
    assert isinstance(answer, Unsupported)
    assert "oneDNN" in answer.reason or "only supports NHWC" in answer.reason
