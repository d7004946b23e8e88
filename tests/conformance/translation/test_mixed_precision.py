"""Programs that compute in mixed precision."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.translation.lowering import translate


def surface_of(name):
    surfaces = [one for backend in registry.backend_names() for one in registry.get_backend(backend).surfaces]
    return next(one for one in surfaces if one.name == name)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("operator", ["conv", "conv_transpose", "avg_pool", "max_pool"])
def test_every_program_states_the_dtype(catalogue, operator, dtype):
    case = catalogue.by_id[f"{operator}/mixed-{dtype}"]
    for name in ("torch.nn", "torch.nn.functional", "torch.compile"):
        text = translate(case, surface_of(name)).text
        assert f"with torch.autocast(x.device.type, dtype=torch.{dtype}):" in text
        # The result may have the dtype of x or that of mixed precision.
        assert text.endswith("if x.dtype == torch.bfloat16 else x.numpy()\n")
    for name in ("tf.keras.layers", "keras-jax.layers", "keras-torch.layers", "keras-tensorflow.layers"):
        text = translate(case, surface_of(name)).text
        assert f'dtype="mixed_{dtype}"' in text
        assert "dtype=x.dtype" not in text


def test_lines_of_a_compiled_function_are_in_the_context(catalogue):
    text = translate(catalogue.by_id["conv/mixed-bfloat16"], surface_of("torch.compile")).text
    assert text.index("torch.autocast") < text.index("torch.compile")


def test_weights_of_a_layer_have_the_dtype_of_x(catalogue):
    text = translate(catalogue.by_id["conv/mixed-bfloat16"], surface_of("torch.nn")).text
    assert "dtype=x.dtype" in text


@pytest.mark.parametrize(
    "name", ["tf.nn", "jax.lax", "keras-jax.ops", "numpy.loops", "onnxruntime", "torch.compile.dynamic"]
)
def test_surface_without_mixed_precision_does_not_run_the_case(catalogue, name):
    reason = translate(catalogue.by_id["conv/mixed-bfloat16"], surface_of(name))
    assert reason == Unsupported(f"{name} has no mixed precision")
