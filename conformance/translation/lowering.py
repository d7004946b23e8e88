"""Translate a case to a program of a surface, or return the reason why it is unsupported.

The native call comes first. If it does not support the case, the compositions of the adapter and the rewrites in
`rewrites` are tried. Conventions and cases that must be rejected use the native call only: added padding or further
calls would change the observed behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance import ConformanceError
from conformance.adapters.api import Program, Surface, Unsupported, source_text
from conformance.cases.arrays import BFLOAT16
from conformance.cases.case import (
    ARRAYS_KEY,
    DRAWN_KEY,
    MIXED_KEY,
    NUMPY_USES,
    WORDS_KEY,
    Answers,
    Case,
    Rejected,
    Value,
)
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import Step, case_step
from conformance.translation.array_use import unsupported_use, with_array_use
from conformance.translation.mixed_precision import with_mixed_precision
from conformance.translation.other_sizes import other_sizes
from conformance.translation.own_words import chain_lowering, with_own_words
from conformance.translation.step_lowering import (
    LoweredStep,
    LoweringError,
    _call_lowering,
    _step_lines,
    _unsupported_dtype,
    input_expression,
    lower_step,
)
from reports.results.vocabulary import How


def translate(case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program of a case on a surface, or the reason why it is unsupported.

    Raises ConformanceError for an error of the adapter, with its module and function, the surface and the case.
    """
    try:
        worded = with_own_words(surface) if case.parameters.get(WORDS_KEY) else surface
        if DRAWN_KEY in case.parameters:
            if case.operator not in surface.drawn:
                return Unsupported(f"{surface.name} draws no regions of {case.operator} at random")
            worded = replace(surface, lowerings=surface.drawn, fallbacks={}, allows_compositions=False)
        mixed = case.parameters.get(MIXED_KEY)
        chosen = with_mixed_precision(worded, mixed) if mixed else worded
        if isinstance(chosen, Unsupported):
            return chosen
        return unsupported_use(case, surface) or _translate(case, chosen)
    except LoweringError as error:
        raise ConformanceError(f"surface {surface.name}: case {case.id}: {error}") from error.__cause__


def _translate(case: Case, surface: Surface) -> Program | Unsupported:
    if isinstance(case.expect, Rejected) and (not surface.validates or case.operator in surface.unchecked_operators):
        return Unsupported(f"{surface.name} does not check its arguments, so it cannot reject them")
    if isinstance(case.expect, Answers) and not surface.answers_conventions:
        return Unsupported(f"{surface.name} transforms the call, whose own answer is that of other surfaces")
    if case.operator in surface.lowerings and OPERATORS[case.operator].is_gradient:
        return _native_gradient(case, surface)
    lowered = _lower_steps(case, surface)
    unsupported = next((part for part in lowered if isinstance(part, Unsupported)), None)
    if unsupported is not None or surface.with_sizes is None:
        return unsupported or _steps_program(case, surface, lowered)
    sizes = other_sizes(case, lambda other: lowered if other is case else _lower_steps(other, surface))
    if isinstance(sizes, Unsupported):
        return sizes
    return _steps_program(case, surface.with_sizes(surface, sizes), lowered)


def translate_steps(case: Case, surface: Surface, steps: Sequence[Step]) -> Program | Unsupported:
    """Return the program of several steps that read the input of a case, or the reason why one is unsupported.

    The case has no gradient. The result need not be that of the case.
    """
    lowered = [lower_step(step, surface, native_only=False, inner=True) for step in steps]
    unsupported = next((part for part in lowered if isinstance(part, Unsupported)), None)
    return unsupported or _steps_program(case, surface, lowered)


def _steps_program(case: Case, surface: Surface, lowered: Sequence[LoweredStep | Unsupported]) -> Program | Unsupported:
    """Return the program of steps that are all supported."""
    parts = [part for part in lowered if not isinstance(part, Unsupported)]
    lines = [line for part in parts for line in part[0]]
    how = How.COMPOSED if len(parts) > 1 or case.via else parts[0][1]
    if not OPERATORS[case.operator].is_gradient:
        body = surface.wrap_program(lines, [*case.inputs]) if surface.wrap_program else lines
        return _make_program(case, surface, how, _program_text(case, surface, body))
    differentiated = _gradient_text(case, surface, lines)
    if isinstance(differentiated, Unsupported):
        return differentiated
    return _make_program(case, surface, how, differentiated)


def _lower_steps(case: Case, surface: Surface) -> list[LoweredStep | Unsupported]:
    steps, native_only = plan_steps(case), not isinstance(case.expect, Value)
    if case.parameters.get(WORDS_KEY) and len(steps) > 1:
        return [_lower_chain(steps, surface)]
    return [lower_step(step, surface, native_only=native_only, inner=len(steps) > 1) for step in steps]


def _lower_chain(steps: Sequence[Step], surface: Surface) -> LoweredStep | Unsupported:
    """Return the lines of one call for all steps."""
    for step in steps:
        if not surface.supports(step.operator, step.dtype):
            return _unsupported_dtype(step.operator, step.dtype, surface)
    lowering = chain_lowering(surface, steps)
    code = lowering if isinstance(lowering, Unsupported) else _call_lowering(lowering, steps[-1])
    if isinstance(code, Unsupported):
        return code
    # The constants of the last step would replace the inputs of the first one.
    first = [f"first_{name} = {name}" for name in steps[-1].constants if name == "kernel" and steps[0].kernel]
    return [*first, *_step_lines(steps[-1], surface, code)], How.NATIVE


def _make_program(case: Case, surface: Surface, how: How, text: str) -> Program:
    return Program(surface.name, how, text, surface.select_mode(case) if surface.select_mode else "")


def _native_gradient(case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program of a gradient for which the surface has a lowering."""
    if not surface.supports(case.operator, case.dtype):
        return _unsupported_dtype(case.operator, case.dtype, surface)
    step = replace(case_step(case), parameters=case.parameters)
    code = _call_lowering(surface.lowerings[case.operator], step)
    if isinstance(code, Unsupported):
        return code
    to_numpy = surface.gradient_to_numpy.get(case.parameters.get("output", "x"))
    text = _program_text(case, surface, _step_lines(step, surface, code), to_numpy)
    return _make_program(case, surface, How.NATIVE, text)


def _gradient_text(case: Case, surface: Surface, lines: Sequence[str]) -> str | Unsupported:
    """Return the program text for the gradient of the lines."""
    if surface.write_gradient is None:
        return Unsupported(f"{surface.name} computes no gradients")
    if not surface.supports(case.operator, case.dtype):
        return _unsupported_dtype(case.operator, case.dtype, surface)
    input_name = case.parameters.get("output", "x")
    names = [name for name in case.inputs if name != "grad"]
    gradient = surface.write_gradient(lines, names, input_name)
    return _program_text(case, surface, gradient, surface.gradient_to_numpy.get(input_name))


def _program_text(case: Case, surface: Surface, lines: Sequence[str], to_numpy: str | None = None) -> str:
    conversions = {name: _input_line(surface, name, spec.dtype) for name, spec in case.inputs.items()}
    if case.parameters.get(ARRAYS_KEY) in NUMPY_USES:
        conversions = {name: _assignment(name, (surface.numpy_inputs or {}).get(name, "{}")) for name in case.inputs}
    # Indices are integers, also for bfloat16 inputs.
    bfloat16 = surface.bfloat16 if case.dtype == BFLOAT16 and case.parameters.get("output") != "indices" else None
    to_numpy = (bfloat16 and bfloat16.to_numpy) or to_numpy or surface.to_numpy
    body = with_array_use(case, conversions, lines, to_numpy)
    if surface.language is not None:
        return surface.language.program([*case.inputs], [*body])
    return f"def run({', '.join(case.inputs)}):\n" + "".join(f"{source_text.INDENT}{line}\n" for line in body)


def _input_line(surface: Surface, name: str, dtype: str) -> str:
    expression = input_expression(surface, name)
    if surface.bfloat16 and dtype == BFLOAT16:
        expression = surface.bfloat16.to_framework.format(expression, name=name)
    return _assignment(name, expression)


def _assignment(name: str, template: str) -> str:
    """Return the assignment of an expression to a name, "" if the expression is the name."""
    expression = template.format(name)
    return "" if expression == name else f"{name} = {expression}"
