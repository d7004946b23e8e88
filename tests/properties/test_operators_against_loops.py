"""Compare the remaining operators with loops in rational numbers, for random geometries, values and dtypes."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import reference
from tests.properties.test_against_loops import (
    FLOATS,
    INTEGERS,
    LARGEST_EXTENT,
    arrays,
    bits,
    drawn,
    paddings,
    per_axis,
    poolings,
)
from tests.support import loop_operators, loop_reference

EVERY = [*FLOATS, *INTEGERS, np.dtype(bool)]
NUMBERS = [*FLOATS, *FLOATS, *INTEGERS]
REFUSED = "exceeds the |cells: x has|crops more than|takes more than|has no place|must be less than the stride"


def check(name, arrays, parameters):
    """The reference returns what the loops return, bit for bit, or both refuse."""
    operator = reference.OPERATORS[name]
    try:
        with np.errstate(all="ignore"):
            expected = getattr(loop_operators, name)(*arrays, **parameters)
    except loop_reference.Refused:
        with pytest.raises(ValueError, match=REFUSED):
            operator(*arrays, **parameters)
        return
    several = isinstance(expected, tuple)
    results = operator(*arrays, **parameters) if several else [operator(*arrays, **parameters)]
    for exact, value in zip(results, expected if several else [expected], strict=True):
        assert_same(exact, value)


def assert_same(exact, expected):
    assert exact.value.dtype == expected.dtype
    assert exact.value.shape == expected.shape
    if expected.dtype in FLOATS:
        expected[np.isnan(expected)] = np.nan
    np.testing.assert_array_equal(bits(exact.value), bits(expected))
    assert all(part.shape == expected.shape for part in (exact.terms, exact.magnitude, exact.bound()))
    assert (exact.distance(exact.value) <= exact.bound()).all()


@drawn
@given(poolings(EVERY))
def test_maxima_and_their_indices_equal_plain_loops(case):
    check("max_pool_with_indices", [case[0]], case[1])


@drawn
@given(poolings(FLOATS), st.sampled_from([1, 2, 3, 4, 1.5, 2.5, 7, 16, 17, 20.5]))
def test_norms_equal_plain_loops(case, p):
    check("lp_pool", [case[0]], {**case[1], "p": p})


@st.composite
def images(draw, dtypes, least=0):
    rank = draw(st.integers(1, 3))
    size = draw(st.lists(st.integers(least, LARGEST_EXTENT[rank]), min_size=rank, max_size=rank))
    planes = draw(st.sampled_from([(1, 1), (2, 3), (0, 1), (1, 0)]))
    return draw(arrays((*planes, *size), draw(st.sampled_from(dtypes))))


@drawn
@given(st.data())
def test_values_put_back_equal_plain_loops(data):
    x = data.draw(images(EVERY))
    output_size = data.draw(per_axis(x.ndim - 2, 1, 4))
    cells = int(np.prod(np.broadcast_to(output_size, x.ndim - 2)))
    indices = data.draw(st.lists(st.integers(-1, cells - 1), min_size=x.size, max_size=x.size))
    kind = data.draw(st.sampled_from(["int8", "int64"]))
    check("max_unpool", [x, np.array(indices, kind).reshape(x.shape)], {"output_size": output_size})


@pytest.mark.parametrize(("name", "dtypes"), [("adaptive_max_pool", EVERY), ("adaptive_avg_pool", NUMBERS)])
def test_bins_equal_plain_loops(name, dtypes):
    @drawn
    @given(st.data())
    def compare(data):
        x = data.draw(images(dtypes))
        entry = st.one_of(st.none(), st.integers(1, 9 if x.ndim == 3 else 4))
        sizes = st.lists(entry, min_size=x.ndim - 2, max_size=x.ndim - 2).map(tuple)
        check(name, [x], {"output_size": data.draw(st.one_of(entry, sizes))})

    compare()


@pytest.mark.parametrize(("name", "dtypes"), [("global_max_pool", EVERY), ("global_avg_pool", NUMBERS)])
def test_whole_planes_equal_plain_loops(name, dtypes):
    @drawn
    @given(images(dtypes))
    def compare(x):
        check(name, [x], {})

    compare()


@drawn
@given(st.data())
def test_transposed_convolutions_equal_plain_loops(data):
    dtype = data.draw(st.sampled_from(NUMBERS))
    groups, out, width = (data.draw(st.integers(1, 2)) for _ in range(3))
    rank = data.draw(st.integers(1, 3))
    size, window = (data.draw(st.lists(st.integers(1, 5 - rank), min_size=rank, max_size=rank)) for _ in range(2))
    words = st.sampled_from(["valid", "same_upper", "same_lower"])
    parameters = {
        "stride": data.draw(per_axis(rank, 1, 3)),
        "padding": data.draw(st.one_of(st.just(0), paddings(rank, -2, 3), words)),
        "dilation": data.draw(st.one_of(st.just(1), per_axis(rank, 1, 2))),
        "output_padding": data.draw(st.one_of(st.just(0), per_axis(rank, 0, 2))),
        "groups": groups,
    }
    x = data.draw(arrays((1, groups * width, *size), dtype))
    kernel = data.draw(arrays((groups * width, out, *window), dtype))
    bias = data.draw(st.one_of(st.none(), arrays((groups * out,), dtype)))
    check("conv_transpose", [x, kernel, bias], parameters)


SHARES = st.one_of(st.floats(0, 1, exclude_max=True), st.sampled_from([0.0, 0.5, 0.25, 0.75, 1 - 2.0**-53]))


@drawn
@given(st.data())
def test_fractional_maxima_equal_plain_loops(data):
    x = data.draw(images(EVERY, least=1))
    rank = x.ndim - 2
    samples = data.draw(st.lists(SHARES, min_size=6 * rank, max_size=6 * rank))
    samples = np.resize(np.array(samples), (*x.shape[:2], rank))
    parameters = {"window": data.draw(per_axis(rank, 1, 3)), "output_size": data.draw(per_axis(rank, 1, 4))}
    check("fractional_max_pool", [x], {**parameters, "samples": samples})


@drawn
@given(poolings(FLOATS))
def test_probabilities_equal_plain_loops(case):
    x, parameters = case
    check("stochastic_pool_probabilities", [np.abs(x)], parameters)


@drawn
@given(poolings(FLOATS), st.lists(SHARES, min_size=1, max_size=20), st.sampled_from(["float64", "float32"]))
def test_drawn_values_equal_plain_loops(case, draws, kind):
    x, parameters = case
    try:
        shape = loop_reference.max_pool(x, **parameters).shape
    except loop_reference.Refused:
        shape = x.shape
    draws = np.resize(np.array(draws), shape)
    draws = np.minimum(draws, 1 - 2.0**-24).astype(kind)
    check("stochastic_pool", [np.abs(x)], {**parameters, "draws": draws})
