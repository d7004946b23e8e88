import numpy as np
import pytest

from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.reasons import all_parameters, layer_reasons
from tests.conformance.models.comparison.test_layers import X, call


def test_explicit_zeros_count_as_padding():
    x = np.pad(X, ((0, 0), (0, 0), (1, 0), (0, 1)))
    pad = call("pad", pads=((1, 0), (0, 1)), mode="constant", value=0.0)
    pool = ModelLayer(call("max_pool", x, window=(2, 2)), (pad,))
    assert all_parameters(pool)["padding"] == ((1, 0), (0, 1))


def padded(mode, extent=1):
    """Return a convolution that reads explicit padding; without a mode, one with padding of its own."""
    kernel = np.arange(36, dtype=np.float32).reshape(1, 4, 3, 3)
    pads = ((extent, extent),) * 2
    if not mode:
        return ModelLayer(call("conv", kernel=kernel, padding=pads))
    x = np.pad(X, ((0, 0), (0, 0), *pads), mode)
    return ModelLayer(call("conv", x, kernel=kernel), (call("pad", pads=pads, mode=mode),))


@pytest.mark.parametrize(
    ("source", "port", "text"),
    [
        (padded("wrap"), padded(""), "padding mode: circular (wrap) by 1 x 1 in the source, zeros by 1 x 1 in the "),
        (padded("edge"), padded("reflect"), "padding mode: replicate (edge) by 1 x 1 in the source, reflect by 1 x 1"),
        (padded("", 0), padded("wrap"), "padding mode: none in the source, circular (wrap) by 1 x 1 in the port"),
        (padded("edge"), padded("edge", 0), "padding mode: replicate (edge) by 1 x 1 in the source, none in"),
    ],
)
def test_another_padding_mode_is_named_by_the_words_of_the_frameworks(source, port, text):
    (reason,) = layer_reasons(source, port)
    assert reason.startswith(text)


def test_equal_padding_modes_are_no_reason():
    assert not layer_reasons(padded("wrap"), padded("wrap"))
    assert layer_reasons(padded(""), padded("", 0)) == ["padding: 1 x 1 in the source, 0 x 0 in the port"]


def test_the_default_stride_is_the_window():
    assert all_parameters(ModelLayer(call("max_pool", window=(2, 3))))["stride"] == (2, 3)
