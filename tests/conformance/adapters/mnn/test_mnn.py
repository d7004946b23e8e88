"""The adapter for MNN: its programs, and the calls that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.adapters.mnn import convolution, pooling
from conformance.cases.steps import Step
from tests.support.example_steps import convolution_step, pooling_step

(SURFACE,) = registry.get_backend("mnn").surfaces
WINDOW = {"window": (2, 3), "stride": (1, 3)}
COUNTED = {"count_include_pad": True}


def pool(operator="max_pool", shape=(1, 2, 4, 6), **parameters):
    counted = COUNTED if operator == "avg_pool" else {}
    return pooling_step(operator, shape, **{**WINDOW, **counted, **parameters})


def row(**parameters):
    sizes = {"window": (3,), "stride": (1,), "padding": ((0, 0),), "dilation": (1,)}
    return pool(shape=(1, 2, 6), **{**sizes, **parameters})


def weighted(operator="conv", *, bias=False, shape=(1, 2, 5, 5), kernel=(2, 2, 3, 3), **parameters):
    return convolution_step(operator, shape, kernel, bias=bias, **parameters)


def padded(mode="constant", pads=((0, 0), (1, 2)), value=0):
    return Step("pad", (1, 2, 5, 5), "float32", {"pads": pads, "mode": mode, "value": value})


def test_sizes_start_with_the_width():
    assert pooling.max_pool(pool()) == "F.max_pool(x, (3, 2), (3, 1))"


def test_one_axis_is_a_plane_of_one_row():
    assert pooling.max_pool(row()) == "F.squeeze(F.max_pool(F.unsqueeze(x, [2]), (3, 1), (1, 1)), [2])"


def test_numbers_of_another_rank_reach_the_call():
    assert "(1, 1, 1)" in pooling.max_pool(row(stride=(1, 1)))


@pytest.mark.parametrize("parameters", [{"dilation": (2, 1)}, {"stride": None}, {"padding": ((2, 0), (0, 0))}])
def test_pooling_has_no_dilation_no_default_stride_and_equal_padding(parameters):
    assert isinstance(pooling.max_pool(pool(**parameters)), Unsupported)


def test_padding_rounds_the_output_size_up():
    assert pooling.max_pool(pool(padding=((1, 1), (0, 0)))) == "F.max_pool(x, (3, 2), (3, 1), F.CAFFE, (0, 1))"
    assert pooling.max_pool(pool(shape=(1, 2, 4, 7), padding=((1, 1), (0, 0)))) is pooling.ROUNDS_UP
    assert pooling.max_pool(pool(shape=(1, 2, 4, 7), rounding="full")) == "F.max_pool(x, (3, 2), (3, 1), F.CAFFE)"


def test_windows_that_are_too_many_are_sliced_away():
    wide = pool(shape=(1, 2, 4, 7), padding=((1, 1), (0, 0)))
    assert pooling.cropped_pool(wide) == "F.max_pool(x, (3, 2), (3, 1), F.CAFFE, (0, 1))[:, :, :5, :2]"
    uneven = pool(stride=(1, 2), padding=((0, 0), (0, 1)))
    assert pooling.cropped_pool(uneven) == "F.max_pool(x, (3, 2), (2, 1), F.CAFFE, (2, 0))[:, :, :3, 1:4]"
    average = pool("avg_pool", stride=(1, 2), padding=((0, 0), (1, 0)))
    assert isinstance(pooling.cropped_pool(average), Unsupported)


def test_padding_counts_with_caffe_and_does_not_with_same():
    equal = pool("avg_pool", padding=((1, 1), (0, 0)))
    same = pool("avg_pool", padding=((0, 1), (0, 0)), count_include_pad=False)
    assert pooling.avg_pool(equal) == "F.avg_pool(x, (3, 2), (3, 1), F.CAFFE, (0, 1))"
    assert isinstance(pooling.avg_pool(equal.with_parameters(count_include_pad=False)), Unsupported)
    assert pooling.avg_pool(same) == "F.avg_pool(x, (3, 2), (3, 1), F.SAME)"
    assert isinstance(pooling.avg_pool(same.with_parameters(count_include_pad=True)), Unsupported)
    assert isinstance(pooling.avg_pool(pool("avg_pool", divisor=3)), Unsupported)


def test_padding_writes_zeros_or_mirrors_inside_of_the_extent():
    assert pooling.pad(padded()) == "F.pad(x, [[0, 0], [0, 0], [0, 0], [1, 2]])"
    assert pooling.pad(padded("reflect")) == "F.pad(x, [[0, 0], [0, 0], [0, 0], [1, 2]], F.REFLECT)"
    for step in (padded(value=1), padded("wrap"), padded(pads=((-1, 0), (0, 0))), padded("reflect", ((5, 0), (0, 0)))):
        assert isinstance(pooling.pad(step), Unsupported)


def test_convolutions_have_a_layout_of_their_own_and_a_bias():
    text = convolution.conv(weighted(padding=((1, 1), (0, 0))))
    assert text.startswith("F.convert(F.conv2d(F.convert(x, F.NC4HW4), kernel, np.zeros(2, np.float32), (1, 1), (0, 1)")
    assert text.endswith("(1, 1), 1, F.CAFFE), F.NCHW)")
    assert "kernel, bias, " in convolution.conv(weighted(bias=True))
    assert convolution.conv(weighted(padding=((1, 0), (0, 0)))) is convolution.ONE_PADDING


def test_groups_of_several_channels_are_separate_calls():
    step = weighted(shape=(1, 4, 5, 5), kernel=(4, 2, 3, 3), groups=2, bias=True)
    assert convolution.conv(step) is convolution.READS_OUTSIDE
    joined, bias = convolution.grouped_conv(step)
    assert "zip(F.split(x, [2, 2], 1), F.split(kernel, [2, 2], 0))" in joined
    assert bias == "x = x + F.reshape(bias, [1, -1, 1, 1])"
    one_each = weighted(shape=(1, 4, 5, 5), kernel=(4, 1, 3, 3), groups=4)
    assert ", 4, F.VALID)" in convolution.conv(one_each)


def test_a_transposed_convolution_is_cropped_by_a_slice_and_filled_with_zeros():
    step = weighted("conv_transpose", padding=((2, 0), (0, 0)), output_padding=(0, 1), stride=(2, 2), bias=True)
    assert isinstance(convolution.transpose(step), Unsupported)
    call, crop, zeros, bias = convolution.cropped_transpose(step)
    assert "np.zeros(2, np.float32), (2, 2), (0, 0)" in call
    assert crop == "x = x[:, :, 2:, :]"
    assert zeros == "x = F.pad(x, [[0, 0], [0, 0], [0, 0], [0, 1]])"
    assert bias.startswith("x = x + ")


def test_there_are_no_gradients():
    assert SURFACE.write_gradient is None


def test_same_padding_has_numbers_where_two_cells_follow_the_last_window():
    column = {"kernel": (1, 1, 3, 1), "stride": (1, 3), "padding": ((1, 1), (0, 0))}
    assert "(0, 1), (1, 1), 1, F.CAFFE" in convolution.conv(weighted(shape=(1, 1, 1, 3), **column))
    assert "(0, 0), (1, 1), 1, F.SAME" in convolution.conv(weighted(shape=(1, 1, 1, 2), **column))
