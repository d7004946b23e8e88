"""Translation: a case and a surface in, a program out, or why there is none.

A surface's own call comes first. Where it lacks something that explicit padding or a few other calls express exactly,
a rewriting says so once for all surfaces. Questions and cases that must be rejected get the surface's own call or
nothing: what we would add is not what they ask about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from conformance.adapters.api import source_text
from conformance.adapters.api.surface import Code, Lowering, Program, Surface, Unsupported
from conformance.cases.arrays import Array
from conformance.cases.case import FLAT_PADS_KEY, Case, Rejected, Value
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import Step, case_step
from conformance.translation.rewrites import REWRITES

INPUTS_CONVERTED_LIKE_X = frozenset({"scale", "grad", "indices"})
BFLOAT16 = "bfloat16"
KINDS_OF_PROGRAM = ("native", "padded", "composed")
LoweredStep = tuple[list[str], str]
"""The lines of a step, and how they do it."""


def translate(case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program that carries a case out on a surface."""
    if isinstance(case.expect, Rejected) and not surface.validates:
        return Unsupported(f"{surface.name} checks nothing, so nothing is there to refuse it")
    if case.operator in surface.lowerings and OPERATORS[case.operator].is_gradient:
        return _native_gradient(case, surface)
    steps = plan_steps(case)
    native_only = not isinstance(case.expect, Value)
    lowered = [lower_step(step, surface, native_only=native_only, inner=len(steps) > 1) for step in steps]
    lines: list[str] = []
    ways = []
    for part in lowered:
        if isinstance(part, Unsupported):
            return part
        lines += part[0]
        ways.append(part[1])
    how = "composed" if len(steps) > 1 or case.via else ways[0]
    if not OPERATORS[case.operator].is_gradient:
        whole = surface.wrap_program(lines, [*case.inputs]) if surface.wrap_program else lines
        return Program(surface.name, how, _program_text(case, surface, whole))
    differentiated = _gradient_text(case, surface, lines)
    return differentiated if isinstance(differentiated, Unsupported) else Program(surface.name, how, differentiated)


def _native_gradient(case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program of a gradient for which the surface has a verb."""
    if not surface.supports(case.operator, case.dtype):
        return _unsupported_dtype(case.operator, case.dtype, surface)
    step = replace(case_step(case), parameters=case.parameters)
    answer = surface.lowerings[case.operator](step)
    if isinstance(answer, Unsupported):
        return answer
    leave = surface.gradient_to_numpy.get(case.parameters.get("output", "x"))
    return Program(surface.name, "native", _program_text(case, surface, _step_lines(step, surface, answer), leave))


def _gradient_text(case: Case, surface: Surface, lines: Sequence[str]) -> str | Unsupported:
    """Return the text for the gradient of what the lines do."""
    if surface.write_gradient is None:
        return Unsupported(f"{surface.name} computes no gradients")
    if not surface.supports(case.operator, case.dtype):
        return _unsupported_dtype(case.operator, case.dtype, surface)
    wanted = case.parameters.get("output", "x")
    names = [name for name in case.inputs if name != "grad"]
    return _program_text(
        case, surface, surface.write_gradient(lines, names, wanted), surface.gradient_to_numpy.get(wanted)
    )


def _program_text(case: Case, surface: Surface, lines: Sequence[str], leave: str | None = None) -> str:
    entering = [_input_line(surface, name, spec.dtype) for name, spec in case.inputs.items()]
    words = surface.bfloat16 if case.dtype == BFLOAT16 and case.parameters.get("output") != "indices" else None
    leave = (words and words.to_numpy) or leave or surface.to_numpy
    body = [*filter(None, entering), *lines, f"return {leave}"]
    return f"def run({', '.join(case.inputs)}):\n" + "".join(f"{source_text.INDENT}{line}\n" for line in body)


def _input_line(surface: Surface, name: str, dtype: str) -> str:
    expression = _input_expression(surface, name)
    if surface.bfloat16 and dtype == BFLOAT16:
        expression = surface.bfloat16.to_framework.format(expression, name=name)
    return "" if expression == name else f"{name} = {expression}"


def _input_expression(surface: Surface, name: str) -> str:
    template = surface.to_framework.get(
        name, surface.to_framework.get("x", "{}") if name in INPUTS_CONVERTED_LIKE_X else "{}"
    )
    return template.format(name)


def lower_step(step: Step, surface: Surface, *, native_only: bool, inner: bool) -> LoweredStep | Unsupported:
    """Return the lines of one step and how they do it: by the surface's own call, or by the first rewriting that can.

    inner: the step is part of something larger, so what the surface sets aside for that comes first.
    """
    if step.parts:
        return _divide_by_ones(step, surface)
    if inner:
        preferred = _building_block(step, surface)
        if preferred:
            return preferred
    try:
        answer = _native_call(step, surface)
    except (ValueError, ArithmeticError, LookupError) as error:
        if not native_only:
            raise
        answer = Unsupported(f"the call cannot be written for such parameters: {_lowering_error_text(error)}")
    if native_only and isinstance(answer, Unsupported) and answer.rejected_call:
        answer = answer.rejected_call
    if not isinstance(answer, Unsupported):
        return _step_lines(step, surface, answer), "native"
    if native_only:
        return answer
    for attempt in (_fallback(step, surface), _rewrite(step, surface)):
        if isinstance(attempt, tuple):
            return attempt
        if isinstance(attempt, Unsupported) and attempt.reason not in answer.reason:
            answer = Unsupported(f"{answer.reason}; {attempt.reason}", attempt.issue)
    return answer


def _lowering_error_text(error: Exception) -> str:
    """Return why a verb has no answer; Python's words for lists of unequal length say nothing to a reader."""
    return "their ranks differ" if str(error).startswith("zip()") else str(error)


def _native_call(step: Step, surface: Surface) -> Code:
    verb = surface.lowerings.get(step.operator)
    if verb is None:
        return Unsupported(f"{surface.name} has no {step.operator}")
    if FLAT_PADS_KEY in step.parameters and not surface.takes_flat_pads:
        return Unsupported(f"{surface.name} takes pads in pairs")
    if surface.supports(step.operator, step.dtype):
        return verb(step)
    call = verb(step) if surface.unsupported_reason(step.operator, step.dtype) else None
    return replace(
        _unsupported_dtype(step.operator, step.dtype, surface),
        rejected_call=None if isinstance(call, Unsupported) else call,
    )


def missing_requirement(case: Case, surface: Surface) -> Unsupported | None:
    """Return why a surface's own call does not carry a case out, None where it does."""
    answer = _native_call(plan_steps(case)[0], surface)
    return answer if isinstance(answer, Unsupported) else None


def _unsupported_dtype(operator: str, dtype: str, surface: Surface) -> Unsupported:
    """Return why a verb has no words for a dtype: the framework's reason, or that nobody has looked."""
    missing = Unsupported(f"{surface.name} has no words for {operator} in {dtype}")
    return surface.unsupported_reason(operator, dtype) or missing


def _fallback(step: Step, surface: Surface) -> LoweredStep | Unsupported | None:
    """Return the surface's own composition, why it does not do, or None where there is none."""
    verb = surface.fallbacks.get(step.operator)
    if verb is None or not surface.supports(step.operator, step.dtype):
        return None
    answer = verb(step)
    return answer if isinstance(answer, Unsupported) else (_step_lines(step, surface, answer), "composed")


def _building_block(step: Step, surface: Surface) -> LoweredStep | None:
    verb = surface.building_blocks.get(step.operator) or _generic_lowerings(surface).get(step.operator)
    answer = verb(step) if verb and surface.supports_anywhere(step.dtype) else None
    return None if answer is None or isinstance(answer, Unsupported) else (_step_lines(step, surface, answer), "native")


def _rewrite(step: Step, surface: Surface) -> LoweredStep | Unsupported | None:
    """Return the first rewriting whose every step the surface has words for, or what the last one lacks."""
    lacking: Unsupported | None = None
    for rewrite in REWRITES.get(step.operator, ()) if surface.allows_compositions else ():
        steps = rewrite(step)
        parts = [lower_step(part, surface, native_only=False, inner=True) for part in steps]
        done = [part for part in parts if not isinstance(part, Unsupported)]
        if steps and len(done) == len(parts):
            one_call = [part.operator for part in steps] in (["pad", step.operator], [step.operator])
            ways = ["padded" if one_call else "composed", *(way for _, way in done)]
            return [line for lines, _ in done for line in lines], max(ways, key=KINDS_OF_PROGRAM.index)
        lacking = next((part for part in parts if isinstance(part, Unsupported)), lacking)
    return lacking


def _divide_by_ones(step: Step, surface: Surface) -> LoweredStep | Unsupported:
    """Return the quotient of what the parts of a step make of x and of ones."""
    if not surface.ones_expression:
        return Unsupported(f"{surface.name} has no array of ones to count with")
    lines: list[str] = []
    for part in step.parts:
        lowered = lower_step(part, surface, native_only=False, inner=True)
        if isinstance(lowered, Unsupported):
            return lowered
        lines += lowered[0]
    called = "mean" if step.parts[-1].operator == "avg_pool" else "total"
    return [*source_text.divide_by_ones(lines, surface.ones_expression, called)], "composed"


def _generic_lowerings(surface: Surface) -> Mapping[str, Lowering]:
    if not surface.allows_compositions:
        return {}
    return {
        "negate": lambda _step: "-x",
        "scale": lambda _step: "x * scale",
        "crop": lambda step: source_text.crop(step, channels_last=surface.channels_last),
        "subsample": lambda step: source_text.subsample(step, channels_last=surface.channels_last),
    }


def _step_lines(step: Step, surface: Surface, answer: str | tuple[str, ...]) -> list[str]:
    constants = [line for name, array in step.constants.items() for line in _constant_lines(surface, name, array)]
    return [*constants, *((f"x = {answer}",) if isinstance(answer, str) else answer)]


def _constant_lines(surface: Surface, name: str, array: Array) -> Iterator[str]:
    """Yield the lines that write an array out; NumPy has no bfloat16, so its numbers are written in float32."""
    narrow = surface.bfloat16 is not None and array.dtype.name == BFLOAT16
    yield f"{name} = {source_text.array_text(array.astype(np.float32) if narrow else array)}"
    entered = _input_expression(surface, name)
    cast = surface.bfloat16.from_float32.format(entered) if surface.bfloat16 and narrow else entered
    if cast != name:
        yield f"{name} = {cast}"
