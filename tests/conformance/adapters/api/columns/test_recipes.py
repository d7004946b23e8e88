"""Tests of conformance.adapters.api.columns.recipes: recipes are run with NumPy."""

import numpy as np
import pytest

import reference
from conformance.adapters.api import ArrayOperations, GatheredCells, PoolingCompositions, StackedCells, Step
from conformance.adapters.api.blocks.recipes import BlockRecipe
from conformance.adapters.api.columns.recipes import (
    UnfoldRecipe,
    column_shape,
    with_one_window_axis,
    with_window_axes,
)
from conformance.cases.steps import without_padding

STACK = "np.stack({list})"
GATHER = "{x}.reshape({planes}).take(cells, axis=2)"


def step(shape, window, *, padding=0, stride=1, dilation=1, order="crd"):
    rank = len(shape) - 2
    numbers = {"window": window, "stride": (stride,) * rank, "dilation": (dilation,) * rank}
    return Step("unfold", shape, "int64", {**numbers, "padding": ((padding, padding),) * rank, "order": order})


def pad(padding):
    return f"np.pad(x, {((0, 0), (0, 0), *padding.padding)})"


def pad_last(padding):
    return f"np.pad(x, {((0, 0), *padding.padding, (0, 0))})"


RECIPES = {
    "stacked": (PoolingCompositions(ArrayOperations(), StackedCells(STACK), pad), False),
    "stacked, channels last": (
        PoolingCompositions(ArrayOperations(), StackedCells(STACK, channels_last=True), pad_last, channels_last=True),
        True,
    ),
    "gathered": (PoolingCompositions(ArrayOperations(), GatheredCells(GATHER), pad), False),
    "gathered, flat": (PoolingCompositions(ArrayOperations(), GatheredCells(GATHER, flat=True), pad), False),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("order", ["crd", "dcr"])
@pytest.mark.parametrize(
    "unfold",
    [
        step((2, 3, 5), (2,)),
        step((2, 3, 5, 4), (2, 3), padding=1, stride=2),
        step((1, 2, 4, 3, 3), (2, 1, 2), dilation=2),
    ],
)
def test_a_recipe_computes_the_columns_of_the_reference(unfold, order, name):
    compositions, last = RECIPES[name]
    unfold = unfold.with_parameters(order=order)
    x = np.arange(np.prod(unfold.shape)).reshape(unfold.shape)
    names = {"np": np, "x": np.moveaxis(x, 1, -1) if last else x}
    exec("\n".join(UnfoldRecipe(compositions, BlockRecipe("x.reshape(({}))", "x.transpose(({}))"))(unfold)), names)  # noqa: S102
    got = np.moveaxis(names["x"], -1, 1) if last else names["x"]
    np.testing.assert_array_equal(got, reference.unfold(x, **unfold.parameters))


def test_a_call_with_one_axis_for_all_windows_is_reshaped():
    unfold = step((2, 3, 5, 4), (2, 2))
    assert column_shape(unfold) == (2, 12, 4, 3)
    assert with_window_axes(unfold, "call()") == ("x = call()", "x = x.reshape(2, 12, 4, 3)")
    fold = Step("fold", (2, 12, 4, 3), "float32")
    assert with_one_window_axis(fold, "call()") == ("x = x.reshape(2, 12, 12)", "x = call()")


def test_a_convention_without_a_stride_has_the_shape_of_stride_one():
    unfold = step((1, 1, 4), (2,))
    omitted = Step("unfold", unfold.shape, "float32", {k: v for k, v in unfold.parameters.items() if k != "stride"})
    assert column_shape(omitted) == (1, 2, 3)


def test_a_call_that_must_be_rejected_is_not_reshaped():
    assert with_window_axes(step((1, 1, 2), (3,)), "call()") == "call()"


def test_padding_is_separate_from_unpadded_columns():
    padded = step((1, 1, 4), (2,), padding=1)
    padding = Step("pad", padded.shape, "float32", {"pads": ((1, 1),), "mode": "constant", "value": 0})
    assert without_padding(padded, padding).output == padded.output
