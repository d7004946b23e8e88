"""Translate a layer that was found in a source text to surfaces, with symbols for values that the text does not give.

A symbol such as `planes` is replaced by a number, and the layer is translated twice with different numbers. Where the
programs differ in these numbers only, the symbol replaces them. Otherwise the value is needed: the default of the
parameter if it has one, or a value from the user.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api import (
    ADD_SHAPE,
    Backend,
    Dialect,
    ModuleStyle,
    OtherLayer,
    Surface,
    default_differences,
    find_other_layer,
)
from conformance.cases.case import Case
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.call_text import call_text
from conformance.translation.layer import ParsedLayer
from conformance.translation.side_by_side import TranslationBackground, source_deviations
from conformance.translation.source.constants import Symbol
from conformance.translation.source.found_layer import GRAPH, UNNAMED, FoundLayer
from conformance.translation.source.layer_arguments import LayerParser
from conformance.translation.source.symbol_text import argument_text, names_in, text_of, with_symbols
from conformance.translation.source.target_layer import COMMAND, COMMAND_OF_SECOND, PLAIN_STYLE, target_layer
from conformance.translation.source.translated_layer import LayerKind, TargetLayer, TranslatedLayer

FIRST_NUMBERS, SECOND_NUMBERS = (37, 41, 43, 47, 53, 59, 61), (67, 71, 73, 79, 83, 89, 97)
"""Numbers for symbols. Primes, which are no products of literal sizes, and larger than usual windows."""
NUMBERS = (FIRST_NUMBERS, SECOND_NUMBERS)
SMALL_NUMBERS: tuple[int, ...] = (5, 7, 11, 13, 17, 19, 23, 29)
"""Numbers in place of numbers of channels, for layers that are too large to become a case."""
MANY_CHANNELS = 16
"""The smallest number of channels that is replaced."""
TOO_LARGE = "more than the limit of"
NEEDS_SHAPE = "the size of the input"
"""Phrase of errors about layers whose parameters depend on the shape."""


@dataclass(frozen=True)
class SourceTranslator:
    """What the translation of the layers of one source needs.

    framework: of the source. dialects: its dialects. surfaces: the targets, those with a style only for modules.
    styles: by surface. others: layers that are not window operators, by framework. shapes: of inputs, by layer name.
    separate: arguments that add another operation. source_surfaces: those of the dialects.
    """

    framework: str
    dialects: Sequence[Dialect]
    surfaces: Sequence[tuple[Backend, Surface]]
    styles: Mapping[str, ModuleStyle]
    others: Mapping[str, Sequence[OtherLayer]]
    background: TranslationBackground
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    separate: frozenset[str] = frozenset()
    source_surfaces: Sequence[Surface] = ()

    @property
    def parser(self) -> LayerParser:
        """The parser of its layers."""
        return LayerParser(self.dialects, self.shapes)

    def translate(self, layer: FoundLayer) -> TranslatedLayer:
        """Return the layer with its translations, or with the reason why there are none."""
        found = self._translate(layer)
        return replace(found, notes=(layer.class_note, *found.notes)) if layer.class_note else found

    def _translate(self, layer: FoundLayer) -> TranslatedLayer:
        if layer.local_line is not None:
            return TranslatedLayer(layer, f"a class of this source, line {layer.local_line}", kind=LayerKind.LOCAL)
        if layer.is_foreign or not any(layer.class_name in dialect.layers_by_name for dialect in self.dialects):
            return TranslatedLayer(layer, self._other_text(layer), kind=LayerKind.OTHER)
        if UNNAMED in layer.keywords:
            names = text_of(layer.keywords[UNNAMED])
            problem = f"its arguments {UNNAMED}{names} are not known from the text"
            return TranslatedLayer(layer, problem, kind=LayerKind.UNTRANSLATED)
        layer, notes = self._without_separate(layer)
        try:
            found = self._translate_window_layer(layer)
            return replace(found, notes=(*notes, *found.notes))
        except ConformanceError as error:
            if TOO_LARGE in str(error) and (smaller := self._translate_smaller(layer)):
                return replace(smaller, notes=(*notes, *smaller.notes))
            message = str(error).partition(": ")[2] if str(error).startswith("'") else str(error)
            asks = NEEDS_SHAPE in message
            message = message.replace(ADD_SHAPE, f"add --input {layer.full_name}=N,C,…")
            return TranslatedLayer(layer, message, needs_shape=asks, kind=LayerKind.UNTRANSLATED)

    def translate_request(
        self, layer: FoundLayer, request: CaseRequest, notes: tuple[str, ...] = ()
    ) -> TranslatedLayer:
        """Return a layer whose case is known. Raises ConformanceError for a request without a case."""
        parsed, case = ParsedLayer(request), request.case()
        targets = self._targets(case, parsed)
        return replace(self._translated(layer, (parsed, case), targets), notes=notes)

    def translate_reduced(
        self, layer: FoundLayer, requests: Sequence[CaseRequest], numbers: Sequence[Mapping[str, int]]
    ) -> TranslatedLayer | None:
        """Return a layer that is too large for a case, translated with two smaller requests.

        numbers: for each request, the number that stands for a number of the layer, by the text of the latter. None if
        the texts differ in more than these numbers.
        """
        parsed = [(ParsedLayer(request), request.case()) for request in requests]
        pair = (parsed[0], parsed[1])
        targets = [self._symbolic_target(surface, pair, numbers) for _, surface in self.surfaces]
        if not all(targets):
            return None
        return self._translated(layer, parsed[0], [one for one in targets if one], (), numbers[0])

    def _other_text(self, layer: FoundLayer) -> str:
        """Return that the layer is not a window operator, with what to check on the targets, or that it is not read."""
        if layer.is_foreign:
            return "a class of another module, which is not read"
        own = find_other_layer(self.others.get(self.framework, ()), layer.class_name)
        checks = [*self._checks(own, layer)] if own else []
        note = [own.note] if own and own.note else []
        check = [f"check {'; '.join(checks)}"] if checks else []
        return f"not a window operator{': ' * bool(check or note)}{'. '.join([*check, *note])}"

    def _checks(self, own: OtherLayer, layer: FoundLayer) -> Iterator[str]:
        given = {**dict(zip(own.parameters, layer.arguments, strict=False)), **layer.keywords}
        given = {key: value.text if isinstance(value, Symbol) else value for key, value in given.items()}
        for framework in dict.fromkeys(_framework_of(surface.name) for _, surface in self.surfaces):
            for other in self.others.get(framework, ()):
                if other.kind == own.kind and framework != self.framework:
                    yield from default_differences((self.framework, own), (framework, other), given)

    def _without_separate(self, layer: FoundLayer) -> tuple[FoundLayer, tuple[str, ...]]:
        """Return the layer without arguments that add another operation, and a note about each."""
        found = {key: value for key, value in layer.keywords.items() if key in self.separate and value is not None}
        notes = tuple(f"{key}={argument_text(value, {})} comes after it" for key, value in found.items())
        keywords = {key: value for key, value in layer.keywords.items() if key not in found}
        return replace(layer, keywords=keywords), notes

    def _translate_smaller(self, layer: FoundLayer) -> TranslatedLayer | None:
        """Return a layer with many channels, translated with fewer; None if it cannot be.

        The numbers of channels are treated as symbols, so that the text has the numbers of the source.
        """
        values = [*layer.arguments, *layer.keywords.values()]
        literals = {part for value in values for part in (value if isinstance(value, tuple) else (value,))}
        primes = [one for one in SMALL_NUMBERS if one not in literals]

        def reduced(value: Any) -> Any:
            return Symbol(str(value)) if isinstance(value, int) and value >= MANY_CHANNELS else value

        keywords = {key: reduced(value) for key, value in layer.keywords.items()}
        changed = replace(layer, arguments=tuple(map(reduced, layer.arguments)), keywords=keywords)
        try:
            found = self._translate_window_layer(changed, (primes[::2], primes[1::2]))
        except ConformanceError:
            return None
        return replace(found, layer=layer)

    def _translate_window_layer(
        self, layer: FoundLayer, some_numbers: Sequence[Sequence[int]] = NUMBERS
    ) -> TranslatedLayer:
        symbols = self.parser.symbols(layer)
        if not symbols:
            parsed, case = self.parser.parse(layer, {})
            return self._translated(layer, (parsed, case), self._targets(case, parsed))
        reasons = []
        for fixed in ({}, *({one.text: one.default} for one in symbols if one.has_default)):
            try:
                found = self._symbolic(layer, [one for one in symbols if one.text not in fixed], fixed, some_numbers)
            except ConformanceError as error:
                reasons.append(f" ({str(error).partition(': ')[2] or error})")
                continue
            if found:
                return _written_for(found, fixed)
        return self._with_defaults(layer, symbols, reasons[0] if reasons else "")

    def _symbolic(
        self,
        layer: FoundLayer,
        symbols: Sequence[Symbol],
        fixed: Mapping[str, Any],
        some_numbers: Sequence[Sequence[int]],
    ) -> TranslatedLayer | None:
        """Return the layer with symbols in its texts; None if a text depends on their values in another way.

        fixed: values of symbols that the texts have as numbers.
        """
        if len(symbols) > min(map(len, some_numbers)):
            raise ConformanceError("too many names without a value")
        numbers = [dict(zip((one.text for one in symbols), some, strict=False)) for some in some_numbers]
        first, second = (self.parser.parse(layer, {**some, **fixed}) for some in numbers)
        targets = [self._symbolic_target(surface, (first, second), numbers) for _, surface in self.surfaces]
        if not all(targets):
            return None
        return self._translated(layer, first, [one for one in targets if one], symbols, numbers[0])

    def _with_defaults(self, layer: FoundLayer, symbols: Sequence[Symbol], reason: str) -> TranslatedLayer:
        """Return the layer translated for the defaults of its symbols. Raises ConformanceError if one has none."""
        missing = [one.text for one in symbols if not one.has_default]
        if missing:
            names = ", ".join(missing)
            options = " ".join(f"--set {name}=…" for name in dict.fromkeys(names_in(missing)))
            raise ConformanceError(f"the value of {names} is needed{reason}: {options}")
        parsed, case = self.parser.parse(layer, {one.text: one.default for one in symbols})
        found = self._translated(layer, (parsed, case), self._targets(case, parsed))
        return _written_for(found, {one.text: one.default for one in symbols})

    def _translated(
        self,
        layer: FoundLayer,
        parsed: tuple[ParsedLayer, Case],
        targets: Sequence[TargetLayer],
        symbols: Sequence[Symbol] = (),
        numbers: Mapping[str, int] | None = None,
    ) -> TranslatedLayer:
        case = parsed[1]
        kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else ()
        calls = [_meaning(case.operator, case.parameters, kernel)]
        for following in case.then:
            kernel = following.inputs["kernel"].shape if "kernel" in following.inputs else ()
            calls.append(_meaning(following.operator, following.parameters, kernel))
        meaning = "; then ".join(calls)
        notes = [f"{one.text} is {one.default!r} by default" for one in symbols if one.has_default]
        # The weights of a layer that pads first are placeholders in the program, and are not part of the text.
        remarks = () if parsed[0].request.padding_mode else parsed[0].notes
        meaning = "; ".join([with_symbols(meaning, numbers or {}), *notes, *remarks])
        known = tuple(source_deviations(case, self.source_surfaces, self.background))
        return TranslatedLayer(layer, "", meaning, known, tuple(self._with_commands(layer, one) for one in targets))

    def _with_commands(self, layer: FoundLayer, target: TargetLayer) -> TargetLayer:
        """Return a target whose reason and caveats name the command that prints the whole program."""

        def completed(text: str) -> str:
            for place, suffix in ((COMMAND, ""), (COMMAND_OF_SECOND, "[1]")):
                text = text.replace(place, self._command(layer, target.surface, suffix))
            return text

        return replace(target, reason=completed(target.reason), caveats=tuple(map(completed, target.caveats)))

    def _command(self, layer: FoundLayer, surface: str, suffix: str) -> str:
        if layer.scope.kind == GRAPH:
            return f"`conformance audit MODEL --target {surface} --fix`"
        shape = self.parser.shape_of(layer)
        numbers = ",".join(map(str, shape)) if shape else "N,C,…"
        text = shlex.quote(f"{' '.join(layer.text.split())}{suffix}")
        names = f", with numbers for {', '.join(one.text for one in layer.symbols)}" if layer.symbols else ""
        return f"`conformance translate {text} --from {self.framework} --to {surface} --shape {numbers}`{names}"

    def _targets(self, case: Case, parsed: ParsedLayer) -> list[TargetLayer]:
        return [self._target(surface, case, parsed) for _, surface in self.surfaces]

    def _target(self, surface: Surface, case: Case, parsed: ParsedLayer) -> TargetLayer:
        style = self.styles.get(surface.name, PLAIN_STYLE)
        return target_layer(parsed.request, case, surface, style, self.background.for_requests)

    def _symbolic_target(
        self,
        surface: Surface,
        parsed: tuple[tuple[ParsedLayer, Case], tuple[ParsedLayer, Case]],
        numbers: Sequence[Mapping[str, int]],
    ) -> TargetLayer | None:
        """Return the layer with its symbols; None if the text depends on their values in another way."""
        first, second = (self._target(surface, case, one) for one, case in parsed)
        texts = [
            [with_symbols(step.text, some) for step in target.steps or ()]
            for target, some in zip((first, second), numbers, strict=True)
        ]
        if texts[0] != texts[1] or (first.steps is None) != (second.steps is None):
            return None
        steps = [replace(step, text=text) for step, text in zip(first.steps or (), texts[0], strict=True)]
        return replace(first, steps=tuple(steps) if first.steps is not None else None)


def _meaning(operator: str, parameters: Mapping[str, Any], kernel: Sequence[int]) -> str:
    return ", ".join(filter(None, [operator, call_text(operator, parameters, kernel)]))


def _written_for(layer: TranslatedLayer, fixed: Mapping[str, Any]) -> TranslatedLayer:
    """Return the layer with a note about the defaults that its texts have as numbers."""
    values = ", ".join(f"{name}={value!r}" for name, value in fixed.items())
    return replace(layer, notes=(*layer.notes, f"written for {values}, the default")) if fixed else layer


def _framework_of(surface: str) -> str:
    return surface.partition(".")[0].partition("-")[0]
