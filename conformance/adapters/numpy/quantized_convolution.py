"""Convolution of quantized numbers as Python loops, with fractions."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import INDENT, Code, Step, number, tuple_of
from conformance.adapters.api.quantization.formulas import LIMITS, channel_numbers, values_text
from conformance.adapters.numpy.quantization import NEAREST, ROUNDED
from conformance.cases.operators import Requantization, RoundMode

# The numbers of float32 that a program computes from the scales, by name. Each of them is rounded through float64,
# where products are exact; a quotient of numbers of float32 is rounded correctly through float64.
PRODUCT = ("product = np.float32(float(x_scale) * float(w_scales[c]))",)
FACTOR = (*PRODUCT, "factor = np.float32(float(product) / float(y_scale))")
RECIPROCAL = "reciprocal = np.float32(1 / float(y_scale))"
FACTORS: Mapping[Requantization, tuple[str, ...]] = {
    **dict.fromkeys(Requantization, FACTOR),
    Requantization.RECIPROCAL: (
        *PRODUCT,
        RECIPROCAL,
        "factor = np.float32(float(product) * float(reciprocal))",
    ),
    Requantization.STEPWISE: (
        RECIPROCAL,
        "inverse = np.float32(1 / float(x_scale))",
        "product = np.float32(float(np.float32(1 / float(inverse))) * float(w_scales[c]))",
        "number = np.float32(total * float(product))",
        "number = np.float32(float(number) * float(reciprocal))",
    ),
    Requantization.FIXED_POINT: (
        "mantissa, exponent = math.frexp(float(x_scale) * float(w_scales[c]) / float(y_scale))",
        "digits = math.floor(mantissa * 2 ** 31 + 0.5)",
        "digits, exponent = (2 ** 30, exponent + 1) if digits == 2 ** 31 else (digits, exponent)",
        "high = math.floor(Fraction(total * 2 ** max(exponent, 0) * digits, 2 ** 31) + Fraction(1, 2))",
    ),
}
ROUNDED_PRODUCT = "Fraction(float(np.float32(total * float(factor))))"
NUMBERS: Mapping[Requantization, str] = {
    Requantization.PRODUCT: ROUNDED_PRODUCT,
    Requantization.RECIPROCAL: ROUNDED_PRODUCT,
    Requantization.EXACT: "total * Fraction(float(factor))",
    Requantization.FUSED: "Fraction(float(np.float32(nearest(total * Fraction(float(factor)) + y_zero))))",
    Requantization.STEPWISE: "Fraction(float(np.float32(float(number) + y_zero)))",
    Requantization.FLOAT64: "Fraction(float(total) * float(factor) + y_zero)",
    Requantization.FIXED_POINT: "Fraction(high, 2 ** max(-exponent, 0))",
}
ADDED_LAST = frozenset(
    {Requantization.PRODUCT, Requantization.RECIPROCAL, Requantization.EXACT, Requantization.FIXED_POINT}
)


def quantized_conv(step: Step) -> Code:
    """Return lines that add the products of each window, and round the result with fractions."""
    given = step.parameters
    formula, (least, most) = Requantization(given["requantization"]), LIMITS[step.dtype]
    last = " + y_zero" if formula in ADDED_LAST else ""
    return (
        *(NEAREST if formula is Requantization.FUSED else ()),
        f"x_scale, x_zero = np.float32({number(given['x_scale'])}), {given['x_zero_point']}",
        f"w_scales = np.array({values_text(channel_numbers(step, 'w_scale'))}, np.float32)",
        f"w_zeros = {values_text(channel_numbers(step, 'w_zero_point'))}",
        f"y_scale, y_zero = np.float32({number(given['y_scale'])}), {given['y_zero_point']}",
        f"y = np.zeros({tuple_of(step.output)}, x.dtype)",
        "for n, c, *cell in np.ndindex(y.shape):",
        *(f"{INDENT}{line}" for line in _sum_lines(step)),
        *(f"{INDENT}{line}" for line in FACTORS[formula]),
        f"{INDENT}number = {NUMBERS[formula]}",
        f"{INDENT}whole = {ROUNDED[RoundMode(given['round_mode'])]}{last}",
        f"{INDENT}y[(n, c, *cell)] = min(max(whole, {least}), {most})",
        "x = y",
    )


def conv_integer(step: Step) -> Code:
    """Return lines that add the products of each window."""
    given = step.parameters
    return (
        f"x_zero, w_zeros = {given['x_zero_point']}, {values_text(channel_numbers(step, 'w_zero_point'))}",
        f"y = np.zeros({tuple_of(step.output)}, np.int32)",
        "for n, c, *cell in np.ndindex(y.shape):",
        *(f"{INDENT}{line}" for line in _sum_lines(step)),
        f"{INDENT}y[(n, c, *cell)] = total",
        "x = y",
    )


def _sum_lines(step: Step) -> tuple[str, ...]:
    """Return the lines of the exact sum of one cell of the output."""
    windows, outputs = step.windows, step.kernel[0] // int(step.parameters["groups"])
    pads = tuple_of([before for before, _ in windows.pads])
    return (
        "total = int(bias[c])" if step.bias else "total = 0",
        "for k, *place in np.ndindex(kernel.shape[1:]):",
        f"{INDENT}at = [i * s + j * d - p for i, j, s, d, p in zip(cell, place, {tuple_of(windows.stride)}, "
        f"{tuple_of(windows.dilation)}, {pads})]",
        f"{INDENT}if all(0 <= i < size for i, size in zip(at, x.shape[2:])):",
        f"{INDENT * 2}weight = int(kernel[(c, k, *place)]) - w_zeros[c]",
        f"{INDENT * 2}total += (int(x[(n, c // {outputs} * {step.kernel[1]} + k, *at)]) - x_zero) * weight",
    )
