"""Independent implementation of further operators in loops and rational numbers; see loop_reference."""

# ruff: noqa: B905, PLR0124, PLR0917  (loops: a NaN differs from itself)

import itertools
import math
from fractions import Fraction

import numpy as np

from tests.support.loop_reference import (
    FLOATS,
    Refused,
    add,
    each_window,
    mean,
    output_shape,
    product,
    rank_of,
    rational,
    real,
    rounded,
    select,
    spread,
    walk,
    worst,
    wrap,
)

# Selections and their indices.


def max_pool_with_indices(x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    return select_with_indices(x, walk(x.shape[2:], window, stride, padding, dilation, rounding))


def select_with_indices(x, axes):
    places = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:])
    values, indices = select(x, axes, lambda a, b: rank_of(a) > rank_of(b), worst(x, False)), None
    indices = np.full(values.shape, -1, np.int64)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            found = [index for _, index in real(cells)]
            if found:
                indices[(n, c, *position)] = places[first_greatest([x[(n, c, *index)] for index in found], found)]
    return values, indices


def first_greatest(values, found):
    for value, index in zip(values, found):
        if value != value or all(rank_of(value) >= rank_of(other) for other in values):
            return index
    raise AssertionError


def max_unpool(x, indices, output_size):
    size = spread(output_size, x.ndim - 2)
    y = np.zeros((*x.shape[:2], *size), x.dtype)
    cells = list(np.ndindex(*size))
    for position in np.ndindex(*x.shape):
        index = int(indices[position])
        if index < -1 or index >= len(cells):
            raise Refused
        if index >= 0:
            y[position[:2] + cells[index]] = x[position]
    return y


# Bins.


def bins(size, output_size):
    size_of = [s if m is None else m for s, m in zip(size, as_list(output_size, len(size)))]
    return [[bin_of(o, s, m) for o in range(m)] for s, m in zip(size, size_of)]


def as_list(value, rank):
    return [value] * rank if value is None else spread(value, rank)


def bin_of(o, size, number):
    first, end = math.floor(Fraction(o * size, number)), math.ceil(Fraction((o + 1) * size, number))
    return list(enumerate(range(first, end)))


def adaptive_max_pool(x, output_size):
    return select_with_indices(x, bins(x.shape[2:], output_size))[0]


def adaptive_avg_pool(x, output_size):
    axes = bins(x.shape[2:], output_size)
    y = np.zeros(x.shape[:2] + output_shape(axes), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            values = [x[(n, c, *index)] for _, index in real(cells)]
            y[(n, c, *position)] = mean(values, len(values), x.dtype)
    return y


def global_max_pool(x):
    y = np.full((*x.shape[:2], *(1,) * (x.ndim - 2)), worst(x, False), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        values = list(x[n, c].ravel())
        if values:
            best = first_greatest(values, values)
            y[n, c] = best if best == best else np.nan
    return y


def global_avg_pool(x):
    y = np.zeros((*x.shape[:2], *(1,) * (x.ndim - 2)), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        y[n, c] = mean(list(x[n, c].ravel()), x[n, c].size, x.dtype)
    return y


# Norms: the nearest number is found by comparing Σ |v|^p with the p-th powers of half-way points.


def lp_pool(x, window, stride=None, padding=0, dilation=1, rounding="floor", p=2):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    y = np.zeros(x.shape[:2] + output_shape(axes), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            values = [abs(rational(x[(n, c, *index)])) for _, index in real(cells)]
            y[(n, c, *position)] = norm(values, Fraction(p), x.dtype)
    return y


def norm(values, p, dtype):
    if any(isinstance(value, float) for value in values):
        return math.nan if any(value != value for value in values) else math.inf
    if not any(values):
        return 0
    top = max(values)
    total = [sum(bounds) for bounds in zip(*(power(value / top, p) for value in values))]
    low, high = 0, infinity_of(dtype)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if compare(total, p, number_of(middle, dtype) / top) >= 0 else (low, middle)
    side = compare(total, p, (number_of(low, dtype) + number_of(low + 1, dtype)) / 2 / top)
    return from_bits(low + (side > 0 or (side == 0 and low % 2)), dtype)


def infinity_of(dtype):
    return int(np.array(np.inf).astype(dtype).view(f"u{dtype.itemsize}"))


def from_bits(bits, dtype):
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def number_of(bits, dtype):
    """The number with these bits; for infinity what would follow the greatest number."""
    if bits == infinity_of(dtype):
        return 2 * number_of(bits - 1, dtype) - number_of(bits - 2, dtype)
    return Fraction(float(from_bits(bits, dtype)))


def compare(total, p, number):
    """The sign of a sum, given both its bounds, minus number^p; for a p with the denominator 1 or 2."""
    (low, high), (least, most) = total, power(number, p)
    return (low > most) - (high < least)


# Enough to distinguish sums of half-integral powers, the largest of which is 1.
BITS = 12_000


def power(value, p):
    """Whole multiples of 2**-BITS on either side of value^p, equal if it is one."""
    if p.denominator == 1:
        return value**p.numerator, value**p.numerator
    square = value**p.numerator
    root = math.isqrt((square.numerator << 2 * BITS) // square.denominator)
    exact = Fraction(root, 1 << BITS) ** 2 == square
    return Fraction(root, 1 << BITS), Fraction(root + (not exact), 1 << BITS)


# Transposed convolution: every cell of x lays its kernel out.


def conv_transpose(x, kernel, bias=None, stride=1, padding=0, dilation=1, groups=1, output_padding=0):
    axes = [lay(*axis) for axis in transposed_axes(x, kernel, stride, padding, dilation, output_padding)]
    inputs, outputs = kernel.shape[0] // groups, kernel.shape[1]
    y = np.zeros((x.shape[0], outputs * groups, *(size for size, _ in axes)), x.dtype)
    for n, out, *position in np.ndindex(*y.shape):
        group = out // outputs
        met = itertools.product(*(laid[o] for o, (_, laid) in zip(position, axes)))
        factors = [
            (x[(n, c, *(i for i, _ in cell))], kernel[(c, out % outputs, *(k for _, k in cell))])
            for cell in met
            for c in range(group * inputs, (group + 1) * inputs)
        ]
        y[(n, out, *position)] = total_of(factors, [] if bias is None else [bias[out]], x.dtype)
    return y


def transposed_axes(x, kernel, stride, padding, dilation, output_padding):
    rank = x.ndim - 2
    paddings = [(p, p) if isinstance(p, int) else p for p in spread(padding, rank)]
    further = [spread(value, rank) for value in (stride, dilation, output_padding)]
    return zip(x.shape[2:], kernel.shape[2:], *further, paddings)


def lay(size, window, stride, dilation, more, padding):
    """The extent of an output axis, and for each of its cells the (i, k) that reach it."""
    extent = dilation * (window - 1) + 1
    length = (size - 1) * stride + extent
    if padding in ("same_upper", "same_lower"):
        length, taken = size * stride, max(extent - stride, 0)
        before = taken // 2 if padding == "same_upper" else taken - taken // 2
    else:
        before, after = (0, 0) if padding == "valid" else padding
        length += more - before - after
    if length < 0 or more >= max(stride, dilation) or (more and isinstance(padding, str) and padding != "valid"):
        raise Refused
    places = {(i, k): i * stride + k * dilation - before for i in range(size) for k in range(window)}
    return length, [[pair for pair, place in places.items() if place == o] for o in range(length)]


def total_of(factors, terms, dtype):
    if dtype not in FLOATS:
        return wrap(sum(int(a) * int(b) for a, b in factors) + sum(map(int, terms)), dtype)
    return rounded(add([product(rational(a), rational(b)) for a, b in factors] + list(map(rational, terms))), dtype)


# Random operators, for given samples.


def fractional_max_pool(x, window, output_size, samples):
    rank = x.ndim - 2
    windows, sizes = spread(window, rank), spread(output_size, rank)
    if any(w + m - 1 > size for w, m, size in zip(windows, sizes, x.shape[2:])):
        raise Refused
    y = np.zeros((*x.shape[:2], *sizes), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        axes = [regions(*axis) for axis in zip(x.shape[2:], windows, sizes, map(rational, samples[n, c]))]
        y[n, c] = select_with_indices(x[n : n + 1, c : c + 1], axes)[0][0, 0]
    return y


def regions(size, window, number, sample):
    starts = []
    for i in range(number):
        step = Fraction(size - window, max(number - 1, 1))
        starts.append(math.floor((i + sample) * step) - math.floor(sample * step))
    starts[-1] = size - window
    return [list(enumerate(range(start, start + window))) for start in starts]


def stochastic_pool_probabilities(x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    y = np.zeros((*x.shape[:2], *output_shape(axes), *spread(window, len(axes))), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            values = {offset: rational(x[(n, c, *index)]) for offset, index in real(cells)}
            total = add(list(values.values()))
            for offset, value in values.items():
                y[(n, c, *position, *offset)] = share(value, total, x.dtype)
    return y


def share(value, total, dtype):
    if isinstance(total, float):
        return 0 if total == total and value != total else math.nan
    return rounded(value / total, dtype) if total else 0


def stochastic_pool(x, window, draws, stride=None, padding=0, dilation=1, rounding="floor"):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    y = np.zeros((*x.shape[:2], *output_shape(axes)), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            values = [rational(x[(n, c, *index)]) for _, index in real(cells)]
            y[(n, c, *position)] = drawn(values, rational(draws[(n, c, *position)]))
    return y


def drawn(values, draw):
    total = add(values)
    if isinstance(total, float):
        return math.nan
    for k, value in enumerate(values):
        if sum(values[: k + 1]) > draw * total:
            return float(value)
    return 0
