"""Transposed convolutions that a call cannot express alone: cropping, groups and dilation."""

import pytest

from conformance.adapters.api import (
    ChannelsLastComposition,
    OutputCrop,
    Unsupported,
    output_crops,
    output_slice,
    single_group,
    with_dilated_kernel,
)
from tests.support.example_steps import convolution_step

COMPOSITION = ChannelsLastComposition(
    scatter="scatter", split="split({name}, {groups})", concatenate="join({parts})", pad="pad", biased="x + bias"
)


def write(step, x, kernel):
    """Write a convolution that supports neither groups nor dilation."""
    return Unsupported("no") if step.dilated or step.parameters["groups"] != 1 else f"conv({x}, {kernel})"


def lines(**parameters):
    shape, kernel = parameters.pop("shape", (1, 4, 5)), parameters.pop("kernel", (4, 1, 3))
    return COMPOSITION.transposed_lines(convolution_step("conv_transpose", shape, kernel, **parameters), write)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (0, 0, OutputCrop(0, 0, 0, 0)),
        (1, 1, OutputCrop(1, 0, 0, 0)),
        (1, 0, OutputCrop(1, 1, 0, 0)),
        (0, -1, OutputCrop(0, 1, 0, 0)),
        (0, 1, OutputCrop(0, 0, 0, 1)),
        (3, 1, OutputCrop(1, 0, 2, 0)),
        (0, -2, OutputCrop(0, 2, 0, 0)),
    ],
)
def test_output_of_a_transposed_convolution_is_cropped_by_the_call_or_a_slice(before, after, expected):
    crop = OutputCrop.split(before, after, limit=2)
    assert crop == expected
    assert crop.padding + crop.slice_before == before
    assert crop.padding + crop.slice_after - crop.output_padding == after


def test_cropping_of_each_axis_is_an_argument_or_a_slice():
    step = convolution_step("conv_transpose", (1, 1, 4, 4), (1, 1, 3, 3), padding=((1, 1), (0, 1)))
    axes = output_crops(step, (1, 1))
    assert axes == [OutputCrop(1, 0, 0, 0), OutputCrop(0, 0, 0, 1)]
    assert [axis.needs_slice for axis in axes] == [False, True]
    assert output_slice(axes) == "[:, :, :, :-1]"
    assert output_slice(axes[:1]) == ""


def test_output_padding_reduces_the_crop_at_the_end():
    step = convolution_step("conv_transpose", (1, 1, 4), (1, 1, 3), padding=((1, 1),), output_padding=(1,))
    assert output_crops(step, (2,)) == [OutputCrop(1, 1, 0, 0)]


def test_group_has_its_share_of_both_channels():
    group = single_group(convolution_step("conv_transpose", (1, 4, 5), (4, 1, 3), groups=2, bias=True))
    assert (group.shape, group.kernel, group.bias, group.parameters["groups"]) == ((1, 2, 5), (2, 1, 3), False, 1)


def test_dilated_kernel_covers_the_same_cells_without_dilation():
    step = with_dilated_kernel(convolution_step("conv_transpose", (1, 1, 9, 9), (1, 1, 2, 3), dilation=(3, 2)))
    assert (step.kernel, step.dilation) == ((1, 1, 4, 5), (1, 1))


def test_other_cropping_is_a_slice_before_the_bias():
    assert lines(padding=((1, 2),), bias=True) == ("x = conv(x, kernel)", "x = x[:, 1:5, :]", "x = x + bias")


def test_output_padding_appends_zeros():
    assert lines(padding=((1, 0),), output_padding=(2,)) == (
        "x = conv(x, kernel)",
        "x = x[:, 1:, :]",
        "x = pad(x, ((0, 0), (0, 2), (0, 0)))",
    )


def test_groups_are_joined():
    assert lines(groups=2) == (
        "x = join([conv(part, weights) for part, weights in zip(split(x, 2), split(kernel, 2))])",
    )


@pytest.mark.parametrize(
    ("shape", "kernel", "places", "size"),
    [
        ((1, 4, 5), (4, 1, 2), "np.mgrid[0:4:3,]", "(4, 1, 4)"),
        ((1, 4, 5, 5), (4, 1, 2, 1), "np.mgrid[0:4:3, 0:1:3]", "(4, 1, 1, 4)"),
    ],
)
def test_dilation_is_zeros_in_the_kernel(shape, kernel, places, size):
    first, *rest = lines(shape=shape, kernel=kernel, dilation=(3,) * (len(shape) - 2))
    assert first == f"kernel = scatter(np.moveaxis({places}, 0, -1), kernel, {size})"
    assert rest == ["x = conv(x, kernel)"]


def test_lines_that_prepare_a_call_get_its_group_and_precede_it():
    step = convolution_step("conv_transpose", (1, 4, 5), (4, 1, 2), groups=2, dilation=(2,))
    made = COMPOSITION.transposed_lines(step, write, lambda group: (f"build {group.shape} {group.kernel}",))
    assert made[0].startswith("kernel = scatter(")
    assert made[1] == "build (1, 2, 5) (2, 1, 3)"
    assert made[2].startswith("x = join(")


def test_call_that_supports_no_step_is_unsupported():
    assert COMPOSITION.per_group(convolution_step("conv", (1, 2, 5), (2, 1, 3), groups=2), 2, write) == Unsupported(
        "no"
    )
