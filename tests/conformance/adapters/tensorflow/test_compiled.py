"""The module `compiled` of TensorFlow."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.tensorflow import compiled
from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.tensorflow.programs import COMPILED, NN, lines
from tests.support.example_steps import pooling_step


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


@pytest.mark.parametrize(
    ("dtype", "is_supported"), [("float16", True), ("int32", True), ("int64", False), ("uint8", False)]
)
def test_patches_have_kernels_of_xla_for_some_dtypes(dtype, is_supported):
    windows = {"window": (2, 3), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "order": "dcr"}
    code = compiled.unfold(Step("unfold", (1, 2, 4, 5), dtype, windows))
    assert (code is not compiled.NO_PATCHES) is is_supported


@pytest.mark.parametrize("cubic_a", [{}, {"cubic_a": -0.75}])
def test_xla_has_no_kernel_for_the_cubic_mode(cubic_a):
    step = Step("resize", (1, 1, 4, 4), "float32", {"size": (8, 8), "mode": "cubic", **cubic_a})
    assert compiled.resize(step) is compiled.NO_RESIZE_KERNEL
