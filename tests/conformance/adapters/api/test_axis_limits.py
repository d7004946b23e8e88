"""The module `axis_limits`."""

import pytest

from conformance.adapters.api import MAX_WINDOW_AXES, Step, Unsupported, limit_axes, too_many_axes


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
