"""Conversion of arrays between channels first and channels last."""

import numpy as np

from conformance.adapters.api import axis_letters, channels_last_fields

FIELDS = channels_last_fields("np.array({})", "np.asarray(x)")


def evaluate(template, array, name="x"):
    return eval(template.format(name), {"np": np, name: array})  # noqa: S307 - source text of an adapter


def test_data_has_channels_at_the_end_and_returns_unchanged():
    x = np.arange(24).reshape(1, 2, 3, 4)
    moved = evaluate(FIELDS["to_framework"]["x"], x)
    assert moved.shape == (1, 3, 4, 2)
    assert np.array_equal(evaluate(FIELDS["to_numpy"], moved), x)


def test_kernel_has_both_channels_at_the_end_and_its_gradient_returns_unchanged():
    kernel = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    moved = evaluate(FIELDS["to_framework"]["kernel"], kernel, "kernel")
    assert moved.shape == (4, 5, 3, 2)
    assert np.array_equal(evaluate(FIELDS["gradient_to_numpy"]["kernel"], moved), kernel)


def test_bias_is_not_moved():
    assert FIELDS["to_framework"]["bias"] == "np.array({})"
    assert FIELDS["gradient_to_numpy"]["bias"] == "np.asarray(x)"
    assert FIELDS["channels_last"]


def test_letters_of_the_axes_end_with_the_width():
    assert [axis_letters(rank) for rank in (1, 2, 3)] == ["W", "HW", "DHW"]
