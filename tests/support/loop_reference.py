"""Independent implementation of the window operators, in loops and rational numbers, for comparison with the reference.

Shares no code with the reference, and no idea either where there are two: cells are listed one by one, output sizes
counted, exponentials summed from their series. Slow on purpose.
"""

# ruff: noqa: B905, PLR0124, PLR0917  (loops: a NaN differs from itself)

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np

FLOATS = tuple(map(np.dtype, ("float16", ml_dtypes.bfloat16, "float32", "float64")))


class Refused(Exception):
    """The parameters have no meaning."""


# Geometry: an axis is a list of windows, a window a list of (k, index), where index None is padding.


def axis_of(size, window, stride, padding, dilation, rounding):
    extent = dilation * (window - 1) + 1
    if padding in ("same_upper", "same_lower"):
        number = -(-size // stride)
        total = max(0, (number - 1) * stride + extent - size)
        before = total // 2 + (total % 2 if padding == "same_lower" else 0)
        after = total - before
        rounding = "floor"
    else:
        before, after = (0, 0) if padding == "valid" else padding
    cropped, end = max(0, -before), size - max(0, -after)
    before, size, after = max(0, before), end - cropped, max(0, after)
    padded = before + size + after
    if min(window, stride, dilation) < 1 or size < 0 or extent > padded:
        raise Refused
    starts = [start for start in range(0, padded, stride) if start + extent <= padded]
    left = padded - (starts[-1] + extent)
    start = starts[-1] + stride
    if left and (rounding == "full" or (rounding == "ceil" and start < before + size)):
        starts.append(start)
    return [cells_of(start, window, dilation, before, size, padded, cropped) for start in starts]


def cells_of(start, window, dilation, before, size, padded, cropped):
    cells = []
    for k in range(window):
        place = start + k * dilation
        if place < padded:
            cells.append((k, cropped + place - before if before <= place < before + size else None))
    return cells


def spread(value, rank):
    return [value] * rank if isinstance(value, (int, str)) else list(value)


def walk(size, window, stride, padding, dilation, rounding):
    rank = len(size)
    window = spread(window, rank)
    stride = window if stride is None else spread(stride, rank)
    padding = [(p, p) if isinstance(p, int) else p for p in spread(padding, rank)]
    dilation = spread(dilation, rank)
    return [axis_of(*axis, rounding) for axis in zip(size, window, stride, padding, dilation)]


def each_window(axes):
    for position in itertools.product(*(range(len(axis)) for axis in axes)):
        yield position, list(itertools.product(*(axis[o] for axis, o in zip(axes, position))))


def real(cells):
    """(k, index) of the cells inside the input."""
    for cell in cells:
        offset, index = tuple(k for k, _ in cell), tuple(i for _, i in cell)
        if None not in index:
            yield offset, index


def output_shape(axes):
    return tuple(len(axis) for axis in axes)


# Rounding: of the neighbours of a first guess the nearest, of two equally near the even one.


def nearest(number, dtype):
    if number == 0:
        return np.zeros((), dtype)
    with np.errstate(all="ignore"):
        try:
            guess = np.array(float(abs(number))).astype(dtype)
        except OverflowError:
            guess = np.array(np.inf).astype(dtype)
    bits = np.dtype(f"uint{8 * dtype.itemsize}")
    infinity = int(np.array(np.inf).astype(dtype).view(bits))
    here = int(guess.view(bits))
    candidates = [b for b in range(here - 2, here + 3) if 0 <= b <= infinity]

    def size(b):
        # Infinity takes the place of the next number.
        if b == infinity:
            return 2 * size(b - 1) - size(b - 2)
        return Fraction(float(np.array(b, bits).view(dtype)))

    best = min(candidates, key=lambda b: (abs(size(b) - abs(number)), b % 2))
    value = np.array(best, bits).view(dtype)
    return -value if number < 0 else value


def add(numbers):
    """Sum as IEEE arithmetic has it where something is not finite, and as a rational elsewhere."""
    special = [number for number in numbers if isinstance(number, float)]
    if not special:
        return sum(numbers, Fraction(0))
    return special[0] if len(set(special)) == 1 else float("nan")


def rational(number):
    number = float(number)
    return Fraction(number) if np.isfinite(number) else number


def rounded(number, dtype):
    return np.array(number).astype(dtype) if isinstance(number, float) else nearest(number, dtype)


# Operators.


def select(x, axes, better, worst):
    y = np.full(x.shape[:2] + output_shape(axes), worst, x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            best = None
            for _, index in real(cells):
                value = x[(n, c, *index)]
                if best is None or value != value or (best == best and better(value, best)):
                    best = value if value == value else np.array(np.nan).astype(x.dtype)
            if best is not None:
                y[(n, c, *position)] = best
    return y


def max_pool(x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    return select(x, axes, lambda a, b: rank_of(a) > rank_of(b), worst(x, False))


def min_pool(x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    return select(x, axes, lambda a, b: rank_of(a) < rank_of(b), worst(x, True))


def rank_of(a):
    """What to compare: −0 comes before +0."""
    return (float(a), not np.signbit(a)) if a.dtype in FLOATS else (int(a), False)


def worst(x, greatest):
    if x.dtype in FLOATS:
        return np.inf if greatest else -np.inf
    if x.dtype == bool:
        return greatest
    return np.iinfo(x.dtype).max if greatest else np.iinfo(x.dtype).min


def wrap(number, dtype):
    bits = 8 * dtype.itemsize
    number %= 2**bits
    return number - 2**bits if dtype.kind == "i" and number >= 2 ** (bits - 1) else number


def avg_pool(x, window, stride=None, padding=0, dilation=1, rounding="floor", count_include_pad=False, divisor=None):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    y = np.zeros(x.shape[:2] + output_shape(axes), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            values = [x[(n, c, *index)] for _, index in real(cells)]
            number = divisor or len(cells if count_include_pad else values)
            y[(n, c, *position)] = mean(values, number, x.dtype)
    return y


def mean(values, number, dtype):
    if dtype not in FLOATS:
        total = wrap(sum(map(int, values)), dtype)
        return wrap((abs(total) // number) * (-1 if total < 0 else 1), dtype) if number else 0
    if not number:
        return np.array(np.nan).astype(dtype)
    total = add(list(map(rational, values)))
    return rounded(total if isinstance(total, float) else total / number, dtype)


def softmax_pool(x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    y = np.zeros(x.shape[:2] + output_shape(axes), x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            values = [rational(x[(n, c, *index)]) for _, index in real(cells)]
            y[(n, c, *position)] = rounded(softmax_average(values), x.dtype)
    return y


def softmax_average(values):
    if not values or any(isinstance(value, float) for value in values):
        return float("nan")
    if len(set(values)) == 1:
        return values[0]
    top = max(values)
    weights = [exp_of_minus(top - value) for value in values]
    return sum(v * w for v, w in zip(values, weights)) / sum(weights)


DIGITS = 2600


def exp_of_minus(a):
    """exp(−a) to 2**-DIGITS and never 0, from the series of exp(−a / 2**k), squared k times."""
    if a > DIGITS:
        return Fraction(1, 2 ** (2 * DIGITS))
    one = 1 << (DIGITS + 200)
    halvings = 40
    small = int(a * one) >> halvings
    term, total, k = one, one, 1
    while term:
        term = (term * small >> (DIGITS + 200)) // k
        total += -term if k % 2 else term
        k += 1
    for _ in range(halvings):
        total = total * total >> (DIGITS + 200)
    return Fraction(max(total, 1), one)


def pad(x, pads, mode="constant", value=0):
    pads = [(p, p) if isinstance(p, int) else tuple(p) for p in spread(pads, x.ndim - 2)]
    kept = [range(max(0, -b), size - max(0, -a)) for size, (b, a) in zip(x.shape[2:], pads)]
    if any(max(0, -b) + max(0, -a) > size for size, (b, a) in zip(x.shape[2:], pads)):
        raise Refused
    if mode != "constant" and any(not k and max(b, a) > 0 for k, (b, a) in zip(kept, pads)):
        raise Refused
    y = np.empty(x.shape[:2] + tuple(len(k) + max(0, b) + max(0, a) for k, (b, a) in zip(kept, pads)), x.dtype)
    for index in np.ndindex(*y.shape):
        inner = [source(i - max(0, b), len(k), mode) for i, k, (b, _) in zip(index[2:], kept, pads)]
        cell = np.array(value).astype(x.dtype)
        if None not in inner:
            cell = x[index[:2] + tuple(k[i] for i, k in zip(inner, kept))]
        y[index] = cell if cell == cell else np.nan
    return y


def source(place, size, mode):
    """Walk from the nearest end of 0 … size - 1 to a position outside and return the cell that is copied there."""
    if 0 <= place < size:
        return place
    step = -1 if place < 0 else 1
    cell, steps = (0, -place) if place < 0 else (size - 1, place - size + 1)
    for _ in range(steps):
        inside = 0 <= cell + step < size
        if mode == "constant":
            return None
        if mode == "wrap":
            cell = (cell + step) % size
        elif mode == "symmetric" and not inside:
            step = -step
        elif mode == "reflect" and not inside:
            step = -step
            cell += step if size > 1 else 0
        elif inside:
            cell += step
    return cell


def conv(x, kernel, bias=None, stride=1, padding=0, dilation=1, groups=1):
    axes = walk(x.shape[2:], kernel.shape[2:], stride, padding, dilation, "floor")
    if x.shape[1] % groups or kernel.shape[0] % groups or x.shape[1] // groups != kernel.shape[1]:
        raise Refused
    y = np.zeros((x.shape[0], kernel.shape[0], *output_shape(axes)), x.dtype)
    per_group = kernel.shape[0] // groups
    for n, out in np.ndindex(*y.shape[:2]):
        first = out // per_group * kernel.shape[1]
        for position, cells in each_window(axes):
            terms = [] if bias is None else [bias[out]]
            factors = [
                (x[(n, first + c, *index)], kernel[(out, c, *offset)])
                for offset, index in real(cells)
                for c in range(kernel.shape[1])
            ]
            y[(n, out, *position)] = dot(factors, terms, x.dtype)
    return y


def dot(factors, terms, dtype):
    if dtype not in FLOATS:
        return wrap(sum(int(a) * int(b) for a, b in factors) + sum(map(int, terms)), dtype)
    products = [product(rational(a), rational(b)) for a, b in factors]
    return rounded(add(products + list(map(rational, terms))), dtype)


def product(a, b):
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    if a == 0 or b == 0 or a != a or b != b:
        return float("nan")
    return float("inf") if (a > 0) == (b > 0) else float("-inf")
