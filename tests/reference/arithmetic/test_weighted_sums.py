"""Tests of reference.arithmetic.weighted_sums."""

from fractions import Fraction

import numpy as np
import pytest

from reference.arithmetic import weighted_sums
from reference.arithmetic.weighted_sums import exact_weighted_sums, gather, scatter
from reference.geometry.axis_weights import AxisWeights
from reference.geometry.kernels import InterpolationKernel
from reference.geometry.resampling import ResampledAxis

UNIT = 2.0**-24


def axis_weights(size, output, mode="linear"):
    axis = ResampledAxis(size, output, Fraction(size, output), "half_pixel")
    kernel = InterpolationKernel.of(mode, -0.75, Fraction(1))
    return AxisWeights.of(axis, kernel, is_clamped=mode == "linear", unit=UNIT)


def test_scatter_is_the_transpose_of_gather():
    rng = np.random.default_rng(1)
    axes = [axis_weights(5, 8), axis_weights(6, 3)]
    maps = [(axis.cells, axis.numerators) for axis in axes]
    x = rng.integers(-9, 9, (2, 3, 5, 6)).astype(object)
    y = rng.integers(-9, 9, (2, 3, 8, 3)).astype(object)
    assert (gather(x, maps) * y).sum() == (x * scatter([5, 6], y, maps)).sum()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_slices_and_integers_give_the_same_result(monkeypatch, transposed, mode):
    axes = [axis_weights(7, 11, mode), axis_weights(5, 3, mode)]
    shape = (1, 2, 11, 3) if transposed else (1, 2, 7, 5)
    x = np.random.default_rng(2).standard_normal(shape)
    fast = exact_weighted_sums(x, axes, transposed=transposed, unit=UNIT)
    # No slice is long enough, so every element is computed in integers.
    monkeypatch.setattr(weighted_sums, "MIN_SLICE_WIDTH", 54)
    slow = exact_weighted_sums(x, axes, transposed=transposed, unit=UNIT)
    assert np.array_equal(fast.value, slow.value)
    assert (np.abs((fast.high - slow.high) + (fast.low - slow.low)) <= 1e-6 * fast.bound()).all()


@pytest.mark.parametrize("exponent", [980, 1000, 1010])
def test_sums_of_large_numbers_are_those_of_small_ones(exponent):
    # The numerators of a sum add up to more than 2 ** 35.
    axes = [axis_weights(7, 11, "cubic"), axis_weights(5, 13, "cubic"), axis_weights(3, 17, "cubic")]
    x = np.random.default_rng(3).standard_normal((1, 1, 7, 5, 3))
    small = exact_weighted_sums(x, axes, transposed=False, unit=UNIT).value
    large = exact_weighted_sums(np.ldexp(x, exponent), axes, transposed=False, unit=UNIT).value
    assert np.array_equal(large, np.ldexp(small, exponent))


def test_magnitude_and_extra_error_of_one_axis():
    axis = axis_weights(2, 4)
    exact = exact_weighted_sums(np.array([[[1.0, -3.0]]], np.float32), [axis], transposed=False, unit=UNIT)
    weights = np.array([[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    assert (exact.magnitude >= weights @ [1, 3]).all()
    assert np.allclose(exact.magnitude, weights @ [1, 3], rtol=1e-4)
    errors = np.zeros((4, 2))
    np.add.at(errors, (np.arange(4)[:, None], axis.near), axis.errors)
    assert np.allclose(exact.extra * UNIT, errors @ [1, 3], rtol=1e-6)
    assert exact.terms.tolist() == [[[2, 2, 2, 2]]]


@pytest.mark.parametrize("mode", ["linear", "cubic", "lanczos3"])
def test_results_do_not_depend_on_whether_rows_share_a_denominator(mode):
    kernel, axes = InterpolationKernel.of(mode, -0.5, Fraction(1)), []
    for size, output in ((7, 5), (6, 4)):
        axis, stretch = ResampledAxis(size, output, Fraction(size, output), "half_pixel"), Fraction(size, output)
        axes.append(AxisWeights.normalized(axis, kernel, stretch=stretch, excludes_outside=True, unit=UNIT))
    assert [len(axis.denominators) for axis in axes] == [5, 4]
    x = np.random.default_rng(3).standard_normal((2, 1, 7, 6))
    own = exact_weighted_sums(x, axes, transposed=False, unit=UNIT)
    shared = exact_weighted_sums(x, [axis.with_one_denominator() for axis in axes], transposed=False, unit=UNIT)
    assert own.value.tobytes() == shared.value.tobytes()
    assert own.bound().tobytes() == shared.bound().tobytes()


def mean_weights(size, unit):
    """Return the weights of one output cell, the mean of all cells."""
    axis = ResampledAxis(size, 1, Fraction(size), "half_pixel")
    kernel = InterpolationKernel.of("area", 0, axis.step)
    return AxisWeights.normalized(axis, kernel, stretch=Fraction(1), excludes_outside=False, unit=unit)


def test_sums_of_many_cells_are_rounded_once():
    # Each slice of an element is so short that 64 of them add up exactly.
    x = 1 + np.random.default_rng(4).random((1, 300, 64))
    means = exact_weighted_sums(x, [mean_weights(64, 2.0**-53)], transposed=False, unit=2.0**-53).value
    assert means.ravel().tolist() == [float(sum(map(Fraction, row)) / 64) for row in x[0].tolist()]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_magnitude_and_extra_error_are_no_less_than_their_formulas(mode):
    axis = axis_weights(7, 11, mode)
    x = 1 + np.random.default_rng(5).random((1, 20, 7)).astype(np.float32)
    found = exact_weighted_sums(x, [axis], transposed=False, unit=UNIT)
    for row, magnitudes, extras in zip(x[0].tolist(), found.magnitude[0], found.extra[0], strict=True):
        for o, (magnitude, extra) in enumerate(zip(magnitudes, extras, strict=True)):
            weights = zip(axis.cells[o].tolist(), axis.numerators[o].tolist(), strict=True)
            exact = sum(abs(Fraction(one, axis.denominators[0])) * Fraction(row[cell]) for cell, one in weights)
            near = zip(axis.near[o].tolist(), axis.errors[o].tolist(), strict=True)
            error = sum(Fraction(one) * Fraction(row[cell]) for cell, one in near)
            assert exact + error <= Fraction(float(magnitude)) <= (exact + error) * (1 + Fraction(1, 2**29))
            assert error <= Fraction(float(extra)) * Fraction(UNIT) <= error * (1 + Fraction(1, 2**29))
