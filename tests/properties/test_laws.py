"""The laws of window operators, for drawn geometries and values: no expected value, only what must be equal.

HYPOTHESIS_PROFILE=nightly draws 10,000 examples per relation instead of 50 (see test_against_loops). Values are small
integers wherever a law is exact on numbers that do not round.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import reference
from tests.properties.test_against_loops import (
    FLOATS,
    INTEGERS,
    LARGEST_EXTENT,
    arrays,
    bits,
    drawn,
    geometries,
    poolings,
)

NUMBERS = [*FLOATS, *INTEGERS]


def small(draw, shape, dtype=np.float64, reach=4):
    """Whole numbers, so that sums and products are exact in any order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.integers(-reach, reach + 1, shape).astype(dtype)


def equal(a, b):
    """Equal bit for bit, NaN and −0 included."""
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(bits(a), bits(b))


def runs(operator, *arrays, **parameters):
    """Return the result. Reject the example if no window fits or too much is cropped."""
    try:
        return operator(*arrays, **parameters)
    except ValueError as error:
        message = str(error)
        assert "exceeds the padded input" in message or "more than the input" in message
        assume(False)


@st.composite
def walks(draw, words=True):
    """(shape, parameters of a pooling): planes of small integers have room for it."""
    size, parameters = draw(geometries())
    if not words and isinstance(parameters["padding"], str):
        parameters["padding"] = 1
    parameters["window"] = draw(st.integers(1, 3))
    parameters["rounding"] = draw(st.sampled_from(["floor", "ceil", "full"]))
    return (2, 2, *size), parameters


@drawn
@given(walks(), st.booleans(), st.data())
def test_average_pooling_is_linear(walk, count_include_pad, data):
    shape, parameters = walk
    x, y = small(data.draw, shape), small(data.draw, shape)
    a, b = (data.draw(st.integers(-3, 3)) for _ in range(2))
    # A divisor of 4 keeps quotients exact; the relation is about which cells are added.
    parameters.update(count_include_pad=count_include_pad, divisor=4)
    left = runs(reference.avg_pool, a * x + b * y, **parameters)
    right = a * reference.avg_pool(x, **parameters) + b * reference.avg_pool(y, **parameters)
    np.testing.assert_array_equal(left, right)


@st.composite
def convolutions(draw, words=True):
    """(x shape, kernel shape, parameters)."""
    rank = draw(st.integers(1, 3))
    window = tuple(draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    size, parameters = draw(geometries(window))
    parameters["stride"] = parameters["stride"] or 1
    if not words and isinstance(parameters["padding"], str):
        parameters["padding"] = 1
    groups, out, width = (draw(st.integers(1, 2)) for _ in range(3))
    parameters["groups"] = groups
    return (2, groups * width, *size), (groups * out, width, *window), parameters


@drawn
@given(convolutions(), st.data())
def test_convolution_is_linear_in_both_factors(case, data):
    shape, kernel_shape, parameters = case
    x, y = small(data.draw, shape), small(data.draw, shape)
    k, m = small(data.draw, kernel_shape), small(data.draw, kernel_shape)
    bias = small(data.draw, kernel_shape[:1])
    both = runs(reference.conv, 2 * x - 3 * y, k, **parameters)
    np.testing.assert_array_equal(both, 2 * reference.conv(x, k, **parameters) - 3 * reference.conv(y, k, **parameters))
    mixed = reference.conv(x, 2 * k - 3 * m, bias, **parameters)
    parts = 2 * reference.conv(x, k, **parameters) - 3 * reference.conv(x, m, **parameters)
    np.testing.assert_array_equal(mixed, parts + bias.reshape(-1, *(1,) * (len(shape) - 2)))


@drawn
@given(st.data())
def test_the_maximum_of_joined_windows_is_the_maximum_of_their_maxima(data):
    dtype = data.draw(st.sampled_from(NUMBERS))
    rank = data.draw(st.integers(1, 3))
    sides = data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    first, second = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    x = data.draw(arrays((2, 1, first + second, *sides[1:]), dtype))
    for pool in (reference.max_pool, reference.min_pool):
        parts = [pool(x[:, :, :first], (first, *sides[1:])), pool(x[:, :, first:], (second, *sides[1:]))]
        equal(pool(x, x.shape[2:]), pool(np.concatenate(parts, 2), (2, *(1,) * (rank - 1))))


@drawn
@given(poolings(FLOATS))
def test_the_minimum_is_the_negative_of_the_maximum_of_negatives(case):
    x, parameters = case
    largest = runs(reference.max_pool, -x, **parameters)
    # The sign of NaN is no part of the law.
    smallest = -largest
    smallest[np.isnan(smallest)] = np.nan
    equal(reference.min_pool(x, **parameters), smallest)


@drawn
@given(walks(words=True), st.data())
def test_averages_are_depthwise_convolutions(walk, data):
    shape, parameters = walk
    parameters["rounding"] = "floor"
    x = small(data.draw, shape)
    averages = runs(reference.avg_pool, x, divisor=4, **parameters)
    window = (parameters.pop("window"),) * (len(shape) - 2)
    stride = parameters.pop("stride") or window
    del parameters["rounding"]
    kernel = np.full((shape[1], 1, *window), 0.25)
    np.testing.assert_array_equal(averages, reference.conv(x, kernel, stride=stride, groups=shape[1], **parameters))


@drawn
@given(convolutions(words=False), st.data())
def test_convolution_commutes_with_shifts_by_the_stride(case, data):
    shape, kernel_shape, parameters = case
    stride = parameters["stride"]
    steps = stride if isinstance(stride, tuple) else (stride,) * (len(shape) - 2)
    x, kernel = small(data.draw, shape), small(data.draw, kernel_shape)
    expected = runs(reference.conv, x, kernel, **parameters)
    # Zeros put before every axis, a stride of them, move every window by one.
    moved = reference.conv(reference.pad(x, [(step, 0) for step in steps]), kernel, **parameters)
    inside = (slice(None), slice(None), *(slice(1, None) for _ in steps))
    np.testing.assert_array_equal(moved[inside], expected)


@drawn
@given(walks(words=False), st.data())
def test_pooling_commutes_with_turning_the_axes_round(walk, data):
    shape, parameters = walk
    x = small(data.draw, shape)
    axes = (0, 1, *reversed(range(2, len(shape))))
    turned = {name: value[::-1] if isinstance(value, (tuple, list)) else value for name, value in parameters.items()}
    for pool in (reference.max_pool, reference.avg_pool):
        np.testing.assert_array_equal(runs(pool, x, **parameters).transpose(axes), pool(x.transpose(axes), **turned))


@drawn
@given(walks(words=False), st.data())
def test_pooling_after_padding_is_pooling_with_padding(walk, data):
    """Pad with the operator's neutral element. Averages count the added cells."""
    shape, parameters = walk
    x = small(data.draw, shape)
    # Past the padded input nothing counts, before and after padding.
    parameters["rounding"] = data.draw(st.sampled_from(["floor", "full"]))
    padding = parameters.pop("padding")
    for pool, value, counted in (
        (reference.max_pool, -np.inf, {}),
        (reference.min_pool, np.inf, {}),
        (reference.avg_pool, 0, {"count_include_pad": True}),
    ):
        expected = runs(pool, x, padding=padding, **parameters, **counted)
        padded = reference.pad(x, padding, value=value)
        equal(pool(padded, padding="valid", **parameters, **counted), expected)


@drawn
@given(convolutions(words=False), st.data())
def test_convolution_after_padding_is_convolution_with_padding(case, data):
    shape, kernel_shape, parameters = case
    x, kernel = small(data.draw, shape), small(data.draw, kernel_shape)
    expected = runs(reference.conv, x, kernel, **parameters)
    padded = reference.pad(x, parameters.pop("padding"))
    np.testing.assert_array_equal(reference.conv(padded, kernel, padding="valid", **parameters), expected)


@drawn
@given(st.data(), st.sampled_from([np.float64, *NUMBERS]))
def test_a_window_of_one_cell_is_the_identity(data, dtype):
    rank = data.draw(st.integers(1, 3))
    size = data.draw(st.lists(st.integers(1, LARGEST_EXTENT[rank]), min_size=rank, max_size=rank))
    x = data.draw(arrays((2, 3, *size), np.dtype(dtype)))
    same = reference.pad(x, 0)
    for pool in (reference.max_pool, reference.min_pool):
        equal(pool(x, 1), same)
    # A sum turns −0 into +0, an average of one infinity is that infinity.
    averages = reference.avg_pool(x, 1)
    wide = np.float64 if dtype in FLOATS else dtype
    np.testing.assert_array_equal(averages.astype(wide), same.astype(wide))
    values, indices = reference.max_pool_with_indices(x, 1)
    equal(values, same)
    np.testing.assert_array_equal(indices, np.broadcast_to(np.arange(math.prod(size)).reshape(size), x.shape))


@pytest.mark.parametrize(("whole", "pool"), [("global_max_pool", "max_pool"), ("global_avg_pool", "avg_pool")])
def test_global_pooling_is_a_window_of_the_whole_extent(whole, pool):
    @drawn
    @given(st.data())
    def law(data):
        dtype = data.draw(st.sampled_from(NUMBERS))
        rank = data.draw(st.integers(1, 3))
        size = data.draw(st.lists(st.integers(1, LARGEST_EXTENT[rank]), min_size=rank, max_size=rank))
        x = data.draw(arrays((2, 2, *size), dtype))
        equal(getattr(reference, whole)(x), getattr(reference, pool)(x, size))
        equal(getattr(reference, "adaptive_" + pool)(x, 1), getattr(reference, whole)(x))

    law()


@pytest.mark.parametrize("pool", ["max_pool", "avg_pool"])
def test_adaptive_pooling_is_pooling_of_its_bins(pool):
    @drawn
    @given(st.data())
    def law(data):
        dtype = data.draw(st.sampled_from(NUMBERS))
        rank = data.draw(st.integers(1, 3))
        size = data.draw(st.lists(st.integers(1, 7), min_size=rank, max_size=rank))
        output = data.draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank))
        x = data.draw(arrays((1, 2, *size), dtype))
        got = getattr(reference, "adaptive_" + pool)(x, output)
        assert got.shape == (1, 2, *output)
        for position in np.ndindex(*output):
            bins = tuple(
                slice(math.floor(o * n / m), math.ceil((o + 1) * n / m))
                for o, n, m in zip(position, size, output, strict=True)
            )
            cells = x[(..., *bins)]
            expected = getattr(reference, pool)(cells, cells.shape[2:])
            equal(got[(..., *(slice(o, o + 1) for o in position))], expected)

    law()


@drawn
@given(convolutions(), st.data())
def test_transposed_convolution_is_the_adjoint_of_convolution(case, data):
    """⟨conv(x, k), y⟩ = ⟨x, conv_transpose(y, k)⟩, exactly, where the output padding makes the sizes meet."""
    shape, kernel_shape, parameters = case
    x, kernel = small(data.draw, shape), small(data.draw, kernel_shape)
    forward = runs(reference.conv, x, kernel, **parameters)
    y = small(data.draw, forward.shape)
    rank = len(shape) - 2
    windows = reference.Windows.of(
        shape[2:], kernel_shape[2:], parameters["stride"], parameters["padding"], parameters["dilation"]
    )
    left = [
        n - ((o - 1) * s + d * (w - 1) + 1 - sum(p))
        for n, o, s, d, w, p in zip(
            shape[2:], windows.output, windows.stride, windows.dilation, windows.window, windows.pads, strict=True
        )
    ]
    # Cells that no window reaches, unless output_padding replaces them.
    assume(all(0 <= more < max(s, d) for more, s, d in zip(left, windows.stride, windows.dilation, strict=True)))
    parameters["padding"] = list(windows.pads)
    backward = reference.conv_transpose(y, kernel, **parameters, output_padding=left if rank else 0)
    assert backward.shape == x.shape
    assert (forward * y).sum() == (x * backward).sum()


@drawn
@given(st.data())
def test_unpooling_puts_back_what_was_taken_where_windows_do_not_overlap(data):
    dtype = data.draw(st.sampled_from(NUMBERS))
    rank = data.draw(st.integers(1, 3))
    size = data.draw(st.lists(st.integers(1, 6), min_size=rank, max_size=rank))
    window = tuple(data.draw(st.integers(1, n)) for n in size)
    x = data.draw(arrays((2, 2, *size), dtype))
    values, indices = reference.max_pool_with_indices(x, window)
    back = reference.max_unpool(values, indices, size)
    kept = np.zeros((2, 2, math.prod(size)), bool)
    np.put_along_axis(kept, indices.reshape(2, 2, -1), True, -1)
    kept = kept.reshape(x.shape)
    equal(back[kept], reference.pad(x, 0)[kept])
    assert not back[~kept].any()
    # Pooling the unpooled values gives the same values and indices if they are positive.
    with np.errstate(invalid="ignore"):
        positive = np.nan_to_num(values.astype(np.float64)) > 0
    again, places = reference.max_pool_with_indices(back, window)
    equal(again[positive], values[positive])
    np.testing.assert_array_equal(places[positive], indices[positive])


@drawn
@given(poolings(NUMBERS))
def test_indices_point_at_the_largest_values(case):
    x, parameters = case
    values, indices = runs(reference.max_pool_with_indices, x, **parameters)
    equal(values, reference.max_pool(x, **parameters))
    planes = reference.pad(x, 0).reshape(*x.shape[:2], math.prod(x.shape[2:]))
    found = indices >= 0
    looked_up = np.take_along_axis(
        planes, np.maximum(indices, 0).reshape(*x.shape[:2], math.prod(indices.shape[2:])), -1
    ).reshape(values.shape)
    equal(looked_up[found], values[found])


@drawn
@given(st.data(), st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
def test_padding_then_cropping_is_the_identity(data, mode):
    dtype = data.draw(st.sampled_from(NUMBERS))
    rank = data.draw(st.integers(1, 3))
    size = data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    pads = data.draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=rank, max_size=rank))
    x = data.draw(arrays((1, 2, *size), dtype))
    padded = reference.pad(x, pads, mode=mode)
    equal(reference.pad(padded, [(-before, -after) for before, after in pads]), reference.pad(x, 0))


# Gradients are adjoints: ⟨f(x), g⟩ = ⟨x, f_grad(g)⟩ for a linear f, exactly on whole numbers.


@drawn
@given(walks(), st.booleans(), st.data())
def test_the_gradient_of_an_average_is_its_adjoint(walk, count_include_pad, data):
    shape, parameters = walk
    parameters.update(divisor=4, count_include_pad=count_include_pad)
    x = small(data.draw, shape)
    y = runs(reference.avg_pool, x, **parameters)
    g = small(data.draw, y.shape)
    assert (y * g).sum() == (x * reference.avg_pool_grad(g, x, **parameters)).sum()


@drawn
@given(convolutions(), st.data())
def test_the_gradients_of_a_convolution_are_its_adjoints(case, data):
    shape, kernel_shape, parameters = case
    x, kernel, bias = small(data.draw, shape), small(data.draw, kernel_shape), small(data.draw, kernel_shape[:1])
    y = runs(reference.conv, x, kernel, **parameters)
    g = small(data.draw, y.shape)
    x_grad, kernel_grad, bias_grad = reference.conv_grad(g, x, kernel, bias, **parameters)
    inner = (y * g).sum()
    assert inner == (x * x_grad).sum() == (kernel * kernel_grad).sum()
    np.testing.assert_array_equal(bias_grad, g.sum(axis=(0, *range(2, g.ndim))))


@drawn
@given(st.data(), st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
def test_the_gradient_of_padding_is_its_adjoint(data, mode):
    rank = data.draw(st.integers(1, 3))
    size = data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    pads = data.draw(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 9)), min_size=rank, max_size=rank))
    x = small(data.draw, (1, 2, *size))
    assume(mode == "constant" or all(n + min(before, 0) > 0 for n, (before, _) in zip(size, pads, strict=True)))
    y = reference.pad(x, pads, mode=mode)
    g = small(data.draw, y.shape)
    assert (y * g).sum() == (x * reference.pad_grad(g, x, pads, mode=mode)).sum()


@drawn
@given(walks(), st.sampled_from(["first", "last", "all", "split"]), st.data())
def test_the_gradient_of_a_maximum_gives_all_that_it_gets(walk, ties, data):
    """Σ x_grad = Σ g over the windows with a cell; more with "all", where each of equals is given the whole."""
    shape, parameters = walk
    # Differences of powers of two, so that shares are exact: at most four equals in a window.
    x = small(data.draw, shape, reach=1) if ties != "split" else np.arange(math.prod(shape)).reshape(shape) * 1.0
    y = runs(reference.max_pool, x, **parameters)
    g = small(data.draw, y.shape)
    got = reference.max_pool_grad(g, x, ties=ties, **parameters)
    whole = g[~np.isneginf(y)].sum()
    if ties == "all":
        # A window of k equals gives k times.
        equals = reference.max_pool_grad(np.ones_like(g), x, ties="all", **parameters)
        assert equals.sum() >= np.count_nonzero(~np.isneginf(y))
        return
    assert got.sum() == whole
