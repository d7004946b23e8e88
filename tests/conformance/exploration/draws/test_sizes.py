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


def test_matrices_have_a_row_for_each_axis_of_the_grid():
    every = list(draws("affine_grid", 1, 60))
    assert {len(levels["grid_size"]) for levels in every} == {2, 3}
    for levels in every:
        axes = len(levels["grid_size"])
        assert (levels["channels"], levels["extent"]) == (axes, (axes + 1,))
        assert min(levels["grid_size"]) >= 1


def test_operators_have_only_their_own_sizes():
    (pad,) = draws("pad", 2, 1)
    assert "pads" in pad
    assert "window" not in pad
    (conv,) = draws("conv", 2, 1)
    assert {"out", "groups", "window"} <= conv.keys()


def test_long_counts_of_images_channels_and_groups_are_drawn():
    long = [levels for levels in draws("conv", 1, 2000) if max(levels["extent"]) < LONG_AXIS_CELLS]
    for name in ("batch", "channels", "out", "groups"):
        assert any(levels[name] >= LONG_AXIS_CELLS for levels in long), name


def test_groups_of_one_channel_have_the_widths_of_vectors():
    depthwise = {levels["groups"] for levels in draws("conv_grad", 2, 600) if levels["channels"] == levels["out"] == 1}
    assert depthwise >= {8, 16, 32}


@pytest.mark.parametrize(("operator", "factor", "default"), [
    ("max_pool", "stride", 1), ("max_pool", "padding", (0, 0)), ("pad", "pads", (0, 0)),
])  # fmt: skip
def test_a_factor_may_differ_from_its_default_on_one_axis_only(operator, factor, default):
    changed = [
        [level != default for level in levels[factor]]
        for levels in draws(operator, 3)
        if isinstance(levels[factor], tuple)
    ]
    for axis in range(3):
        assert any(one[axis] and sum(one) == 1 for one in changed), axis
        assert any(sum(one) == 3 for one in changed)


def test_columns_get_the_extents_of_the_windows_of_their_output():
    for levels in draws("fold", 2, 50):
        assert levels["output_size"] == levels["extent"]
        assert {"window", "stride", "dilation", "padding"} <= levels.keys()
    (unfold,) = draws("unfold", 2, 1)
    assert "output_size" not in unfold
