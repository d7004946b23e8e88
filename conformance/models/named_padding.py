"""Layers whose padding SAME is computed from the size of the input, on targets that have numbers in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from conformance.adapters.api import Surface
from conformance.cases.operators import OPERATORS, Arithmetic, PaddingWord
from conformance.models.layer import ModelLayer
from conformance.models.questions import Numbers, candidate_with
from conformance.translation.option_text import size_text
from conformance.translation.single_call import names_padding, word_call
from reference import Windows

PAD = "pad"
SIZE_NOTE = "the model computes its padding SAME from the input size, and the numbers here are right"
MAX_SIZES = 4
"""Number of other sizes that are named in each direction."""


def size_note(layer: ModelLayer, surface: Surface) -> str:
    """Return for which input sizes the padding of a target is that of the model; "" if for all."""
    if layer.operator == PAD:
        return _note_of_pad(layer)
    if not layer.computed_padding or names_padding(candidate_with(Numbers.INTEGERS, layer).case, surface):
        return ""
    sizes = list(_sizes(layer))
    return "" if _has_word(layer, [size for size, _ in sizes], surface) else _note(sizes)


def _has_word(layer: ModelLayer, sizes: Sequence[tuple[int, ...]], surface: Surface) -> bool:
    """Whether a surface has one call with a word for the padding, which is the same for all sizes."""
    resized = (replace(layer, shape=(*layer.shape[:2], *size)) for size in sizes)
    own = (replace(one, parameters={**one.parameters, "padding": _pads(one, one.shape[2:])}) for one in resized)
    calls = {word_call(candidate_with(Numbers.INTEGERS, one).case, surface) for one in own}
    return len(calls) == 1 and "" not in calls


def _note_of_pad(layer: ModelLayer) -> str:
    """Return the note of a padding that a convolution after it computes from the size of the input."""
    conv = layer.following
    if not layer.padding_word or conv is None:
        return ""
    own = replace(conv, shape=layer.shape, parameters={**conv.parameters, "padding": PaddingWord.SAME_UPPER.value})
    return _note(list(_sizes(own))) if own.computed_padding else ""


def _note(sizes: Sequence[tuple[tuple[int, ...], bool]]) -> str:
    if all(is_same for _, is_same in sizes):
        return ""
    right, wrong = ([size_text(size) for size, is_same in sizes if is_same is wanted] for wanted in (True, False))
    return f"{SIZE_NOTE} for {', '.join(right)}, not for {', '.join(wrong)}"


def _sizes(layer: ModelLayer) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Yield sizes around that of a layer, and whether they have the same padding."""
    extents = layer.shape[2:]
    change = min(max(_stride(layer)), MAX_SIZES)
    for more in range(-change, change + 1):
        size = tuple(extent + more for extent in extents)
        if min(size) > 0:
            yield size, _pads(layer, size) == _pads(layer, extents)


def _pads(layer: ModelLayer, size: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the padding that a layer computes for a size."""
    dilation = layer.parameters.get("dilation") or (1,) * layer.rank
    return Windows.of(size, layer.window, _stride(layer), layer.computed_padding, dilation).pads


def _stride(layer: ModelLayer) -> tuple[int, ...]:
    is_sum = OPERATORS[layer.operator].arithmetic is Arithmetic.SUM
    return tuple(layer.parameters.get("stride") or ((1,) * layer.rank if is_sum else layer.window))
