"""The adapter of TensorFlow: surfaces, and source text that runs around programs."""

import os
import platform
import sys

import pytest

from conformance.adapters import registry
from conformance.cases.steps import Step
from conformance.translation.step_lowering import lower_step
from tests.conformance.adapters.tensorflow.programs import LAYERS, NN, lines
from tests.support.example_steps import convolution_step

BACKEND = registry.get_backend("tensorflow")


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
