"""Tests of conformance.adapters.api.normalization.recipes."""

import numpy as np
import pytest

import reference
from conformance.adapters.api.normalization.recipes import (
    NormalizationRecipe,
    alpha_of,
    alpha_text,
    is_even,
    is_opposite,
    number_of,
    window_of,
)
from conformance.cases.operators import ExtraChannel
from conformance.cases.steps import Step
from conformance.catalogue.describe import surfaces_by_name
from conformance.translation.lowering import translate

NUMBERS = {"alpha": 0.5, "beta": 0.75, "k": 2, "alpha_over_size": True, "extra_channel": "after"}
RECIPE = NormalizationRecipe("np.pad({x}, {pads})")


def step(shape=(2, 5, 3, 2), dtype="float32", **parameters):
    return Step("lrn", shape, dtype, {"local_size": 3, **NUMBERS, **parameters})


def computed(recipe, given, x):
    """Return the result of a recipe written in NumPy."""
    names = {"np": np, "x": x}
    exec("\n".join(recipe(given)), names)  # noqa: S102 - the lines of the recipe
    return names["x"]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("over_size", [True, False])
def test_recipes_compute_the_formula(size, side, over_size):
    x = np.random.default_rng(size).standard_normal((2, 5, 3, 2))
    given = {"local_size": size, "alpha_over_size": over_size, "extra_channel": side}
    expected = reference.lrn(x, **{**NUMBERS, **given})
    np.testing.assert_allclose(computed(RECIPE, step(**given), x), expected, rtol=1e-14)
    last = computed(NormalizationRecipe("np.pad({x}, {pads})", True), step(**given), np.moveaxis(x, 1, -1))
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), expected, rtol=1e-14)


def test_sixteen_bits_are_widened():
    recipe = NormalizationRecipe("np.pad({x}, {pads})", False, "x.astype(np.float32)", "x.astype(np.{dtype})")
    lines = recipe(step(dtype="float16"))
    assert (lines[0], lines[-1]) == ("x = x.astype(np.float32)", "x = x.astype(np.float16)")
    assert not any("astype" in line for line in recipe(step()))


@pytest.mark.parametrize(
    ("over_size", "divides", "expected"),
    [(True, True, 0.5), (True, False, 0.125), (False, False, 0.5), (False, True, 2)],
)
def test_alpha_is_what_the_call_divides_or_does_not(over_size, divides, expected):
    given = step(local_size=4, alpha_over_size=over_size)
    assert alpha_of(given, divides=divides) == expected
    assert alpha_text(given, divides=divides) == str(expected)


def test_numbers_that_a_convention_leaves_out_are_left_out():
    bare = Step("lrn", (1, 3, 1, 1), "float32", {"local_size": 3, "alpha": 6, "beta": 1})
    assert alpha_of(bare, divides=True) == alpha_of(bare, divides=False) == 6
    assert number_of(bare, "k") is None
    assert number_of(bare, "beta") == "1"
    none = Step("lrn", (1, 3, 1, 1), "float32", {"local_size": 3})
    assert alpha_text(none, divides=True) is None


def test_a_size_of_zero_divides_nothing():
    assert alpha_of(step(local_size=0), divides=False) == 0.5


def test_the_side_matters_for_even_windows_only():
    assert is_even(step(local_size=4))
    assert not is_even(step())
    assert not is_even(step(local_size=0))
    assert not is_even(step(local_size=-2))
    assert is_opposite(step(local_size=4), ExtraChannel.BEFORE)
    assert not is_opposite(step(local_size=4), ExtraChannel.AFTER)
    assert not is_opposite(step(), ExtraChannel.BEFORE)
    assert not is_opposite(Step("lrn", (1, 3, 1), "float32", {"local_size": 2}), ExtraChannel.BEFORE)


def test_windows_reach_no_further_than_the_other_channels():
    assert window_of(step(local_size=4)) == (1, 2)
    assert window_of(step(local_size=4, extra_channel="before")) == (2, 1)
    assert window_of(step((1, 2, 1), local_size=31)) == (1, 1)
    assert window_of(step((1, 0, 1), local_size=3)) == (0, 0)


@pytest.mark.parametrize(
    ("surface", "pad"),
    [
        ("jax.lax", "jnp.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))"),
        ("flax.nnx", "jnp.pad(x * x, ((0, 0), (0, 0), (0, 0), (1, 1)))"),
        ("keras-jax.ops", "keras.ops.pad(x * x, ((0, 0), (0, 0), (0, 0), (1, 1)))"),
        ("mlx.core", "mx.pad(x * x, ((0, 0), (0, 0), (0, 0), (1, 1)))"),
        ("tinygrad.Tensor", "(x * x).pad(((0, 0), (1, 1), (0, 0), (0, 0)))"),
    ],
)
def test_frameworks_without_a_call_write_the_formula(catalogue, surface, pad):
    case = catalogue.by_id["lrn/2d-three-channels"]
    program = translate(case, surfaces_by_name()[surface][1])
    assert program.how == "composed"
    assert pad in program.text
    assert "squares[" in program.text
