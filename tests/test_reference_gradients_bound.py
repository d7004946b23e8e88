"""The bound holds for gradients in every way to evaluate them, and a wrong one leaves it."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from evaluations import ACCUMULATIONS, FLOATS, averages, dots, left_to_right, pairwise, roundoff

import reference
from reference.bound import FUNCTION_ULPS

CELLS = 40


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
    ones = np.ones((1, 1, 3), np.float32)
    for exact in (
        reference.OPERATORS["max_pool_grad"](ones, x, 2),
        reference.OPERATORS["max_pool_with_indices_grad"](ones, x, 2),
        reference.OPERATORS["max_unpool_grad"](x, ones, np.array([[[4, 1, 0]]]), 6),
        reference.OPERATORS["pad_grad"](ones, x, (((-1, -2)),)),
    ):
        assert exact.exact
        assert exact.terms.max() == 1
        assert not exact.bound(np.float16).any()
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


def perturbed(values, accumulate, rng):
    """Values of exp, log or pow in the type, each off by at most 4 units in the last place."""
    off = 1 + (2 * FUNCTION_ULPS - 1) * roundoff(accumulate) * rng.choice([-1, 1], values.shape)
    return (values * off).astype(accumulate)


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
    x = (rng.uniform(-1, 1, (CELLS, n)) * scale).astype(dtype)
    grad = rng.uniform(-2, 2, CELLS).astype(dtype)
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

    def power(base, exponent):
        rounded = float(np.array(exponent).astype(accumulate))
        return perturbed(base.astype(np.float64) ** rounded, accumulate, rng)

    for add in (left_to_right, pairwise):
        total = add(power(sizes, p))[:, None]
        norm = power(total, 1 / p)
        yield grad * signs * power(sizes / norm, p - 1)
        inverse = np.array(1 / p).astype(accumulate)
        yield grad * inverse * power(total, 1 / p - 1) * np.array(p).astype(accumulate) * power(sizes, p - 1) * signs
        if p == 2:
            yield grad * x / norm


@pytest.mark.parametrize("p", [1.5, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize(("dtype", "accumulate"), ACCUMULATIONS)
def test_gradients_of_norms_stay_within_the_bound(dtype, accumulate, n, p):
    rng = np.random.default_rng(n)
    x = (rng.uniform(0.25, 2, (CELLS, n)) * rng.choice([-1, 1], (CELLS, n))).astype(dtype)
    grad = rng.uniform(-2, 2, CELLS).astype(dtype)
    exact = reference.OPERATORS["lp_pool_grad"](grad.reshape(1, 1, -1), x.reshape(1, 1, -1), n, p=p)
    used = [
        (exact.distance(got.astype(dtype).reshape(1, 1, -1)) / exact.bound(accumulate)).max()
        for got in norm_gradients(x, grad, p, accumulate, rng)
    ]
    assert max(used) <= 1
    assert n == 1 or max(used) > 0.01


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
