"""Translate a layer that was found in a source text to surfaces, with symbols for values that the text does not give.

A symbol such as `planes` is replaced by a number, and the layer is translated twice with different numbers. Where the
programs differ in these numbers only, the symbol replaces them. Otherwise the value is needed: the default of the
parameter if it has one, or a value from the user.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api import (
    Backend,
    Dialect,
    LayerStep,
    ModuleStyle,
    OtherLayer,
    Program,
    Surface,
    Unsupported,
    default_differences,
    find_other_layer,
    layer_steps,
)
from conformance.cases.case import Case
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.call_text import call_text
from conformance.translation.layer import ParsedLayer, parse_framework_layer
from conformance.translation.lowering import native_limitation, translate
from conformance.translation.side_by_side import TranslationBackground, case_in_one_call, entries_for_case
from conformance.translation.source.constants import Symbol
from conformance.translation.source.model_source import UNNAMED, FoundLayer
from reports.results.vocabulary import Word

FIRST_NUMBERS, SECOND_NUMBERS = (37, 41, 43, 47, 53, 59, 61), (67, 71, 73, 79, 83, 89, 97)
"""Numbers for symbols. Primes, which are no products of literal sizes, and larger than usual windows."""
NUMBERS = (FIRST_NUMBERS, SECOND_NUMBERS)
SMALL_NUMBERS: tuple[int, ...] = (5, 7, 11, 13, 17, 19, 23, 29)
"""Numbers in place of numbers of channels, for layers that are too large to become a case."""
MANY_CHANNELS = 16
"""The smallest number of channels that is replaced."""
TOO_LARGE = "more than the limit of"
ARRAY_NAME = "x"
PLACEHOLDERS = frozenset({"kernel", "bias"})
"""Variables of a program that pads first, with zeros in place of the weights of the layer."""
NEEDS_SHAPE = "the size of the input"
"""Phrase of errors about layers whose parameters depend on the shape."""


@dataclass(frozen=True)
class TargetLayer:
    """A layer on one surface. steps: None if the surface has no translation, for the reason.

    caveats: remarks for the user. needs_shape: whether the text is for the shape of the case only.
    """

    surface: str
    steps: tuple[LayerStep, ...] | None
    reason: str = ""
    caveats: tuple[str, ...] = ()
    needs_shape: bool = False


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


@dataclass(frozen=True)
class SourceTranslator:
    """What the translation of the layers of one source needs.

    framework: of the source. dialects: its dialects. surfaces: the targets, those with a style only for modules.
    styles: by surface. others: layers that are not window operators, by framework. shapes: of inputs, by layer name.
    separate: arguments that add another operation.
    """

    framework: str
    dialects: Sequence[Dialect]
    surfaces: Sequence[tuple[Backend, Surface]]
    styles: Mapping[str, ModuleStyle]
    others: Mapping[str, Sequence[OtherLayer]]
    background: TranslationBackground
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    separate: frozenset[str] = frozenset()

    def translate(self, layer: FoundLayer) -> TranslatedLayer:
        """Return the layer with its translations, or with the reason why there are none."""
        found = self._translate(layer)
        return replace(found, notes=(layer.class_note, *found.notes)) if layer.class_note else found

    def _translate(self, layer: FoundLayer) -> TranslatedLayer:
        if layer.local_line is not None:
            return TranslatedLayer(layer, f"a class of this source, line {layer.local_line}", kind=LayerKind.LOCAL)
        if not any(layer.class_name in dialect.layers_by_name for dialect in self.dialects):
            return TranslatedLayer(layer, self._other_text(layer), kind=LayerKind.OTHER)
        if UNNAMED in layer.keywords:
            names = _text_of(layer.keywords[UNNAMED])
            problem = f"its arguments {UNNAMED}{names} are those of a caller"
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
            return TranslatedLayer(layer, message, needs_shape=asks, kind=LayerKind.UNTRANSLATED)

    def translate_request(
        self, layer: FoundLayer, request: CaseRequest, notes: tuple[str, ...] = ()
    ) -> TranslatedLayer:
        """Return a layer whose case is known. Raises ConformanceError for a request without a case."""
        parsed, case = ParsedLayer(request), request.case()
        targets = [self._target(*one, case, parsed) for one in self.surfaces]
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
        targets = [self._symbolic_target(*one, pair, numbers) for one in self.surfaces]
        if not all(targets):
            return None
        return self._translated(layer, parsed[0], [one for one in targets if one], (), numbers[0])

    def _other_text(self, layer: FoundLayer) -> str:
        """Return that the layer is not a window operator, with what to check on the targets."""
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
        notes = tuple(f"{key}={_argument_text(value, {})} comes after it" for key, value in found.items())
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
        symbols = self._symbols(layer)
        shape = self.shapes.get(layer.name, self.shapes.get(layer.full_name))
        if not symbols:
            parsed, case = self._parse(layer, {}, shape)
            return self._translated(layer, (parsed, case), [self._target(*one, case, parsed) for one in self.surfaces])
        reasons = []
        for fixed in ({}, *({one.text: one.default} for one in symbols if one.has_default)):
            try:
                found = self._symbolic(layer, [one for one in symbols if one.text not in fixed], fixed, some_numbers)
            except ConformanceError as error:
                reasons.append(f" ({str(error).partition(': ')[2] or error})")
                continue
            if found:
                return _written_for(found, fixed)
        return self._with_defaults(layer, symbols, shape, reasons[0] if reasons else "")

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
        shape = self.shapes.get(layer.name, self.shapes.get(layer.full_name))
        numbers = [dict(zip((one.text for one in symbols), some, strict=False)) for some in some_numbers]
        first, second = (self._parse(layer, {**some, **fixed}, shape) for some in numbers)
        targets = [self._symbolic_target(*one, (first, second), numbers) for one in self.surfaces]
        if not all(targets):
            return None
        return self._translated(layer, first, [one for one in targets if one], symbols, numbers[0])

    def _with_defaults(
        self, layer: FoundLayer, symbols: Sequence[Symbol], shape: tuple[int, ...] | None, reason: str
    ) -> TranslatedLayer:
        """Return the layer translated for the defaults of its symbols. Raises ConformanceError if one has none."""
        missing = [one.text for one in symbols if not one.has_default]
        if missing:
            names = ", ".join(missing)
            options = " ".join(f"--set {name}=…" for name in dict.fromkeys(_names_in(missing)))
            raise ConformanceError(f"the value of {names} is needed{reason}: {options}")
        parsed, case = self._parse(layer, {one.text: one.default for one in symbols}, shape)
        found = self._translated(layer, (parsed, case), [self._target(*one, case, parsed) for one in self.surfaces])
        return _written_for(found, {one.text: one.default for one in symbols})

    def _symbols(self, layer: FoundLayer) -> list[Symbol]:
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

    def _parse(
        self, layer: FoundLayer, numbers: Mapping[str, Any], shape: tuple[int, ...] | None
    ) -> tuple[ParsedLayer, Case]:
        unread = self._unread_arguments(layer)
        arguments = [
            ARRAY_NAME if index in unread else _argument_text(value, numbers)
            for index, value in enumerate(layer.arguments)
        ]
        keywords = [
            f"{key}={ARRAY_NAME if key in unread else _argument_text(value, numbers)}"
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
        meaning = "; ".join([_with_symbols(meaning, numbers or {}), *notes, *remarks])
        return TranslatedLayer(layer, "", meaning, (), tuple(targets))

    def _symbolic_target(
        self,
        backend: Backend,
        surface: Surface,
        parsed: tuple[tuple[ParsedLayer, Case], tuple[ParsedLayer, Case]],
        numbers: Sequence[Mapping[str, int]],
    ) -> TargetLayer | None:
        """Return the layer with its symbols; None if the text depends on their values in another way."""
        first, second = (self._target(backend, surface, case, one) for one, case in parsed)
        texts = [
            [_with_symbols(step.text, some) for step in target.steps or ()]
            for target, some in zip((first, second), numbers, strict=True)
        ]
        if texts[0] != texts[1] or (first.steps is None) != (second.steps is None):
            return None
        steps = [replace(step, text=text) for step, text in zip(first.steps or (), texts[0], strict=True)]
        return replace(first, steps=tuple(steps) if first.steps is not None else None)

    def _target(self, _backend: Backend, surface: Surface, case: Case, parsed: ParsedLayer) -> TargetLayer:
        style = self.styles.get(surface.name, PLAIN_STYLE)
        program = _program_of(parsed.request, case, surface)
        if isinstance(program, Unsupported):
            return TargetLayer(surface.name, None, program.reason)
        steps = _steps_of(parsed.request, case, program, style)
        if steps is None:
            return TargetLayer(surface.name, None, f"{program.how}: several calls share the weights, see {HOW_TO_SEE}")
        return TargetLayer(
            surface.name,
            steps,
            caveats=(*_caveats(case, surface, program), *self._deviations(case, surface)),
            needs_shape=parsed.request.shape is None and _depends_on_size(parsed.request, surface, steps, style),
        )

    def _deviations(self, case: Case, surface: Surface) -> Iterator[str]:
        for entry in entries_for_case(self.background, case, surface.name):
            yield f"known deviation {entry.id}: {' '.join(entry.reason.split())}"


def _meaning(operator: str, parameters: Mapping[str, Any], kernel: Sequence[int]) -> str:
    return ", ".join(filter(None, [operator, call_text(operator, parameters, kernel)]))


def _program_of(request: CaseRequest, case: Case, surface: Surface) -> Program | Unsupported:
    """Return the program of a case. A layer that pads first is one call where the surface has one."""
    one_call = case_in_one_call(case, surface) if request.padding_mode else None
    return translate(one_call or case, surface)


def _steps_of(request: CaseRequest, case: Case, program: Program, style: ModuleStyle) -> tuple[LayerStep, ...] | None:
    placeholders = PLACEHOLDERS if request.padding_mode else frozenset[str]()
    return layer_steps(program.text, len(case.inputs), style, placeholders)


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


PLAIN_STYLE = ModuleStyle((), "", "", "")
HOW_TO_SEE = "`conformance translate` for this layer alone"


def _written_for(layer: TranslatedLayer, fixed: Mapping[str, Any]) -> TranslatedLayer:
    """Return the layer with a note about the defaults that its texts have as numbers."""
    values = ", ".join(f"{name}={value!r}" for name, value in fixed.items())
    return replace(layer, notes=(*layer.notes, f"written for {values}, the default")) if fixed else layer


def _text_of(value: Any) -> str:
    return value.text if isinstance(value, Symbol) else repr(value)


def _framework_of(surface: str) -> str:
    return surface.partition(".")[0].partition("-")[0]


def _argument_text(value: Any, numbers: Mapping[str, Any]) -> str:
    if isinstance(value, tuple):
        return f"({''.join(f'{_argument_text(item, numbers)}, ' for item in value)})"
    if isinstance(value, Symbol):
        return repr(numbers[value.text]) if value.text in numbers else value.text
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):  # noqa: PLR0124 - NaN
        return f"float({str(value)!r})"
    return repr(value)


def _with_symbols(text: str, numbers: Mapping[str, int]) -> str:
    """Return a text with symbols in place of their numbers."""
    for symbol, number in numbers.items():
        # A symbol that is an expression needs parentheses unless it is a whole argument.
        text = re.sub(rf"(?<![\w.]){number}(?![\w.])", lambda _found, name=symbol: name, text)  # type: ignore[misc]
    return text


def _names_in(expressions: Sequence[str]) -> Iterator[str]:
    for text in expressions:
        try:
            nodes = ast.walk(ast.parse(text, mode="eval"))
        except (SyntaxError, ValueError, RecursionError):  # a shortened text
            continue
        yield from (node.id for node in nodes if isinstance(node, ast.Name) and node.id != "self")
        yield from (ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))


def _caveats(case: Case, surface: Surface, program: Program) -> Iterator[str]:
    """Yield why the program is not one native call."""
    limitation = native_limitation(case, surface) if program.how != "native" else None
    if limitation:
        yield f"{program.how}: {limitation.reason}"


def _depends_on_size(request: CaseRequest, surface: Surface, steps: tuple[LayerStep, ...], style: ModuleStyle) -> bool:
    """Whether the text differs for another size of the input."""
    for changed, other in request.other_sizes():
        if changed == "the channels":
            continue
        try:
            case = other.case()
        except ConformanceError:  # the parameters are invalid for this size
            continue
        program = _program_of(other, case, surface)
        if isinstance(program, Unsupported) or _steps_of(other, case, program, style) != steps:
            return True
    return False
