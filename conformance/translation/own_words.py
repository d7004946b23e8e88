"""Programs that name parameters by the framework's own words, such as `padding="same"`, in place of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters.api import Code, Lowering, Step, Surface, Unsupported, padding_word
from conformance.cases.case import FRAMEWORK_SAME
from conformance.cases.operators import OPERATORS, PaddingWord

NAMED_PADDING_OPERATORS = frozenset({"max_pool", "min_pool", "conv"})
"""Operators for which the word `same` means `same_upper` in every framework. Averages differ in their divisor."""


def with_own_words(surface: Surface) -> Surface:
    """Return a surface that supports only calls that contain a word."""
    operators = {*surface.words, *surface.lowerings} & OPERATORS.keys()
    lowerings: Mapping[str, Lowering] = {
        name: partial(_write_word, surface) for name in operators if not OPERATORS[name].is_gradient
    }
    return replace(surface, lowerings=lowerings, fallbacks={}, allows_compositions=False)


def chain_lowering(surface: Surface, steps: Sequence[Step]) -> Lowering | Unsupported:
    """Return the lowering that writes one call for all steps. Its argument is the last step."""
    word = surface.chain_words.get(tuple(step.operator for step in steps))
    if word is None:
        return Unsupported(f"{surface.name} has no call for {' and '.join(step.operator for step in steps)}")
    return partial(word, steps[0])


def _write_word(surface: Surface, step: Step) -> Code:
    word = surface.words.get(step.operator)
    code = word(step) if word else None
    if code is None or isinstance(code, Unsupported):
        code = _call_with_named_padding(surface, step) or code
    reason = f"{surface.name} has no word of its own for the parameters"
    return Unsupported(reason) if code is None or isinstance(code, Unsupported) else code


def _call_with_named_padding(surface: Surface, step: Step) -> Code | None:
    """Return the call with the padding "same", if the step has this padding."""
    lowering = surface.lowerings.get(step.operator)
    if lowering is None or step.operator not in NAMED_PADDING_OPERATORS:
        return None
    is_same = padding_word(step) is PaddingWord.SAME_UPPER
    return lowering(step.with_parameters(padding=FRAMEWORK_SAME)) if is_same else None
