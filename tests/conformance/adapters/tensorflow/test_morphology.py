"""The module `morphology` of the adapter for TensorFlow."""

import pytest

from conformance.adapters.tensorflow.morphology import (
    FALLBACK,
    NO_DEFAULT_STRIDE,
    NO_PADDING,
    NO_RANK,
    NO_XLA_KERNEL,
    compiled_dilation2d,
    dilation2d,
)
from tests.support.example_steps import dilation_step


def test_the_call_has_an_entry_for_the_batch_and_one_for_the_channels():
    step = dilation_step((1, 2, 6, 7), (3, 2), stride=(2, 3), dilation=(1, 2))
    text = 'tf.nn.dilation2d(x, kernel, (1, 2, 3, 1), "VALID", "NHWC", (1, 1, 2, 1))'
    assert dilation2d(step) == ("kernel = kernel[:, :, 0]", f"x = {text}")


def test_padding_of_the_word_has_its_name():
    assert '"SAME"' in dilation2d(dilation_step((1, 2, 3, 4), (1, 2), padding=((0, 0), (0, 1))))[1]
    assert '"VALID"' in dilation2d(dilation_step())[1]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (dilation_step((1, 2, 4), (2,)), NO_RANK),
        (dilation_step((1, 2, 3, 4, 5), (2, 1, 1)), NO_RANK),
        (dilation_step(padding=((0, 0), (1, 0))), NO_PADDING),
        (dilation_step(stride=None), NO_DEFAULT_STRIDE),
    ],
)
def test_other_calls_are_not_supported(step, reason):
    assert dilation2d(step) is reason


def test_xla_has_no_kernel_and_the_formula_is_written():
    assert compiled_dilation2d(dilation_step()) is NO_XLA_KERNEL
    (line,) = FALLBACK(dilation_step())
    assert line.startswith("x = tf.reduce_max(tf.stack([x[:, i:i + 3:1, j:j + 3:1, :] + kernel[i, j, 0] for i in")
