"""The text of TensorFlow programs. No framework is imported."""

import os
import platform
import sys

import numpy as np
import pytest

from conformance.adapters import registry, tensorflow
from conformance.adapters.api.surface import Unsupported
from conformance.cases.steps import Step
from conformance.translation.lowering import lower_step
from tests.support.example_steps import convolution_step, pooling_step

BACKEND = registry.get_backend("tensorflow")
NN, LAYERS, COMPILED, CHANNELS_FIRST = (
    next(s for s in tensorflow.SURFACES if s.name == name)
    for name in ("tf.nn", "tf.keras.layers", "tf.function", "tf.nn.nchw")
)


def lines(step, surface=NN):
    """Return how a step is lowered (native, padded or composed), and its lines."""
    lowered = lower_step(step, surface, native_only=False, inner=False)
    assert not isinstance(lowered, Unsupported), lowered.reason
    return lowered[1], lowered[0]


def test_gradient_tape_watches_the_input():
    assert NN.write_gradient(["x = tf.nn.relu(x)"], ["x"], "x") == (
        "with tf.GradientTape() as tape:",
        "    leaf = x",
        "    tape.watch(leaf)",
        "    x = tf.nn.relu(x)",
        "x = tape.gradient(x, leaf, grad)",
    )


def test_gradient_of_layer_weights_is_that_of_the_layers_variable():
    how, layer = lines(convolution_step("conv", (1, 2, 5), (4, 2, 3)), LAYERS)
    taped = LAYERS.write_gradient(layer, ["x", "kernel"], "kernel")
    assert how == "native"
    assert taped[-1] == "x = tape.gradient(x, conv.kernel, grad)"
    assert not any("watch" in line for line in taped)


def test_gradient_of_a_kernel_passed_to_a_stateless_layer_is_that_of_the_kernel():
    step = convolution_step("conv_transpose", (1, 4, 3), (4, 1, 2), groups=2)
    taped = LAYERS.write_gradient(lines(step, LAYERS)[1], ["x", "kernel"], "kernel")
    assert "    leaf = kernel" in taped


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


def test_positions_in_the_padding_are_never_the_smallest_index():
    step = pooling_step("max_pool_with_indices", (1, 1, 3), window=(2,), padding=((1, 0),), output="indices")
    how, code = lines(step)
    assert how == "composed"
    assert code[0] == "x = tf.pad(x, ((0, 0), (1, 0), (0, 0)), constant_values=-np.inf)"
    assert "constant_values=3" in code[1]


@pytest.mark.parametrize(("mode", "pads"), [("edge", (1, 2)), ("wrap", (1, 2)), ("reflect", (3, 0))])
def test_padding_unsupported_by_tf_pad_is_a_gather_with_numpy_indices(mode, pads):
    step = Step("pad", (1, 1, 3), "float32", {"pads": (pads,), "mode": mode, "value": 0})
    assert lines(step) == ("composed", [f'x = tf.gather(x, np.pad(np.arange(3), {pads}, "{mode}"), axis=1)'])


def test_mirrored_padding_up_to_the_input_extent_is_one_call():
    step = Step("pad", (1, 1, 3), "float32", {"pads": ((2, 2),), "mode": "reflect", "value": 0})
    assert lines(step) == ("native", ['x = tf.pad(x, ((0, 0), (2, 2), (0, 0)), "REFLECT")'])


def test_negative_pads_are_a_cropping_layer():
    step = Step("pad", (1, 1, 4, 4), "float32", {"pads": ((-1, 0), (0, -2)), "mode": "constant", "value": 0})
    assert lines(step, LAYERS) == ("native", ["x = tf.keras.layers.Cropping2D(((1, 0), (0, 2)), dtype=x.dtype)(x)"])


def test_transposed_convolution_passes_its_output_shape():
    step = convolution_step("conv_transpose", (2, 3, 4), (3, 5, 3), stride=(2,), output_padding=(1,))
    assert lines(step) == ("native", ['x = tf.nn.conv1d_transpose(x, kernel, (2, 10, 5), 2, "VALID")'])


def test_transposed_convolution_with_same_padding_is_written_as_same():
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 3), stride=(2,), padding=((0, 1),))
    assert lines(step) == ("native", ['x = tf.nn.conv1d_transpose(x, kernel, (1, 8, 1), 2, "SAME")'])
    assert '"same"' in lines(step, LAYERS)[1][0]


def test_unsupported_cropping_of_a_transposed_convolution_is_a_slice():
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 3), padding=((2, 0),))
    call = 'tf.nn.conv1d_transpose(x, kernel, (1, 6, 1), 1, "VALID")'
    assert lines(step) == ("composed", [f"x = {call}", "x = x[:, 2:, :]"])


def test_output_padding_is_zeros_before_the_bias_is_added():
    step = convolution_step("conv_transpose", (1, 1, 3), (1, 1, 2), dilation=(3,), output_padding=(2,), bias=True)
    _, code = lines(step)
    assert code[-2:] == ["x = tf.pad(x, ((0, 0), (0, 2), (0, 0)))", "x = tf.nn.bias_add(x, bias)"]


def test_dilation_of_a_float64_transposed_convolution_is_zeros_in_the_kernel():
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 2), "float64", dilation=(2,))
    _, code = lines(step)
    assert code[0] == "kernel = tf.scatter_nd(np.moveaxis(np.mgrid[0:3:2,], 0, -1), kernel, (3, 1, 1))"
    assert "dilations" not in code[1]


def test_dilated_kernel_has_its_values_at_multiples_of_the_dilation():
    _, code = lines(convolution_step("conv_transpose", (1, 1, 4, 4), (1, 1, 2, 2), "float64", dilation=(2, 3)))
    places = eval(code[0].split("scatter_nd(")[1].split(", kernel")[0], {"np": np})  # noqa: S307 - text of the adapter
    assert places.shape == (2, 2, 2)
    assert places[1, 1].tolist() == [2, 3]


def test_groups_are_one_call_except_for_float64_gradients():
    forward = convolution_step("conv", (1, 4, 5), (4, 2, 3), "float64", groups=2)
    backward = convolution_step("conv", (1, 4, 5), (4, 2, 3), "float64", groups=2, gradient=True)
    assert lines(forward) == ("native", ['x = tf.nn.conv1d(x, kernel, 1, "VALID")'])
    how, (text,) = lines(backward)
    assert how == "composed"
    assert "zip(tf.split(x, 2, -1), tf.split(kernel, 2, -1))" in text


def test_gradient_with_dilation_uses_tf_nn_convolution():
    step = convolution_step("conv", (1, 1, 5), (1, 1, 2), "float64", dilation=(2,), gradient=True)
    assert lines(step) == ("native", ['x = tf.nn.convolution(x, kernel, padding="VALID", dilations=2)'])


def test_padding_is_a_separate_call_where_onednn_computes_the_gradient():
    parameters = {"padding": ((1, 0), (1, 0)), "dilation": (2, 2), "gradient": True}
    step = convolution_step("conv", (1, 1, 5, 5), (1, 1, 2, 2), **parameters)
    assert lines(step)[0] == "padded"


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


def test_bins_are_reduced_one_axis_at_a_time():
    step = Step("adaptive_avg_pool", (1, 1, 5, 4), "float32", {"output_size": (3, 4)})
    bins = "[(o * 5 // 3, -(-(o + 1) * 5 // 3)) for o in range(3)]"
    text = f"x = tf.stack([tf.reduce_mean(x[:, start:stop], 1) for start, stop in {bins}], 1)"
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


def test_fractional_pooling_does_not_accept_samples():
    step = Step("fractional_max_pool", (1, 1, 5, 5), "float32", {"window": (2, 2), "output_size": (2, 2)})
    unsupported = lower_step(step, NN, native_only=False, inner=False)
    assert "takes no samples" in unsupported.reason


@pytest.mark.parametrize("operator", ["avg_pool", "conv", "lp_pool"])
def test_unsupported_dtype_has_a_reason(operator):
    unsupported = NN.unsupported_reason(operator, "uint8")
    assert unsupported is not None
    assert not NN.supports(operator, "uint8")


class TensorFlow:
    """The part of TensorFlow that the THREADS source text uses."""

    __version__ = "2.0"
    config = threading = property(lambda self: self)

    def set_intra_op_parallelism_threads(self, count):
        assert count == 1

    set_inter_op_parallelism_threads = set_intra_op_parallelism_threads


@pytest.fixture
def flags(tmp_path, monkeypatch):
    """Return a function that runs the THREADS source text without TensorFlow and returns TF_XLA_FLAGS."""
    monkeypatch.setitem(sys.modules, "tensorflow", TensorFlow())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TF_XLA_FLAGS", "")
    monkeypatch.delenv("TF_XLA_FLAGS")

    def run():
        exec(BACKEND.threads, {})  # noqa: S102 - source text of the adapter
        return os.environ["TF_XLA_FLAGS"]

    return run


def test_compiled_layers_are_cached_in_the_users_cache_folder(tmp_path, flags, monkeypatch):
    folder = tmp_path / "nn-conformance" / "tensorflow" / "2.0" / platform.node()
    assert f"--tf_xla_persistent_cache_directory={folder} " in flags()
    monkeypatch.setenv("TF_XLA_FLAGS", "--mine")
    assert flags() == "--mine"


@pytest.mark.parametrize(("files", "remaining"), [(4000, 4000), (4001, 0)])
def test_cache_of_compiled_layers_is_cleared_when_it_is_full(tmp_path, flags, files, remaining):
    folder = tmp_path / "nn-conformance" / "tensorflow" / "2.0" / platform.node()
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / str(number)).touch()
    flags()
    assert len(list(folder.glob("*"))) == remaining


def test_compiled_function_takes_the_inputs_and_returns_the_result():
    assert COMPILED.wrap_program(['x = tf.nn.conv1d(x, kernel, 1, "VALID")'], ["x", "kernel"]) == (
        "@tf.function(jit_compile=True)",
        "def compiled(x, kernel):",
        '    x = tf.nn.conv1d(x, kernel, 1, "VALID")',
        "    return x",
        "x = compiled(x, kernel)",
    )


def test_gradient_tape_is_inside_the_compiled_function():
    code = COMPILED.write_gradient(["x = tf.nn.relu(x)"], ["x"], "x")
    assert code[:2] == ("@tf.function(jit_compile=True)", "def compiled(grad, x):")
    assert code[2:-2] == tuple(f"    {line}" for line in NN.write_gradient(["x = tf.nn.relu(x)"], ["x"], "x"))
    assert code[-2:] == ("    return x", "x = compiled(grad, x)")


def test_explicit_padding_of_max_pooling_is_a_separate_call_under_xla():
    step = pooling_step("max_pool", (1, 1, 5, 5), window=(3, 3), padding=((1, 0), (0, 1)))
    assert lines(step)[0] == "native"
    how, code = lines(step, COMPILED)
    assert how == "padded"
    assert code[0].startswith("x = tf.pad(x,")
    lowered = lower_step(step, COMPILED, native_only=True, inner=False)
    assert lowered == (lines(step)[1], "native")


def test_same_padding_is_native_under_xla():
    step = pooling_step("max_pool", (1, 1, 5, 5), window=(3, 3), padding=((1, 1), (1, 1)))
    assert lines(step, COMPILED) == lines(step) == ("native", ['x = tf.nn.max_pool2d(x, 3, 1, "SAME")'])


@pytest.mark.parametrize("output", ["values", "indices"])
def test_argmax_is_composed_under_xla(output):
    step = pooling_step("max_pool_with_indices", (1, 1, 4, 4), window=(2, 2), output=output)
    assert lines(step)[0] == "native"
    how, code = lines(step, COMPILED)
    assert how == "composed"
    assert not any("argmax" in line for line in code)
    unsupported = lower_step(step, COMPILED, native_only=True, inner=False)
    assert isinstance(unsupported, Unsupported)
    assert "MaxPoolWithArgmax" in unsupported.reason


def test_three_dimensional_softmax_pooling_is_not_reshaped_under_xla():
    step = pooling_step("softmax_pool", (1, 1, 3, 3, 3), window=(2, 2, 2))
    assert "reshape" in " ".join(lines(step)[1])
    assert "reshape" not in " ".join(lines(step, COMPILED)[1])


def test_compiled_surface_runs_smoke_cases_and_those_with_its_tag():
    assert COMPILED.is_run("smoke", ())
    assert COMPILED.is_run("standard", ("compiled",))
    assert not COMPILED.is_run("standard", ())


@pytest.mark.parametrize(("shape", "name"), [((1, 1, 5), "NCW"), ((1, 1, 5, 5), "NCHW"), ((1, 1, 5, 5, 5), "NCDHW")])
def test_channels_first_is_an_argument_of_the_call(shape, name):
    rank = len(shape) - 2
    step = pooling_step("avg_pool", shape, window=(2,) * rank)
    call = f'x = tf.nn.avg_pool{rank}d(x, 2, 1, "VALID", data_format="{name}")'
    assert lines(step, CHANNELS_FIRST) == ("native", [call])


def test_three_dimensional_channels_first_convolution_has_spatial_strides_only():
    step = convolution_step("conv", (1, 2, 5, 5, 5), (4, 2, 3, 3, 3), stride=(2, 2, 1))
    call = 'x = tf.nn.convolution(x, kernel, strides=(2, 2, 1), padding="VALID", data_format="NCDHW")'
    assert lines(step, CHANNELS_FIRST) == ("native", [call])


def test_bias_and_output_shape_follow_the_data_format():
    _, code = lines(convolution_step("conv", (1, 2, 5), (4, 2, 3), bias=True), CHANNELS_FIRST)
    assert code == [
        'x = tf.nn.conv1d(x, kernel, 1, "VALID", data_format="NCW")',
        'x = tf.nn.bias_add(x, bias, data_format="NCW")',
    ]
    step = convolution_step("conv_transpose", (2, 3, 4), (3, 5, 3), stride=(2,), output_padding=(1,))
    call = 'x = tf.nn.conv1d_transpose(x, kernel, (2, 5, 10), 2, "VALID", data_format="NCW")'
    assert lines(step, CHANNELS_FIRST) == ("native", [call])


def test_explicit_padding_is_a_separate_call_with_channels_first():
    step = pooling_step("max_pool", (1, 1, 5, 5), window=(3, 3), padding=((1, 0), (0, 1)))
    how, code = lines(step, CHANNELS_FIRST)
    assert (how, code[0]) == ("padded", "x = tf.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=-np.inf)")


@pytest.mark.parametrize("unsupported", [{"dtype": "float64"}, {"dtype": "float32", "gradient": True}])
def test_step_supported_with_channels_last_only_has_a_reason(unsupported):
    step = pooling_step("max_pool", (1, 1, 5), window=(2,), **unsupported)
    assert lines(step, NN)[0] == "native"
    lowered = lower_step(step, CHANNELS_FIRST, native_only=False, inner=False)
    assert isinstance(lowered, Unsupported)
    assert "oneDNN" in lowered.reason or "only supports NHWC" in lowered.reason
