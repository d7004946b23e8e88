"""Quantization and its inverse as Python loops, with fractions."""

from __future__ import annotations

import numpy as np

from conformance.adapters.api import INDENT, Code, Step, tuple_of
from conformance.adapters.api.quantization.formulas import LIMITS, channel_numbers, values_text
from conformance.cases.operators import Formula, RoundMode

# The number that is rounded. A quotient, or a sum of numbers of float32, is rounded correctly through float64.
NUMBERS = {
    Formula.QUOTIENT: "np.float32(float(x[at]) / float(scale))",
    Formula.RECIPROCAL: "np.float32(float(x[at]) * float(reciprocal))",
    Formula.QUOTIENT_PLUS_ZERO_POINT: "np.float32(float(np.float32(float(x[at]) / float(scale))) + zero)",
    Formula.RECIPROCAL_PLUS_ZERO_POINT: "np.float32(float(np.float32(float(x[at]) * float(reciprocal))) + zero)",
    Formula.FUSED: "np.float32(nearest(Fraction(float(x[at])) * Fraction(float(reciprocal)) + zero))",
}
ROUNDED = {
    RoundMode.HALF_EVEN: "round(number)",
    RoundMode.HALF_AWAY: "math.floor(abs(number) + Fraction(1, 2)) * (1 if number > 0 else -1)",
    RoundMode.HALF_UP: "math.floor(number + Fraction(1, 2))",
    RoundMode.TOWARD_ZERO: "math.trunc(number)",
}
# The number of float64 that rounds to float32 like a fraction: of two neighbours of it, the one with an odd last bit.
NEAREST = (
    "def nearest(exact):",
    f"{INDENT}near = float(exact)",
    f"{INDENT}if Fraction(near) != exact and np.float64(near).view(np.int64) % 2 == 0:",
    f"{INDENT * 2}near = math.nextafter(near, math.inf if Fraction(near) < exact else -math.inf)",
    f"{INDENT}return near",
)


def quantize(step: Step) -> Code:
    """Return lines that compute each number with fractions."""
    given = step.parameters
    formula, (least, most) = Formula(given["formula"]), LIMITS[given["output_dtype"]]
    has_sum = formula not in {Formula.QUOTIENT, Formula.RECIPROCAL}
    return (
        *(NEAREST if formula is Formula.FUSED else ()),
        f"scales = np.array({values_text(channel_numbers(step, 'y_scale'))}, np.float32)",
        f"zeros = {values_text(channel_numbers(step, 'y_zero_point'))}",
        f"y = np.zeros(x.shape, np.{given['output_dtype']})",
        "for at in np.ndindex(x.shape):",
        f"{INDENT}scale, zero = scales[at[1]], zeros[at[1]]",
        *((f"{INDENT}reciprocal = np.float32(1 / float(scale))",) if "reciprocal" in NUMBERS[formula] else ()),
        f"{INDENT}if np.isnan(x[at]):",
        f"{INDENT * 2}y[at] = zero",
        f"{INDENT * 2}continue",
        f"{INDENT}if np.isinf(x[at]):",
        f"{INDENT * 2}y[at] = {most} if x[at] > 0 else {least}",
        f"{INDENT * 2}continue",
        f"{INDENT}number = {NUMBERS[formula]}",
        f"{INDENT}if np.isinf(number):",
        f"{INDENT * 2}y[at] = {most} if number > 0 else {least}",
        f"{INDENT * 2}continue",
        f"{INDENT}number = Fraction(float(number))",
        f"{INDENT}whole = {ROUNDED[RoundMode(given['round_mode'])]}{'' if has_sum else ' + zero'}",
        f"{INDENT}y[at] = min(max(whole, {least}), {most})",
        "x = y",
    )


def quantized_avg_pool(step: Step) -> Code:
    """Return lines that add the differences of each window, and round the average with fractions."""
    given, windows = step.parameters, step.windows
    formula, (least, most) = Formula(given["formula"]), LIMITS[step.dtype]
    has_sum = formula not in {Formula.QUOTIENT, Formula.RECIPROCAL}
    counts = np.maximum(windows.counts(bool(given["count_include_pad"])), 1).tolist()
    divisor = given["divisor"] or "counts[tuple(cell)]"
    return (
        *(NEAREST if formula is Formula.FUSED else ()),
        f"zero = {given['x_zero_point']}",
        *(() if given["divisor"] else (f"counts = np.array({counts})",)),
        f"y = np.zeros({tuple_of(step.output)}, x.dtype)",
        "for n, c, *cell in np.ndindex(y.shape):",
        f"{INDENT}total = 0",
        f"{INDENT}for place in np.ndindex{tuple_of(step.window)}:",
        f"{INDENT * 2}at = [i * s + k * d - p for i, k, s, d, p in zip(cell, place, {tuple_of(windows.stride)}, "
        f"{tuple_of(windows.dilation)}, {tuple_of([before for before, _ in windows.pads])})]",
        f"{INDENT * 2}if all(0 <= i < size for i, size in zip(at, x.shape[2:])):",
        f"{INDENT * 3}total += int(x[(n, c, *at)]) - zero",
        f"{INDENT}scale = {divisor}",
        *((f"{INDENT}reciprocal = np.float32(1 / float(scale))",) if "reciprocal" in NUMBERS[formula] else ()),
        f"{INDENT}number = Fraction(float({NUMBERS[formula].replace('x[at]', 'total')}))",
        f"{INDENT}whole = {ROUNDED[RoundMode(given['round_mode'])]}{'' if has_sum else ' + zero'}",
        f"{INDENT}y[(n, c, *cell)] = min(max(whole, {least}), {most})",
        "x = y",
    )


def dequantize(step: Step) -> Code:
    """Return lines that multiply each difference by the scale in float64, where the product is exact."""
    return (
        f"scales = np.array({values_text(channel_numbers(step, 'x_scale'))}, np.float32)",
        f"zeros = {values_text(channel_numbers(step, 'x_zero_point'))}",
        "y = np.zeros(x.shape, np.float32)",
        "for at in np.ndindex(x.shape):",
        f"{INDENT}y[at] = (int(x[at]) - zeros[at[1]]) * float(scales[at[1]])",
        "x = y",
    )
