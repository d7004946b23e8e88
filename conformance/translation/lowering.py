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
from conformance.adapters.api.surface import Code, Program, Surface, Unsupported, Verb
from conformance.cases.arrays import Array
from conformance.cases.case import FLAT, Case, Rejected, Value
from conformance.cases.compositions import plan
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import Step, first_step
from conformance.translation.rewrites import REWRITINGS

LIKE_X = frozenset({"scale", "grad", "indices"})
WORDS = "bfloat16"
HOW = ("native", "padded", "composed")
Lowered = tuple[list[str], str]
"""The lines of a step, and how they do it."""


def translate(case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program that carries a case out on a surface."""
    if isinstance(case.expect, Rejected) and not surface.checks:
        return Unsupported(f"{surface.name} checks nothing, so nothing is there to refuse it")
    if case.operator in surface.verbs and OPERATORS[case.operator].gradient:
        return _own_gradient(case, surface)
    steps = plan(case)
    native_only = not isinstance(case.expect, Value)
    lowered = [lower(step, surface, native_only=native_only, inner=len(steps) > 1) for step in steps]
    lines: list[str] = []
    ways = []
    for part in lowered:
        if isinstance(part, Unsupported):
            return part
        lines += part[0]
        ways.append(part[1])
    how = "composed" if len(steps) > 1 or case.via else ways[0]
    if not OPERATORS[case.operator].gradient:
        whole = surface.wrap(lines, [*case.inputs]) if surface.wrap else lines
        return Program(surface.name, how, _text(case, surface, whole))
    differentiated = _differentiated(case, surface, lines)
    return differentiated if isinstance(differentiated, Unsupported) else Program(surface.name, how, differentiated)


def _own_gradient(case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program of a gradient for which the surface has a verb."""
    if not surface.takes(case.operator, case.dtype):
        return _dtype(case.operator, case.dtype, surface)
    step = replace(first_step(case), parameters=case.parameters)
    answer = surface.verbs[case.operator](step)
    if isinstance(answer, Unsupported):
        return answer
    leave = surface.leaves.get(case.parameters.get("output", "x"))
    return Program(surface.name, "native", _text(case, surface, _lines(step, surface, answer), leave))


def _differentiated(case: Case, surface: Surface, lines: Sequence[str]) -> str | Unsupported:
    """Return the text for the gradient of what the lines do."""
    if surface.gradient is None:
        return Unsupported(f"{surface.name} computes no gradients")
    if not surface.takes(case.operator, case.dtype):
        return _dtype(case.operator, case.dtype, surface)
    wanted = case.parameters.get("output", "x")
    names = [name for name in case.inputs if name != "grad"]
    return _text(case, surface, surface.gradient(lines, names, wanted), surface.leaves.get(wanted))


def _text(case: Case, surface: Surface, lines: Sequence[str], leave: str | None = None) -> str:
    entering = [_enter(surface, name, spec.dtype) for name, spec in case.inputs.items()]
    words = surface.words if case.dtype == WORDS and case.parameters.get("output") != "indices" else None
    leave = (words and words.leave) or leave or surface.leave
    body = [*filter(None, entering), *lines, f"return {leave}"]
    return f"def run({', '.join(case.inputs)}):\n" + "".join(f"{source_text.INDENT}{line}\n" for line in body)


def _enter(surface: Surface, name: str, dtype: str) -> str:
    expression = _entered(surface, name)
    if surface.words and dtype == WORDS:
        expression = surface.words.enter.format(expression, name=name)
    return "" if expression == name else f"{name} = {expression}"


def _entered(surface: Surface, name: str) -> str:
    template = surface.enter.get(name, surface.enter.get("x", "{}") if name in LIKE_X else "{}")
    return template.format(name)


def lower(step: Step, surface: Surface, *, native_only: bool, inner: bool) -> Lowered | Unsupported:
    """Return the lines of one step and how they do it: by the surface's own call, or by the first rewriting that can.

    inner: the step is part of something larger, so what the surface sets aside for that comes first.
    """
    if step.parts:
        return _over_ones(step, surface)
    if inner:
        preferred = _around(step, surface)
        if preferred:
            return preferred
    try:
        answer = _own_call(step, surface)
    except (ValueError, ArithmeticError, LookupError) as error:
        if not native_only:
            raise
        answer = Unsupported(f"the call cannot be written for such parameters: {_in_words(error)}")
    if native_only and isinstance(answer, Unsupported) and answer.refused:
        answer = answer.refused
    if not isinstance(answer, Unsupported):
        return _lines(step, surface, answer), "native"
    if native_only:
        return answer
    for attempt in (_composed(step, surface), _rewritten(step, surface)):
        if isinstance(attempt, tuple):
            return attempt
        if isinstance(attempt, Unsupported) and attempt.reason not in answer.reason:
            answer = Unsupported(f"{answer.reason}; {attempt.reason}", attempt.issue)
    return answer


def _in_words(error: Exception) -> str:
    """Return why a verb has no answer; Python's words for lists of unequal length say nothing to a reader."""
    return "their ranks differ" if str(error).startswith("zip()") else str(error)


def _own_call(step: Step, surface: Surface) -> Code:
    verb = surface.verbs.get(step.verb)
    if verb is None:
        return Unsupported(f"{surface.name} has no {step.verb}")
    if FLAT in step.parameters and not surface.flat_pads:
        return Unsupported(f"{surface.name} takes pads in pairs")
    if surface.takes(step.verb, step.dtype):
        return verb(step)
    call = verb(step) if surface.refusal(step.verb, step.dtype) else None
    return replace(_dtype(step.verb, step.dtype, surface), refused=None if isinstance(call, Unsupported) else call)


def lacking(case: Case, surface: Surface) -> Unsupported | None:
    """Return why a surface's own call does not carry a case out, None where it does."""
    answer = _own_call(plan(case)[0], surface)
    return answer if isinstance(answer, Unsupported) else None


def _dtype(verb: str, dtype: str, surface: Surface) -> Unsupported:
    """Return why a verb has no words for a dtype: the framework's reason, or that nobody has looked."""
    missing = Unsupported(f"{surface.name} has no words for {verb} in {dtype}")
    return surface.refusal(verb, dtype) or missing


def _composed(step: Step, surface: Surface) -> Lowered | Unsupported | None:
    """Return the surface's own composition, why it does not do, or None where there is none."""
    verb = surface.composed.get(step.verb)
    if verb is None or not surface.takes(step.verb, step.dtype):
        return None
    answer = verb(step)
    return answer if isinstance(answer, Unsupported) else (_lines(step, surface, answer), "composed")


def _around(step: Step, surface: Surface) -> Lowered | None:
    verb = surface.around.get(step.verb) or _generic(surface).get(step.verb)
    answer = verb(step) if verb and surface.enters(step.dtype) else None
    return None if answer is None or isinstance(answer, Unsupported) else (_lines(step, surface, answer), "native")


def _rewritten(step: Step, surface: Surface) -> Lowered | Unsupported | None:
    """Return the first rewriting whose every step the surface has words for, or what the last one lacks."""
    lacking: Unsupported | None = None
    for rewrite in REWRITINGS.get(step.verb, ()) if surface.compositions else ():
        steps = rewrite(step)
        parts = [lower(part, surface, native_only=False, inner=True) for part in steps]
        done = [part for part in parts if not isinstance(part, Unsupported)]
        if steps and len(done) == len(parts):
            one_call = [part.verb for part in steps] in (["pad", step.verb], [step.verb])
            ways = ["padded" if one_call else "composed", *(way for _, way in done)]
            return [line for lines, _ in done for line in lines], max(ways, key=HOW.index)
        lacking = next((part for part in parts if isinstance(part, Unsupported)), lacking)
    return lacking


def _over_ones(step: Step, surface: Surface) -> Lowered | Unsupported:
    """Return the quotient of what the parts of a step make of x and of ones."""
    if not surface.ones:
        return Unsupported(f"{surface.name} has no array of ones to count with")
    lines: list[str] = []
    for part in step.parts:
        lowered = lower(part, surface, native_only=False, inner=True)
        if isinstance(lowered, Unsupported):
            return lowered
        lines += lowered[0]
    called = "mean" if step.parts[-1].verb == "avg_pool" else "total"
    return [*source_text.over_ones(lines, surface.ones, called)], "composed"


def _generic(surface: Surface) -> Mapping[str, Verb]:
    if not surface.compositions:
        return {}
    return {
        "negate": lambda _step: "-x",
        "scale": lambda _step: "x * scale",
        "crop": lambda step: source_text.crop(step, channels_last=surface.channels_last),
        "subsample": lambda step: source_text.subsample(step, channels_last=surface.channels_last),
    }


def _lines(step: Step, surface: Surface, answer: str | tuple[str, ...]) -> list[str]:
    constants = [line for name, array in step.constants.items() for line in _constant(surface, name, array)]
    return [*constants, *((f"x = {answer}",) if isinstance(answer, str) else answer)]


def _constant(surface: Surface, name: str, array: Array) -> Iterator[str]:
    """Yield the lines that write an array out; NumPy has no bfloat16, so its numbers are written in float32."""
    narrow = surface.words is not None and array.dtype.name == WORDS
    yield f"{name} = {source_text.array_text(array.astype(np.float32) if narrow else array)}"
    entered = _entered(surface, name)
    cast = surface.words.cast.format(entered) if surface.words and narrow else entered
    if cast != name:
        yield f"{name} = {cast}"
