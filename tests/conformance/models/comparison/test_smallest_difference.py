import numpy as np
import pytest

from conformance.models.comparison.smallest_difference import smallest_difference
from tests.conformance.models.comparison.test_effects import padded

KERNEL = np.ones((4, 4, 3, 3), np.float32)


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
