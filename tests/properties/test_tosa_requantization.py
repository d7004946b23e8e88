"""Requantization to eight bits against the reference model of TOSA, and where the rounding rules differ.

With a multiplier M and a shift s, RESCALE with SINGLE_ROUND gives floor(S · M / 2 ** s + 1/2). DOUBLE_ROUND rounds
S · M / 2 ** 31 half up first if s is more than 31, and then half away from zero. See tests/support/tosa_calls.py for
CONFORMANCE_TOSA_PYTHON.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import reference
from tests.support.tosa_calls import PYTHON, channels_last, check, convolution, flat, rescaling, results

pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_TOSA_PYTHON is not set")

MAX_EXACT_SUM = 2**24
ZEROS = (0, 127, -128)
# Results before the limits: with every zero point they reach beyond both ends of int8.
RANGE = 300
EXACT = {"requantization": "exact", "round_mode": "half_up"}
FIXED = {"requantization": "fixed_point", "round_mode": "half_away"}
# x_scale, w_scale, y_scale: powers of two, few digits, 24 digits, 31 digits, and 31 digits that are rounded up to 1.
SINGLE_FACTORS = [
    (2.0**-1, 1, 1),
    (2.0**-2, 1, 1),
    (2.0**-10, 1, 1),
    (1, 1, 1),
    (0.375, 1, 1),
    (1.25, 1, 1),
    (7, 1, 1),
    (0.1, 1, 1),
    (1e-4, 1, 1),
]
FACTORS = [*SINGLE_FACTORS, (0.1, 0.7, 0.25), (0.3, 0.2, 0.125), (0.9, 1.1, 8), (1 - 2.0**-23, 1 + 2.0**-23, 1)]


def factor(x_scale, w_scale, y_scale):
    """Return the product and quotient of the scales in float32."""
    return Fraction(float(np.float32(x_scale))) * Fraction(float(np.float32(w_scale))) / Fraction(y_scale)


def multiplier_and_shift(number):
    """Return M of 31 binary digits, and s, so that M / 2 ** s is nearest to the number."""
    shift = 31
    while number * 2**shift >= 2**31:
        shift -= 1
    while number * 2**shift < 2**30:
        shift += 1
    multiplier = int(number * 2**shift + Fraction(1, 2))
    return (multiplier // 2, shift - 1) if multiplier == 2**31 else (multiplier, shift)


def sums(number, shift):
    """Return every sum whose product with the number is a tie, its neighbours, and the largest sums of both signs."""
    limit = min(MAX_EXACT_SUM, 2 ** (shift - 1) - 1)
    ties = [(tie + Fraction(1, 2)) / number // 1 for tie in range(-RANGE, RANGE)]
    near = {tie + more for tie in ties for more in (-1, 0, 1, 2)}
    return np.array([[sorted({max(-limit, min(limit, int(one))) for one in near | {-limit, limit}})]], np.int32)


def requantized(totals, scales, zero, dtype=np.int8, **rule):
    """Return the reference's result for sums (1, 1, n): a convolution of zeros with n output channels and a bias."""
    x, kernel = np.zeros((1, 1, 1), dtype), np.zeros((totals.size, 1, 1), dtype)
    named = dict(zip(("x_scale", "w_scale", "y_scale"), scales, strict=True))
    return reference.quantized_conv(x, kernel, totals.ravel(), **named, y_zero_point=zero, **rule).reshape(totals.shape)


def check_rounding(rounding, factors, rules, folder):
    """Compare RESCALE with rules of the reference, for all ties between the ends of int8."""
    calls, expected = [], []
    for scales, zero in itertools.product(factors, ZEROS):
        number = factor(*scales)
        totals = sums(number, multiplier_and_shift(number)[1])
        for rule in rules:
            calls.append(rescaling(totals, multiplier_and_shift(number), (0, zero), rounding))
            expected.append(requantized(totals, scales, zero, **rule))
            assert (expected[-1].min(), expected[-1].max()) == (-128, 127)
    check(calls, expected, folder)


def test_single_rounding_is_that_of_exact_products_half_up(tmp_path):
    check_rounding("SINGLE_ROUND", SINGLE_FACTORS, [EXACT], tmp_path)


def test_double_rounding_is_that_of_fixed_point_half_away(tmp_path):
    check_rounding("DOUBLE_ROUND", FACTORS, [FIXED], tmp_path)


@pytest.mark.parametrize("rounding", ["SINGLE_ROUND", "DOUBLE_ROUND"])
def test_factors_from_a_half_on_are_rounded_once(rounding, tmp_path):
    """With s up to 31, both rules of TOSA and every rounding rule of fixed_point are one."""
    factors = [scales for scales in FACTORS if factor(*scales) >= Fraction(1, 2)]
    assert len(factors) > 4
    modes = ("half_even", "half_away", "half_up", "toward_zero")
    check_rounding(rounding, factors, [FIXED | {"round_mode": one} for one in modes], tmp_path)


def test_single_and_double_rounding_differ_below_a_half(tmp_path):
    """For 1/2 no rule differs from the next. For 1/4 all three differ, at 1 and at −2."""
    totals, calls = np.array([[[-3, -2, -1, 0, 1, 2, 3]]], np.int32), []
    for scale, rounding in itertools.product([(2**30, 31), (2**30, 32)], ["SINGLE_ROUND", "DOUBLE_ROUND"]):
        calls.append(rescaling(totals, scale, (0, 0), rounding))
    half, half_twice, quarter, quarter_twice = (one.ravel().tolist() for one in results(calls, tmp_path))
    assert half == half_twice == [-1, -1, 0, 0, 1, 1, 2]
    assert quarter == [-1, 0, 0, 0, 0, 1, 1]
    assert quarter_twice == [-1, -1, 0, 0, 1, 1, 1]
    fixed = FIXED | {"round_mode": "half_up"}
    assert requantized(totals, (0.25, 1, 1), 0, **fixed).ravel().tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert requantized(totals, (0.5, 1, 1), 0, **fixed).ravel().tolist() == half


def test_rescaled_bytes_may_be_signed_or_not(tmp_path):
    """RESCALE from int8 to uint8, and back. It has none from int32 to uint8."""
    calls, expected = [], []
    for number, x_zero, y_zero in itertools.product((1.25, 0.375), (0, 255, 100), (-128, 127, 5)):
        scales, scale = (number, 1, 1), multiplier_and_shift(Fraction(number))
        raw = np.arange(256).reshape(1, 1, -1)
        calls.append(rescaling(raw.astype(np.uint8).view(np.int8), scale, (x_zero, y_zero), unsigned=(True, False)))
        expected.append(requantized((raw - x_zero).astype(np.int32), scales, y_zero, **EXACT))
        calls.append(rescaling((raw - 128).astype(np.int8), scale, (y_zero, x_zero), unsigned=(False, True)))
        expected.append(requantized((raw - 128 - y_zero).astype(np.int32), scales, x_zero, np.uint8, **EXACT))
    check(calls, expected, tmp_path)


def conv_call(x, kernel, geometry, zeros, shape):
    attributes = [flat(geometry["padding"]), [*geometry["stride"]], [1, 1]]
    return convolution("CONV2D", (x, channels_last(kernel), zeros), attributes, shape)


@pytest.mark.parametrize(
    ("rounding", "rule", "w_scale"),
    [("SINGLE_ROUND", EXACT, (0.125, 0.1875, 0.0625, 0.25)), ("DOUBLE_ROUND", FIXED, (0.125, 0.1, 0.0625, 0.0031))],
)
def test_convolutions_with_a_scale_for_each_channel_are_those_of_tosa(rounding, rule, w_scale, tmp_path):
    """A convolution, RESCALE to int8 and, for uint8, a second RESCALE that moves the zero point."""
    random, calls, expected = np.random.default_rng(0), [], []
    x, kernel = random.integers(-128, 128, (2, 3, 6, 5)).astype("i1"), random.integers(-2, 3, (4, 3, 2, 3)).astype("i1")
    geometry = {"stride": (1, 2), "padding": ((1, 0), (1, 1))}
    given = {**geometry, "x_scale": 0.5, "w_scale": w_scale, "y_scale": 0.25, **rule}
    scales = tuple(zip(*(multiplier_and_shift(factor(0.5, one, 0.25)) for one in w_scale), strict=True))
    for x_zero, w_zero, y_zero in [(0, 0, 0), (-7, 1, 127), (5, -1, -128)]:
        expected += [
            reference.conv_integer(x, kernel, **geometry, x_zero_point=x_zero, w_zero_point=w_zero),
            reference.quantized_conv(x, kernel, **given, x_zero_point=x_zero, w_zero_point=w_zero, y_zero_point=y_zero),
            reference.quantized_conv(
                (x.astype(int) + 128).astype(np.uint8),
                kernel,
                **given,
                x_zero_point=x_zero + 128,
                w_zero_point=w_zero,
                y_zero_point=y_zero + 128,
            ),
        ]
        totals = conv_call(x, kernel, geometry, (x_zero, w_zero), expected[-1].shape)
        signed = rescaling(totals, scales, (0, y_zero), rounding)
        calls += [totals, signed, rescaling(signed, (2**30, 30), (-128, 0), unsigned=(False, True))]
    check(calls, expected, tmp_path)
