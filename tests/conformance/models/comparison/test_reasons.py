import numpy as np
import pytest

from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.reasons import all_parameters, weights_relation
from tests.conformance.models.comparison.test_layers import X, call

KERNEL = np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda kernel: kernel[..., ::-1, ::-1], "flipped on all spatial axes"),
        (lambda kernel: kernel.swapaxes(0, 1), "input and output channels exchanged"),
        (lambda kernel: kernel.swapaxes(0, 1)[..., ::-1, ::-1], "flipped, with input and output channels exchanged"),
        (lambda kernel: kernel.swapaxes(2, 3), "spatial axes exchanged"),
        (lambda kernel: kernel[::-1], "output channels in another order"),
        (lambda kernel: kernel[:, ::-1], "input channels in another order"),
        (lambda kernel: np.roll(kernel.ravel(), 1).reshape(kernel.shape), "numbers in another order"),
        (lambda kernel: kernel + 2, "largest difference 2"),
        (lambda kernel: kernel[:1], "shape 2 x 2 x 3 x 3 in the source, 1 x 2 x 3 x 3 in the port"),
    ],
)
def test_how_weights_relate(change, text):
    assert weights_relation(KERNEL, change(KERNEL)).endswith(text)


def test_explicit_zeros_count_as_padding():
    x = np.pad(X, ((0, 0), (0, 0), (1, 0), (0, 1)))
    pad = call("pad", pads=((1, 0), (0, 1)), mode="constant", value=0.0)
    pool = ModelLayer(call("max_pool", x, window=(2, 2)), pad)
    assert all_parameters(pool)["padding"] == ((1, 0), (0, 1))


def test_the_default_stride_is_the_window():
    assert all_parameters(ModelLayer(call("max_pool", window=(2, 3))))["stride"] == (2, 3)
