import numpy as np
import pytest

from conformance.models.comparison.weight_relations import order_text, weights_relation
from tests.conformance.models.comparison.test_effects import up

KERNEL = np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda kernel: kernel[..., ::-1, ::-1], "flipped on all spatial axes"),
        (lambda kernel: kernel.swapaxes(0, 1), "input and output channels exchanged"),
        (
            lambda kernel: kernel.swapaxes(0, 1)[..., ::-1, ::-1],
            "flipped on all spatial axes, with input and output channels exchanged",
        ),
        (lambda kernel: kernel.swapaxes(2, 3), "spatial axes exchanged"),
        (lambda kernel: kernel[..., ::-1, :], "flipped on spatial axis 0"),
        (lambda kernel: kernel.swapaxes(2, 3)[..., ::-1], "flipped on spatial axis 1, with its spatial axes exchanged"),
        (lambda kernel: kernel[::-1], "output channels in the order 1, 0"),
        (lambda kernel: kernel[:, ::-1], "input channels in the order 1, 0"),
        (lambda kernel: np.roll(kernel.ravel(), 1).reshape(kernel.shape), "numbers in another order"),
        (lambda kernel: kernel + 2, "largest difference 2"),
        (lambda kernel: kernel[:1], "shape 2 x 2 x 3 x 3 in the source, 1 x 2 x 3 x 3 in the port"),
    ],
)
def test_how_weights_relate(change, text):
    assert weights_relation(KERNEL, change(KERNEL)).endswith(text)


@pytest.mark.parametrize("shape", [(3, 3, 3, 3), (4, 2, 3, 3), (6, 4, 5), (4, 6, 1)])
def test_numbers_in_the_layout_of_another_framework_are_named(shape):
    own = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    out, channels, *window = shape
    # An array with the numbers of the source in its order, in a layer with the window first.
    read = np.moveaxis(own.reshape(*window, channels, out), (-1, -2), (0, 1))
    assert weights_relation(own, read).endswith("not transposed: its numbers are read in the layout (*window, in, out)")
    assert weights_relation(read, own).endswith("not transposed: its numbers are read in the layout (out, in, *window)")


def test_the_layout_of_a_transposed_convolution_has_its_own_order():
    kernel = np.arange(4 * 2 * 9, dtype=np.float32).reshape(4, 2, 3, 3)
    read = np.moveaxis(kernel.reshape(3, 3, 2, 4), (-1, -2), (0, 1))
    assert weights_relation(kernel, read, up(kernel)).endswith("layout (*window, out, in)")


def test_an_order_of_many_channels_is_shown_as_ranges_or_in_part():
    assert order_text([1, 0]) == "1, 0"
    assert order_text([*range(8, 16), *range(8)]) == "8-15, 0-7"
    assert order_text(list(range(31, -1, -1))) == ", ".join(map(str, range(31, 15, -1))) + ", …"
