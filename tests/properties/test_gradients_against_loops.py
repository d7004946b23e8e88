"""Compare every gradient with loops in rational numbers, for random geometries, values, tie rules and dtypes.

HYPOTHESIS_PROFILE=nightly draws 10,000 examples an operator in place of 50.
"""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import reference
from tests.properties.test_against_loops import FLOATS, arrays, bits, drawn, geometries, poolings
from tests.support import loop_gradients, loop_reference

TIES = st.sampled_from(["first", "last", "all", "split"])


def check(name, grad, inputs, parameters):
    """The reference returns what the loops return, bit for bit."""
    with np.errstate(all="ignore"):
        expected = getattr(loop_gradients, name)(grad, *inputs, **parameters)
    got = reference.OPERATORS[name](grad, *inputs, **parameters)
    several = isinstance(expected, tuple)
    assert isinstance(got, tuple) == several
    for exact, array in zip(got, expected, strict=True) if several else [(got, expected)]:
        assert exact.value.dtype == array.dtype
        assert exact.value.shape == array.shape
        with np.errstate(invalid="ignore"):  # a signalling NaN
            array[np.isnan(array)] = np.nan
        np.testing.assert_array_equal(bits(exact.value), bits(array))
        assert all(part.shape == array.shape for part in (exact.terms, exact.magnitude, exact.bound()))


def walk_of(parameters, window=None):
    keys = ("window", "stride", "padding", "dilation", "rounding")
    walk = {"rounding": "floor", **{key: parameters[key] for key in keys if key in parameters}}
    return walk if window is None else {**walk, "window": window}


@st.composite
def pooling_gradients(draw):
    x, parameters = draw(poolings(FLOATS))
    try:
        axes = loop_reference.walk(x.shape[2:], **walk_of(parameters))
    except loop_reference.Refused:
        return None, x, parameters
    return draw(arrays((*x.shape[:2], *loop_reference.output_shape(axes)), x.dtype)), x, parameters


def compare(name, grad, x, parameters):
    if grad is None:
        with pytest.raises(ValueError, match=r"exceeds the padded input|crops more than"):
            reference.OPERATORS[name](x, x, **parameters)
    else:
        check(name, grad, [x], parameters)


@pytest.mark.parametrize("name", ["max_pool_grad", "min_pool_grad"])
def test_gradients_of_selections_equal_plain_loops(name):
    @drawn
    @given(pooling_gradients(), TIES)
    def run(case, ties):
        grad, x, parameters = case
        compare(name, grad, x, {**parameters, "ties": ties})

    run()


@drawn
@given(pooling_gradients(), st.booleans(), st.one_of(st.none(), st.integers(1, 300)))
def test_gradients_of_averages_equal_plain_loops(case, count_include_pad, divisor):
    grad, x, parameters = case
    compare("avg_pool_grad", grad, x, {**parameters, "count_include_pad": count_include_pad, "divisor": divisor})


@st.composite
def adaptive_gradients(draw, output_size=None):
    rank, dtype = draw(st.integers(1, 3)), draw(st.sampled_from(FLOATS))
    size, bins = (draw(st.lists(st.integers(1, 5), min_size=rank, max_size=rank)) for _ in range(2))
    bins = bins if output_size is None else [output_size] * rank
    return draw(arrays((2, 1, *bins), dtype)), draw(arrays((2, 1, *size), dtype)), tuple(bins)


@drawn
@given(adaptive_gradients(), TIES)
def test_gradients_of_adaptive_maxima_equal_plain_loops(case, ties):
    grad, x, output_size = case
    check("adaptive_max_pool_grad", grad, [x], {"output_size": output_size, "ties": ties})


@drawn
@given(adaptive_gradients())
def test_gradients_of_adaptive_averages_equal_plain_loops(case):
    grad, x, output_size = case
    check("adaptive_avg_pool_grad", grad, [x], {"output_size": output_size})


@drawn
@given(adaptive_gradients(1), TIES)
def test_gradients_of_global_pooling_equal_plain_loops(case, ties):
    grad, x, _ = case
    check("global_max_pool_grad", grad, [x], {"ties": ties})
    check("global_avg_pool_grad", grad, [x], {})


@st.composite
def convolutions(draw):
    dtype = draw(st.sampled_from(FLOATS))
    groups, out, width = (draw(st.integers(1, 2)) for _ in range(3))
    rank = draw(st.integers(1, 3))
    window = tuple(draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    size, parameters = draw(geometries(window))
    parameters["stride"] = parameters["stride"] or 1
    x = draw(arrays((draw(st.integers(0, 2)), groups * width, *size), dtype))
    kernel = draw(arrays((groups * out, width, *window), dtype))
    bias = draw(st.one_of(st.none(), arrays((groups * out,), dtype)))
    try:
        axes = loop_reference.walk(size, **walk_of(parameters, window))
    except loop_reference.Refused:
        return None, [x, kernel, bias], {**parameters, "groups": groups}
    grad = draw(arrays((x.shape[0], groups * out, *loop_reference.output_shape(axes)), dtype))
    return grad, [x, kernel, bias], {**parameters, "groups": groups}


@drawn
@given(convolutions())
def test_gradients_of_convolutions_equal_plain_loops(case):
    grad, inputs, parameters = case
    if grad is None:
        with pytest.raises(ValueError, match=r"exceeds the padded input|crops more than"):
            reference.conv_grad(inputs[0], *inputs, **parameters)
    else:
        check("conv_grad", grad, inputs, parameters)


@st.composite
def transposed_convolutions(draw):
    dtype = draw(st.sampled_from(FLOATS))
    groups, out, width = (draw(st.integers(1, 2)) for _ in range(3))
    rank = draw(st.integers(1, 3))
    window, size, stride, dilation = (draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)) for _ in range(4))
    further = [draw(st.integers(0, max(limits) - 1)) for limits in zip(stride, dilation, strict=True)]
    pads = draw(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=rank, max_size=rank))
    x = draw(arrays((draw(st.integers(0, 2)), groups * width, *size), dtype))
    kernel = draw(arrays((groups * width, out, *window), dtype))
    bias = draw(st.one_of(st.none(), arrays((groups * out,), dtype)))
    extents = [
        (n - 1) * s + d * (w - 1) + 1 - b - a + more
        for n, s, d, w, (b, a), more in zip(size, stride, dilation, window, pads, further, strict=True)
    ]
    assume(min(extents) >= 0)
    grad = draw(arrays((x.shape[0], groups * out, *extents), dtype))
    parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups, "output_padding": further}
    return grad, [x, kernel, bias], parameters


@drawn
@given(transposed_convolutions())
def test_gradients_of_transposed_convolutions_equal_plain_loops(case):
    check("conv_transpose_grad", *case)


@st.composite
def padding_gradients(draw):
    rank, dtype = draw(st.integers(1, 3)), draw(st.sampled_from(FLOATS))
    size = draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    pads = draw(st.lists(st.tuples(st.integers(-2, 5), st.integers(-2, 5)), min_size=rank, max_size=rank))
    mode = draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
    assume(all(n + min(b, 0) + min(a, 0) >= (mode != "constant") for n, (b, a) in zip(size, pads, strict=True)))
    planes = draw(st.sampled_from([(2, 1), (1, 0), (0, 2)]))
    shape = (*planes, *(n + b + a for n, (b, a) in zip(size, pads, strict=True)))
    return draw(arrays(shape, dtype)), draw(arrays((*planes, *size), dtype)), {"pads": pads, "mode": mode}


@drawn
@given(padding_gradients())
def test_gradients_of_padding_equal_plain_loops(case):
    grad, x, parameters = case
    check("pad_grad", grad, [x], parameters)


@drawn
@given(st.data())
def test_gradients_of_unpooling_equal_plain_loops(data):
    dtype, rank = data.draw(st.sampled_from(FLOATS)), data.draw(st.integers(1, 3))
    size, output = (data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)) for _ in range(2))
    x, grad = (data.draw(arrays((2, 1, *shape), dtype)) for shape in (size, output))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    indices = rng.integers(-1, np.prod(output), x.shape)
    check("max_unpool_grad", grad, [x, indices], {"output_size": output})


@drawn
@given(pooling_gradients())
def test_gradients_through_indices_equal_plain_loops(case):
    compare("max_pool_with_indices_grad", *case)


@drawn
@given(pooling_gradients())
def test_gradients_of_softmax_averages_equal_plain_loops(case):
    compare("softmax_pool_grad", *case)


@drawn
@given(pooling_gradients(), st.sampled_from([1, 2, 3, 1.5, 1.25]))
def test_gradients_of_norms_equal_plain_loops(case, p):
    grad, x, parameters = case
    compare("lp_pool_grad", grad, x, {**parameters, "p": p})


def uniform(draw, shape, dtype):
    """Numbers in [0, 1), including the smallest and the largest that a few bits represent."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return (rng.integers(0, 2**7, shape) / 2**7).astype(dtype)


@drawn
@given(st.data())
def test_gradients_of_fractional_maxima_equal_plain_loops(data):
    dtype, rank = data.draw(st.sampled_from(FLOATS)), data.draw(st.integers(1, 3))
    window, output, slack = (data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)) for _ in range(3))
    size = [w + m + more - 2 for w, m, more in zip(window, output, slack, strict=True)]
    x, grad = (data.draw(arrays((2, 1, *shape), dtype)) for shape in (size, output))
    samples = uniform(data.draw, (2, 1, rank), dtype)
    parameters = {"window": window, "output_size": output, "samples": samples}
    check("fractional_max_pool_grad", grad, [x], parameters)


@drawn
@given(st.data())
def test_gradients_of_stochastic_pooling_equal_plain_loops(data):
    grad, x, parameters = data.draw(pooling_gradients())
    if grad is not None:
        with np.errstate(invalid="ignore"):
            x = np.abs(x)
        check("stochastic_pool_grad", grad, [x], {**parameters, "draws": uniform(data.draw, grad.shape, x.dtype)})


@drawn
@given(st.data())
def test_gradients_of_probabilities_equal_plain_loops(data):
    grad, x, parameters = data.draw(pooling_gradients())
    if grad is not None:
        with np.errstate(invalid="ignore"):
            x = np.abs(x)
        rank = x.ndim - 2
        grad = data.draw(arrays((*grad.shape, *loop_reference.spread(parameters["window"], rank)), x.dtype))
        check("stochastic_pool_probabilities_grad", grad, [x], parameters)
