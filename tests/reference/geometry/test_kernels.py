"""Tests of the slopes and errors in reference.geometry.kernels."""

import itertools
from fractions import Fraction

import pytest

from reference.geometry.kernels import InterpolationKernel

# Steps over which the slope is measured, for each unit of distance.
PARTS = 200


def largest_slope(kernel):
    points = [Fraction(i, PARTS) for i in range(int(kernel.reach * PARTS))]
    weights = [kernel.weight(point) for point in points]
    return max(abs(after - before) * PARTS for before, after in itertools.pairwise(weights))


@pytest.mark.parametrize(("mode", "step"), [("linear", 1), ("area", 3), ("area", Fraction(1, 3))])
def test_slopes_of_piecewise_linear_kernels(mode, step):
    kernel = InterpolationKernel.of(mode, 0, Fraction(step))
    # Both ends of an area are rounded.
    assert kernel.slope == largest_slope(kernel) * (2 if mode == "area" else 1)
    assert kernel.evaluation == 0


@pytest.mark.parametrize(("mode", "lobes"), [("lanczos3", 3), ("lanczos5", 5)])
def test_the_slope_of_the_kernel_of_lanczos_is_a_bound(mode, lobes):
    kernel = InterpolationKernel.of(mode, 0, Fraction(1))
    assert kernel.reach == lobes
    assert largest_slope(kernel) <= kernel.slope <= 2 * largest_slope(kernel)
    # |sinc'| is at most 1.371, and sinc at most 1.
    assert kernel.slope == Fraction("1.371") * (lobes + 1) / lobes


@pytest.mark.parametrize("a", [-0.75, -0.5, -0.05, 0.5])
def test_the_evaluation_of_the_cubic_kernel_is_that_of_rule_of_horner(a):
    kernel, exact = InterpolationKernel.of("cubic", a, Fraction(1)), Fraction(str(a))
    # The coefficients of s ** 3, s ** 2, s and 1, and the largest s, for each polynomial.
    inner, outer = ((exact + 2, -exact - 3, 0, 1), 1), ((exact, -5 * exact, 8 * exact, -4 * exact), 2)
    sums = [sum(abs(one) * s ** (3 - k) for k, one in enumerate(coefficients)) for coefficients, s in (inner, outer)]
    assert kernel.evaluation == 7 * max(sums)


@pytest.mark.parametrize("a", [-0.75, -0.5])
def test_the_cubic_kernel_is_continuous_and_interpolates(a):
    kernel = InterpolationKernel.of("cubic", a, Fraction(1))
    assert [kernel.weight(Fraction(s)) for s in (0, 1, 2)] == [1, 0, 0]
    below, above = (kernel.weight(1 + sign * Fraction(1, 10**6)) for sign in (-1, 1))
    assert abs(below - above) < Fraction(1, 10**5)
