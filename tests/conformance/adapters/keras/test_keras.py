"""The adapter of Keras: surfaces, and source text that runs around programs."""

import pytest

from conformance.adapters import registry
from tests.conformance.adapters.keras.programs import CHANNELS_FIRST, lines
from tests.support.example_steps import convolution_step, pooling_step


def test_each_engine_is_a_backend_with_a_surface_for_operations_and_two_for_layers():
    assert [name for name in registry.backend_names() if name.startswith("keras")] == [
        "keras-jax",
        "keras-tensorflow",
        "keras-torch",
    ]
    surfaces = registry.get_backend("keras-torch").surfaces
    names = ["keras-torch.layers", "keras-torch.ops", "keras-torch.layers.channels_first"]
    assert [surface.name for surface in surfaces] == names


@pytest.mark.parametrize("surface", CHANNELS_FIRST)
def test_layers_get_a_channels_first_data_format(surface):
    how, text = lines(convolution_step("conv", (1, 2, 5), (4, 1, 3), groups=2, bias=True), surface)
    assert how == "native"
    assert 'data_format="channels_first"' in text[0]
    assert text[1] == "conv.build((1, 2, 5))"
    pooled = pooling_step("avg_pool", (1, 2, 4, 4), window=(2, 2), stride=(2, 2))
    call = 'x = keras.layers.AveragePooling2D(2, data_format="channels_first", dtype=x.dtype)(x)'
    assert lines(pooled, surface) == ("native", [call])
    call = 'x = keras.layers.GlobalMaxPooling1D(keepdims=True, data_format="channels_first", dtype=x.dtype)(x)'
    assert lines(pooling_step("global_max_pool", (1, 2, 4)), surface) == ("native", [call])
