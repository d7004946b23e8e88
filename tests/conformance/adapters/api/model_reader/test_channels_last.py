"""Padding and layouts that the readers of formats with channels last share."""

import sys

import numpy as np
import pytest

from conformance.adapters.api.model_reader import extraction

sys.modules.setdefault("extraction", extraction)  # its name in the process of a reader

from conformance.adapters.api.model_reader import channels_last  # noqa: E402 - it imports the module above
from conformance.adapters.api.model_reader.channels_last import Problem  # noqa: E402
from reference import conv_transpose  # noqa: E402


def test_same_pads_add_the_odd_cell_after_the_input():
    assert channels_last.named_pads("same", [21, 24], [3, 3], [2, 2], [1, 1]) == [[1, 1], [0, 1]]
    assert channels_last.named_pads("SAME", [5], [2], [1], [3]) == [[1, 2]]
    assert channels_last.named_pads("valid", [5], [2], [1], [1]) == [[0, 0]]
    assert channels_last.named_pads("causal", [5], [3], [1], [2]) == [[4, 0]]


@pytest.mark.parametrize(("name", "stride"), [("other", 1), ("SAME", 0), ("SAME", -1)])
def test_an_unknown_name_or_stride_is_a_problem(name, stride):
    with pytest.raises(Problem):
        channels_last.named_pads(name, [5], [2], [stride], [1])


@pytest.mark.parametrize("name", ["SAME", "VALID"])
@pytest.mark.parametrize(("extent", "output", "window", "stride"), [(5, 10, 3, 2), (5, 9, 2, 2), (4, 12, 2, 3)])
def test_the_padding_of_a_transposed_convolution_gives_its_output_size(name, extent, output, window, stride):
    found = channels_last.transposed_padding(name, [extent], [output], [window], [stride], [1])
    x, kernel = np.ones((1, 1, extent)), np.ones((1, 1, window))
    pads, added = found["padding"], found["output_padding"]
    assert conv_transpose(x, kernel, stride=stride, padding=pads, output_padding=added).shape == (1, 1, output)


def test_a_convolution_between_space_to_batch_and_batch_to_space_is_dilated():
    plain = ([1, 1], [1, 1], [[0, 0], [0, 0]])
    assert channels_last.dilated([2, 3], [[2, 3], [3, 4]], [[0, 1], [0, 1]], plain) == ([2, 3], [[2, 2], [3, 3]])
    for block, crops, settings in (
        ([2, 2], [[1, 0], [0, 0]], plain),
        ([2, 2], [[0, 0], [0, 0]], ([2, 1], [1, 1], [[0, 0], [0, 0]])),
        ([2], [[0, 0], [0, 0]], plain),
    ):
        with pytest.raises(Problem):
            channels_last.dilated(block, [[2, 2], [2, 2]], crops, settings)


def test_kernels_have_the_layout_of_the_suite():
    kernel = np.arange(24).reshape(2, 1, 3, 4)
    assert channels_last.kernel_first(kernel).shape == (4, 3, 2, 1)
    depthwise = channels_last.depthwise_first(kernel)
    assert list(depthwise.shape) == channels_last.depthwise_shape(kernel.shape) == [12, 1, 2, 1]
    assert depthwise[7, 0, 1, 0] == kernel[1, 0, 1, 3]


def test_only_all_spatial_axes_are_global_pooling():
    assert channels_last.spatial_axes([1, -2], 4)
    assert not channels_last.spatial_axes([1], 4)
    assert not channels_last.spatial_axes([2], 3)
    assert not channels_last.spatial_axes([1], 2)


def test_padding_of_batch_or_channels_is_counted():
    model = extraction.Model({}, {})
    fields = {"shape": [1, 5, 6, 3], "dtype": "float32", "source": "Pad"}
    for pads in ([[0, 0]] * 4, [[0, 0], [1, 0], [0, 0], [0, 1]], [[0, 0], [1, 2], [0, 3], [0, 0]]):
        channels_last.add_pad(model, "p", pads, "constant", 2.0, fields)
    assert model.others == {"Pad by nothing": 1, "Pad of batch or channels": 1}
    assert [(one["parameters"], one["shape"]) for one in model.layers] == [
        ({"pads": [[1, 2], [0, 3]], "mode": "constant", "value": 2}, [1, 3, 5, 6]),
    ]
    with pytest.raises(Problem):
        channels_last.add_pad(model, "p", [[0, 0]], "constant", 0.0, fields)
