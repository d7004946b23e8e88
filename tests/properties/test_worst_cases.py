"""Hard cases for correct rounding: results half-way between two numbers, or slightly off, near both ends of a type.

Expected results come from rational numbers, rounded once, from comparisons of integer powers, or from 1,500 decimal
digits;
nothing but round_to comes from the reference. Each input is given alone and among others of all sizes, as the widest
numbers of an array decide how exact sums are cut.
"""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.support.evaluation_orders import FLOATS
from tests.support.nightly import NIGHTLY
from tests.support.operators_as_sums import AVERAGES, DIVISOR_OF_CELLS, DOTS, FIXED_DIVISOR, ONE_TERM

CASES = 400 if NIGHTLY else 8
DIGITS = Context(prec=1500, Emax=10**9, Emin=-(10**9))


class Type:
    """The properties of a floating type that the cases need, as rationals."""

    def __init__(self, dtype):
        info = ml_dtypes.finfo(dtype)
        self.dtype, self.digits = np.dtype(dtype), info.nmant + 1
        self.least = Fraction(float(info.smallest_subnormal))
        self.normal, self.greatest = Fraction(float(info.tiny)), Fraction(float(info.max))
        self.exponents = [math.frexp(float(info.tiny))[1] - 1, math.frexp(float(info.max))[1] - 1]

    def near(self, rng):
        """An exponent near one end of the type, or near 1."""
        low, high = self.exponents
        return int(rng.choice([low + rng.integers(-self.digits, 3), rng.integers(-2, 3), high - rng.integers(0, 3)]))

    def between(self, rng):
        """A number half-way between two neighbours, one of them perhaps a power of two."""
        exponent = self.near(rng)
        step = max(Fraction(2) ** (exponent - self.digits + 1), self.least)
        steps = max(int(Fraction(2) ** exponent / step), 1)
        k = int(rng.choice([0, 1, rng.integers(0, steps), steps - 1]))
        return (steps + min(k, steps - 1) + Fraction(1, 2)) * step

    def tiny(self, rng):
        """Nothing, or what breaks a tie: the least number, or one far below others."""
        sign = int(rng.choice([-1, 1]))
        return rng.choice([0, 0, 1, 2, 3]) and sign * self.least * int(rng.choice([1, 1, 3]))

    def parts(self, total, most=4):
        """At most `count` numbers of the type that add up to a rational, the largest first.

        None if that is impossible.
        """
        found = []
        while total and len(found) < most:
            part = max(min(total, self.greatest), -self.greatest)
            part = Fraction(float(reference.round_to(part, self.dtype)))
            if not part:
                return None
            found.append(part)
            total -= part
        return None if total else found

    def holds(self, number):
        return abs(number) <= self.greatest and Fraction(float(reference.round_to(number, self.dtype))) == number

    def array(self, numbers):
        return np.array([float(number) for number in numbers]).astype(self.dtype)

    def rounded(self, numbers):
        return np.array([reference.round_to(Fraction(number), self.dtype) for number in numbers])


TYPES = [Type(dtype) for dtype in FLOATS]
EACH_TYPE = pytest.mark.parametrize("form", TYPES, ids=lambda form: str(form.dtype))
DIVISORS = [1, 2, 3, 6, 7, 9, 4095, 3 * 2**20, 2**31 - 1]


def same(got, expected):
    """Return whether two arrays have the same bits."""
    return np.asarray(got).ravel().tobytes() == np.asarray(expected).ravel().tobytes()


def quotients(form, rng, divisor, n):
    """n numbers whose sum, divided, is half-way between two numbers, or slightly off."""
    for _ in range(1000):
        sign = int(rng.choice([-1, 1]))
        parts = form.parts(sign * form.between(rng) * divisor, n - 3)
        if parts is None:
            continue
        tiny, far = form.tiny(rng), form.greatest * int(rng.choice([0, 0, 1]))
        cells = [*parts, tiny, far, -far, *[Fraction(0)] * (n - 3 - len(parts))]
        return [cells[i] for i in rng.permutation(n)]
    raise ValueError(f"no {n} numbers of {form.dtype} over {divisor}")


def attack_alone_and_together(form, windows, operator, expected):
    """operator: from (windows, n) of the type to as many results."""
    x = np.stack([form.array(cells) for cells in windows])
    right = form.rounded(expected)
    for one, value in zip(x, right, strict=True):
        assert same(operator(one[None]), value), (one.tolist(), operator(one[None]), value)
    assert same(operator(x), right)


FREE = sorted(set(AVERAGES) - FIXED_DIVISOR - DIVISOR_OF_CELLS)


@EACH_TYPE
@pytest.mark.parametrize("operator", FREE)
@pytest.mark.parametrize("divisor", DIVISORS)
def test_averages_half_way_between_two_numbers_round_once(form, divisor, operator):
    rng = np.random.default_rng(divisor)
    windows = [quotients(form, rng, divisor, 12) for _ in range(CASES)]
    expected = [sum(cells) / divisor for cells in windows]
    attack_alone_and_together(form, windows, lambda x: AVERAGES[operator](x, divisor).value, expected)


@EACH_TYPE
@pytest.mark.parametrize("operator", sorted(DIVISOR_OF_CELLS - ONE_TERM))
@pytest.mark.parametrize("divisor", [3, 7, 12])
def test_shares_half_way_between_two_numbers_round_once(form, divisor, operator):
    rng = np.random.default_rng(divisor)
    windows = [quotients(form, rng, divisor, 12) for _ in range(CASES // 4)]
    expected = [sum(cells) / divisor for cells in windows]

    def first_cells(x):
        return AVERAGES[operator](x, divisor).value.reshape(len(x), divisor)[:, 0]

    attack_alone_and_together(form, windows, first_cells, expected)


@EACH_TYPE
@pytest.mark.parametrize("operator", sorted(FIXED_DIVISOR))
@pytest.mark.parametrize("n", [5, 6, 7, 12])
def test_averages_of_planes_half_way_between_two_numbers_round_once(form, n, operator):
    rng = np.random.default_rng(n)
    windows = [quotients(form, rng, n, n) for _ in range(CASES)]
    attack_alone_and_together(
        form, windows, lambda x: AVERAGES[operator](x, n).value, [sum(cells) / n for cells in windows]
    )


@EACH_TYPE
@pytest.mark.parametrize("operator", sorted(ONE_TERM))
def test_one_number_divided_half_way_between_two_rounds_once(form, operator):
    """Halves of the least numbers are half-way; of thirds and others the nearest number decides."""
    for divisor in (2, 3, 5, 7, 8, 48):
        cells = [k * form.least for k in (1, 3, 5, 7, 2**form.digits - 1)] + [form.normal, form.greatest]
        got = AVERAGES[operator](form.array(cells)[:, None], divisor).value.reshape(len(cells), divisor)
        assert same(got[:, 0], form.rounded([cell / divisor for cell in cells]))


def factors(form, rng):
    """Two numbers whose product is half-way between two others."""
    while True:
        bits = int(rng.integers(2, form.digits))
        a, b = (int(rng.integers(2 ** (k - 1), 2**k)) | 1 for k in (bits, form.digits + 1 - bits))
        # At the lower end fewer digits are left: the product ends half a step below the last of them.
        exponent = max(form.near(rng) - form.digits, form.exponents[0] - form.digits)
        shift = exponent // 2 + int(rng.integers(-8, 9))
        first, second = a * Fraction(2) ** shift, b * Fraction(2) ** (exponent - shift)
        if (a * b).bit_length() == form.digits + 1 and form.holds(first) and form.holds(second):
            return first, second


def products(form, rng):
    """Two vectors whose scalar product is half-way between two numbers, or slightly off."""
    first, second = factors(form, rng)
    sign, far = int(rng.choice([-1, 1])), form.greatest * int(rng.choice([0, 0, 1]))
    a = [first, form.least * int(rng.choice([0, 1, 3])), form.tiny(rng), far, far]
    b = [sign * second, form.least * int(rng.choice([-1, 1])), int(rng.choice([-1, 1])), form.greatest, -form.greatest]
    order = rng.permutation(5)
    return [a[i] for i in order], [b[i] for i in order]


@EACH_TYPE
@pytest.mark.parametrize("operator", sorted(DOTS))
def test_products_half_way_between_two_numbers_round_once(form, operator):
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        a, b = products(form, rng)
        right = form.rounded([sum(x * y for x, y in zip(a, b, strict=True))])
        assert same(DOTS[operator](form.array(a)[None], form.array(b)).value, right), (a, b)


# Norms.


def triple(form, rng):
    """3k, 4k and perhaps a far smaller number, with a norm half-way between two numbers or slightly off."""
    while True:
        # 5k has one digit more than the type.
        k = int(rng.integers(2**form.digits // 5, 2**form.digits // 3)) | 1
        unit = max(Fraction(2) ** (form.near(rng) - form.digits), form.least)
        # So small that its power is below the precision of a pair, and so large that digits need not double often.
        tiny = max(form.least, Fraction(2) ** (_exponent(k * unit) - 60)) * int(rng.integers(0, 2))
        cells = [3 * k * unit, 4 * k * unit, tiny]
        if (5 * k).bit_length() == form.digits + 1 and all(map(form.holds, cells)):
            return [int(rng.choice([-1, 1])) * cell for cell in cells]


def is_norm(form, value, cells, p):
    """Return whether a number is the correctly rounded p-norm of cells, for an integer p, by integer powers."""
    total, beyond = sum(abs(cell) ** p for cell in cells), 2 * Fraction(2) ** form.exponents[1]
    here = Fraction(float(value)) if np.isfinite(value) else beyond
    step = max(Fraction(2) ** (_exponent(here) - form.digits + 1), form.least) if here else form.least
    # Below a power of two numbers are twice as dense.
    below = step / 2 if here == Fraction(2) ** _exponent(here) and here > form.normal else step
    low, high = (here - below / 2) ** p, (here + step / 2) ** p
    even = here / step % 2 == 0
    return (total > low or (even and total == low) or not here) and (
        here == beyond or total < high or (even and total == high)
    )


def _exponent(positive):
    """Return the e with 2**e <= positive < 2**(e + 1)."""
    guess = positive.numerator.bit_length() - positive.denominator.bit_length()
    return guess if positive >= Fraction(2) ** guess else guess - 1


@EACH_TYPE
@pytest.mark.parametrize("p", [1, 2, 3, 4, 17])
def test_norms_half_way_between_two_numbers_round_once(form, p):
    rng = np.random.default_rng(p)
    windows = [triple(form, rng) for _ in range(CASES)]
    x = np.stack([form.array(cells) for cells in windows])
    for cells, one, value in zip(windows, x, reference.lp_pool(x.reshape(1, 1, -1), 3, p=p).ravel(), strict=True):
        assert same(reference.lp_pool(one[None, None], 3, p=p), value)
        assert is_norm(form, value, cells, p), (p, one.tolist(), value)


# Softmax.


# Exponentials of nothing greater need more digits.
GREATEST = 200


def neighbours(form, rng):
    """Two or three numbers next to each other, whose average is a little above the middle."""
    middle = form.between(rng)
    if middle > GREATEST:
        middle = Fraction(2) ** int(rng.integers(-3, 7))
    first = Fraction(float(reference.round_to(middle, form.dtype)))
    step = max(Fraction(2) ** (_exponent(first) - form.digits + 1), form.least)
    cells = [first, first + step, *([first] if rng.integers(2) else [])]
    sign = int(rng.choice([-1, 1]))
    return [sign * cell for cell in cells]


def softmax_average(cells):
    """The average, to more digits than any two numbers of the type are apart."""
    with localcontext(DIGITS):
        x = [Decimal(cell.numerator) / Decimal(cell.denominator) for cell in cells]
        weights = [(number - max(x)).exp() for number in x]
        return Fraction(sum(number * w for number, w in zip(x, weights, strict=True)) / sum(weights))


@EACH_TYPE
def test_softmax_averages_beside_the_middle_of_two_numbers_round_once(form):
    rng = np.random.default_rng(0)
    least = [[Fraction(0), sign * form.least] for sign in (-1, 1)]
    for cells in least + [neighbours(form, rng) for _ in range(CASES // 2)]:
        right = form.rounded([softmax_average(cells)])
        assert same(reference.softmax_pool(form.array(cells)[None, None], len(cells)), right), cells


@EACH_TYPE
def test_gradients_of_equal_cells_half_way_between_two_numbers_round_once(form):
    """Of n equal cells each is given the gradient's n-th part: a softmax of 1/n, a slope of 1."""
    rng = np.random.default_rng(0)
    ends = [form.least, 3 * form.least, form.greatest, form.normal]
    for n in (2, 3, 6, 7):
        inputs = filter(form.holds, ends + [form.between(rng) * n for _ in range(8)])
        for gradient, cell in itertools.product(inputs, (Fraction(0), Fraction(-2), form.least)):
            grad, x = (form.array(numbers)[None, None] for numbers in ([gradient], [cell] * n))
            assert same(reference.softmax_pool_grad(grad, x, n), form.rounded([gradient / n] * n))


# Probabilities.


@EACH_TYPE
def test_probabilities_half_way_between_two_numbers_round_once(form):
    """Only among the subnormals: above them a quotient of two numbers is never half-way between two others."""
    rng, top = np.random.default_rng(0), Fraction(2) ** (form.exponents[1] - 1)
    for _ in range(CASES):
        k = 2 * int(rng.integers(0, 2 ** (form.digits - 2))) + 1
        cells = [k * form.least / 2 * top, top, *([form.least] * int(rng.integers(0, 3)))]
        cells[1] -= cells[0] if form.holds(top - cells[0]) and rng.integers(2) else 0
        got = reference.stochastic_pool_probabilities(form.array(cells)[None, None], len(cells))
        assert same(got, form.rounded([cell / sum(cells) for cell in cells])), cells


@EACH_TYPE
def test_probabilities_of_the_greatest_and_least_numbers_round_once(form):
    for cells in ([form.greatest] * 3, [form.least] * 3, [form.greatest, form.least], [form.normal, form.least, 0]):
        x = form.array(cells)[None, None]
        total = sum(map(Fraction, cells))
        assert same(reference.stochastic_pool_probabilities(x, len(cells)), form.rounded([c / total for c in cells]))
        for gradient in ([1, 0, -1], [form.least, 0, 0], [form.greatest, -form.greatest, form.greatest]):
            g = [Fraction(v) for v in gradient[: len(cells)]]
            mean = sum(a * b for a, b in zip(g, cells, strict=True)) / total
            got = reference.stochastic_pool_probabilities_grad(form.array(g)[None, None, None], x, len(cells))
            assert same(got, form.rounded([(slope - mean) / total for slope in g])), (cells, gradient)
