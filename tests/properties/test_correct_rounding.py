"""The proof of the error bound: no way of evaluating leaves it, and for nearly every size one reaches half of it.

Results are compared with rational numbers computed here. Only the bound comes from the reference.
HYPOTHESIS_PROFILE=nightly takes every size; the ordinary profile some of them.
"""

from fractions import Fraction
from itertools import chain

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.support import worst_case_inputs
from tests.support.evaluation_orders import (
    ACCUMULATIONS,
    FAST_ORDERS,
    FLOATS,
    KINDS,
    ORDERS,
    averages,
    cancelling,
    dots,
    fused,
    fused_average,
    fused_dot,
    positive,
    probabilities,
    probability_grads,
    random,
    rationals,
    roundoff,
    sticky,
    subnormal,
    wide,
)
from tests.support.nightly import NIGHTLY
from tests.support.operators_as_sums import AVERAGES, DOTS, ONE_TERM, SUMS
from tests.support.worst_case_gradients import norm_grad_of, softmax_grad_of

SIZES = [1, 2, 3, 5, 7, 9, 33, 100]
LARGE = [121, 1017, 4096]
DIVISORS = [3, 5, 7, 9]
SELECTIONS = {
    *("max_pool", "min_pool", "max_pool_with_indices", "max_unpool", "global_max_pool", "adaptive_max_pool"),
    *("fractional_max_pool", "stochastic_pool", "pad", "depth_to_space", "space_to_depth"),
    *("depth_to_space_grad", "space_to_depth_grad", "unfold", "fold_grad"),
    *("quantize", "dequantize", "quantized_avg_pool", "quantized_conv", "conv_integer"),
    # Each sum is rounded once, and rounding does not change which one is the largest.
    "dilation2d",
}
# Operators that are similar to no other operator.
OF_A_KIND = {"avg_pool", "global_avg_pool", "conv", "max_pool_grad", *worst_case_inputs.CURVED}
ORDINARY, FEW = {1, 2, 9, 100}, {1, 9}
LARGEST = {(operator, np.float32, 4096) for operator in OF_A_KIND if not operator.endswith("_grad")}
POINTS = [
    point
    for point in worst_case_inputs.POINTS
    if NIGHTLY or point[3] in (ORDINARY if point[0] in OF_A_KIND else FEW) or point[:2] + point[3:] in LARGEST
]
# Windows of one cell give to it their gradients themselves.
ONE_CELL = {"softmax_pool_grad": softmax_grad_of, "lp_pool_grad": norm_grad_of}
OUTPUTS = 12


def bounds(exact, accumulate, flush=False):
    return [Fraction(b) for b in exact.bound(accumulate, flush).ravel().tolist()]


def holds(sums, limits, got, dtype):
    """Return whether every result, rounded to the dtype, is within its limit of the exact one."""
    results = got.astype(dtype).astype(np.float64).ravel().tolist()
    return all(abs(Fraction(g) - s) <= b for g, s, b in zip(results, sums, limits, strict=True))


def has_bound(n, accumulate):
    return (n + 3) * roundoff(accumulate) < 1 / 2


def sizes(pairs, listed):
    return [(dtype, accumulate, n) for dtype, accumulate in pairs for n in listed if has_bound(n, accumulate)]


def assert_averages_hold(x, divisor, dtype, accumulate, orders):
    n = x.shape[-1]
    exact = reference.OPERATORS["avg_pool"](x.reshape(1, 1, -1), n, divisor=divisor)
    limits, sums = bounds(exact, accumulate), [sum(row) / divisor for row in rationals(x)]
    for name, got in averages(x, divisor, accumulate, orders):
        assert holds(sums, limits, got, dtype), name
    if len(orders) > len(FAST_ORDERS):
        assert holds(sums, limits, fused_average(x, divisor, accumulate), dtype), "fused"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "accumulate", "n"), sizes(ACCUMULATIONS, SIZES))
def test_no_way_to_average_leaves_the_bound(dtype, accumulate, n, kind):
    x = kind(np.random.default_rng(n), (OUTPUTS, n), dtype)
    assert_averages_hold(x, n, dtype, accumulate, ORDERS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_no_way_to_divide_one_cell_leaves_the_bound(dtype, accumulate, divisor, kind):
    x = kind(np.random.default_rng(divisor), (100, 1), dtype)
    assert_averages_hold(x, divisor, dtype, accumulate, ORDERS[:3])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "accumulate", "n"), sizes(ACCUMULATIONS, LARGE))
def test_no_way_to_average_large_windows_leaves_the_bound(dtype, accumulate, n, kind):
    x = kind(np.random.default_rng(n), (3, n), dtype)
    assert_averages_hold(x, n, dtype, accumulate, FAST_ORDERS)


def assert_dots_hold(x, kernel, dtype, accumulate, orders):
    """x: (outputs, n); kernel: (n,). The reference gets them as channels, which a bound treats like cells."""
    exact = reference.OPERATORS["conv"](x[..., None], kernel[None, :, None])
    weights = rationals(kernel)
    limits = bounds(exact, accumulate)
    sums = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rationals(x)]
    kernel = np.broadcast_to(kernel, x.shape)
    for name, got in dots(x, kernel, accumulate, orders):
        assert holds(sums, limits, got, dtype), name
    if len(orders) > len(FAST_ORDERS):
        assert holds(sums, limits, fused_dot(x.astype(accumulate), kernel.astype(accumulate)), dtype), "fused"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", KINDS)
@pytest.mark.parametrize(("dtype", "accumulate", "n"), sizes(ACCUMULATIONS, [1, 2, 9, 49]))
def test_no_way_to_convolve_leaves_the_bound(dtype, accumulate, n, kind, weights):
    rng = np.random.default_rng(n)
    assert_dots_hold(kind(rng, (OUTPUTS, n), dtype), weights(rng, (1, n), dtype)[0], dtype, accumulate, ORDERS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "accumulate", "n"), sizes(ACCUMULATIONS, LARGE))
def test_no_way_to_convolve_large_windows_leaves_the_bound(dtype, accumulate, n, kind):
    rng = np.random.default_rng(n)
    assert_dots_hold(kind(rng, (2, n), dtype), cancelling(rng, (1, n), dtype)[0], dtype, accumulate, FAST_ORDERS)


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        (operator, kind)
        for operator in [*AVERAGES, *DOTS, *SUMS, *ONE_CELL]
        for kind in (KINDS if NIGHTLY or operator in OF_A_KIND else [wide, cancelling, subnormal])
    ],
)
@pytest.mark.parametrize(("dtype", "accumulate", "n"), sizes(ACCUMULATIONS, [2, 9, 49] if NIGHTLY else [9]))
def test_no_way_to_sum_leaves_the_bound_of_its_operator(dtype, accumulate, n, operator, kind):
    rng = np.random.default_rng(n)
    x, kernel = kind(rng, (4, 1 if operator in ONE_TERM else n), dtype), kind(rng, (1, n), dtype)[0]
    if operator in AVERAGES:
        exact, sums = AVERAGES[operator](x, n), [sum(row) / n for row in rationals(x)]
        results = averages(x, n, accumulate, ORDERS[:4])
    elif operator in DOTS:
        exact, weights = DOTS[operator](x, kernel), rationals(kernel)
        sums = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rationals(x)]
        results = dots(x, np.broadcast_to(kernel, x.shape), accumulate, ORDERS)
    else:
        exact, sums = (SUMS | ONE_CELL)[operator](x), [sum(row) for row in rationals(x)]
        results = [(order.__name__, order(x.astype(accumulate))) for order in ORDERS]
    limits = bounds(exact, accumulate)
    # All cells of a plane have the same sum.
    limits = limits[:: len(limits) // len(x)]
    for name, got in results:
        assert holds(sums, limits, got, dtype), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "accumulate", "n"), sizes(ACCUMULATIONS, [1, 2, 9, 100] if NIGHTLY else [1, 2, 9]))
def test_no_way_to_divide_by_the_sum_leaves_the_bound(dtype, accumulate, n, kind):
    x = np.abs(kind(np.random.default_rng(n), (OUTPUTS, n), dtype))
    exact = reference.OPERATORS["stochastic_pool_probabilities"](x.reshape(1, 1, -1), n)
    truth = [cell / sum(row) if sum(row) else 0 for row in rationals(x) for cell in row]
    for got in probabilities(x.astype(accumulate)):
        # Where nothing is above 0 nothing is divided.
        assert holds(truth, bounds(exact, accumulate), np.where(np.isnan(got), 0, got), dtype)


@pytest.mark.parametrize("kind", [random, positive, wide, cancelling, sticky])
@pytest.mark.parametrize("cells", [random, positive, sticky])
@pytest.mark.parametrize(("dtype", "accumulate", "n"), sizes(ACCUMULATIONS, [1, 2, 9, 33] if NIGHTLY else [1, 2, 9]))
def test_no_way_to_differentiate_a_quotient_leaves_the_bound(dtype, accumulate, n, cells, kind):
    rng = np.random.default_rng(n)
    grad, x = kind(rng, (4, n), dtype), np.abs(cells(rng, (4, n), dtype))
    exact = reference.OPERATORS["stochastic_pool_probabilities_grad"](grad[None, None], x.reshape(1, 1, -1), n)
    truth = list(chain.from_iterable(map(slopes_of_quotients, rationals(x), rationals(grad))))
    for got in probability_grads(x.astype(accumulate), grad.astype(accumulate)):
        assert holds(truth, bounds(exact, accumulate), got, dtype)


def slopes_of_quotients(row, slopes):
    """The derivatives of x / Σ x, summed with their gradients."""
    total = sum(row)
    average = sum(cell * slope for cell, slope in zip(row, slopes, strict=True)) / total
    return [(slope - average) / total for slope in slopes]


def test_a_fused_multiply_add_rounds_once():
    for dtype, _ in ACCUMULATIONS[:4]:
        u = roundoff(dtype)
        a = np.array([1 + 2 * u, 1 + 2 * u, 3.0]).astype(dtype)
        c = np.array([-1, -1 - 4 * u, 0.1]).astype(dtype)
        b = np.array([1 + 2 * u, 1 + 2 * u, 7.0]).astype(dtype)
        exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
        assert [float(v) for v in fused(a, b, c)] == [float(reference.round_to(v, dtype)) for v in exact]


# Flushing to zero.


def flushed(x, dtype):
    """Numbers below the smallest normal become 0."""
    return np.where(np.abs(x.astype(np.float64)) < float(ml_dtypes.finfo(dtype).tiny), 0, x).astype(dtype)


def flushing_sum(terms, dtype):
    total = terms[..., 0]
    for i in range(1, terms.shape[-1]):
        total = flushed(total + terms[..., i], dtype)
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 9, 100])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_flushed_sums_of_products_stay_within_the_bound(dtype, accumulate, n, kind):
    rng = np.random.default_rng(n)
    smallest = float(ml_dtypes.finfo(accumulate).tiny)
    x, kernel = kind(rng, (OUTPUTS, n), dtype), random_near_one(rng, n, dtype)
    # Products from below to above the smallest normal, of factors that are normal themselves.
    scale = 2.0 ** np.floor(np.log2(smallest) / 2 + 1)
    x, kernel = ((values.astype(np.float64) * scale).astype(dtype) for values in (x, kernel))
    x, kernel = flushed(x, dtype), flushed(kernel, dtype)
    exact = reference.OPERATORS["conv"](x[..., None], kernel[None, :, None])
    weights = rationals(kernel)
    sums = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rationals(x)]
    products = flushed(x.astype(accumulate) * kernel.astype(accumulate), accumulate)
    got = flushed(flushing_sum(products, accumulate).astype(dtype), dtype)
    assert holds(sums, bounds(exact, accumulate, flush=True), got, dtype)


def random_near_one(rng, n, dtype):
    return rng.uniform(0.5, 2, n).astype(dtype)


def test_flushed_products_and_the_rounding_of_what_is_left_add_up():
    """4,095 products just below the smallest normal are lost, and bfloat16 rounds up the one that is left.

    Without u_out·(n + 3)·η the bound would be too small.
    """
    n, dtype, smallest = 4096, ml_dtypes.bfloat16, Fraction(1, 2**126)
    x, kernel = np.full(n, (1 + 2.0**-7) * 2.0**-63), np.full(n, (2.0**-7 - 1) * 2.0**-63)
    # The last product: 4,096 smallest normals, and a little more than half a unit of bfloat16 beyond.
    x[-1], kernel[-1] = 140 * 2.0**-59, 235 * 2.0**-70
    x, kernel = x.astype(dtype), kernel.astype(dtype)
    exact = reference.OPERATORS["conv"](x[None, :, None], kernel[None, :, None])
    products = flushed(x.astype(np.float32) * kernel.astype(np.float32), np.float32)
    assert np.count_nonzero(products) == 1
    truth = Fraction(32900, 2**129) - (n - 1) * (1 - Fraction(1, 2**14)) * smallest
    error = abs(Fraction(float(products[-1].astype(dtype))) - truth)
    assert error <= Fraction(exact.bound(np.float32, flush=True).item())
    u, u_out = Fraction(1, 2**24), Fraction(1, 2**8)
    g = (n + 3) * u / (1 - (n + 3) * u)
    magnitude = Fraction(exact.magnitude.item())
    assert error > g * magnitude + u_out * (abs(truth) + g * magnitude) + (n + 3) * smallest


# Half of the bound is reached.


def test_every_operator_has_an_adversary_or_rounds_nothing():
    """The others are selections, whose bound is 0, interpolation, whose weights have errors, and normalization.

    The tests of normalization evaluate its formula in several ways.
    """
    adversarial = {name.split(",")[0] for name in worst_case_inputs.OPERATORS}
    interpolation = {"resize", "resize_grad", "grid_sample", "grid_sample_grad", "affine_grid", "affine_grid_grad"}
    interpolation |= {"deform_conv", "deform_conv_grad"}
    normalization = {"lrn", "lrn_grad"}
    assert adversarial == set(reference.OPERATORS) - SELECTIONS - {"max_unpool_grad"} - interpolation - normalization


@pytest.mark.parametrize("name", sorted(SELECTIONS))
@pytest.mark.parametrize("dtype", FLOATS)
def test_operators_that_select_have_bound_zero(name, dtype):
    x = np.abs(random(np.random.default_rng(0), (1, 1, 9), dtype))
    draws = np.full((1, 1, 3), 0.5, dtype)
    arguments = {
        "max_unpool": (x, np.arange(9).reshape(1, 1, 9), 9),
        "adaptive_max_pool": (x, 2),
        "global_max_pool": (x,),
        "fractional_max_pool": (x, 2, 3, draws[..., :1]),
        "stochastic_pool": (x, 3, draws),
        "pad": (x, [(2, 2)]),
        "depth_to_space": (x.reshape(1, 9, 1), 3),
        "depth_to_space_grad": (x.reshape(1, 3, 3), x.reshape(1, 9, 1), 3),
        "space_to_depth_grad": (x.reshape(1, 3, 3), x, 3),
        "fold_grad": (x, x[:, :, :8].reshape(1, 1, 8).repeat(2, 1), 9, 2),
        "dilation2d": (x, x[:, :, :2]),
        "quantize": (x.astype(np.float32), 3),
        "dequantize": (x.astype(np.int8), 3),
        "quantized_avg_pool": (x.astype(np.int8), 3),
        **dict.fromkeys(("quantized_conv", "conv_integer"), (x.astype(np.int8), np.ones((1, 1, 3), np.int8))),
    }
    named = {"x_scale": 1, "w_scale": 1, "y_scale": 1} if name == "quantized_conv" else {}
    results = reference.OPERATORS[name](*arguments.get(name, (x, 3)), **named)
    for exact in results if isinstance(results, tuple) else [results]:
        assert exact.exact
        assert not exact.bound(np.float16).any()


@pytest.mark.parametrize(("operator", "dtype", "accumulate", "n"), POINTS)
def test_half_of_the_bound_is_reached_wherever_it_can_be(operator, dtype, accumulate, n):
    point = worst_case_inputs.reach(operator, dtype, accumulate, n)
    assert point.share <= 1
    assert point.share >= min(1 / 2, 0.8 * point.ceiling)
