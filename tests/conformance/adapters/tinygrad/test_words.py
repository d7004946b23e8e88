"""The module `words` of tinygrad."""

import pytest

from conformance.adapters.api import Unsupported
from tests.conformance.adapters.tinygrad.programs import lines, program

IMAGE = {"values": "integers", "shape": [1, 2, 5, 6]}


@pytest.mark.parametrize("counts", [False, True])
def test_average_states_whether_padding_counts_although_nothing_is_padded(counts):
    found = lines("avg_pool", x=IMAGE, window=[2, 3], stride=[2, 3], count_include_pad=counts, words=True)
    assert found == [f"x = x.avg_pool2d((2, 3), count_include_pad={counts})"]


@pytest.mark.parametrize("further", [{"padding": 1}, {"divisor": 3}, {"dilation": 2}])
def test_average_has_no_word_for_other_parameters(further):
    assert isinstance(program("avg_pool", x=IMAGE, window=[2, 3], words=True, **further), Unsupported)


@pytest.mark.parametrize(("mode", "name"), [("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular")])
def test_negative_pads_crop_in_every_mode(mode, name):
    found = lines("pad", x=IMAGE, pads=[[-1, 0], [1, 2]], mode=mode, words=True)
    assert found == [f'x = x.pad((1, 2, -1, 0), mode="{name}")']


@pytest.mark.parametrize(("pads", "mode"), [([[1, 0], [1, 2]], "edge"), ([[-1, 0], [1, 2]], "symmetric")])
def test_pads_that_do_not_crop_and_other_modes_have_no_word(pads, mode):
    assert isinstance(program("pad", x=IMAGE, pads=pads, mode=mode, words=True), Unsupported)
