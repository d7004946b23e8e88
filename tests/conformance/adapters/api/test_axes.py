"""Axes of arrays: the limit of their number, and channels first and channels last."""

import numpy as np
import pytest

from conformance.adapters.api import (
    MAX_WINDOW_AXES,
    Step,
    Unsupported,
    axis_letters,
    channels_last_fields,
    limit_axes,
    too_many_axes,
)

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


def step(rank):
    return Step("max_pool", (1, 1, *[4] * rank), "float32", {})


@pytest.mark.parametrize("rank", range(1, 7))
def test_only_steps_with_more_axes_than_the_limit_are_unsupported(rank):
    assert (too_many_axes(step(rank), 4) is None) == (rank <= 4)
    assert (too_many_axes(step(rank)) is None) == (rank <= MAX_WINDOW_AXES)


def test_reason_contains_the_limit_and_no_call_that_does_not_exist():
    assert too_many_axes(step(5), 4) == Unsupported("more than 4 spatial axes are not supported")


def test_limited_lowerings_are_called_up_to_the_limit():
    lowerings = limit_axes({"max_pool": lambda step: f"pool{step.rank}d(x)", "pad": lambda _step: "pad(x)"}, 2)
    assert [*lowerings] == ["max_pool", "pad"]
    assert [lowerings["max_pool"](step(rank)) for rank in (1, 2)] == ["pool1d(x)", "pool2d(x)"]
    assert lowerings["pad"](step(2)) == "pad(x)"
    assert lowerings["max_pool"](step(3)) == lowerings["pad"](step(3)) == too_many_axes(step(3), 2)
