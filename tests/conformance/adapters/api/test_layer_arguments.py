"""Conversions of layer arguments that several frameworks share."""

import math

import pytest

from conformance.adapters.api import BoundCall, PlainName, UnreadableLayer, layer_arguments as read


def bound(rank=2, shape=(1, 3, 7, 6), **arguments):
    return BoundCall("Pool", rank, arguments, frozenset(arguments), shape)


@pytest.mark.parametrize(("value", "size"), [(3, 3), ((3, 2), (3, 2)), ((3,), 3), (None, None)])
def test_sizes_are_one_number_or_one_for_each_axis(value, size):
    assert read.sizes_argument("size").convert(bound(), value) == size


def test_none_has_the_default_of_the_argument():
    assert read.sizes_argument("stride", default=1).convert(bound(), None) == 1


@pytest.mark.parametrize("value", [(1, 2, 3), 1.5, True, (1, 2.5), "same"])
def test_other_values_are_no_sizes(value):
    with pytest.raises(UnreadableLayer):
        read.sizes_argument("size").convert(bound(), value)


def test_numbers_may_be_names_of_infinities():
    convert = read.number_argument("value").convert
    assert convert(bound(), PlainName("-jnp.inf")) == -math.inf
    assert math.isnan(convert(bound(), PlainName("np.nan")))
    with pytest.raises(UnreadableLayer):
        convert(bound(), True)


def test_true_is_no_choice_of_one():
    choice = read.choice_argument("ceil_mode", {0: "floor", 1: "ceil"})
    assert choice.convert(bound(), 1) == "ceil"
    with pytest.raises(UnreadableLayer, match="not one of 0, 1"):
        choice.convert(bound(), True)


def test_words_are_compared_without_case():
    assert read.modes_argument("mode", "edge", "wrap").convert(bound(), "EDGE") == "edge"
    assert read.named_padding_argument("padding").convert(bound(), "VALID") == 0


def test_same_padding_is_read_without_the_size_of_the_input():
    assert read.named_padding_argument("padding").convert(bound(shape=None), "same") == "same_upper"


@pytest.mark.parametrize(
    ("value", "padding"),
    [(1, 1), ((1, 2), (1, 2)), (((1, 2), (3, 4)), ((1, 2), (3, 4))), (((1, 2), 3), ((1, 2), (3, 3)))],
)
def test_padding_is_a_number_or_a_pair_for_each_axis(value, padding):
    assert read.padding_argument("padding").convert(bound(), value) == padding


def test_pads_of_batch_and_channels_must_be_zero():
    pads = ((0, 0), (0, 0), (1, 2), (3, 0))
    assert read.array_pads(bound(), pads, channels_last=False) == ((1, 2), (3, 0))
    with pytest.raises(UnreadableLayer, match="batch and channels are the first and the last axis"):
        read.array_pads(bound(), pads, channels_last=True)


@pytest.mark.parametrize(
    ("value", "pads"), [((1, 2), ((0, 0), (1, 2))), ((1, 2, 3, 4), ((3, 4), (1, 2))), (5, ((5, 5), (5, 5)))]
)
def test_flat_pads_start_with_the_last_axis(value, pads):
    assert read.ends_from_last_axis(bound(), value) == pads


def test_crop_of_a_transposed_convolution_is_padding_and_output_padding():
    assert read.padding_from_crop(((1, 2), (0, -1)), (1, 2), (1, 1)) == {
        "padding": ((1, 2), (0, 0)),
        "output_padding": (0, 1),
    }
    with pytest.raises(UnreadableLayer, match="starts 1 cells before the first window"):
        read.padding_from_crop(((-1, 0),), (2,), (1,))
    with pytest.raises(UnreadableLayer, match="at most 1 can be"):
        read.padding_from_crop(((0, -2),), (2,), (1,))


def test_padding_of_the_dilated_input_is_the_reach_minus_the_crop():
    assert read.crop_from_padding(((2, 1),), (3,), (2,)) == ((2, 3),)


def test_odd_surplus_is_removed_at_the_end_and_a_deficit_is_added_there():
    assert read.split_surplus((3, 4, -2)) == ((1, 2), (2, 2), (0, -2))


@pytest.mark.parametrize(("padding", "size"), [(0, (14, 18)), ((1, 0), (12, 18)), (((1, 0), (0, 2)), (13, 16))])
def test_unpooling_gives_the_size_that_its_pooling_reads(padding, size):
    found = {"window": (2, 3), "stride": (2, 3), "padding": padding}
    assert read.unpooled_size(bound(), found) == {"output_size": size}
    assert not found


def test_unpooling_without_a_stride_moves_by_the_window():
    assert read.unpooled_size(bound(), {"window": 2, "padding": 0}) == {"output_size": (14, 12)}


def test_indices_are_returned_on_request():
    assert read.operator_with_indices(bound(return_indices=False), {}) == {}
    assert read.operator_with_indices(bound(return_indices=True), {}) == {"operator": "max_pool_with_indices"}
