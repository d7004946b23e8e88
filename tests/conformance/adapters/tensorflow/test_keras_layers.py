"""Layers of Keras: parameters that agree with their observed behaviour."""

import pytest

from tests.support.layer_calls import IMAGE, LINE, TAPS, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "tf.keras.layers"


@pytest.mark.parametrize(
    ("text", "operator", "parameters"),
    [
        ("layers.MaxPool2D()", "max_pool", {"window": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0))}),
        (
            "layers.AveragePooling2D(3, 2, 'same')",
            "avg_pool",
            {"padding": ((1, 1), (0, 1)), "count_include_pad": False},
        ),
        ("layers.GlobalMaxPooling2D()", "global_max_pool", {}),
        ("layers.AdaptiveAveragePooling2D((2, 3))", "adaptive_avg_pool", {"output_size": (2, 3)}),
        ("layers.ZeroPadding2D()", "pad", {"pads": ((1, 1), (1, 1))}),
        ("layers.ZeroPadding2D(((1, 2), 3))", "pad", {"pads": ((1, 2), (3, 3))}),
        ("layers.Cropping2D((1, 2))", "pad", {"pads": ((-1, -1), (-2, -2))}),
    ],
)
def test_layers_are_read_with_their_own_defaults(text, operator, parameters):
    check_case(case_of(SURFACE, text, IMAGE), operator, parameters)


def test_one_dimensional_padding_takes_one_pair():
    check_case(case_of(SURFACE, "layers.ZeroPadding1D((1, 2))", LINE), "pad", {"pads": ((1, 2),)})


@pytest.mark.parametrize(
    ("arguments", "padding", "output_padding"),
    [
        ("3", ((0, 0),), (0,)),
        # A stride larger than the kernel adds output padding by default.
        ("6", ((0, 0),), (2,)),
        ("2, padding='same'", ((1, 1),), (0,)),
        # With output_padding, `same` no longer gives input size times stride.
        ("2, padding='same', output_padding=1", ((1, 2),), (0,)),
    ],
)
def test_padding_of_a_transposed_convolution_depends_on_output_padding(arguments, padding, output_padding):
    found = case_of(SURFACE, f"layers.Conv1DTranspose(2, 4, {arguments})", LINE, TAPS)
    check_case(found, "conv_transpose", {"padding": padding, "output_padding": output_padding})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("layers.Conv2D(4, 3, activation='relu')", "activation='relu'"),
        ("layers.MaxPool2D(padding='full')", "not one of 'same', 'valid'"),
        ("layers.Cropping2D((1, 2, 3))", "not a pair for each spatial axis"),
        (
            "layers.SeparableConv2D(8, 3)",
            "SeparableConv2D is two convolutions, translate DepthwiseConv2D(…) and Conv2D(filters, 1)",
        ),
    ],
)
def test_layer_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, message):
    check_rejected(SURFACE, text, IMAGE, WEIGHTS, message)


@pytest.mark.parametrize(("multiplier", "out"), [("", 3), (", depth_multiplier=2", 6)])
def test_depthwise_convolution_has_a_group_for_each_channel(multiplier, out):
    found = case_of(SURFACE, f"layers.DepthwiseConv2D(3, depthwise_initializer=Zeros(){multiplier})", (1, 3, 8, 7))
    check_case(found, "conv", {"groups": 3, "stride": (1, 1)})
    assert found.inputs["kernel"].shape == (out, 1, 3, 3)
    assert found.inputs["bias"].shape == (out,)


def test_depthwise_convolution_without_a_shape_asks_for_it():
    check_rejected(SURFACE, "layers.DepthwiseConv1D(3)", None, None, "the number of groups depends on the size of the")
