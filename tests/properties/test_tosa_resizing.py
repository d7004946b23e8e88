"""Resizing of int8 against the reference model of TOSA, which writes coordinates as quotients of whole numbers.

See tests/support/tosa_calls.py for CONFORMANCE_TOSA_PYTHON.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import reference
from tests.support.tosa_calls import PYTHON, Call, channels_last, flat, results

pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_TOSA_PYTHON is not set")

MAX_NUMERATOR = 2048
MAX_RATIO = 16
RULES = (
    "half_pixel",
    "asymmetric",
    "align_corners",
    "tf_half_pixel_for_nn",
    "half_pixel_symmetric",
    "tf_crop_and_resize",
)
REGION = {"roi_start": 0.25, "roi_end": 0.75}
PLANES = [
    ((4, 6), {"size": (8, 4)}),
    ((5, 7), {"size": (7, 3)}),
    ((9, 3), {"size": (4, 5)}),
    ((5, 5), {"scale": (1.5, 0.7)}),
]
CALLS = [
    (spatial, given, rule)
    for (spatial, given), rule in itertools.product(PLANES, RULES)
    if rule != "tf_crop_and_resize" or "size" in given  # with a scale, the size of a crop depends on the region
]


def line(rule, n, m, step):
    """Return the coordinate of the first output cell in x, and the distance of two. n, m: cells in x and the output."""
    if rule == "align_corners":
        return Fraction(0), Fraction(n - 1, m - 1)
    if rule == "tf_crop_and_resize":
        return Fraction(n - 1, 4), Fraction(n - 1, 2 * (m - 1))
    first = {"half_pixel": step / 2 - Fraction(1, 2), "asymmetric": Fraction(0), "tf_half_pixel_for_nn": step / 2}
    if rule == "half_pixel_symmetric":
        return first["half_pixel"] + (n - m * step) / 2, step
    return first[rule], step


def lines(rule, spatial, output, given):
    """Return `line` for each axis."""
    sizes = list(zip(spatial, output, strict=True))
    steps = [1 / Fraction(str(one)) for one in given.get("scale", ())] or [Fraction(n, m) for n, m in sizes]
    return [line(rule, n, m, step) for (n, m), step in zip(sizes, steps, strict=True)]


def axis_of_tosa(first, step, n, m):
    """Return numerator, denominator, offset and border of an axis, or None if TOSA does not allow them."""
    whole = math.lcm(first.denominator, step.denominator)
    denominator, offset = int(step * whole), int(first * whole)
    border = denominator * (m - 1) - whole * (n - 1) + offset
    fits = whole <= MAX_NUMERATOR and denominator < MAX_RATIO * whole and -whole <= offset and border < whole
    return (whole, denominator, offset, border) if fits else None


def resizing(x, axes, mode, shape):
    """Return RESIZE, or None if TOSA does not allow one of the axes."""
    if None in axes:
        return None
    operands = [flat(axis[:2] for axis in axes), [axis[2] for axis in axes], [axis[3] for axis in axes]]
    dtype = "int8" if mode == "NEAREST" else "int32"
    return Call("RESIZE", [channels_last(x), *(np.array(one, np.int64) for one in operands)], [mode], shape, dtype)


def shift(rounding, first, step):
    """Return what to add to the coordinates of an axis, so that rounding half up selects the cells of a rule."""
    little = Fraction(1, 2 * math.lcm(first.denominator, step.denominator))
    half = Fraction(1, 2)
    return {"round_prefer_ceil": 0, "round_prefer_floor": -little, "floor": -half, "ceil": half - little}[rounding]


def numbers(spatial):
    return np.random.default_rng(0).integers(-128, 128, (2, 3, *spatial)).astype(np.int8)


def resize(x, given, rule, **options):
    region = REGION if rule == "tf_crop_and_resize" else {}
    return reference.resize(x, coordinates=rule, **given, **region, **options)


@pytest.mark.parametrize(
    ("rounding", "written"), [("round_prefer_ceil", 23), ("round_prefer_floor", 23), ("floor", 23), ("ceil", 20)]
)
def test_nearest_cells_are_those_of_tosa(rounding, written, tmp_path):
    calls, expected = [], []
    for spatial, given, rule in CALLS:
        x = numbers(spatial)
        wanted = resize(x, given, rule, nearest_rounding=rounding)
        output = wanted.shape[2:]
        axes = [
            axis_of_tosa(first + shift(rounding, first, step), step, n, m)
            for (first, step), n, m in zip(lines(rule, spatial, output, given), spatial, output, strict=True)
        ]
        calls.append(resizing(x, axes, "NEAREST", wanted.shape))
        expected.append(wanted)
    # The border of TOSA has no room for `ceil` with tf_half_pixel_for_nn and a larger output.
    pairs = [(call, wanted) for call, wanted in zip(calls, expected, strict=True) if call]
    assert len(pairs) == written
    for (call, wanted), got in zip(pairs, results([call for call, _ in pairs], tmp_path), strict=True):
        np.testing.assert_array_equal(got, wanted, err_msg=str(call))


def test_linear_interpolations_are_those_of_tosa(tmp_path):
    """TOSA returns whole numbers: the interpolation times both numerators. The reference rounds it once, to float64."""
    calls, expected = [], []
    for spatial, given, rule in CALLS:
        x = numbers(spatial)
        wanted = resize(x.astype(np.float64), given, rule, mode="linear")
        ends = zip(lines(rule, spatial, wanted.shape[2:], given), spatial, wanted.shape[2:], strict=True)
        axes = [axis_of_tosa(*one, n, m) for one, n, m in ends]
        calls.append(resizing(x, axes, "BILINEAR", wanted.shape))
        expected.append((wanted, axes[0][0] * axes[1][0]))
    for call, got, (wanted, unit) in zip(calls, results(calls, tmp_path), expected, strict=True):
        np.testing.assert_array_equal(got / unit, wanted, err_msg=str(call))
