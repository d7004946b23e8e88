"""The laws of the further operators, for drawn geometries and values: no expected value, only what must be equal.

HYPOTHESIS_PROFILE=nightly draws 10,000 examples per relation instead of 50 (see test_against_loops).
"""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import reference
from reference.geometry import blocks
from reference.geometry.bins import Bins
from reference.operators import padding, stochastic_pooling
from tests.properties.test_against_loops import FLOATS, arrays, bits, drawn
from tests.properties.test_laws import NUMBERS, equal, runs, small, walks


def generator(draw):
    return np.random.default_rng(draw(st.integers(0, 2**32)))


# Fractional maximum pooling.


@st.composite
def fractions(draw, planes=(1, 2)):
    """(shape of x, window, output size, samples), of two windows an axis or more."""
    rank = draw(st.integers(1, 3))
    window, output = (draw(st.lists(st.integers(1 + k, 3), min_size=rank, max_size=rank)) for k in range(2))
    slack = [draw(st.integers(m - 1, 3 * (m - 1) + 1)) for m in output]
    size = [w + more for w, more in zip(window, slack, strict=True)]
    return (*planes, *size), tuple(window), tuple(output), generator(draw).random((*planes, rank))


def ends(case):
    """The last cell of each window along each axis, from planes in which every cell contains its own index."""
    shape, window, output, samples = case
    places = np.indices(shape[2:])
    return [
        reference.fractional_max_pool(np.broadcast_to(along, shape), window, output, samples).astype(int)
        for along in places
    ]


@drawn
@given(fractions(), st.data())
def test_fractional_maxima_are_the_maxima_of_the_windows_that_the_samples_place(case, data):
    shape, window, output, samples = case
    x = data.draw(arrays(shape, data.draw(st.sampled_from(NUMBERS))))
    got, last = reference.fractional_max_pool(x, window, output, samples), np.stack(ends(case), -1)
    cells = [
        x[position[:2]][tuple(slice(end + 1 - w, end + 1) for end, w in zip(last[position], window, strict=True))]
        for position in np.ndindex(got.shape)
    ]
    equal(got.reshape(-1, 1, *(1,) * len(window)), reference.max_pool(np.stack(cells)[:, None], window))


@drawn
@given(fractions())
def test_fractional_windows_run_from_end_to_end_in_steps_of_the_whole_numbers_beside_the_ratio(case):
    shape, window, output, _ = case
    for axis, (last, n, w, m) in enumerate(zip(ends(case), shape[2:], window, output, strict=True)):
        ratio, along = Fraction(n - w, m - 1), np.moveaxis(last, 2 + axis, 0)
        assert (along[0] == w - 1).all()
        assert (along[-1] == n - 1).all()
        assert set(np.diff(along, axis=0).ravel().tolist()) <= {math.floor(ratio), math.ceil(ratio)}


@drawn
@given(fractions(), st.data())
def test_a_fractional_pooling_whose_ratio_is_whole_is_pooling_with_that_stride(case, data):
    shape, window, output, samples = case
    stride = tuple(data.draw(st.integers(1, 3)) for _ in window)
    size = [w + (m - 1) * s for w, m, s in zip(window, output, stride, strict=True)]
    x = data.draw(arrays((*shape[:2], *size), data.draw(st.sampled_from(NUMBERS))))
    equal(reference.fractional_max_pool(x, window, output, samples), reference.max_pool(x, window, stride=stride))


@drawn
@given(st.integers(1, 5), st.integers(1, 16), st.integers(1, 3), st.data())
def test_samples_a_period_apart_place_the_same_windows(exponent, gaps, window, data):
    """The period is that which moves (i + u)·α by 1: 1 / α, here a binary fraction, so that both samples are exact."""
    slack = 2**exponent
    assume(gaps < slack)
    period = gaps / slack
    sample = data.draw(st.integers(0, 2**20 - 1)) / 2**20 * (1 - period)
    x = data.draw(arrays((1, 1, slack + window), np.dtype(np.int64)))
    first, second = (
        reference.fractional_max_pool(x, window, gaps + 1, np.full((1, 1, 1), u)) for u in (sample, sample + period)
    )
    equal(first, second)


@drawn
@given(fractions(planes=(1, 3)), st.data())
def test_fractional_pooling_commutes_with_permuting_the_planes(case, data):
    shape, window, output, samples = case
    x = data.draw(arrays(shape, data.draw(st.sampled_from(NUMBERS))))
    order = data.draw(st.permutations(range(3)))
    got = reference.fractional_max_pool(x[:, order], window, output, samples[:, order])
    equal(got, reference.fractional_max_pool(x, window, output, samples)[:, order])


# Stochastic pooling.


def activations(x):
    """Turn numbers into activations: finite and non-negative."""
    with np.errstate(all="ignore"):
        x = np.abs(x)
        return np.where(np.isfinite(x), x, np.array(1, x.dtype))


@st.composite
def chances(draw, planes=(1, 1)):
    """(activations, parameters of a pooling)."""
    shape, parameters = draw(walks())
    dtype = draw(st.sampled_from(FLOATS))
    return activations(draw(arrays((*planes, *shape[2:]), dtype))), parameters


def half_unit(number):
    """Half the distance from a number to the next one: what one rounding moves it at most."""
    info = ml_dtypes.finfo(number.dtype)
    exponent = math.frexp(float(number))[1] - 1
    return max(Fraction(2) ** exponent * Fraction(float(info.eps)), Fraction(float(info.smallest_subnormal))) / 2


@drawn
@given(chances())
def test_the_probabilities_of_a_window_add_up_to_one_but_for_their_roundings(case):
    x, parameters = case
    got = runs(reference.stochastic_pool_probabilities, x, **parameters)
    rank = x.ndim - 2
    # A sum beyond float64 is drawn from too: all that is finite has probabilities.
    largest = reference.max_pool(x, **parameters)
    for position in np.ndindex(largest.shape):
        cells = got[position].ravel()
        assert cells.size == math.prod(got.shape[-rank:])
        total = sum(Fraction(float(cell)) for cell in cells)
        if largest[position] > 0:
            assert abs(total - 1) <= sum(map(half_unit, cells))
        else:
            assert total == 0


@drawn
@given(chances(), st.data())
def test_what_is_drawn_is_a_cell_of_its_window(case, data):
    x, parameters = case
    windows = runs(reference.Windows.of, x.shape[2:], **parameters)
    draws = generator(data.draw).random((*x.shape[:2], *windows.output))
    got = reference.stochastic_pool(x, draws=draws, **parameters)
    for position in np.ndindex(got.shape):
        cells = bits(x[position[:2]][windows.inside(position[2:])[1]]).ravel().tolist()
        assert bits(got)[position] in (cells if got[position] else [0])


@drawn
@given(chances())
def test_a_draw_of_zero_selects_the_first_cell_with_an_activation(case):
    x, parameters = case
    windows = runs(reference.Windows.of, x.shape[2:], **parameters)
    got = reference.stochastic_pool(x, draws=np.zeros((*x.shape[:2], *windows.output)), **parameters)
    for position in np.ndindex(got.shape):
        cells = x[position[:2]][windows.inside(position[2:])[1]].ravel()
        assert got[position] == next(iter(cells[cells > 0]), 0)


@drawn
@given(st.data(), st.integers(1, 3))
def test_draws_on_a_grid_select_each_cell_as_often_as_its_probability_says(data, rank):
    """Of N evenly spaced draws those below a share a are ⌈aN⌉, so a cell is off by less than one draw."""
    window = tuple(data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    # No duplicate values, so that a value identifies its cell.
    cells = generator(data.draw).permutation(math.prod(window)).astype(data.draw(st.sampled_from(FLOATS)))
    grid = np.arange(64) / 64
    x = np.broadcast_to(cells.reshape(window), (len(grid), 1, *window))
    got = reference.stochastic_pool(x, window, grid.reshape(-1, 1, *(1,) * rank)).astype(float)
    probabilities = reference.stochastic_pool_probabilities(x[:1].astype(np.float64), window).ravel()
    for cell, probability in zip(cells.astype(float), probabilities, strict=True):
        often = np.count_nonzero(got == cell) if cells.any() else 0
        assert abs(often - probability * len(grid)) < 1


@drawn
@given(chances(planes=(1, 3)), st.data())
def test_stochastic_pooling_commutes_with_permuting_the_planes(case, data):
    x, parameters = case
    windows = runs(reference.Windows.of, x.shape[2:], **parameters)
    draws, order = generator(data.draw).random((1, 3, *windows.output)), data.draw(st.permutations(range(3)))
    got = reference.stochastic_pool(x[:, order], draws=draws[:, order], **parameters)
    equal(got, reference.stochastic_pool(x, draws=draws, **parameters)[:, order])
    shares = reference.stochastic_pool_probabilities(x[:, order], **parameters)
    equal(shares, reference.stochastic_pool_probabilities(x, **parameters)[:, order])


@drawn
@given(walks(), st.integers(-20, 20), st.data())
def test_a_common_factor_has_no_part_in_the_probabilities(walk, exponent, data):
    shape, parameters = walk
    x = np.abs(small(data.draw, shape))
    scaled = x * 2.0**exponent
    shares = runs(reference.stochastic_pool_probabilities, x, **parameters)
    equal(reference.stochastic_pool_probabilities(scaled, **parameters), shares)
    draws = generator(data.draw).random(shares.shape[: len(shape)])
    got = reference.stochastic_pool(scaled, draws=draws, **parameters)
    equal(got, reference.stochastic_pool(x, draws=draws, **parameters) * 2.0**exponent)


# Softmax pooling.


@drawn
@given(walks(), st.data())
def test_a_softmax_average_lies_between_the_average_and_the_maximum(walk, data):
    """Larger values have larger weights, and rounding preserves the order."""
    shape, parameters = walk
    x = small(data.draw, (1, 1, *shape[2:]), np.dtype(data.draw(st.sampled_from([np.float32, np.float64]))))
    got = runs(reference.softmax_pool, x, **parameters)
    real = reference.max_pool(x, **parameters) > -np.inf
    assert (reference.avg_pool(x, **parameters)[real] <= got[real]).all()
    assert (got[real] <= reference.max_pool(x, **parameters)[real]).all()
    assert np.isnan(got[~real]).all()


# Unpooling.


@drawn
@given(st.data(), st.integers(1, 3))
def test_unpooling_puts_each_value_at_its_index_in_whatever_order_they_come(data, rank):
    """Where no two of a plane have one index; some have −1."""
    size = data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    cells, rng = math.prod(size), generator(data.draw)
    taken = data.draw(st.integers(1, cells))
    indices = np.stack([rng.permutation(cells)[:taken] for _ in range(4)]).reshape(2, 2, taken)
    indices[rng.random(indices.shape) < 0.2] = -1
    x = data.draw(arrays(indices.shape, data.draw(st.sampled_from(NUMBERS))))

    def planes(order):
        shape = (2, 2, taken, *(1,) * (rank - 1))
        got = reference.max_unpool(x[..., order].reshape(shape), indices[..., order].reshape(shape), size)
        return got.reshape(2, 2, cells)

    got, kept = planes(slice(None)), indices >= 0
    equal(planes(rng.permutation(taken)), got)
    equal(np.take_along_axis(got, np.maximum(indices, 0), -1)[kept], reference.pad(x, 0)[kept])
    assert np.count_nonzero(bits(got)) == np.count_nonzero(bits(x)[kept])


# Adaptive pooling.


@pytest.mark.parametrize("pool", ["max_pool", "avg_pool"])
def test_adaptive_pooling_to_a_divisor_of_the_extent_is_pooling_with_their_quotient(pool):
    @drawn
    @given(st.data(), st.integers(1, 3), st.sampled_from(NUMBERS))
    def law(data, rank, dtype):
        output, window = (data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)) for _ in range(2))
        x = data.draw(arrays((2, 2, *(m * w for m, w in zip(output, window, strict=True))), dtype))
        equal(getattr(reference, "adaptive_" + pool)(x, output), getattr(reference, pool)(x, tuple(window)))

    law()


# Blocks: small blocks give the same result as one block.

MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


def fractionally(x, rng):
    output = [max(n // 2, 1) for n in x.shape[2:]]
    return reference.fractional_max_pool(x, 2, output, rng.random((*x.shape[:2], x.ndim - 2)))


def stochastically(x, rng):
    output = reference.Windows.of(x.shape[2:], 2, 1).output
    return reference.stochastic_pool(abs(x), 2, rng.random((*x.shape[:2], *output)), stride=1)


IN_BLOCKS = {
    **{f"adaptive_max_pool to {m}": lambda x, _, m=m: reference.adaptive_max_pool(x, m) for m in (1, 2, 4, 7)},
    **{f"adaptive_avg_pool to {m}": lambda x, _, m=m: reference.adaptive_avg_pool(x, m) for m in (1, 2, 4, 7)},
    **{f"pad {mode}": lambda x, _, mode=mode: reference.pad(x, 8, mode=mode) for mode in MODES},
    "fractional_max_pool": fractionally,
    "stochastic_pool": stochastically,
    "softmax_pool": lambda x, _: reference.softmax_pool(x, 2, stride=2, padding=1),
}


@pytest.mark.parametrize("size", [(9,), (7, 5), (4, 3, 5)])
@pytest.mark.parametrize("name", IN_BLOCKS)
def test_small_blocks_change_nothing(name, size, monkeypatch):
    x = np.random.default_rng(3).integers(-9, 9, (2, 3, *size)).astype(np.float32)
    at_once = IN_BLOCKS[name](x, np.random.default_rng(4))
    for module in (blocks, padding, stochastic_pooling):
        monkeypatch.setattr(module, "BLOCK_BYTES", 64)
    equal(IN_BLOCKS[name](x, np.random.default_rng(4)), at_once)


@drawn
@given(st.integers(0, 20), st.integers(1, 20), st.data())
def test_some_rows_of_bins_are_those_of_all(size, bins, data):
    whole = Bins.of((size,), bins)
    first = data.draw(st.integers(0, bins - 1))
    rows = slice(first, data.draw(st.integers(first + 1, bins)))
    inputs, part = whole.rows(rows)
    assert part.output == (rows.stop - rows.start,)
    np.testing.assert_array_equal(part.counts(False), whole.counts(False)[rows])
    walked = [[] for _ in range(bins)]
    for _, (cells,), (outputs,) in part.cells():
        for cell, o in zip(np.arange(size)[inputs][cells], np.arange(bins)[rows][outputs], strict=True):
            walked[o].append(cell)
    for o in range(rows.start, rows.stop):
        (cells,) = whole.inside((o,))[1]
        assert sorted(walked[o]) == list(range(cells.start, cells.stop))
