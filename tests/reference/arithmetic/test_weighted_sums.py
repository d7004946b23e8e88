"""Tests of reference.arithmetic.weighted_sums."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from reference.arithmetic import weighted_sums
from reference.arithmetic.weighted_sums import exact_weighted_sums, gather_pairs
from reference.geometry.axis_weights import AxisWeights
from reference.geometry.kernels import InterpolationKernel
from reference.geometry.resampling import ResampledAxis

UNIT = 2.0**-24


def axis_weights(size, output, mode="linear"):
    axis = ResampledAxis(size, output, Fraction(size, output), "half_pixel")
    kernel = InterpolationKernel.of(mode, -0.75, Fraction(1))
    return AxisWeights.of(axis, kernel, is_clamped=mode == "linear", unit=UNIT)


def lanczos_weights(size, output, stretch=Fraction(1)):
    axis, kernel = (
        ResampledAxis(size, output, Fraction(size, output), "half_pixel"),
        InterpolationKernel.of("lanczos3", 0, stretch),
    )
    return AxisWeights.normalized(axis, kernel, stretch=stretch, excludes_outside=False, unit=UNIT)


@pytest.mark.parametrize(
    "axes", [[axis_weights(5, 8), axis_weights(6, 3)], [lanczos_weights(5, 8), lanczos_weights(6, 3)]]
)
def test_transposed_weights_are_those_of_the_transpose(axes):
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-9, 9, (1, 1, *shape)).astype(np.float64) for shape in ((5, 6), (8, 3)))
    forward, backward = (_exact_sums(*one) for one in ((x, axes), (y, [axis.transposed() for axis in axes])))
    assert sum(map(Fraction.__mul__, forward, map(Fraction, y.ravel()))) == sum(
        map(Fraction.__mul__, backward, map(Fraction, x.ravel()))
    )


def _exact_sums(x, axes):
    """Return all sums of one plane as fractions."""
    exactly = weighted_sums._exact_at(x, axes)
    return [exactly((0, 0, *position)) for position in np.ndindex(*(len(axis.cells) for axis in axes))]


def without_slices(monkeypatch):
    """Compute every element with rounded weights."""
    monkeypatch.setattr(weighted_sums, "MIN_SLICE_WIDTH", 54)


def without_pairs(monkeypatch):
    """Compute every element as a fraction."""
    without_slices(monkeypatch)
    monkeypatch.setattr(weighted_sums, "SMALLEST_ROUNDED", 2.0)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("mode", ["linear", "cubic", "lanczos3"])
@pytest.mark.parametrize("limit", [without_slices, without_pairs])
def test_slices_pairs_and_fractions_give_the_same_result(monkeypatch, transposed, mode, limit):
    sizes = ((7, 11), (5, 3))
    axes = [lanczos_weights(*one) if mode == "lanczos3" else axis_weights(*one, mode) for one in sizes]
    shape = (1, 2, 11, 3) if transposed else (1, 2, 7, 5)
    x = np.random.default_rng(2).standard_normal(shape)
    fast = exact_weighted_sums(x, axes, transposed=transposed, unit=UNIT)
    limit(monkeypatch)
    slow = exact_weighted_sums(x, axes, transposed=transposed, unit=UNIT)
    assert np.array_equal(fast.value, slow.value)
    assert (np.abs((fast.high - slow.high) + (fast.low - slow.low)) <= 1e-6 * fast.bound()).all()


@pytest.mark.parametrize(
    "axes",
    [[lanczos_weights(7, 11), lanczos_weights(9, 4, Fraction(9, 4))], [lanczos_weights(60, 2, Fraction(30))]],
)
@pytest.mark.parametrize("exponent", [0, 390, -350])
def test_pairs_are_off_by_at_most_their_error(axes, exponent):
    x = np.ldexp(np.random.default_rng(6).standard_normal((1, 1, *(axis.size for axis in axes))), exponent)
    high, low = (part.ravel().tolist() for part in gather_pairs(x, axes))
    largest = [
        Fraction(weighted_sums._pair_error(axes)) * one
        for one in _exact_sums(np.abs(x), [_absolute(axis) for axis in axes])
    ]
    errors = [abs(Fraction(a) + Fraction(b) - one) for a, b, one in zip(high, low, _exact_sums(x, axes), strict=True)]
    assert any(errors)
    assert all(error <= most for error, most in zip(errors, largest, strict=True))


def test_the_error_of_pairs_is_that_of_its_proof():
    axes = [lanczos_weights(7, 11), lanczos_weights(9, 4, Fraction(9, 4))]
    taps = [axis.cells.shape[1] for axis in axes]
    assert weighted_sums._pair_error(axes) == float(4 * sum(Fraction((t + 4) ** 2, 2**106) for t in taps))


@pytest.mark.parametrize("exponent", [-396, 0, 396])
def test_certain_elements_are_not_computed_as_fractions(monkeypatch, exponent):
    monkeypatch.setattr(weighted_sums, "_exact_at", lambda *_: pytest.fail)
    x = np.ldexp(1 + np.random.default_rng(7).random((1, 3, 7)), exponent)
    x[0, 0, 2] = 0  # is no tiny number
    for transposed, axis in ((False, lanczos_weights(7, 11)), (True, lanczos_weights(11, 7))):
        assert np.isfinite(exact_weighted_sums(x, [axis], transposed=transposed, unit=UNIT).value).all()


@pytest.mark.parametrize(("exponent", "is_pair"), [(-401, False), (-400, True), (400, True), (401, False)])
def test_sums_of_tiny_and_huge_numbers_are_fractions(exponent, is_pair):
    axis = lanczos_weights(3, 2)
    x = np.ldexp(np.ones((1, 1, 3)), exponent)
    error = weighted_sums._rounded_pairs(x, [axis], np.abs(x[..., :2])).error
    assert np.isfinite(error).all() if is_pair else np.isinf(error).all()


@pytest.mark.parametrize(("denominator", "is_slices"), [(2**52 - 1, True), (2**53, False)])
def test_sums_whose_denominator_is_no_float_are_pairs(monkeypatch, denominator, is_slices):
    numerators, denominators = np.array([[1, 1]], object), np.array([[denominator]], object)
    axis = replace(axis_weights(2, 1), cells=np.array([[0, 1]]), numerators=numerators, denominators=denominators)
    calls, pairs = [], weighted_sums._rounded_pairs
    monkeypatch.setattr(weighted_sums, "_rounded_pairs", lambda *args: calls.append(args) or pairs(*args))
    exact_weighted_sums(np.array([[[1.0, 2.0]]]), [axis], transposed=False, unit=UNIT)
    assert bool(calls) != is_slices


def test_special_sums_are_zero_where_the_sum_is_finite():
    x = np.array([[[np.inf, 1, 1, np.nan]]])
    special = weighted_sums._special_sums(x, [axis_weights(4, 8)])
    assert np.array_equal(special, [[[np.inf] * 3 + [0, 0] + [np.nan] * 3]], equal_nan=True)


def _absolute(axis):
    return replace(axis, numerators=np.abs(axis.numerators))


def test_a_sum_between_two_floats_is_rounded_to_even(monkeypatch):
    numerators, denominators = np.array([[3, 11]], object), np.array([[14]], object)
    axis = replace(axis_weights(2, 1), cells=np.array([[0, 1]]), numerators=numerators, denominators=denominators)
    without_slices(monkeypatch)
    unit = 2.0**-23
    x = np.array([[[1, 1 + 7 * unit], [1, 1 + 21 * unit]]], np.float32)  # 5.5 and 16.5 units above 1
    found = exact_weighted_sums(x, [axis], transposed=False, unit=UNIT).value
    assert found.ravel().tolist() == [1 + 6 * unit, 1 + 16 * unit]


@pytest.mark.parametrize("transposed", [False, True])
def test_an_infinity_is_the_sum_of_the_cells_that_read_it(transposed):
    axis = lanczos_weights(5, 9)
    x = np.ones((1, 1, 9 if transposed else 5), np.float32)
    x[0, 0, 2] = np.inf
    found = exact_weighted_sums(x, [axis], transposed=transposed, unit=UNIT).value[0, 0]
    for number, value in enumerate(found.tolist()):
        row, cell = (2, number) if transposed else (number, 2)
        weights = {
            math.copysign(1, one)
            for one, read in zip(axis.numerators[row], axis.cells[row], strict=True)
            if one and read == cell
        }
        # Cells beyond an end repeat its value, with weights of both signs.
        expected = {
            0: pytest.approx(value),
            1: math.copysign(math.inf, sum(weights)),
            2: pytest.approx(math.nan, nan_ok=True),
        }
        assert value == expected[len(weights)]


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
    assert [axis.denominators.shape for axis in axes] == [(5, 1), (4, 1)]
    x = np.random.default_rng(3).standard_normal((2, 1, 7, 6))
    own = exact_weighted_sums(x, axes, transposed=False, unit=UNIT)
    shared = exact_weighted_sums(x, [with_one_denominator(axis) for axis in axes], transposed=False, unit=UNIT)
    assert own.value.tobytes() == shared.value.tobytes()
    assert own.bound().tobytes() == shared.bound().tobytes()


def with_one_denominator(axis):
    common = math.lcm(*axis.denominators.flat)
    numerators = axis.numerators * (common // axis.denominators)
    return replace(axis, numerators=numerators, denominators=np.array([[common]], object))


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
            exact = sum(abs(Fraction(one, axis.denominators[0, 0])) * Fraction(row[cell]) for cell, one in weights)
            near = zip(axis.near[o].tolist(), axis.errors[o].tolist(), strict=True)
            error = sum(Fraction(one) * Fraction(row[cell]) for cell, one in near)
            # 2**-30 is for the rounding of sums of up to a million cells.
            least, most = 1 + Fraction(1, 2**30), 1 + Fraction(1, 2**29)
            assert (exact + error) * least <= Fraction(float(magnitude)) <= (exact + error) * most
            assert error * least <= Fraction(float(extra)) * Fraction(UNIT) <= error * most
