"""Tests of conformance.adapters.api.morphology.recipes."""

import math
from dataclasses import replace

import numpy as np
import pytest

import reference
from conformance.adapters.api import (
    ArrayOperations,
    GatheredCells,
    PoolingCompositions,
    StackedCells,
    Unsupported,
    pairs_for_all_axes,
)
from conformance.adapters.api.morphology.recipes import NO_INTEGER_PADDING, DilationRecipe
from conformance.cases.steps import Step
from conformance.catalogue.describe import surfaces_by_name
from conformance.translation.lowering import translate
from tests.support.example_steps import dilation_step

OPERATIONS = ArrayOperations(stack="np.stack({list}{axis})")


def numpy_pad(*, channels_last):
    def pad(step):
        pads = pairs_for_all_axes(step.padding, channels_last=channels_last)
        return f"np.pad(x, {pads}, constant_values=-np.inf)" if any(map(any, pads)) else "x"

    return pad


def compositions(cells, *, channels_last=False):
    return PoolingCompositions(OPERATIONS, cells, numpy_pad(channels_last=channels_last), channels_last=channels_last)


STACKED = compositions(StackedCells(OPERATIONS.stack))
STACKED_LAST = compositions(StackedCells(OPERATIONS.stack, channels_last=True), channels_last=True)
GATHERED = compositions(GatheredCells("{x}.reshape({planes})[:, :, cells]"))
FLAT = compositions(GatheredCells("{x}.reshape({planes})[:, :, cells]", flat=True))
CALLS = [
    {},
    {"stride": (2, 3)},
    {"padding": ((1, 0), (2, 1))},
    {"padding": ((0, 1), (1, 1)), "dilation": (2, 1), "stride": (1, 2)},
]


def computed(recipe, given, x, kernel):
    """Return the result of a recipe written in NumPy."""
    names = {"np": np, "x": x, "kernel": kernel}
    exec("\n".join(recipe(given)), names)  # noqa: S102 - the lines of the recipe
    return names["x"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("cells", [STACKED, STACKED_LAST, GATHERED, FLAT])
def test_recipes_agree_with_the_reference(cells, call):
    generator = np.random.default_rng(11)
    x, kernel = generator.standard_normal((2, 3, 6, 7)), generator.standard_normal((3, 1, 2, 3))
    expected = reference.dilation2d(x, kernel, **call)
    if cells.channels_last:
        x, kernel = np.moveaxis(x, 1, -1), np.moveaxis(kernel, (0, 1), (-1, -2))
    found = computed(DilationRecipe(cells), dilation_step((2, 3, 6, 7), (2, 3), "float64", **call), x, kernel)
    np.testing.assert_array_equal(np.moveaxis(found, -1, 1) if cells.channels_last else found, expected)


def test_integers_have_no_padding():
    recipe = DilationRecipe(STACKED)
    assert recipe(dilation_step(dtype="int32", padding=((0, 0), (1, 0)))) is NO_INTEGER_PADDING
    assert not isinstance(recipe(dilation_step(dtype="int32")), Unsupported)


def test_a_distance_divides_the_index_of_the_weight():
    (line,) = DilationRecipe(STACKED_LAST)(dilation_step((1, 1, 5, 6), (2, 3), dilation=(2, 1)))
    assert "+ kernel[i // 2, j, 0] for i in range(0, 4, 2) for j in range(0, 3, 1)" in line
    (line,) = DilationRecipe(STACKED)(dilation_step((1, 1, 5, 8), (2, 3), dilation=(1, 3)))
    assert "+ kernel[:, 0, i, j // 3, None, None] for" in line


def test_the_name_of_the_maximum_and_of_the_sum_are_those_of_the_framework():
    named = replace(GATHERED, operations=replace(OPERATIONS, add="np.add({x}, {other})"))
    *_, line = DilationRecipe(named, "amax")(dilation_step((1, 2, 3, 4), (2, 2)))
    assert line == "x = np.add(windows, kernel.reshape(2, 1, 1, 4)).amax(-1)"


def test_padding_is_minus_infinity():
    values = []

    def pad(step: Step) -> str:
        values.append(step.parameters["value"])
        return "x"

    DilationRecipe(replace(STACKED, pad=pad))(dilation_step(padding=((0, 0), (1, 0))))
    assert values == [-math.inf]


@pytest.mark.parametrize("surface", ["torch.nn", "jax.lax", "flax.nnx", "keras-torch.ops", "mxnet.nd", "mlx.core"])
def test_surfaces_without_a_call_write_the_formula(surface, catalogue):
    program = translate(catalogue.by_id["dilation2d/2d-padding"], surfaces_by_name()[surface][1])
    assert program.how == "composed"
    assert "kernel" in program.text


@pytest.mark.parametrize(
    ("surface", "line"),
    [
        ("torch.nn", "(x,) = torch.autograd.grad(x, leaf, grad)"),
        ("paddle.nn", "(x,) = paddle.grad(x, leaf, grad)"),
        ("mxnet.gluon", "x = leaf.grad"),
    ],
)
def test_the_gradient_of_the_kernel_needs_no_layer(surface, line, catalogue):
    program = translate(catalogue.by_id["dilation2d_grad/2d-kernel"], surfaces_by_name()[surface][1])
    assert "leaf = kernel" in program.text
    assert line in program.text
    assert "conv" not in program.text
