"""Quantization: the formulas that are equal for the numbers of a step, and compositions of array operations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.adapters.api.dtypes import unsupported_lowering
from conformance.adapters.api.source_text import number
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.cases.operators import Formula, RoundMode
from conformance.cases.steps import Step

QUANTIZE_DTYPES = {"quantize": frozenset({"float32"}), "dequantize": frozenset({"int8", "uint8"})}
"""The dtypes of x of both operators."""
QUANTIZED_POOLING_DTYPES = {"quantized_avg_pool": frozenset({"int8", "uint8"})}
"""The dtypes of averages of quantized tensors."""
QUANTIZED_CONVOLUTION_DTYPES = {"quantized_conv": frozenset({"int8", "uint8"})}
"""The dtypes of x of convolutions of quantized tensors."""
CONV_INTEGER_DTYPES = {"conv_integer": frozenset({"int8", "uint8"})}
"""The dtypes of x of convolutions with results of int32."""
NOT_WRITTEN: Mapping[str, Lowering] = dict.fromkeys(
    ("quantize", "dequantize", "quantized_conv", "conv_integer"),
    unsupported_lowering("the adapter does not write operators on quantized numbers yet"),
)
"""Lowerings of surfaces that are made from others, and whose conversion of these operators is not observed."""
LIMITS: Mapping[str, tuple[int, int]] = {"int8": (-128, 127), "uint8": (0, 255)}
"""The smallest and the largest number of each quantized dtype."""
NO_FUSION = Unsupported("no composition rounds a product and a sum once")
WITHOUT_ZERO_POINT = {
    Formula.QUOTIENT_PLUS_ZERO_POINT: Formula.QUOTIENT,
    Formula.RECIPROCAL_PLUS_ZERO_POINT: Formula.RECIPROCAL,
    Formula.FUSED: Formula.RECIPROCAL,
}
WITH_EXACT_RECIPROCAL = {
    Formula.RECIPROCAL: Formula.QUOTIENT,
    Formula.RECIPROCAL_PLUS_ZERO_POINT: Formula.QUOTIENT_PLUS_ZERO_POINT,
    Formula.FUSED: Formula.QUOTIENT_PLUS_ZERO_POINT,
}


def is_listed(value: object) -> bool:
    """Whether a scale or a zero point has a number for each channel."""
    return isinstance(value, (tuple, list))


def listed(value: Any) -> tuple[Any, ...]:
    """Return the numbers of a scale or of a zero point."""
    return tuple(value) if is_listed(value) else (value,)


def is_per_channel(step: Step, prefix: str) -> bool:
    """Whether the scale or the zero point of a step has a number for each channel. prefix: x or y."""
    return any(is_listed(step.parameters.get(f"{prefix}_{name}")) for name in ("scale", "zero_point"))


def channel_numbers(step: Step, name: str) -> tuple[Any, ...]:
    """Return the numbers of a parameter for all channels: those of the output for weights, else those of x."""
    value = step.parameters[name]
    return tuple(value) if is_listed(value) else (value,) * (step.channels if step.kernel else step.shape[1])


def values_text(values: Sequence[float]) -> str:
    """Return a list of numbers as text."""
    return f"[{', '.join(map(number, values))}]"


def has_formula(step: Step, own: Formula) -> bool:
    """Whether a formula gives the result of the formula of the step for every x. True if the step omits it.

    The reciprocal of a power of two is exact, and a zero point of 0 changes nothing.
    """
    return "formula" not in step.parameters or _simplest(Formula(step.parameters["formula"]), step) == _simplest(
        own, step
    )


def _simplest(formula: Formula, step: Step) -> Formula:
    given = step.parameters
    if not any(listed(given.get("y_zero_point", given.get("x_zero_point")))):
        formula = WITHOUT_ZERO_POINT.get(formula, formula)
    if all(math.frexp(scale)[0] == 0.5 for scale in _scales(step)):  # noqa: PLR2004 - 2 ** n
        formula = WITH_EXACT_RECIPROCAL.get(formula, formula)
    return formula


def _scales(step: Step) -> Sequence[float]:
    """Return the numbers by which the formula divides: the scales, or the numbers of cells of windows."""
    given = step.parameters
    if "y_scale" in given:
        return listed(given["y_scale"])
    if given.get("divisor") is not None:
        return (float(given["divisor"]),)
    counts = np.unique(np.maximum(step.windows.counts(bool(given["count_include_pad"])), 1))
    return tuple(map(float, counts))


def unsupported_quantization(
    step: Step, own: Formula, name: str, own_mode: RoundMode = RoundMode.HALF_EVEN
) -> Unsupported | None:
    """Return the reason if a call with a formula and a rounding rule cannot compute the step."""
    if step.parameters.get("round_mode", own_mode) != own_mode:
        return Unsupported(f"{name} has the rounding rule {own_mode}")
    return None if has_formula(step, own) else Unsupported(f"{name} computes the formula {own}")


@dataclass(frozen=True)
class QuantizationRecipe:
    """Quantization as several array operations of a framework. All texts read `x`.

    array: an array of float32; `{values}` is its text, a number or a nested list with an axis for each of x but the
    batch. divide, multiply, add: by `scale` and `reciprocal`, and of `zero`. wide: x in float64. rounded: for each
    RoundMode. limited: x in a range `{least}` to `{most}`; narrow: x in the dtype `{dtype}`.
    """

    array: str
    wide: str
    rounded: Mapping[RoundMode, str]
    limited: str
    narrow: str
    reciprocal: str = "1 / scale"
    divide: str = "x / scale"
    multiply: str = "x * reciprocal"
    add: str = "x + zero"
    add_wide: str = "x + zero"

    def quantize(self, step: Step) -> Code:
        """Return the lines, or the reason why the formula has no composition."""
        given = step.parameters
        if not {"formula", "round_mode"} <= given.keys():
            return Unsupported("a composition has no defaults")
        formula, (least, most) = _simplest(Formula(given["formula"]), step), LIMITS[given["output_dtype"]]
        if formula is Formula.FUSED:
            return NO_FUSION
        added = any(listed(given["y_zero_point"]))
        zero = (f"zero = {self._array(step, 'y_zero_point')}",) if added else ()
        divides = formula in {Formula.QUOTIENT, Formula.QUOTIENT_PLUS_ZERO_POINT}
        adds_first = formula in {Formula.QUOTIENT_PLUS_ZERO_POINT, Formula.RECIPROCAL_PLUS_ZERO_POINT}
        return (
            f"scale = {self._array(step, 'y_scale')}",
            *(() if divides else (f"reciprocal = {self.reciprocal}",)),
            *zero,
            f"x = {self.divide if divides else self.multiply}",
            *((f"x = {self.add}",) if added and adds_first else ()),
            # A half is added to numbers of float32 without rounding.
            f"x = {self.wide}",
            f"x = {self.rounded[RoundMode(given['round_mode'])]}",
            *((f"x = {self.add_wide}",) if added and not adds_first else ()),
            f"x = {self.limited.format(least=least, most=most)}",
            f"x = {self.narrow.format(dtype=given['output_dtype'])}",
        )

    def _array(self, step: Step, name: str) -> str:
        value = step.parameters[name]
        if not is_listed(value):
            return self.array.format(values=number(value))
        nested = [f"{'[' * step.rank}{number(one)}{']' * step.rank}" for one in value]
        return self.array.format(values=f"[{', '.join(nested)}]")
