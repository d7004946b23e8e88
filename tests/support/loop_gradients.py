"""Independent implementation of the gradients, in loops and rational numbers, for comparison with the reference.

Shares no code with the reference. Each returns a dictionary of lists: the terms added to each cell of each input.
"""

# ruff: noqa: B905, PLR0124, PLR0917  (loops: a NaN differs from itself)

import functools
import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np

from tests.support import loop_reference
from tests.support.loop_reference import add, each_window, output_shape, product, rank_of, rational, real, rounded, walk


def collect(terms, shape, dtype):
    """Add what each cell was given, and round once."""
    y = np.zeros(shape, dtype)
    for index in np.ndindex(*shape):
        y[index] = rounded(add(terms.get(index, [])), dtype)
    return y


def share(number, divisor):
    number = rational(number)
    return number / divisor if isinstance(number, Fraction) else number


def windows_of(x, grad, axes):
    """Every window: its gradient, and the indices of its real cells in row-major order."""
    assert grad.shape == x.shape[:2] + output_shape(axes)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            yield grad[(n, c, *position)], [(n, c, *index) for _, index in real(cells)], len(cells)


def winners(x, indices, sign, ties, zeros=False):
    """Which of the cells are given the gradient of their window; zeros: whether −0 is less than +0."""
    if not indices:
        return []
    values = [x[index] for index in indices]
    ranks = [(1, 0, 0) if v != v else (0, sign * rank_of(v)[0], zeros and sign * rank_of(v)[1]) for v in values]
    best = [index for index, rank in zip(indices, ranks) if rank == max(ranks)]
    return {"first": best[:1], "last": best[-1:]}.get(ties, best)


def select(grad, x, axes, sign, ties, zeros=False):
    terms = defaultdict(list)
    for g, indices, _ in windows_of(x, grad, axes):
        chosen = winners(x, indices, sign, ties, zeros)
        for index in chosen:
            terms[index].append(share(g, len(chosen) if ties == "split" else 1))
    return collect(terms, x.shape, x.dtype)


def max_pool_with_indices_grad(grad, x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    return select(grad, x, walk(x.shape[2:], window, stride, padding, dilation, rounding), 1, "first", zeros=True)


def max_pool_grad(grad, x, window, stride=None, padding=0, dilation=1, rounding="floor", ties="first"):
    return select(grad, x, walk(x.shape[2:], window, stride, padding, dilation, rounding), 1, ties)


def min_pool_grad(grad, x, window, stride=None, padding=0, dilation=1, rounding="floor", ties="first"):
    return select(grad, x, walk(x.shape[2:], window, stride, padding, dilation, rounding), -1, ties)


def average(grad, x, axes, divisor):
    terms = defaultdict(list)
    for g, indices, cells in windows_of(x, grad, axes):
        for index in indices:
            terms[index].append(share(g, divisor(indices, cells)))
    return collect(terms, x.shape, x.dtype)


def avg_pool_grad(
    grad, x, window, stride=None, padding=0, dilation=1, rounding="floor", count_include_pad=False, divisor=None
):
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    return average(grad, x, axes, lambda real, cells: divisor or (cells if count_include_pad else len(real)))


def bins(size, output_size):
    """An axis as in loop_reference: bin o contains every cell that [o, o + 1) of the output overlaps."""
    cells = []
    for o in range(output_size):
        start, stop = Fraction(o * size, output_size), Fraction((o + 1) * size, output_size)
        cells.append([i for i in range(size) if start < i + 1 and i < stop])
    return [[(k, i) for k, i in enumerate(chosen)] for chosen in cells]


def adaptive_max_pool_grad(grad, x, output_size, ties="first"):
    return select(grad, x, [bins(*axis) for axis in zip(x.shape[2:], output_size)], 1, ties)


def adaptive_avg_pool_grad(grad, x, output_size):
    axes = [bins(*axis) for axis in zip(x.shape[2:], output_size)]
    return average(grad, x, axes, lambda real, _: len(real))


def global_max_pool_grad(grad, x, ties="first"):
    return adaptive_max_pool_grad(grad, x, (1,) * (x.ndim - 2), ties)


def global_avg_pool_grad(grad, x):
    return adaptive_avg_pool_grad(grad, x, (1,) * (x.ndim - 2))


def conv_grad(grad, x, kernel, bias=None, stride=1, padding=0, dilation=1, groups=1):
    axes = walk(x.shape[2:], kernel.shape[2:], stride, padding, dilation, "floor")
    if x.shape[1] % groups or kernel.shape[0] % groups or x.shape[1] // groups != kernel.shape[1]:
        raise loop_reference.Refused
    to_x, to_kernel, to_bias = defaultdict(list), defaultdict(list), defaultdict(list)
    per_group = kernel.shape[0] // groups
    for n, out in np.ndindex(x.shape[0], kernel.shape[0]):
        for position, cells in each_window(axes):
            g = rational(grad[(n, out, *position)])
            to_bias[(out,)].append(g)
            for (offset, index), c in itertools.product(real(cells), range(kernel.shape[1])):
                cell, weight = (n, out // per_group * kernel.shape[1] + c, *index), (out, c, *offset)
                to_x[cell].append(product(g, rational(kernel[weight])))
                to_kernel[weight].append(product(g, rational(x[cell])))
    given = [(to_x, x), (to_kernel, kernel)] + ([] if bias is None else [(to_bias, bias)])
    return tuple(collect(terms, array.shape, array.dtype) for terms, array in given)


def conv_transpose_grad(grad, x, kernel, bias=None, stride=1, padding=0, dilation=1, groups=1, output_padding=0):
    """Every product of the operator, by the position of its kernel: output_padding only adds cells with a bias."""
    del output_padding
    rank = x.ndim - 2
    stride, dilation = loop_reference.spread(stride, rank), loop_reference.spread(dilation, rank)
    before = [p if isinstance(p, int) else p[0] for p in loop_reference.spread(padding, rank)]
    to_x, to_kernel, to_bias = defaultdict(list), defaultdict(list), defaultdict(list)
    for (_, out, *_), g in np.ndenumerate(grad):
        to_bias[(out,)].append(rational(g))
    for (n, c, *cell), value in np.ndenumerate(x):
        for out, offset in itertools.product(range(kernel.shape[1]), np.ndindex(*kernel.shape[2:])):
            place = [i * s + k * d - b for i, s, k, d, b in zip(cell, stride, offset, dilation, before)]
            if all(0 <= p < size for p, size in zip(place, grad.shape[2:])):
                g = rational(grad[(n, c // (x.shape[1] // groups) * kernel.shape[1] + out, *place)])
                to_x[(n, c, *cell)].append(product(g, rational(kernel[(c, out, *offset)])))
                to_kernel[(c, out, *offset)].append(product(g, rational(value)))
    given = [(to_x, x), (to_kernel, kernel)] + ([] if bias is None else [(to_bias, bias)])
    return tuple(collect(terms, array.shape, array.dtype) for terms, array in given)


def pad_grad(grad, x, pads, mode="constant"):
    """Walks outwards from the crop, one cell after the other, as someone would who draws the padding."""
    pads = [(p, p) if isinstance(p, int) else tuple(p) for p in loop_reference.spread(pads, x.ndim - 2)]
    sources = [padded_axis(size, before, after, mode) for size, (before, after) in zip(x.shape[2:], pads)]
    terms = defaultdict(list)
    for (n, c, *place), g in np.ndenumerate(grad):
        index = tuple(source[p] for source, p in zip(sources, place))
        if None not in index:
            terms[(n, c, *index)].append(rational(g))
    return collect(terms, x.shape, x.dtype)


def padded_axis(size, before, after, mode):
    kept = list(range(size))[max(0, -before) : size - max(0, -after)]
    before, after = max(0, before), max(0, after)
    if mode == "constant":
        return [None] * before + kept + [None] * after
    if mode == "edge":
        return [kept[0]] * before + kept + [kept[-1]] * after
    there, back = {
        "wrap": (kept, []),
        "reflect": (kept, kept[-2:0:-1]),
        "symmetric": (kept, kept[::-1]),
    }[mode]
    period = there + back
    rightwards = list(itertools.islice(itertools.cycle(period), len(kept) + after))
    leftwards = list(itertools.islice(itertools.cycle(period[::-1]), before))
    return leftwards[::-1] + rightwards


def max_unpool_grad(grad, x, indices, output_size):
    assert grad.shape == (*x.shape[:2], *output_size)
    y = np.zeros(x.shape, x.dtype)
    for n, c in np.ndindex(*x.shape[:2]):
        owner = {}
        for cell in np.ndindex(*x.shape[2:]):
            owner[int(indices[(n, c, *cell)])] = cell
        for index, cell in owner.items():
            if index >= 0:
                y[(n, c, *cell)] = grad[n, c].ravel()[index]
    return y


def softmax_pool_grad(grad, x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    terms = defaultdict(list)
    for g, indices, _ in windows_of(x, grad, walk(x.shape[2:], window, stride, padding, dilation, rounding)):
        values = [rational(x[index]) for index in indices]
        if any(isinstance(number, float) for number in [*values, rational(g)]):
            slopes = [float("nan")] * len(values)
        else:
            slopes = [slope * rational(g) for slope in softmax_slopes(values)]
        for index, slope in zip(indices, slopes):
            terms[index].append(slope)
    return collect({index: [snapped(add(listed))] for index, listed in terms.items()}, x.shape, x.dtype)


# Beyond the digits of exp(−5000) times those of the least and the greatest float64.
BITS = 14_000
NEGLIGIBLE = 5000


def softmax_slopes(values):
    """p (1 + x − y) for each value, as a multiple of 2**-BITS; 0 for a value that has no weight."""
    top = max(values, default=0)
    weights = [exp_of_minus(top - value) if top - value <= NEGLIGIBLE else 0 for value in values]
    average = quotient(sum(w * (v - top) for w, v in zip(weights, values)), sum(weights)) if values else 0
    return [quotient(w, sum(weights)) * (1 + v - top - average) if w else Fraction(0) for w, v in zip(weights, values)]


def quotient(a, b):
    return Fraction((a * 2**BITS) // b, 2**BITS)


@functools.cache
def exp_of_minus(a):
    """exp(−a) · 2**BITS as an integer, from the series of exp(−a / 2**k), squared k times."""
    bits, halvings = BITS + 200, 60
    small = int(a * 2**bits) >> halvings
    term, total, k = 1 << bits, 1 << bits, 1
    while term:
        term = (term * small >> bits) // k
        total += -term if k % 2 else term
        k += 1
    for _ in range(halvings):
        total = total * total >> bits
    return total >> 200


def snapped(number):
    """The nearest multiple of 2**-1300, for a rational that differs from it only because its series was truncated."""
    if isinstance(number, float):
        return number
    near = Fraction(round(number * 2**1300), 2**1300)
    return near if abs(near - number) < Fraction(1, 2 ** (BITS - 2000)) else number


def lp_pool_grad(grad, x, window, stride=None, padding=0, dilation=1, rounding="floor", p=2):
    terms = defaultdict(list)
    for g, indices, _ in windows_of(x, grad, walk(x.shape[2:], window, stride, padding, dilation, rounding)):
        values = [rational(x[index]) for index in indices]
        for index, value in zip(indices, values):
            terms[index].append(product(rational(g), norm_slope(value, values, p)))
    return collect({index: [tied(listed)] for index, listed in terms.items()}, x.shape, x.dtype)


def norm_slope(value, values, p):
    """sign(x) (|x| / y)^(p − 1)."""
    if value == 0 or value != value or p == 1:
        nan = value != value or (p > 1 and any(v != v for v in values))
        return float("nan") if nan else Fraction((value > 0) - (value < 0))
    if any(v != v for v in values) or isinstance(value, float):
        return float("nan")
    if any(isinstance(v, float) for v in values):
        return Fraction(0)
    # With p = a / b and all values divided by the largest.
    (a, b), top = Fraction(p).as_integer_ratio(), max(map(abs, values))
    total = sum(root((abs(v) / top) ** a, b) for v in values)
    return (1 if value > 0 else -1) * root((abs(value) / top) ** (a - b), b) * root(1 / total ** (a - b), a)


ROOT_BITS = 12_000


@functools.cache
def root(number, degree):
    """The root of a rational to ROOT_BITS binary digits."""
    if number == 0:
        return Fraction(0)
    shift = max(0, ROOT_BITS - (number.numerator.bit_length() - number.denominator.bit_length()) // degree)
    scaled = (number.numerator << degree * shift) // number.denominator
    guess = 1 << -(-scaled.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + scaled // guess ** (degree - 1)) // degree
        if better >= guess:
            return Fraction(guess, 1 << shift)
        guess = better


def tied(terms):
    """Their sum, or the multiple of 2**-1200 that it does not differ from in 3,000 decimal digits of the largest."""
    number = add(terms)
    if isinstance(number, float):
        return number
    near = Fraction(round(number * 2**1200), 2**1200)
    return near if abs(near - number) * 10**3000 < max(map(abs, terms), default=0) else number


def fractional_max_pool_grad(grad, x, window, output_size, samples):
    terms = defaultdict(list)
    for (n, c, *position), g in np.ndenumerate(grad):
        ranges = []
        for axis, (i, size, w, m) in enumerate(zip(position, x.shape[2:], window, output_size)):
            u, alpha = Fraction(float(samples[n, c, axis])), Fraction(size - w, max(m - 1, 1))
            start = size - w if i == m - 1 else math.floor((i + u) * alpha) - math.floor(u * alpha)
            ranges.append(range(start, start + w))
        for index in winners(x, [(n, c, *cell) for cell in itertools.product(*ranges)], 1, "first"):
            terms[index].append(rational(g))
    return collect(terms, x.shape, x.dtype)


def stochastic_pool_grad(grad, x, window, draws, stride=None, padding=0, dilation=1, rounding="floor"):
    terms = defaultdict(list)
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    pairs = zip(windows_of(x, grad, axes), windows_of(x, draws, axes))
    for (g, indices, _), (draw, _, _) in pairs:
        values = [rational(x[index]) for index in indices]
        if any(isinstance(value, float) for value in values):
            continue
        sums = list(itertools.accumulate(values))
        drawn = [index for index, running in zip(indices, sums) if running > Fraction(float(draw)) * sums[-1]]
        for index in drawn[:1]:
            terms[index].append(rational(g))
    return collect(terms, x.shape, x.dtype)


def stochastic_pool_probabilities_grad(grad, x, window, stride=None, padding=0, dilation=1, rounding="floor"):
    terms = defaultdict(list)
    axes = walk(x.shape[2:], window, stride, padding, dilation, rounding)
    for n, c in np.ndindex(*x.shape[:2]):
        for position, cells in each_window(axes):
            found = [
                ((n, c, *index), rational(x[(n, c, *index)]), rational(grad[(n, c, *position, *offset)]))
                for offset, index in real(cells)
            ]
            special = any(isinstance(number, float) for _, *numbers in found for number in numbers)
            total = 0 if special else sum(value for _, value, _ in found)
            for index, *_ in found:
                if special:
                    terms[index].append(float("nan"))
                elif total:
                    terms[index].append(sum(h * ((i == index) * total - v) for i, v, h in found) / total**2)
    return collect(terms, x.shape, x.dtype)
