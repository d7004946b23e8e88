"""The module `window_cells`: how programs read the cells of every window."""

import itertools

import pytest

from conformance.adapters.api import GatheredCells, StackedCells, Step, UnfoldedCells
from conformance.cases.steps import pad_step

GATHER = "{x}.reshape({planes}).take(cells)"


def pooling(shape=(2, 3, 7, 5), **parameters):
    rank = len(shape) - 2
    defaults = {"window": (3, 2)[:rank], "stride": (2, 2)[:rank], "padding": ((0, 0),) * rank}
    return Step("max_pool", shape, "float32", {**defaults, "rounding": "floor", **parameters})


@pytest.mark.parametrize(
    ("channels_last", "text"),
    [
        (False, "stack([x[:, :, i:i + 5:2, j:j + 3:2] for i in range(0, 3, 1) for j in range(0, 4, 2)])"),
        (True, "stack([x[:, i:i + 5:2, j:j + 3:2, :] for i in range(0, 3, 1) for j in range(0, 4, 2)])"),
    ],
)
def test_stacked_cells_have_one_slice_for_each_cell(channels_last, text):
    cells, step = StackedCells("stack({list}{axis})", channels_last=channels_last), pooling(dilation=(1, 2))
    assert cells.expression("x", step) == text
    assert (cells.axes(step), cells.index_lines(step), cells.output_shape(step)) == ("0", (), None)


def test_unfolded_cells_of_a_dilated_window_are_sliced_after_unfolding_its_extent():
    step = pooling(dilation=(1, 3))
    assert UnfoldedCells().expression("x", step) == "x.unfold(2, 3, 2).unfold(3, 4, 2)[..., ::1, ::3]"
    assert UnfoldedCells().axes(step) == "(-2, -1)"


def test_unfolded_cells_on_one_axis_are_flattened():
    assert UnfoldedCells().expression("x", pooling(), one_axis=True).endswith(".unfold(3, 2, 2).flatten(-2)")
    assert UnfoldedCells().axes(pooling(), one_axis=True) == "-1"
    row = pooling((1, 1, 7))
    assert UnfoldedCells().expression("x", row, one_axis=True) == "x.unfold(2, 3, 2)"


@pytest.mark.parametrize("rounding", ["floor", "ceil", "full"])
@pytest.mark.parametrize("size", range(1, 9))
def test_padded_axis_has_as_many_windows_as_the_output(size, rounding):
    for window, stride, after in itertools.product((1, 2, 3), (1, 2, 3), (0, 1, 3)):
        if window <= size + after:
            step = pooling((1, 1, size), window=(window,), stride=(stride,), padding=((0, after),), rounding=rounding)
            padded = pad_step(step, step.padding_to_last_window, 0).output[2]
            assert (padded - window) // stride + 1 == step.windows.output[0]


@pytest.mark.parametrize(("flat", "shape"), [(False, "(3, 2, 6)"), (True, "(6, 6)")])
def test_gathered_cells_are_indexed_by_a_view_of_all_windows(flat, shape):
    cells, step = GatheredCells(GATHER, flat=flat, more_lines=("rows = [{planes}]",)), pooling()
    assert cells.index_lines(step) == (
        "plane = np.arange(35).reshape(7, 5)",
        f"cells = np.lib.stride_tricks.sliding_window_view(plane, (3, 2))[::2, ::2].reshape{shape}",
        "rows = [2, 3, -1]",
    )
    assert cells.expression("x", step) == "x.reshape(2, 3, -1).take(cells)"
    assert cells.output_shape(step) == (step.output if flat else None)


@pytest.mark.parametrize("shape", [(0, 3, 7, 5), (2, 0, 7, 5)])
def test_cells_of_an_empty_array_are_reshaped_to_a_size_that_nothing_has_to_infer(shape):
    cells, step = GatheredCells(GATHER, more_lines=("rows = [{planes}]",)), pooling(shape, padding=((1, 1), (0, 0)))
    (_, _, rows) = cells.index_lines(step)
    assert rows == f"rows = [{shape[0]}, {shape[1]}, 45]"
    assert cells.expression("x", step) == f"x.reshape({shape[0]}, {shape[1]}, 45).take(cells)"


def test_index_of_dilated_windows_skips_cells():
    (_, cells) = GatheredCells(GATHER).index_lines(pooling(dilation=(2, 1)))
    assert "(plane, (5, 2))[::2, ::2, ::2, ::1].reshape(2, 2, 6)" in cells


def test_probabilities_get_the_axes_of_the_window_back():
    step = Step("stochastic_pool_probabilities", (2, 3, 7), "float32", pooling((2, 3, 7)).parameters)
    assert GatheredCells(GATHER).output_shape(step) == (2, 3, 3, 3)
