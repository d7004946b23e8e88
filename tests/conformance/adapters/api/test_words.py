"""Words for padding, and convolutions with a name of their own."""

import pytest

from conformance.adapters.api import Step, is_causal, is_depthwise, named_padding
from conformance.cases.operators import PaddingWord

NAMES = {PaddingWord.SAME_UPPER: "SAME", PaddingWord.VALID: "VALID"}


def pooling(padding, extent=5, window=2, stride=2, **more):
    parameters = {"window": (window,), "stride": (stride,), "padding": (padding,), "dilation": (1,), **more}
    return Step("max_pool", (1, 2, extent), "float32", parameters)


@pytest.mark.parametrize(
    ("padding", "name"), [((0, 0), '"VALID"'), ((0, 1), '"SAME"'), ((1, 0), None), ((1, 1), None), ((0, 2), None)]
)
def test_padding_has_a_name_if_it_is_that_of_the_word(padding, name):
    assert named_padding(pooling(padding), NAMES) == name


def test_padding_has_no_name_if_the_output_size_is_rounded_up():
    assert named_padding(pooling((0, 1), rounding="ceil"), NAMES) is None


def convolution(padding, groups=1, channels=2, window=3, dilation=1):
    parameters = {"stride": (1,), "padding": (padding,), "dilation": (dilation,), "groups": groups}
    return Step("conv", (1, channels, 6), "float32", parameters, (4, channels // groups, window))


@pytest.mark.parametrize(
    ("padding", "dilation", "causal"), [((2, 0), 1, True), ((2, 1), 1, False), ((2, 0), 2, False), ((4, 0), 2, True)]
)
def test_causal_padding_is_the_reach_of_the_kernel_before_the_axis(padding, dilation, causal):
    assert is_causal(convolution(padding, dilation=dilation)) is causal


def test_depthwise_convolution_has_one_input_channel_in_each_of_several_groups():
    assert [is_depthwise(convolution((0, 0), groups, 2)) for groups in (1, 2)] == [False, True]
    assert not is_depthwise(convolution((0, 0), 1, 1))
