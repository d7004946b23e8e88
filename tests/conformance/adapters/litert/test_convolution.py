"""The module `convolution` of LiteRT."""

from tests.conformance.adapters.litert.programs import PLANE, ROW, VOLUME, lines, program


def kernel(*shape):
    return {"values": "integers", "shape": [*shape]}


def test_convolution_without_a_bias_gets_a_bias_of_zeros():
    (line,) = lines("conv", x=PLANE, kernel=kernel(3, 2, 2, 2), stride=[2, 1], dilation=[1, 2])
    assert line == (
        'x = graph.node("CONV_2D", [x, np.moveaxis(kernel, 1, -1), np.zeros(3, np.float32)], '
        "schema.Conv2DOptionsT(padding=schema.Padding.VALID, strideH=2, strideW=1, dilationHFactor=1, "
        "dilationWFactor=2))"
    )


def test_convolution_with_one_channel_in_each_group_is_depthwise():
    (line,) = lines("conv", x=PLANE, kernel=kernel(4, 1, 2, 2), groups=2, bias={"values": [1, 2, 3, 4]})
    assert '"DEPTHWISE_CONV_2D", [x, np.moveaxis(kernel, (0, 1), (-1, 0)), bias]' in line
    assert "depthMultiplier=2" in line


def test_word_for_a_depthwise_convolution_is_a_convolution_with_groups():
    (line,) = lines("conv", x=PLANE, kernel=kernel(4, 1, 2, 2), groups=2, words=True)
    assert '"CONV_2D"' in line


def test_kernel_of_one_axis_gets_a_row():
    assert "kernel = kernel[:, :, None]" in lines("conv", x=ROW, kernel=kernel(3, 2, 2))


def test_groups_of_a_volume_are_sliced_and_concatenated():
    parts, joined = lines("conv", x=VOLUME, kernel=kernel(4, 1, 2, 2, 2), groups=2, bias={"values": [1, 2, 3, 4]})
    assert parts == (
        'parts = [graph.node("SLICE", [x, np.int32([0, 0, 0, 0, i]), np.int32([-1, -1, -1, -1, 1])]) '
        "for i in range(0, 2, 1)]"
    )
    assert "for part, weights, shift in zip(parts, np.split(kernel, 2), np.split(bias, 2))" in joined


def test_transposed_convolution_takes_the_shape_of_its_output():
    (line,) = lines("conv_transpose", x=PLANE, kernel=kernel(2, 3, 2, 2), stride=2, output_padding=1)
    assert line == (
        'x = graph.node("TRANSPOSE_CONV", [np.int32([1, 9, 11, 3]), np.moveaxis(kernel, 0, -1), x], '
        "schema.TransposeConvOptionsT(padding=schema.Padding.VALID, strideH=2, strideW=2))"
    )


def test_cropping_in_halves_is_same_and_other_cropping_is_a_slice():
    halves = program("conv_transpose", x=PLANE, kernel=kernel(2, 3, 3, 3), padding=1)
    assert halves.how == "native"
    assert "schema.Padding.SAME" in halves.text
    before = lines("conv_transpose", x=PLANE, kernel=kernel(2, 3, 3, 3), padding=[[2, 0], [0, 0]])
    assert before[-1] == 'x = graph.node("SLICE", [x, np.int32([0, 2, 0, 0]), np.int32([-1, 4, 7, -1])])'


def test_dilated_transposed_convolution_has_a_kernel_with_zeros_in_two_dimensions_only():
    plane = lines("conv_transpose", x=PLANE, kernel=kernel(2, 3, 2, 2), dilation=2)
    assert plane[:2] == ["dilated = np.zeros((2, 3, 3, 3), kernel.dtype)", "dilated[:, :, ::2, ::2] = kernel"]
    (volume,) = lines("conv_transpose", x=VOLUME, kernel=kernel(2, 3, 2, 2, 2), dilation=2)
    assert "dilationDFactor=2, dilationHFactor=2, dilationWFactor=2" in volume


def test_bias_of_a_cropped_transposed_convolution_is_added_after_the_slice():
    body = lines("conv_transpose", x=PLANE, kernel=kernel(2, 1, 3, 3), padding=[[2, 0], [0, 0]], bias={"values": [1]})
    assert body[-1] == 'x = graph.node("ADD", [x, bias], schema.AddOptionsT())'


def test_strides_beyond_16_bits_are_unsupported():
    unsupported = program("conv", x=PLANE, kernel=kernel(3, 2, 2, 2), stride=2**15)
    assert "strides of convolutions are at most 32767" in unsupported.reason
