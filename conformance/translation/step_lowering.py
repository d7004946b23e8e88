"""Lines of one step on a surface: the native call, a composition of the adapter, or a rewrite to several steps."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from conformance.adapters.api import Code, Lowering, Surface, Unsupported, UnsupportedStep, source_text
from conformance.cases.arrays import BFLOAT16, Array
from conformance.cases.case import FLAT_PADS_KEY, Case
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import OPERATORS, Arithmetic
from conformance.cases.steps import BuildingBlock, Step
from conformance.translation.rewrites import REWRITES, SINGLE_CALLS
from reports.results.vocabulary import How

INPUTS_CONVERTED_LIKE_X = frozenset({"scale", "grad", "indices"})
"""Names of arrays for which a surface without an own expression uses that of x."""
LoweredStep = tuple[list[str], How]
"""The lines of a step, and how they express it."""


class LoweringError(Exception):
    """A lowering of an adapter returned no code or raised an exception, which is the cause."""


def input_expression(surface: Surface, name: str) -> str:
    """Return the expression that converts an array from NumPy."""
    template = surface.to_framework.get(
        name, surface.to_framework.get("x", "{}") if name in INPUTS_CONVERTED_LIKE_X else "{}"
    )
    return template.format(name)


def lower_step(step: Step, surface: Surface, *, native_only: bool, inner: bool) -> LoweredStep | Unsupported:
    """Return the lines of one step and their kind of program: the native call, a composition or a rewrite.

    inner: the step is part of a composition, so the surface's building blocks come first.
    """
    if step.parts:
        return _divide_by_ones(step, surface)
    if inner:
        preferred = _building_block(step, surface)
        if preferred:
            return preferred
    try:
        code = _native_call(step, surface)
    # Conventions can have parameters of the wrong length or range, for which no call can be written.
    except LoweringError as error:
        if not native_only or not isinstance(error.__cause__, (ValueError, ArithmeticError, LookupError)):
            raise
        code = Unsupported(f"the call cannot be written for these parameters: {_lowering_error_text(error.__cause__)}")
    # For these cases, the rejection is the observed behaviour, so the rejected call is run.
    if native_only and isinstance(code, Unsupported) and code.rejected_call:
        code = code.rejected_call
    if not isinstance(code, Unsupported):
        return _step_lines(step, surface, code), How.NATIVE
    if native_only:
        return code
    # The adapter's own composition comes before rewrites to several steps: users of the framework write that one.
    for attempt in (_single_call(step, surface), _fallback(step, surface), _rewrite(step, surface)):
        if isinstance(attempt, tuple):
            return attempt
        if isinstance(attempt, Unsupported) and attempt.reason not in code.reason:
            code = Unsupported(f"{code.reason}; {attempt.reason}", attempt.issue)
    return code


def _lowering_error_text(error: Exception) -> str:
    """Return the message of an error in a lowering; Python's message of zip() does not mention the parameters."""
    return "their ranks differ" if str(error).startswith("zip()") else str(error)


def _call_lowering(lowering: Lowering, step: Step) -> Code:
    """Return the code of a step, also the reason if a part of it, such as its padding, is unsupported.

    Raises LoweringError if the lowering returns something else or raises an exception.
    """
    try:
        code = lowering(step)
    except UnsupportedStep as error:
        return error.unsupported
    except Exception as error:  # an adapter of another package may raise anything
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
        problem = f"raised {type(error).__name__}: {error} ({place})"
        raise LoweringError(f"{lowering_name(lowering)} for {step.operator} {problem}") from error
    if isinstance(code, (str, Unsupported)) or (isinstance(code, tuple) and all(isinstance(one, str) for one in code)):
        return code
    problem = "which is no source text, tuple of lines or Unsupported"
    raise LoweringError(f"{lowering_name(lowering)} for {step.operator} returned {code!r}, {problem}")


def lowering_name(lowering: Lowering) -> str:
    """Return the module and name of a lowering, for messages."""
    function: Any = lowering
    while isinstance(function, partial):
        function = function.func
    return f"adapter {function.__module__}: {getattr(function, '__qualname__', type(function).__name__)}"


def _native_call(step: Step, surface: Surface) -> Code:
    lowering = surface.lowerings.get(step.operator)
    if lowering is None:
        return Unsupported(f"{surface.name} has no {step.operator}")
    if FLAT_PADS_KEY in step.parameters and not surface.takes_flat_pads:
        return Unsupported(f"{surface.name} takes pads in pairs")
    if surface.supports(step.operator, step.dtype):
        return _call_lowering(lowering, step)
    call = _call_lowering(lowering, step) if surface.unsupported_reason(step.operator, step.dtype) else None
    return replace(
        _unsupported_dtype(step.operator, step.dtype, surface),
        rejected_call=None if isinstance(call, Unsupported) else call,
    )


def native_limitation(case: Case, surface: Surface) -> Unsupported | None:
    """Return the reason why the native call does not support a case, None if it does."""
    code = _native_call(plan_steps(case)[0], surface)
    return code if isinstance(code, Unsupported) else None


def _unsupported_dtype(operator: str, dtype: str, surface: Surface) -> Unsupported:
    """Return the reason why an operator does not support a dtype: the framework's reason if the adapter has one."""
    default = Unsupported(f"{surface.name} does not support {operator} in {dtype}")
    return surface.unsupported_reason(operator, dtype) or default


def _fallback(step: Step, surface: Surface) -> LoweredStep | Unsupported | None:
    """Return the adapter's composition for a step, the reason why it is unsupported, or None."""
    lowering = surface.fallbacks.get(step.operator)
    if lowering is None or not surface.supports(step.operator, step.dtype):
        return None
    code = _call_lowering(lowering, step)
    return code if isinstance(code, Unsupported) else (_step_lines(step, surface, code), How.COMPOSED)


def _single_call(step: Step, surface: Surface) -> LoweredStep | None:
    """Return the line of one call of another operator; None if the adapter's composition fits every size, too."""
    rewrites = SINGLE_CALLS.get(step.operator, ()) if surface.allows_compositions else ()
    # Bins of an empty axis are no windows.
    if not rewrites or 0 in step.shape or _fits_every_size(step, surface):
        return None
    for part in (part for rewrite in rewrites for part in step.rewritten(rewrite)):
        code = _native_call(part, surface)
        lowered = _fallback(part, surface) if isinstance(code, Unsupported) else (_step_lines(part, surface, code),)
        if isinstance(lowered, tuple) and len(lowered[0]) == 1:
            return lowered[0], How.COMPOSED
    return None


def _fits_every_size(step: Step, surface: Surface) -> bool:
    """Whether the adapter's composition for a step is the same for an input with twice the extents."""
    larger = replace(step, shape=(*step.shape[:2], *(2 * extent for extent in step.shape[2:])))
    composed = _fallback(step, surface)
    return isinstance(composed, tuple) and composed == _fallback(larger, surface)


def _building_block(step: Step, surface: Surface) -> LoweredStep | None:
    lowering = surface.building_blocks.get(step.operator) or _generic_lowerings(surface).get(step.operator)
    code = _call_lowering(lowering, step) if lowering and surface.supports_anywhere(step.dtype) else None
    return None if code is None or isinstance(code, Unsupported) else (_step_lines(step, surface, code), How.NATIVE)


def _rewrite(step: Step, surface: Surface) -> LoweredStep | Unsupported | None:
    """Return the lines of the first rewrite whose steps the surface all supports.

    If there is no such rewrite, return the reason of the last one that applies, or None.
    """
    unsupported: Unsupported | None = None
    for rewrite in REWRITES.get(step.operator, ()) if surface.allows_compositions else ():
        steps = step.rewritten(rewrite)
        parts = [lower_step(part, surface, native_only=False, inner=True) for part in steps]
        lowered = [part for part in parts if not isinstance(part, Unsupported)]
        if steps and len(lowered) == len(parts):
            # Padding and then the operator itself is still one call of the operator.
            one_call = [part.operator for part in steps] in (["pad", step.operator], [step.operator])
            kinds = [How.PADDED if one_call else How.COMPOSED, *(kind for _, kind in lowered)]
            # The members of How go from direct to indirect, so the least direct part decides.
            return [line for lines, _ in lowered for line in lines], max(kinds, key=[*How].index)
        unsupported = next((part for part in parts if isinstance(part, Unsupported)), unsupported)
    return unsupported


def _divide_by_ones(step: Step, surface: Surface) -> LoweredStep | Unsupported:
    """Return lines that apply the parts of a step to x and to ones, and divide the results."""
    if not surface.ones_expression:
        return Unsupported(f"{surface.name} has no array of ones to count with")
    lines: list[str] = []
    for part in step.parts:
        lowered = lower_step(part, surface, native_only=False, inner=True)
        if isinstance(lowered, Unsupported):
            return lowered
        lines += lowered[0]
    is_average = OPERATORS[step.parts[-1].operator].arithmetic is Arithmetic.AVERAGE
    name = "mean" if is_average else "total"
    return [*source_text.divide_by_ones(lines, surface.ones_expression, name)], How.COMPOSED


def _generic_lowerings(surface: Surface) -> Mapping[str, Lowering]:
    if not surface.allows_compositions:
        return {}
    return {
        BuildingBlock.NEGATE: lambda _step: "-x",
        BuildingBlock.SCALE: lambda _step: "x * scale",
        BuildingBlock.POWER: lambda step: f"x ** {in_parentheses(step.parameters['exponent'])}",
        BuildingBlock.CROP: lambda step: source_text.crop(step, channels_last=surface.channels_last),
        BuildingBlock.SUBSAMPLE: lambda step: source_text.subsample(step, channels_last=surface.channels_last),
    }


def in_parentheses(expression: str) -> str:
    """Return an expression as an operand: a number as it is, a quotient in parentheses."""
    return f"({expression})" if "/" in expression else expression


def _step_lines(step: Step, surface: Surface, code: str | tuple[str, ...]) -> list[str]:
    constants = [line for name, array in step.constants.items() for line in _constant_lines(surface, name, array)]
    return [*constants, *((f"x = {code}",) if isinstance(code, str) else code)]


def _constant_lines(surface: Surface, name: str, array: Array) -> Iterator[str]:
    """Yield the lines that define a constant array. bfloat16, which NumPy lacks, is written as float32 and cast."""
    narrow = surface.bfloat16 is not None and array.dtype.name == BFLOAT16
    write = (surface.language and surface.language.array) or source_text.array_text
    yield f"{name} = {write(array.astype(np.float32) if narrow else array)}"
    converted = input_expression(surface, name)
    cast = surface.bfloat16.from_float32.format(converted) if surface.bfloat16 and narrow else converted
    if cast != name:
        yield f"{name} = {cast}"
