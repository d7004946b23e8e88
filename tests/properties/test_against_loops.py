"""Compare every operator with a loop implementation in rational numbers, for random geometries, values and dtypes.

HYPOTHESIS_PROFILE=nightly draws 10,000 examples an operator in place of 50; brief, for mutants, 25.
"""

import os

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import reference
from tests.support import loop_reference

settings.register_profile("ordinary", max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("nightly", settings.get_profile("ordinary"), max_examples=10_000)
# Whether an example fails is all that matters to a mutant, not which one is the simplest.
settings.register_profile("brief", settings.get_profile("ordinary"), max_examples=25, phases=[Phase.generate])
drawn = settings(settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "ordinary")))

FLOATS = list(loop_reference.FLOATS)
INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
LARGEST_EXTENT = {1: 8, 2: 5, 3: 3}


def specials(dtype):
    info = ml_dtypes.finfo(dtype)
    finite = [0.0, 1.0, 1.0 + float(info.eps), float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    return [*finite, np.inf, np.nan]


def bits_of(dtype):
    return np.dtype(f"uint{8 * dtype.itemsize}")


def any_bits(rng, shape, dtype):
    return rng.integers(0, 2 ** (8 * dtype.itemsize), shape, bits_of(dtype)).view(dtype)


def neighbours(rng, shape, dtype):
    """Numbers a few units apart, whose averages are often half-way between two numbers."""
    start = np.array(rng.choice([1.0, 3.0, 2.0**-14, 0.0])).astype(dtype).view(bits_of(dtype))
    return (start + rng.integers(0, 4, shape, bits_of(dtype))).view(dtype)


FLOAT_STYLES = {
    "small": lambda rng, shape, dtype: rng.integers(-4, 5, shape).astype(dtype),
    "mantissa": lambda rng, shape, dtype: rng.uniform(-1, 1, shape).astype(dtype),
    "wide": lambda rng, shape, dtype: (rng.uniform(-1, 1, shape) * 2.0 ** rng.integers(-14, 15, shape)).astype(dtype),
    "any bits": any_bits,
    "neighbours": neighbours,
    "specials": lambda rng, shape, dtype: (rng.choice(specials(dtype), shape) * rng.choice([-1, 1], shape)).astype(
        dtype
    ),
    "extremes": lambda rng, shape, dtype: (rng.choice(specials(dtype)[:-2], shape) * rng.choice([-1, 1], shape)).astype(
        dtype
    ),
}
INTEGER_STYLES = {
    "small": lambda rng, shape, dtype: rng.integers(0, 5, shape).astype(dtype),
    "any bits": any_bits,
}


@st.composite
def arrays(draw, shape, dtype):
    styles = FLOAT_STYLES if dtype in FLOATS else INTEGER_STYLES
    make = styles[draw(st.sampled_from(sorted(styles)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    return make(rng, shape, dtype)


def per_axis(rank, least, greatest):
    number = st.integers(least, greatest)
    return st.one_of(number, st.lists(number, min_size=rank, max_size=rank).map(tuple))


def paddings(rank, least, greatest):
    number = st.integers(least, greatest)
    entry = st.one_of(number, st.tuples(number, number))
    return st.one_of(number, st.lists(entry, min_size=rank, max_size=rank))


@st.composite
def geometries(draw, window=None):
    """Parameters of a walk, and the spatial extents it is for."""
    rank = draw(st.integers(1, 3)) if window is None else len(window)
    size = tuple(draw(st.lists(st.integers(1, LARGEST_EXTENT[rank]), min_size=rank, max_size=rank)))
    words = st.sampled_from(["valid", "same_upper", "same_lower"])
    parameters = {
        "stride": draw(st.one_of(st.none(), per_axis(rank, 1, 4))),
        "padding": draw(st.one_of(st.just(0), paddings(rank, -2, 3), words)),
        "dilation": draw(st.one_of(st.just(1), per_axis(rank, 1, 2))),
    }
    return size, parameters


@st.composite
def poolings(draw, dtypes):
    dtype = draw(st.sampled_from(dtypes))
    size, parameters = draw(geometries())
    parameters["window"] = draw(per_axis(len(size), 1, 3))
    parameters["rounding"] = draw(st.sampled_from(["floor", "ceil", "full"]))
    planes = draw(st.sampled_from([(1, 1), (2, 3), (0, 1), (1, 0)]))
    return draw(arrays((*planes, *size), dtype)), parameters


def check(name, arrays, parameters):
    """The reference returns what the loops return, bit for bit, or both refuse."""
    try:
        with np.errstate(all="ignore"):
            expected = getattr(loop_reference, name)(*arrays, **parameters)
    except loop_reference.Refused:
        with pytest.raises(ValueError, match=r"exceeds the padded input|crops? more than|no input cell"):
            reference.OPERATORS[name](*arrays, **parameters)
        return
    exact = reference.OPERATORS[name](*arrays, **parameters)
    assert exact.value.dtype == expected.dtype
    assert exact.value.shape == expected.shape
    if expected.dtype in FLOATS:
        expected[np.isnan(expected)] = np.nan
    np.testing.assert_array_equal(bits(exact.value), bits(expected))
    assert all(part.shape == expected.shape for part in (exact.terms, exact.magnitude, exact.bound()))


def bits(x):
    """Return bits, which distinguish −0 from +0 and NaNs with different payloads."""
    return x.view(bits_of(x.dtype)) if x.dtype in FLOATS else x


@pytest.mark.parametrize("name", ["max_pool", "min_pool"])
def test_selections_equal_plain_loops(name):
    @drawn
    @given(poolings([*FLOATS, *INTEGERS, np.dtype(bool)]))
    def compare(case):
        check(name, [case[0]], case[1])

    compare()


@drawn
@given(poolings([*FLOATS, *FLOATS, *INTEGERS]), st.booleans(), st.one_of(st.none(), st.integers(1, 300)))
def test_averages_equal_plain_loops(case, count_include_pad, divisor):
    x, parameters = case
    check("avg_pool", [x], {**parameters, "count_include_pad": count_include_pad, "divisor": divisor})


@drawn
@given(poolings(FLOATS))
def test_softmax_averages_equal_plain_loops(case):
    check("softmax_pool", [case[0]], case[1])


@drawn
@given(st.data())
def test_padding_equals_plain_loops(data):
    rank = data.draw(st.integers(1, 3))
    dtype = data.draw(st.sampled_from([*FLOATS, *INTEGERS, np.dtype(bool)]))
    size = data.draw(st.lists(st.integers(0, 4), min_size=rank, max_size=rank))
    x = data.draw(arrays((2, 1, *size), dtype))
    mode = data.draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]))
    values = [0, 1, -2.5, 0.1, np.inf, np.nan] if dtype in FLOATS else [0, 1]
    value = data.draw(st.sampled_from(values)) if mode == "constant" else 0
    greatest = 9 if rank == 1 else 3
    check("pad", [x], {"pads": data.draw(paddings(rank, -2, greatest)), "mode": mode, "value": value})


@drawn
@given(st.data())
def test_convolutions_equal_plain_loops(data):
    dtype = data.draw(st.sampled_from([*FLOATS, *FLOATS, *INTEGERS]))
    groups, out, width = (data.draw(st.integers(1, 2)) for _ in range(3))
    rank = data.draw(st.integers(1, 3))
    window = tuple(data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    size, parameters = data.draw(geometries(window))
    parameters["stride"] = parameters["stride"] or 1
    x = data.draw(arrays((1, groups * width, *size), dtype))
    kernel = data.draw(arrays((groups * out, width, *window), dtype))
    bias = data.draw(st.one_of(st.none(), arrays((groups * out,), dtype)))
    check("conv", [x, kernel, bias], {**parameters, "groups": groups})
