"""Norms as a framework computes them that averages the powers of the numbers and multiplies by the size of a window.

For an even p this differs from a norm in partial last windows only. The norm is then multiplied by the p-th root of the
cells of a window over those inside the input, axis by axis, because both counts are products of those of the axes.

For other p it also differs for negative numbers: an odd power keeps their sign, a fractional power of them is NaN, and
so is the root of a negative sum. Then the program consists of the same operations: the powers, their average, a factor
and the root.
"""

from __future__ import annotations

import math

import numpy as np

from conformance.adapters.api import Program, Surface, Unsupported
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import Case
from conformance.cases.steps import BuildingBlock, Step, case_step, split_padding
from conformance.judging.ledger import load_ledger
from conformance.models.questions import NORM, ODD_P_CONVENTION
from conformance.translation.lowering import translate_steps

CONVENTION, AS_IF_WHOLE, ABSOLUTE = "lp_pool/last-partial-window", "as-if-whole", "absolute"


def scales_partial_windows(surface: Surface) -> bool:
    """Whether a surface is declared or known to return the norm of a partial last window as if it were whole."""
    declared = surface.declarations.get(CONVENTION)
    return bool(declared and declared.answer == AS_IF_WHOLE) or any(
        CONVENTION in entry.cases and entry.matches_surface(surface.name) and AS_IF_WHOLE in entry.observed
        for entry in load_ledger().entries
    )


def averages_signed_powers(surface: Surface) -> bool:
    """Whether a surface scales partial windows and keeps the sign of odd powers."""
    declared = surface.declarations.get(ODD_P_CONVENTION)
    return scales_partial_windows(surface) and declared is not None and declared.answer != ABSOLUTE


def is_even(step: Step) -> bool:
    """Whether the power of a norm does not depend on the sign of a number."""
    return bool(step.parameters["p"] % 2 == 0)


def scaled_norm(step: Step) -> tuple[Step, ...]:
    """Return a norm with an even p and the numbers that multiply it, one step for each axis with a partial window.

    () without a partial window, and for padded or dilated windows, which no framework that scales has.
    """
    if step.operator != NORM or step.padded or step.dilated or not is_even(step):
        return ()
    scales = _scales_of_axes(step, 1 / step.parameters["p"])
    return (step, *scales) if scales else ()


def averaged_powers(step: Step) -> tuple[Step, ...]:
    """Return the powers of a norm, their average, the factor and the root; () for padded or dilated windows."""
    if step.operator != NORM or step.padded or step.dilated:
        return ()
    average = _average(step)
    return _with_powers(step, (average, _scale(average, math.prod(step.window))))


def averaged_powers_of_whole_windows(step: Step) -> tuple[Step, ...]:
    """Return the same with zeros around the input, so that the average has whole windows only.

    A factor on each axis with a partial window replaces the cells of a window by those inside the input.
    """
    if step.operator != NORM or step.padded or step.dilated:
        return ()
    padding, unpadded = split_padding(step, 0)
    average = _average(unpadded)
    scales = (_scale(average, math.prod(step.window)), *_scales_of_axes(step, 1))
    return (*padding, *_with_powers(unpadded, (average, *scales)))


def _with_powers(step: Step, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    p = step.parameters["p"]
    if p == 1:
        return steps
    power = Step(BuildingBlock.POWER, step.shape, step.dtype, {"exponent": f"{p:g}"})
    root = Step(BuildingBlock.POWER, steps[-1].output, step.dtype, {"exponent": f"1 / {p:g}"})
    return power, *steps, root


def _average(step: Step) -> Step:
    kept = {name: step.parameters[name] for name in ("window", "stride", "padding", "dilation", "rounding")}
    return Step("avg_pool", step.shape, step.dtype, {**kept, "count_include_pad": False, "divisor": None})


def _scale(step: Step, factor: float) -> Step:
    numbers = np.full((1,) * len(step.shape), factor, NUMPY_DTYPES[step.dtype])
    return Step(BuildingBlock.SCALE, step.output, step.dtype, constants={"scale": numbers})


def _scales_of_axes(step: Step, exponent: float) -> tuple[Step, ...]:
    """Return a power of the cells of a window over those inside the input, for each axis with a partial window."""
    walk, found = step.windows, []
    for axis, (size, count, window, stride) in enumerate(
        zip(walk.size, walk.output, walk.window, walk.stride, strict=True)
    ):
        cells = np.minimum(window, size - stride * np.arange(count))
        if (cells == window).all():
            continue
        numbers = ((window / cells) ** exponent).astype(NUMPY_DTYPES[step.dtype])
        shape = [1] * len(step.shape)
        shape[2 + axis] = count
        found.append(Step(BuildingBlock.SCALE, step.output, step.dtype, constants={"scale": numbers.reshape(shape)}))
    return tuple(found)


def source_norm_program(case: Case, surface: Surface) -> Program | Unsupported | None:
    """Return the program on a surface with the result of a framework that averages powers.

    Unsupported without such a program, None for padded or dilated windows.
    """
    step, program = case_step(case), None
    for steps in (scaled_norm(step), averaged_powers(step)):
        program = translate_steps(case, surface, steps) if steps else program
        if program is not None and not isinstance(program, Unsupported):
            break
    return program
