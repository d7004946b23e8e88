"""The module `morphology` of the adapter for TensorFlow.js."""

from dataclasses import replace

import pytest

from conformance.adapters.tfjs.morphology import NO_GRADIENT, NO_PADDING, NO_RANK, dilation2d, without_gradient
from conformance.adapters.tfjs.pooling import NEEDS_STRIDES
from tests.support.example_steps import dilation_step


def test_the_axis_of_one_cell_is_removed_from_the_kernel():
    step = dilation_step((1, 2, 6, 7), (3, 2), stride=(2, 3), dilation=(1, 2))
    assert dilation2d(step) == (
        "kernel = tf.squeeze(kernel, [2])",
        'x = tf.dilation2d(x, kernel, [2, 3], "valid", [1, 2])',
    )


def test_padding_of_the_word_has_its_name():
    assert '"same"' in dilation2d(dilation_step((1, 2, 3, 4), (1, 2), padding=((0, 0), (0, 1))))[1]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (dilation_step((1, 2, 4), (2,)), NO_RANK),
        (dilation_step(padding=((0, 0), (1, 0))), NO_PADDING),
        (dilation_step(stride=None), NEEDS_STRIDES),
    ],
)
def test_other_calls_are_not_supported(step, reason):
    assert dilation2d(step) is reason


def test_a_backend_without_the_kernels_has_no_gradient():
    assert without_gradient(dilation_step()) == dilation2d(dilation_step())
    assert without_gradient(replace(dilation_step(), gradient=True)) is NO_GRADIENT
