from dataclasses import replace

import pytest
from hypothesis import assume, given, strategies as st

from conformance.models.geometry import MAX_EXTENT, checked_layer, fewer, shortest
from conformance.models.layer import ModelLayer
from reference import Windows


def pool(extent, *, window=3, stride=2, pads=(1, 1), dilation=1, rounding="floor", channels=64):
    parameters = {
        "window": (window,), "stride": (stride,), "padding": (pads,), "dilation": (dilation,), "rounding": rounding,
    }  # fmt: skip
    return ModelLayer("p", "max_pool", parameters, (1, channels, extent))


def conv(channels, out, groups=1, extent=(56, 56), window=3):
    parameters = {
        "stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": groups,
    }  # fmt: skip
    kernel = (out, channels // groups, window, window)
    return ModelLayer("c", "conv", parameters, (1, channels, *extent), kernel=kernel)


def windows_of(layer):
    one = layer.parameters
    return Windows.of(layer.shape[2:], one["window"], one["stride"], one["padding"], one["dilation"], one["rounding"])


def cells(layer, *, last):
    """Return the cells of the first or last windows, from their end of the axis, and None for padding."""
    found, extent = windows_of(layer), layer.shape[2]
    starts = [number * found.stride[0] - found.pads[0][0] for number in range(found.output[0])]
    reach = layer.parameters["window"][0]
    taps = [[start + tap * layer.parameters["dilation"][0] for tap in range(reach)] for start in starts]
    inside = [[cell - (extent if last else 0) if 0 <= cell < extent else None for cell in window] for window in taps]
    return [window for window in inside if None in window]


@given(
    extent=st.integers(20, 400), window=st.integers(1, 5), stride=st.integers(1, 6), dilation=st.integers(1, 4),
    before=st.integers(0, 4), after=st.integers(0, 4), rounding=st.sampled_from(["floor", "ceil", "full"]),
)  # fmt: skip
def test_a_shortened_axis_has_the_same_partial_windows_and_the_same_remainder(
    *, extent, window, stride, dilation, before, after, rounding
):
    reach = (window - 1) * dilation + 1
    assume(max(before, after) < reach <= extent)
    options = {"window": window, "stride": stride, "dilation": dilation, "rounding": rounding}
    layer = pool(extent, pads=(before, after), **options)
    short = shortest(layer)
    assume(short.shape != layer.shape)
    assert (extent - short.shape[2]) % stride == 0
    assert windows_of(short).overhang == windows_of(layer).overhang
    for last in (False, True):
        own = [window for window in cells(layer, last=last) if any(cell is not None for cell in window)]
        kept = [window for window in cells(short, last=last) if any(cell is not None for cell in window)]
        assert len(own) == len(kept)
    inside = windows_of(short).output[0] - len(cells(short, last=False))
    assert inside >= 1


def test_extents_up_to_the_limit_stay_those_of_the_model():
    assert checked_layer(pool(MAX_EXTENT)).layer.shape[2] == MAX_EXTENT
    assert checked_layer(pool(MAX_EXTENT)).note == ""


def test_a_longer_axis_is_shortened_and_the_report_says_so():
    checked = checked_layer(pool(MAX_EXTENT + 1))
    assert checked.layer.shape[2] < 20
    assert checked.layer.shape[2] % 2 == (MAX_EXTENT + 1) % 2
    assert checked.note == "an axis of 4,097 cells: checked on 9 in place of 4097"


def test_a_layer_of_more_than_ten_gigaflop_is_shortened():
    checked = checked_layer(conv(1024, 1024, extent=(56, 56)))
    assert checked.layer.shape[2:] != (56, 56)
    assert "GFLOP" in checked.note
    assert checked_layer(conv(256, 256, extent=(56, 56))).note == ""


@pytest.mark.parametrize(
    ("number", "limit", "expected"), [(3, 16, 3), (64, 16, 16), (65, 16, 15), (7, 2, 1), (8, 2, 2)]
)
def test_fewer_channels_stay_even_or_odd(number, limit, expected):
    assert fewer(number, limit) == expected


def test_a_depthwise_layer_stays_depthwise():
    layer = checked_layer(conv(64, 64, groups=64)).layer
    assert layer.kernel == (4, 1, 3, 3)
    assert (layer.groups, layer.shape[1]) == (4, 4)


def test_groups_stay_groups_with_several_channels():
    layer = checked_layer(conv(64, 128, groups=2)).layer
    assert layer.groups == 2
    assert layer.kernel[1] > 1
    assert layer.shape[1] == 2 * layer.kernel[1]


def test_the_weights_of_a_transposed_convolution_are_cut_by_its_layout():
    layer = ModelLayer(
        "t", "conv_transpose", {**conv(64, 32).parameters, "output_padding": (0, 0)}, (1, 64, 28, 28),
        kernel=(64, 32, 2, 2),
    )  # fmt: skip
    cut = checked_layer(layer).layer
    assert cut.kernel == (cut.shape[1], cut.out_channels, 2, 2)


def test_bins_keep_the_remainder_of_the_extent():
    layer = ModelLayer("a", "adaptive_avg_pool", {"output_size": (6,)}, (1, 8, 103))
    assert shortest(layer).shape[2] == 13
    small = replace(layer, shape=(1, 8, 4))
    assert shortest(small).shape[2] == 4
