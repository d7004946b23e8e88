"""Calls that sample at the points of a grid."""

import pytest

from conformance import ConformanceError
from conformance.adapters.api import Dialect
from conformance.adapters.api.resizing.grid_reading import ANY_EXTENT, grid_sampling_layer
from conformance.translation.layer import parse_layer

CALL = grid_sampling_layer(
    "sample(x, grid, mode='bilinear', padding_mode='zeros', align_corners=None)", arrays=("x", "grid")
)
DIALECT = Dialect(("F",), (CALL,))


def parameters(text, shape=None):
    return parse_layer(text, DIALECT, shape).request.parameters


def test_arguments_set_the_mode_the_padding_and_the_corners():
    found = parameters("F.sample(x, grid, 'bicubic', 'reflection', True)")
    assert (found["mode"], found["padding_mode"], found["align_corners"]) == ("cubic", "reflection", True)


def test_defaults_are_those_of_the_call():
    found = parameters("F.sample(x, grid)")
    assert (found["mode"], found["padding_mode"], found["align_corners"]) == ("linear", "zeros", False)


def test_a_grid_has_as_many_points_as_the_input_has_cells():
    assert parameters("F.sample(x, grid)")["output_size"] == (ANY_EXTENT, ANY_EXTENT)
    assert parameters("F.sample(x, grid)", (1, 2, 3, 4, 5))["output_size"] == (3, 4, 5)


@pytest.mark.parametrize("arguments", ["mode='area'", "padding_mode='edge'", "align_corners=2"])
def test_other_values_are_errors(arguments):
    with pytest.raises(ConformanceError, match=arguments.partition("=")[0]):
        parameters(f"F.sample(x, grid, {arguments})")
