"""Limits of the book's pooling code, and its padded examples. The loops are tested in tests/properties/test_book.py."""

import pytest

from conformance.adapters.api import Step, d2l
from tests.support.example_steps import pooling_step


def book_step(**parameters):
    return pooling_step("max_pool", (1, 1, 4, 4), **{"window": (3, 3), "stride": (2, 2), **parameters})


@pytest.mark.parametrize(
    ("padding", "shown", "zeros"),
    [
        (((1, 1), (1, 1)), True, ((1, 0), (1, 0))),
        # The channels-last tabs write the zeros that a window reaches.
        (((1, 0), (1, 0)), False, ((1, 0), (1, 0))),
        (((1, 1), (0, 0)), False, None),
    ],
)
def test_padded_examples_are_those_that_a_tab_shows(padding, shown, zeros):
    step = book_step(padding=padding)
    assert d2l.shows_padded_pooling(step) is shown
    assert d2l.channels_last_zeros(step) == zeros


def test_example_of_a_reader_is_shown_where_it_is_passed():
    step = book_step(window=(2, 3), stride=(2, 3), padding=((1, 1), (1, 1)))
    assert not d2l.shows_padded_pooling(step)
    assert d2l.shows_padded_pooling(step, ((step.window, step.stride, step.padding),))


def test_padded_example_of_another_image_is_not_shown():
    step = pooling_step("max_pool", (1, 1, 5, 5), window=(3, 3), stride=(2, 2), padding=((1, 1), (1, 1)))
    assert not d2l.shows_padded_pooling(step)
    assert d2l.channels_last_zeros(step) is None


@pytest.mark.parametrize(
    ("shape", "parameters", "reason"),
    [
        ((1, 1, 5), {"window": (2,)}, "only planes"),
        ((1, 1, 5, 5), {"window": (2, 2), "stride": (2, 2)}, "stride 1"),
        ((1, 1, 40, 40), {"window": (2, 2)}, "too slow for more than 1,000 output cells"),
    ],
)
def test_loops_have_limits(shape, parameters, reason):
    assert reason in d2l.unsupported_by_loops(pooling_step("max_pool", shape, **parameters)).reason


def test_loops_divide_by_the_number_of_cells_only():
    step = pooling_step("avg_pool", (1, 1, 4, 4), window=(2, 2), divisor=3)
    assert "no divisor" in d2l.unsupported_by_loops(step).reason
    assert d2l.unsupported_by_loops(step.with_parameters(divisor=None)) is None


def test_loop_of_the_channels_last_tabs_visits_every_cell():
    step = pooling_step("max_pool", (2, 3, 4, 5), window=(2, 3))
    assert d2l.channels_last_loop(step, "zeros({shape})", "y[n, i, j, c] = {cells}.max()") == (
        "y = zeros((2, 3, 3, 3))",
        "for n, i, j, c in np.ndindex((2, 3, 3, 3)):",
        "    y[n, i, j, c] = x[n, i:i + 2, j:j + 3, c].max()",
        "x = y",
    )
    assert "only planes" in d2l.channels_last_loop(step.with_parameters(stride=(2, 2)), "", "").reason


def test_surface_of_the_book_has_two_operators_and_no_compositions():
    made = d2l.book_surface("book", lambda reduce, _step: f"x.{reduce}()", channels_last=True)
    step = Step("max_pool", (1, 1, 4, 4), "float32")
    assert {name: lowering(step) for name, lowering in made.lowerings.items()} == {
        "max_pool": "x.max()",
        "avg_pool": "x.mean()",
    }
    assert (made.allows_compositions, made.max_level, made.channels_last) == (False, "smoke", True)
