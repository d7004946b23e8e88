import numpy as np
import pytest

from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.smallest_difference import difference_text, smallest_difference
from tests.conformance.models.comparison.test_effects import FIVE, padded, up
from tests.conformance.models.comparison.test_layers import call

KERNEL = np.ones((4, 4, 3, 3), np.float32)
NUMBERS = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)


def convolution(*pads):
    return padded("conv", *pads, kernel=KERNEL)


@pytest.mark.parametrize(
    ("mode", "extents", "shape"),
    [
        ("reflect", ((1, 1), (1, 1)), (2, 2)),
        ("reflect", ((1, 2), (1, 0)), (3, 2)),
        ("wrap", ((2, 1), (1, 1)), (2, 1)),
        ("symmetric", ((0, 2), (1, 1)), (2, 1)),
        ("edge", ((1, 1), (2, 2)), (1, 1)),
    ],
)
def test_the_smallest_input_has_the_cells_that_the_padding_contains(mode, extents, shape):
    found = smallest_difference(convolution((extents, mode, 0.0)), convolution((extents, "constant", 0.0)))
    assert found.x.shape[2:] == shape


def test_padding_reads_the_result_of_the_padding_before_it():
    pads = ((0, 0), (1, 1)), ((2, 2), (3, 3))
    source = convolution((pads[0], "wrap", 0.0), (pads[1], "reflect", 0.0))
    port = convolution((pads[0], "wrap", 0.0), (pads[1], "edge", 0.0))
    assert smallest_difference(source, port).x.shape[2:] == (3, 2)


def grouped(kernel, bias=None):
    given = {} if bias is None else {"bias": np.array(bias, np.float32)}
    return ModelLayer(call("conv", FIVE, kernel=kernel, groups=2, **given))


def test_a_flipped_kernel_shows_in_one_channel():
    kernel = np.arange(4 * 2 * 4, dtype=np.float32).reshape(4, 2, 2, 2)
    kernel[2, 1, 0, 0] = 100
    found = smallest_difference(up(kernel, groups=2), up(kernel[..., ::-1, ::-1], groups=2))
    assert (found.x.shape, found.channels) == ((1, 1, 1, 1), (2, 3))
    assert found.source.ravel().tolist() == [-100, -21, -22, -23]
    assert found.port.ravel().tolist() == [-23, -22, -21, -100]
    assert list(difference_text(found)) == [
        "with the weights of input channel 2 and output channel 3 alone",
        "kernel, shape 1 x 1 x 2 x 2: 100, 21, 22, 23 in the source, 23, 22, 21, 100 in the port",
        "x, shape 1 x 1 x 1 x 1: -1",
        "source, shape 1 x 1 x 2 x 2: -100, -21, -22, -23",
        "port, shape 1 x 1 x 2 x 2: -23, -22, -21, -100",
    ]


def test_groups_in_another_order_show_in_one_channel():
    found = smallest_difference(grouped(NUMBERS), grouped(NUMBERS[::-1]))
    assert (found.x.shape[2:], found.channels) == ((2, 2), (0, 0))
    assert smallest_difference(grouped(NUMBERS), grouped(NUMBERS)) is None


def test_another_bias_shows_in_its_channel():
    found = smallest_difference(grouped(NUMBERS, [1, 2]), grouped(NUMBERS, [1, 5]))
    assert found.channels == (2, 1)
    assert (found.port - found.source).ravel().tolist() == [3]
    assert smallest_difference(grouped(NUMBERS), grouped(NUMBERS, [1, 5])) is None


def test_kernels_of_other_shapes_have_no_smallest_input_for_one_channel():
    plain = ModelLayer(call("conv", FIVE, kernel=np.ones((2, 4, 2, 2), np.float32)))
    assert smallest_difference(grouped(NUMBERS), plain) is None
