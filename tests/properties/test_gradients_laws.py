"""Laws of gradients: adjoints, difference quotients and Euler's theorem, exact on small integers; and the bound."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import reference
from tests.properties.test_against_loops import drawn, geometries, per_axis

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def integers(draw, shape, least=-8, greatest=8):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.integers(least, greatest + 1, shape).astype(np.float64)


def distinct(draw, shape):
    """Different integers: no ties, and a small step creates no tie."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.permutation(np.prod(shape, dtype=int)).reshape(shape).astype(np.float64) - 5


def dot(a, b):
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)), 0)


@st.composite
def pools(draw):
    """Extents, a window and parameters that are not refused."""
    size, parameters = draw(geometries())
    parameters["window"] = draw(per_axis(len(size), 1, 3))
    parameters["rounding"] = draw(st.sampled_from(["floor", "ceil", "full"]))
    try:
        reference.max_pool(np.zeros((1, 1, *size)), **parameters)
    except ValueError:
        return draw(st.just(((4, 4), {"window": 2, "stride": 1})))
    return size, parameters


@st.composite
def linear_operators(draw):
    """A name, the shape of x, further inputs and parameters, all of whose sums are exact in float64."""
    name = draw(st.sampled_from(["avg_pool", "pad", "max_unpool", "adaptive_avg_pool"]))
    size, parameters = draw(pools())
    shape = (2, 1, *size)
    if name == "avg_pool":
        return name, shape, [], {**parameters, "divisor": draw(st.sampled_from([1, 2, 8]))}
    if name == "pad":
        mode = draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
        return name, shape, [draw(st.integers(0, 4))], {"mode": mode}
    if name == "max_unpool":
        cells = int(np.prod(size))
        order = np.random.default_rng(draw(st.integers(0, 99))).permutation(cells)
        return name, shape, [np.broadcast_to(order.reshape(size), shape), size], {}
    bins = [draw(st.sampled_from([m for m in (1, 2, 4, n) if n % m == 0 and n // m in (1, 2, 4)] or [n])) for n in size]
    return name, shape, [bins], {}


@drawn
@given(linear_operators(), st.data())
def test_gradients_of_linear_operators_are_adjoints(operator, data):
    name, shape, inputs, parameters = operator
    x = integers(data.draw, shape)
    y = getattr(reference, name)(x, *inputs, **parameters)
    grad = integers(data.draw, y.shape)
    assert dot(y, grad) == dot(x, getattr(reference, name + "_grad")(grad, x, *inputs, **parameters))


@st.composite
def convolutions(draw):
    rank, groups, out, width = (draw(st.integers(1, 2)) for _ in range(4))
    window = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    size = [draw(st.integers(dilation * (w - 1) + 1, 6)) for w in window]
    padding = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in window]
    parameters = {"stride": stride, "dilation": dilation, "groups": groups, "padding": padding}
    x = integers(draw, (2, groups * width, *size))
    return x, integers(draw, (groups * out, width, *window)), integers(draw, (groups * out,)), parameters


@drawn
@given(convolutions(), st.data())
def test_gradients_of_convolution_are_its_adjoints_in_each_input(case, data):
    x, kernel, bias, parameters = case
    y = reference.conv(x, kernel, **parameters)
    grad = integers(data.draw, y.shape)
    to_x, to_kernel, to_bias = reference.conv_grad(grad, x, kernel, bias, **parameters)
    assert dot(y, grad) == dot(x, to_x) == dot(kernel, to_kernel)
    assert dot(reference.conv(x, 0 * kernel, bias, **parameters), grad) == dot(bias, to_bias)


@drawn
@given(convolutions(), st.data())
def test_gradients_of_transposed_convolution_are_its_adjoints_in_each_input(case, data):
    y, kernel, _, parameters = case
    x = reference.conv(y, kernel, **parameters)
    further = [
        n + b + a - parameters["dilation"] * (w - 1) - 1 - (m - 1) * parameters["stride"]
        for n, (b, a), w, m in zip(y.shape[2:], parameters["padding"], kernel.shape[2:], x.shape[2:], strict=True)
    ]
    parameters["output_padding"] = further
    bias = integers(data.draw, y.shape[1:2])
    z = reference.conv_transpose(x, kernel, **parameters)
    grad = integers(data.draw, z.shape)
    to_x, to_kernel, to_bias = reference.conv_transpose_grad(grad, x, kernel, bias, **parameters)
    assert dot(z, grad) == dot(x, to_x) == dot(kernel, to_kernel)
    assert dot(bias, to_bias) == sum(dot(bias[c], grad[:, c].sum()) for c in range(len(bias)))
    parameters.pop("output_padding")
    np.testing.assert_array_equal(to_x, reference.conv(grad, kernel, **parameters))


@drawn
@given(pools(), st.sampled_from(["first", "last", "split"]), st.data())
def test_selections_are_homogeneous_whatever_the_ties(pool, ties, data):
    """Euler: Σ x · ∂f/∂x = f, as max and min scale with x; where padding alone is in a window there is no f."""
    size, parameters = pool
    x = integers(data.draw, (1, 2, *size), -2, 2)
    for name in ("max_pool", "min_pool"):
        y = getattr(reference, name)(x, **parameters)
        real = np.isfinite(y)
        # Windows with 2, 3, 4, … ties share without rounding.
        grad = integers(data.draw, y.shape) * 2**3 * 3**3 * 5 * 7 * 11 * 13 * 17 * 19 * 23
        got = getattr(reference, name + "_grad")(grad, x, ties=ties, **parameters)
        assert dot(x, got) == dot(np.where(real, y, 0.0), grad)


STEP = 1 / 4


def quotient(operator, x, grad, cell):
    """The symmetric difference quotient of Σ grad · operator(x) for one cell: exact if it is linear near x."""
    up, down = x.copy(), x.copy()
    up[cell] += STEP
    down[cell] -= STEP
    higher, lower = (np.where(np.isfinite(y), y, 0.0) for y in (operator(up), operator(down)))
    return (dot(higher, grad) - dot(lower, grad)) / Fraction(2 * STEP)


@drawn
@given(pools(), st.sampled_from(["max_pool", "min_pool", "max_pool_with_indices", "avg_pool", "lp_pool"]), st.data())
def test_gradients_of_piecewise_linear_operators_are_difference_quotients(pool, name, data):
    size, parameters = pool
    parameters |= {"avg_pool": {"divisor": 4}, "lp_pool": {"p": 1}}.get(name, {})
    x = distinct(data.draw, (1, 1, *size))
    # No step leads across 0, where the 1-norm bends.
    x = np.where(x == 0, 100.0, x)

    def operator(x):
        y = getattr(reference, name)(x, **parameters)
        return y[0] if name == "max_pool_with_indices" else y

    grad = integers(data.draw, operator(x).shape)
    got = getattr(reference, name + "_grad")(grad, x, **parameters)
    for cell in np.ndindex(*x.shape):
        assert quotient(operator, x, grad, cell) == Fraction(got[cell])


@drawn
@given(st.sampled_from(["adaptive_max_pool", "global_max_pool", "fractional_max_pool", "stochastic_pool"]), st.data())
def test_gradients_of_other_selections_are_difference_quotients(name, data):
    x = distinct(data.draw, (1, 2, 5, 4)) + 6
    samples = np.random.default_rng(data.draw(st.integers(0, 99))).random((1, 2, 2))
    # A draw of 0 selects the first cell for all values.
    inputs = {
        "adaptive_max_pool": [(3, 2)],
        "fractional_max_pool": [2, (3, 2), samples],
        "stochastic_pool": [2, np.zeros((1, 2, 2, 2))],
    }.get(name, [])

    def operator(x):
        return getattr(reference, name)(x, *inputs)

    grad = integers(data.draw, operator(x).shape)
    got = getattr(reference, name + "_grad")(grad, x, *inputs)
    for cell in np.ndindex(*x.shape):
        assert quotient(operator, x, grad, cell) == Fraction(got[cell])


@drawn
@given(pools(), st.sampled_from([1, 1.5, 2, 3]), st.data())
def test_norms_are_homogeneous(pool, p, data):
    size, parameters = pool
    x = integers(data.draw, (1, 1, *size)).astype(np.float64)
    norms = reference.OPERATORS["lp_pool"](x, **parameters, p=p)
    grad = integers(data.draw, norms.value.shape)
    got = reference.OPERATORS["lp_pool_grad"](grad, x, **parameters, p=p)
    off = abs(dot(x, got.value) - dot(norms.value, grad))
    assert off <= dot(np.abs(x), got.bound()) + dot(np.abs(grad), norms.bound())


@pytest.mark.parametrize("p", [1.5, 2, 3])
def test_curved_gradients_are_near_difference_quotients(p):
    x = np.random.default_rng(3).standard_normal((1, 1, 7, 6))
    for name, parameters in [("lp_pool", {"p": p}), ("softmax_pool", {})]:
        operator, gradient = getattr(reference, name), getattr(reference, name + "_grad")
        grad = np.random.default_rng(4).standard_normal(operator(x, 3, stride=2, **parameters).shape)
        got = gradient(grad, x, 3, stride=2, **parameters)
        for cell in np.ndindex(*x.shape):
            step = np.zeros(x.shape)
            step[cell] = 1e-5
            higher, lower = (operator(x + s, 3, stride=2, **parameters) for s in (step, -step))
            assert ((higher - lower) * grad).sum() / 2e-5 == pytest.approx(got[cell], abs=1e-8)
