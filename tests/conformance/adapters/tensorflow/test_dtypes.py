"""The module `dtypes` of TensorFlow."""

import pytest

from conformance.adapters.tensorflow import dtypes
from conformance.cases.steps import Step
from tests.conformance.adapters.tensorflow.programs import LAYERS, lines
from tests.support.example_steps import pooling_step


def test_negative_pads_are_a_cropping_layer():
    step = Step("pad", (1, 1, 4, 4), "float32", {"pads": ((-1, 0), (0, -2)), "mode": "constant", "value": 0})
    assert lines(step, LAYERS) == ("native", ["x = tf.keras.layers.Cropping2D(((1, 0), (0, 2)), dtype=x.dtype)(x)"])


@pytest.mark.parametrize(
    ("padding", "name"), [(((0, 0),), "VALID"), (((0, 1),), "SAME"), (((1, 0),), None), (((1, 1),), None)]
)
def test_padding_has_a_name_if_it_is_none_or_that_of_same(padding, name):
    step = pooling_step("max_pool", (1, 1, 5), window=(2,), padding=padding)
    assert dtypes.padding_name(step) == name


def test_same_padding_depends_on_the_size_of_the_input():
    sizes = {
        size: pooling_step("max_pool", (1, 1, size), window=(3,), stride=(2,), padding=((1, 1),)) for size in (5, 6)
    }
    assert {size: dtypes.is_same_padding(step) for size, step in sizes.items()} == {5: True, 6: False}


def test_same_padding_is_undefined_for_an_input_without_cells():
    step = pooling_step("max_pool", (1, 1, 0), window=(2,), padding=((1, 1),))
    assert dtypes.padding_name(step) is None


def test_explicit_padding_has_a_pair_for_every_axis_of_the_array():
    step = pooling_step("max_pool", (1, 1, 5, 5), window=(2, 2), padding=((1, 0), (0, 2)))
    assert dtypes.array_padding_text(step) == "[[0, 0], [1, 0], [0, 2], [0, 0]]"


def padding(*pads, **parameters):
    return Step(
        "pad", (1, 1, *(5,) * len(pads)), "float32", {"pads": pads, "mode": "constant", "value": 0, **parameters}
    )


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (padding((1, 2)), "layers.ZeroPadding1D((1, 2), dtype=x.dtype)(x)"),
        (padding((1, 2), (0, 3)), "layers.ZeroPadding2D(((1, 2), (0, 3)), dtype=x.dtype)(x)"),
        (padding((-1, 0)), "layers.Cropping1D((1, 0), dtype=x.dtype)(x)"),
    ],
)
def test_layers_pad_with_zeros_or_crop(step, text):
    assert dtypes.padding_layer("layers", step) == text


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (padding((-1, 1)), "pad or crop, not both"),
        (padding((1, 1), value=2), "zeros only"),
        (padding((1, 1), mode="reflect"), "zeros only"),
    ],
)
def test_no_layer_pads_with_other_values_or_does_both(step, reason):
    assert reason in dtypes.padding_layer("layers", step).reason
