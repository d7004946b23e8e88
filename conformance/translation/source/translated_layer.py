"""A layer of a source text and its translations."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.adapters.api import LayerStep
from conformance.translation.source.found_layer import FoundLayer
from reports.results.vocabulary import Word


@dataclass(frozen=True)
class TargetLayer:
    """A layer on one surface. steps: None if the surface has no translation, for the reason.

    caveats: remarks for the user. needs_shape: whether the text is for the shape of the case only.
    further_inputs: names of the arrays after x that are no weights, such as indices.
    """

    surface: str
    steps: tuple[LayerStep, ...] | None
    reason: str = ""
    caveats: tuple[str, ...] = ()
    needs_shape: bool = False
    further_inputs: tuple[str, ...] = ()


class LayerKind(Word):
    """What became of a layer."""

    TRANSLATED = "translated"
    UNTRANSLATED = "not translated"
    OTHER = "not a window operator"
    LOCAL = "a class of this source"


@dataclass(frozen=True)
class TranslatedLayer:
    """A layer of the source and its translations.

    problem: why it is not translated, "" if it is. meaning: operator and parameters.
    values: symbols for which a number was used. notes: remarks about the layer.
    needs_shape: whether the layer needs the shape of its input. kind: what became of the layer.
    """

    layer: FoundLayer
    problem: str = ""
    meaning: str = ""
    notes: tuple[str, ...] = ()
    targets: tuple[TargetLayer, ...] = ()
    needs_shape: bool = False
    kind: LayerKind = LayerKind.TRANSLATED


def is_missing(layer: TranslatedLayer, target: TargetLayer | None) -> bool:
    """Whether a window operator has no translation to a target; target: None for all targets."""
    if layer.kind is LayerKind.TRANSLATED:
        return target is not None and target.steps is None
    return layer.kind is LayerKind.UNTRANSLATED
