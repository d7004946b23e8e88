"""Every order of evaluation of a gradient is within the bound, and wrong gradients exceed it."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.support.evaluation_orders import (
    ACCUMULATIONS,
    FLOATS,
    averages,
    cancelling,
    dots,
    left_to_right,
    pairwise,
    perturbed,
    positive,
    power,
    random,
    rationals,
    sticky,
    subnormal,
    wide,
)

CELLS = 40
# Decimals of many digits take their time.
FEW = 8


def gradients_of(rng, shape, dtype, kind):
    values = rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape)
    if kind == "wide":
        values *= 2.0 ** rng.integers(-6, 7, shape)
    if kind == "cancelling":
        half = shape[-1] // 2
        values[..., half : 2 * half] = -values[..., :half]
        values[..., -1] += 2.0**-6
    return values.astype(dtype)


def budget(exact, got, accumulate, cell):
    """Largest share of the bound that some answers for one cell of each plane use."""
    value = np.array(exact.value)
    value[..., cell] = got.astype(value.dtype).reshape(value[..., cell].shape)
    return (exact.distance(value) / exact.bound(accumulate))[..., cell].max()


@pytest.mark.parametrize("kind", ["random", "wide", "cancelling"])
@pytest.mark.parametrize("n", [2, 3, 9, 49, 100])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_gradients_of_averages_stay_within_the_bound(dtype, accumulate, n, kind):
    """The middle cell of 2n − 1 is in n windows of n."""
    grad = gradients_of(np.random.default_rng(n), (CELLS, 1, n), dtype, kind)
    exact = reference.OPERATORS["avg_pool_grad"](grad, np.zeros((CELLS, 1, 2 * n - 1), dtype), n, stride=1)
    assert exact.terms[0, 0, n - 1] == n
    ways = averages(grad[:, 0], n, accumulate)
    assert max(budget(exact, got, accumulate, n - 1) for _, got in ways) <= 1


@pytest.mark.parametrize("kind", ["random", "wide", "cancelling"])
@pytest.mark.parametrize("n", [2, 9, 49, 100])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_gradients_of_maxima_stay_within_the_bound(dtype, accumulate, n, kind):
    grad = gradients_of(np.random.default_rng(n), (CELLS, 1, n), dtype, kind)
    x = np.zeros((CELLS, 1, 2 * n - 1), dtype)
    for ties, divisor in (("first", 1), ("split", n)):
        x[..., n - 1] = ties == "first"
        exact = reference.OPERATORS["max_pool_grad"](grad, x, n, stride=1, ties=ties)
        assert exact.terms[0, 0, n - 1] == n
        ways = averages(grad[:, 0], divisor, accumulate)
        assert max(budget(exact, got, accumulate, n - 1) for _, got in ways) <= 1


@pytest.mark.parametrize("n", [2, 9, 49, 100])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_gradients_of_convolutions_stay_within_the_bound(dtype, accumulate, n):
    rng = np.random.default_rng(n)
    grad = gradients_of(rng, (1, CELLS, n), dtype, "wide")
    x = gradients_of(rng, (1, 1, n), dtype, "random")
    _, to_kernel, to_bias = reference.OPERATORS["conv_grad"](
        grad, x, np.zeros((CELLS, 1, 1), dtype), np.zeros(CELLS, dtype)
    )
    assert max(budget(to_kernel, got, accumulate, 0) for _, got in dots(grad[0], x[0], accumulate)) <= 1
    assert (
        max(
            (to_bias.distance(got.astype(dtype)) / to_bias.bound(accumulate)).max()
            for _, got in averages(grad[0], 1, accumulate)
        )
        <= 1
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_wrong_gradient_leaves_the_bound(dtype):
    n = 9
    grad = np.abs(gradients_of(np.random.default_rng(1), (CELLS, 1, n), dtype, "random"))
    exact = reference.OPERATORS["avg_pool_grad"](grad, np.zeros((CELLS, 1, 2 * n - 1), dtype), n, stride=1)
    total = grad[:, 0].astype(np.float64).sum(-1)
    for wrong in (total / (n + 1), total / (n - 1), (total - grad[:, 0, 4].astype(np.float64)) / n):
        value = np.array(exact.value)
        value[:, 0, n - 1] = wrong.astype(dtype)
        assert (exact.distance(value) > exact.bound())[:, 0, n - 1].all()


def test_gradients_that_only_move_are_selections():
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    ones, cells = np.ones((1, 1, 3), np.float32), x + 1
    of = reference.OPERATORS
    moved = {
        "max_pool_grad": of["max_pool_grad"](ones, x, 2),
        "max_pool_grad, last": of["max_pool_grad"](ones, x, 2, ties="last"),
        "max_pool_grad, all": of["max_pool_grad"](ones, x, 2, ties="all"),
        "min_pool_grad": of["min_pool_grad"](ones, x, 2),
        "max_pool_with_indices_grad": of["max_pool_with_indices_grad"](ones, x, 2),
        "adaptive_max_pool_grad": of["adaptive_max_pool_grad"](ones, x, 3),
        "fractional_max_pool_grad": of["fractional_max_pool_grad"](ones, x, 2, 3, np.zeros((1, 1, 1), x.dtype)),
        "stochastic_pool_grad": of["stochastic_pool_grad"](ones, cells, 2, np.zeros_like(ones)),
        "conv_grad, bias": of["conv_grad"](ones[..., :1], x[..., :1], ones[..., :1], ones[0, 0, :1])[2],
        "pad_grad": of["pad_grad"](ones, x, (((-1, -2)),)),
    }
    for exact in moved.values():
        assert exact.exact
        assert exact.terms.max() == 1
        assert not exact.bound(np.float16).any()


@pytest.mark.parametrize("ties", ["first", "last", "all"])
def test_the_gradient_of_a_whole_plane_is_always_a_selection(ties):
    """A plane is one window, so each cell gets at most one gradient."""
    for x in (np.zeros((2, 3, 9), np.float32), np.random.default_rng(0).standard_normal((2, 3, 9)).astype(np.float32)):
        exact = reference.OPERATORS["global_max_pool_grad"](np.ones((2, 3, 1), np.float32), x, ties=ties)
        assert exact.exact
        assert not exact.bound(np.float16).any()


def test_the_gradient_of_unpooling_is_always_a_selection():
    """Many values put into one cell: the one that stayed is given the cell's gradient, the others 0."""
    x, indices = np.ones((1, 1, 9), np.float32), np.zeros((1, 1, 9), np.int64)
    exact = reference.OPERATORS["max_unpool_grad"](np.full((1, 1, 4), 0.1, np.float32), x, indices, 4)
    assert exact.exact
    assert exact.terms.max() == 1
    assert not exact.bound(np.float16).any()
    ones = np.ones((1, 1, 3), np.float32)
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    # These divide, or may add.
    assert not reference.OPERATORS["avg_pool_grad"](ones, x, 2).exact
    assert not reference.OPERATORS["max_pool_grad"](ones, x, 2, ties="split").exact
    assert not reference.OPERATORS["max_pool_grad"](ones[..., :2], x[..., [0, 5, 0]], 2, stride=1).exact


def test_terms_count_what_is_added_and_magnitudes_their_absolute_values():
    grad = np.array([[[3, -6, 9]]], np.float32)
    exact = reference.OPERATORS["avg_pool_grad"](grad, np.zeros((1, 1, 5), np.float32), 3, stride=1)
    assert exact.terms.tolist() == [[[1, 2, 3, 2, 1]]]
    for got, expected in zip(exact.magnitude.ravel().tolist(), [1, 3, 6, 5, 3], strict=True):
        assert expected <= Fraction(got) <= expected * (1 + Fraction(1, 2**38))
    to_x, to_kernel, to_bias = reference.OPERATORS["conv_grad"](
        grad, np.ones((1, 1, 3), np.float32), np.full((1, 1, 1), -2, np.float32), np.ones(1, np.float32)
    )
    assert [part.terms.max() for part in (to_x, to_kernel, to_bias)] == [1, 3, 3]
    assert to_kernel.magnitude.item() == pytest.approx(18)
    assert to_x.magnitude[0, 0].tolist() == pytest.approx([6, 12, 18])


# Softmax and Lp pooling: each way of the docstrings, with exponentials and powers as far off as the bound grants.


def softmax_gradients(x, grad, accumulate, rng):
    """Gradients of one window a row, (outputs, n)."""
    wide, x, grad = x.astype(np.float64), x.astype(accumulate), grad.astype(accumulate)[:, None]
    one = np.array(1).astype(accumulate)
    top = x.max(-1, keepdims=True)
    for add in (left_to_right, pairwise):
        e = perturbed(np.exp((x - top).astype(np.float64)), accumulate, rng)
        total = add(e)[:, None]
        p = e / total
        average = add(p * x)[:, None]
        yield grad * p * (one + x - average)
        yield grad * p + p * (grad * x - add(grad * x * p)[:, None])
        e = perturbed(np.exp(wide), accumulate, rng)
        total, numerator = add(e)[:, None], add(x * e)[:, None]
        yield grad * (e * (one + x)) / total - grad * numerator * e / (total * total)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 2, 4, 9, 30])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_gradients_of_softmax_averages_stay_within_the_bound(dtype, accumulate, n, scale):
    rng = np.random.default_rng(n)
    x = (rng.uniform(-1, 1, (FEW, n)) * scale).astype(dtype)
    grad = rng.uniform(-2, 2, FEW).astype(dtype)
    exact = reference.OPERATORS["softmax_pool_grad"](grad.reshape(1, 1, -1), x.reshape(1, 1, -1), n)
    used = [
        (exact.distance(got.astype(dtype).reshape(1, 1, -1)) / exact.bound(accumulate)).max()
        for got in softmax_gradients(x, grad, accumulate, rng)
    ]
    assert max(used) <= 1
    assert n == 1 or max(used) > 0.01


def norm_gradients(x, grad, p, accumulate, rng):
    x, grad = x.astype(accumulate), grad.astype(accumulate)[:, None]
    sizes, signs = np.abs(x), np.sign(x).astype(accumulate)

    def to(exponent, base):
        return power(base, exponent, accumulate, rng)

    for add in (left_to_right, pairwise):
        total = add(to(p, sizes))[:, None]
        norm = to(1 / p, total)
        yield grad * signs * to(p - 1, sizes / norm)
        inverse = np.array(1 / p).astype(accumulate)
        yield grad * inverse * to(1 / p - 1, total) * np.array(p).astype(accumulate) * to(p - 1, sizes) * signs
        if p == 2:
            yield grad * x / norm


@pytest.mark.parametrize("p", [1.5, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 9, 30])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_gradients_of_norms_stay_within_the_bound(dtype, accumulate, n, p):
    rng = np.random.default_rng(n)
    x = (rng.uniform(0.25, 2, (FEW, n)) * rng.choice([-1, 1], (FEW, n))).astype(dtype)
    grad = rng.uniform(-2, 2, FEW).astype(dtype)
    exact = reference.OPERATORS["lp_pool_grad"](grad.reshape(1, 1, -1), x.reshape(1, 1, -1), n, p=p)
    used = [
        (exact.distance(got.astype(dtype).reshape(1, 1, -1)) / exact.bound(accumulate)).max()
        for got in norm_gradients(x, grad, p, accumulate, rng)
    ]
    assert max(used) <= 1
    assert n == 1 or max(used) > 0.01


DIGITS = Context(prec=80)
# Exponentials up to this are normal numbers of float16, and their products do not overflow.
GREATEST = 4.0


def decimals(x):
    return [[Decimal(v) for v in row] for row in x.astype(np.float64).tolist()]


def within(exact, truth, got, dtype, accumulate):
    """Return whether results are within the bound of rows of decimals of 80 digits."""
    numbers = rationals(got.astype(dtype).ravel())
    limits = rationals(exact.bound(accumulate).ravel())
    exactly = [Fraction(number) for row in truth for number in row]
    return all(abs(n - t) <= b for n, t, b in zip(numbers, exactly, limits, strict=True))


def softmax_slopes(row, g):
    """g·p·(1 + x − y) of each cell."""
    with localcontext(DIGITS):
        weights = [x.exp() for x in row]
        average = sum(x * w for x, w in zip(row, weights, strict=True)) / sum(weights)
        return [g * (1 + x - average) * w / sum(weights) for x, w in zip(row, weights, strict=True)]


@pytest.mark.parametrize("kind", [random, positive, wide, cancelling, subnormal, sticky])
@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_no_way_to_differentiate_a_softmax_average_leaves_the_bound(dtype, accumulate, n, kind):
    rng = np.random.default_rng(n)
    x, grad = np.clip(kind(rng, (6, n), dtype), -GREATEST, GREATEST).astype(dtype), random(rng, (6, 1), dtype)
    exact = reference.OPERATORS["softmax_pool_grad"](grad.reshape(1, 1, -1), x.reshape(1, 1, -1), n)
    truth = [softmax_slopes(row, g) for row, (g,) in zip(decimals(x), decimals(grad), strict=True)]
    for got in softmax_gradients(x, grad[:, 0], accumulate, rng):
        assert within(exact, truth, got, dtype, accumulate)


def norm_slopes(row, g, p):
    """g·sign(x)·(|x| / y)^(p − 1) of each cell; no cell is 0."""
    with localcontext(DIGITS):
        norm = sum(abs(x) ** p for x in row) ** (1 / p)
        return [abs(g).copy_sign(g * x) * (abs(x) / norm) ** (p - 1) for x in row]


@pytest.mark.parametrize("kind", [random, positive, wide, cancelling])
@pytest.mark.parametrize("p", [1.5, 2])
@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_no_way_to_differentiate_a_norm_leaves_the_bound(dtype, accumulate, n, p, kind):
    """Powers of subnormal numbers are no normal ones, and not covered."""
    rng = np.random.default_rng(n)
    x, grad = kind(rng, (6, n), dtype), random(rng, (6, 1), dtype)
    exact = reference.OPERATORS["lp_pool_grad"](grad.reshape(1, 1, -1), x.reshape(1, 1, -1), n, p=p)
    truth = [norm_slopes(row, g, Decimal(p)) for row, (g,) in zip(decimals(x), decimals(grad), strict=True)]
    for got in norm_gradients(x, grad[:, 0], p, accumulate, rng):
        assert within(exact, truth, got, dtype, accumulate)


def test_curved_gradients_without_one_element_leave_the_bound():
    x = np.random.default_rng(0).uniform(1, 2, (CELLS, 9)).astype(np.float32)
    grad = np.ones((1, 1, CELLS), np.float32)
    for name, parameters in [("softmax_pool_grad", {}), ("lp_pool_grad", {"p": 3})]:
        exact = reference.OPERATORS[name](grad, x.reshape(1, 1, -1), 9, **parameters)
        less = reference.OPERATORS[name](grad, x[:, :-1].reshape(1, 1, -1), 8, **parameters).value
        wrong = np.concatenate([less.reshape(CELLS, 8), np.zeros((CELLS, 1), np.float32)], 1).reshape(1, 1, -1)
        assert (exact.distance(wrong) > exact.bound()).all()


def test_windows_that_are_not_finite_have_bound_zero_and_finite_ones_a_finite_bound():
    x = np.array([[[1, np.inf, 3, 4, 1e30, -1e30]]]).astype(ml_dtypes.bfloat16)
    for name in ("softmax_pool_grad", "lp_pool_grad"):
        bound = reference.OPERATORS[name](np.ones((1, 1, 3), x.dtype), x, 2).bound()
        assert bound[0, 0, 1] == 0
        assert np.isfinite(bound).all()
