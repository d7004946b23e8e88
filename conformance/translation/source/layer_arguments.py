"""Parse a found layer with numbers in place of its symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.adapters.api import Dialect
from conformance.cases.case import Case
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.layer import ParsedLayer, parse_framework_layer
from conformance.translation.source.constants import Symbol
from conformance.translation.source.found_layer import FoundLayer
from conformance.translation.source.symbol_text import argument_text

ARRAY_NAME = "x"


@dataclass(frozen=True)
class LayerParser:
    """Parses layers of one framework. shapes: of inputs, by the name of the layer."""

    dialects: Sequence[Dialect]
    shapes: Mapping[str, tuple[int, ...]]

    def shape_of(self, layer: FoundLayer) -> tuple[int, ...] | None:
        """Return the shape of the input that the user gave."""
        return self.shapes.get(layer.name, self.shapes.get(layer.full_name))

    def symbols(self, layer: FoundLayer) -> list[Symbol]:
        """Return the symbols of the layer without those of arrays and of arguments that change no result."""
        unread = self._unread_arguments(layer)
        positional = [value for index, value in enumerate(layer.arguments) if index not in unread]
        keywords = {key: value for key, value in layer.keywords.items() if key not in unread}
        return replace(layer, arguments=tuple(positional), keywords=keywords).symbols

    def _unread_arguments(self, layer: FoundLayer) -> set[Any]:
        """Return the positions and names of arguments that are arrays or change no result."""
        found: set[Any] = set()
        for dialect in self.dialects:
            for signature, _ in dialect.layers_by_name.get(layer.class_name, ()):
                names = [*signature.parameters.parameters]
                unread = {*signature.array_arguments, *signature.ignored_arguments}
                found |= unread | {index for index, name in enumerate(names) if name in unread}
        return found

    def parse(self, layer: FoundLayer, numbers: Mapping[str, Any]) -> tuple[ParsedLayer, Case]:
        """Return the layer and its case. numbers: values of symbols, by their text."""
        shape = self.shape_of(layer)
        unread = self._unread_arguments(layer)
        arguments = [
            ARRAY_NAME if index in unread else argument_text(value, numbers)
            for index, value in enumerate(layer.arguments)
        ]
        keywords = [
            f"{key}={ARRAY_NAME if key in unread else argument_text(value, numbers)}"
            for key, value in layer.keywords.items()
            if not (key in unread and isinstance(value, Symbol) and not self._is_array(layer, key))
        ]
        text = f"{layer.called}({', '.join([*arguments, *keywords])})"
        if shape is not None:
            shape = (shape[0], numbers.get(str(shape[1]), shape[1]), *shape[2:])
        parsed = parse_framework_layer(text, self.dialects, shape)
        return parsed, _case_of(parsed.request)

    def _is_array(self, layer: FoundLayer, name: str) -> bool:
        signatures = (one for dialect in self.dialects for one in dialect.layers_by_name.get(layer.class_name, ()))
        return any(name in signature.array_arguments for signature, _ in signatures)


def _case_of(request: CaseRequest) -> Case:
    """Return the case; without a shape, with extents that are multiples of the stride.

    For such extents, a symmetric padding is rarely that of `same`, so that a program has numbers, which are valid for
    every extent, in place of the word.
    """
    case = request.case()
    stride = case.parameters.get("stride")
    if request.shape is not None or not stride:
        return case
    extents = (-(-extent // step) * step for extent, step in zip(case.shape[2:], stride, strict=True))
    return replace(request, shape=(*case.shape[:2], *extents)).case()
