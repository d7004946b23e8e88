"""Sizes of generated cases."""

import pytest

from conformance.exploration.draws.sizes import LONG_AXIS_CELLS, VECTOR_WIDTH_SIZES, VERY_LONG_AXES, draw_sizes
from conformance.exploration.rng import Rng


def draws(operator, rank, count=300):
    for number in range(count):
        rng = Rng(operator, rank, number)
        rng.start_draw()
        yield draw_sizes(operator, rank, rng)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_every_size_has_one_number_for_each_axis(rank):
    for levels in draws("max_pool", rank, 50):
        assert {"extent", "batch", "channels", "window", "stride", "dilation", "padding"} <= levels.keys()
        assert all(len(levels[name]) == rank for name in ("extent", "window", "stride", "dilation"))
        assert min(levels["extent"]) >= 1


def test_rare_kinds_of_extents_are_drawn():
    largest = [max(levels["extent"]) for levels in draws("avg_pool", 2)]
    assert min(largest) <= 4
    assert {*largest} & {*VECTOR_WIDTH_SIZES}
    assert max(largest) >= LONG_AXIS_CELLS


def test_axes_beyond_seventeen_bits_are_drawn():
    largest = {max(levels["extent"]) for levels in draws("max_pool", 1, 600)}
    assert largest & {*VERY_LONG_AXES}


def test_long_axes_have_one_item_and_one_channel():
    long = [levels for levels in draws("max_pool", 1) if max(levels["extent"]) >= LONG_AXIS_CELLS]
    assert long
    assert {(levels["batch"], levels["channels"]) for levels in long} == {(1, 1)}


def test_operators_have_only_their_own_sizes():
    (pad,) = draws("pad", 2, 1)
    assert "pads" in pad
    assert "window" not in pad
    (conv,) = draws("conv", 2, 1)
    assert {"out", "groups", "window"} <= conv.keys()
