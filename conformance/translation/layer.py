"""Parse the source text of a layer, `nn.MaxPool2d(3, 2, 1)`, to an operator with parameters.

The text is parsed as Python and never evaluated. The called name must be in a table of an adapter, and the arguments
must be numbers, strings, lists of these, or names. The tables are DIALECTS in `conformance.adapters.<backend>.layers`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api import (
    PADDING_MODE,
    BoundCall,
    Dialect,
    LayerCall,
    LayerSignature,
    PlainName,
    UnknownModule,
    UnreadableLayer,
    parse_layer_call,
)
from conformance.cases.operators import OPERATORS, Geometry, PaddingWord, PadMode
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.option_text import size_text

MAX_QUOTED_ARGUMENT_LENGTH = 60
"""Number of characters of a text that error messages quote."""


OTHER_LAYERS = re.compile(
    r"(sync)?(batch|group|instance|layer|rms)norm(alization)?|activation|(leaky|p)?relu|elu|gelu|silu|sigmoid|tanh"
    r"|(log)?softmax|dense|linear|einsum|matmul|dropout|embed(ding)?|flatten|identity|reshape|sequential|lstm"
    r"|multiheadattention|interpolate|resize|upsampl(e|ing)\w*"
)
"""Layers of models that are not window operators: names in lower case, without underscores and number of axes."""
NOT_A_WINDOW_OPERATOR = "is not a window operator: pooling, padding and convolution are translated"


class UnknownLayer(UnreadableLayer):
    """A call whose name is not in the table of a dialect. known: the names in the table."""

    def __init__(self, name: str, known: Mapping[str, object]) -> None:
        is_other = OTHER_LAYERS.fullmatch(re.sub(r"_|[123][dD]$", "", name).lower())
        problem = NOT_A_WINDOW_OPERATOR if is_other else f"is not a known layer{_suggestion(name, known)}"
        super().__init__(f"{name!r} {problem}")
        self.name, self.known = name, known


@dataclass(frozen=True)
class ParsedLayer:
    """The case request of a layer.

    omitted_parameters: parameters for which the layer uses its defaults.
    notes: remarks for the user.
    """

    request: CaseRequest
    omitted_parameters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def parse_layer(
    text: str, dialect: Dialect, shape: tuple[int, ...] | None = None, kernel: tuple[int, ...] | None = None
) -> ParsedLayer:
    """Return the layer of a surface. See `parse_framework_layer`."""
    return parse_framework_layer(text, [dialect], shape, kernel)


def parse_framework_layer(
    text: str,
    dialects: Sequence[Dialect],
    shape: tuple[int, ...] | None = None,
    kernel: tuple[int, ...] | None = None,
) -> ParsedLayer:
    """Return the layer, read in the first dialect that can. Raises ConformanceError with the column if it is known.

    dialects: those of the framework's surfaces, at least one; shape: of the input, (n, c, *spatial); kernel: shape of
    the weights in the layout of the catalogue. Both may be None, unless a parameter of the layer depends on the shape;
    then the error message requests the shape.
    """
    shown = text if len(text) <= MAX_QUOTED_ARGUMENT_LENGTH else f"{text[:MAX_QUOTED_ARGUMENT_LENGTH]}…"
    failures = []
    for dialect in dialects:
        try:
            return _parse_in_dialect(text, dialect, shape, kernel)
        except UnreadableLayer as error:
            failures.append(error)
    raise ConformanceError(f"{' '.join(shown.split())!r}: {_combined_message(failures)}")


def _parse_in_dialect(
    text: str, dialect: Dialect, shape: tuple[int, ...] | None, kernel: tuple[int, ...] | None
) -> ParsedLayer:
    call = parse_layer_call(text, dialect.syntax)
    # A table can list a name with its module, such as an older opset with another signature.
    if f"{call.module}.{call.name}" in dialect.layers_by_name:
        call = replace(call, name=f"{call.module}.{call.name}")
    if call.name not in dialect.layers_by_name:
        raise UnknownLayer(call.name, dialect.layers_by_name)
    return _match_layer(call, dialect, shape, kernel)


def _combined_message(failures: Sequence[UnreadableLayer]) -> str:
    """Return the reason of the dialect that recognised most of the call: its name, or else its module."""
    unknown_modules = [error for error in failures if isinstance(error, UnknownModule)]
    unknown_layers = [error for error in failures if isinstance(error, UnknownLayer)]
    for error in failures:
        if error not in unknown_modules and error not in unknown_layers:
            return str(error)
    if unknown_layers:
        names = dict.fromkeys(name for error in unknown_layers for name in error.known)
        return str(UnknownLayer(unknown_layers[0].name, names))
    modules = dict.fromkeys(module for error in unknown_modules for module in error.modules)
    return str(UnknownModule(unknown_modules[0].column, unknown_modules[0].prefix, modules))


def _suggestion(name: str, known: Mapping[str, object]) -> str:
    # A wrong case is the most frequent error, so such a name comes first.
    near = [one for one in known if one.lower() == name.lower()] or difflib.get_close_matches(name, known, 1)
    return f", did you mean {near[0]!r}?" if near else ""


def _match_layer(
    call: LayerCall, dialect: Dialect, shape: tuple[int, ...] | None, kernel: tuple[int, ...] | None
) -> ParsedLayer:
    """Return the layer parsed with the first signature of its name that accepts the arguments.

    Raises the error of the last signature if no signature accepts them.
    """
    failure = UnreadableLayer(f"{call.name} cannot be read")
    for layer, rank in dialect.layers_by_name[call.name]:
        try:
            bound = _bind_arguments(layer, call.name, call.arguments, call.keywords)
            bound = replace(bound, rank=rank, result_index=call.result_index, constants=call.constants)
            return _read_arguments(layer, replace(bound, shape=shape, kernel_shape=kernel))
        except UnreadableLayer as error:
            failure = error
    raise failure


def _bind_arguments(layer: LayerSignature, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> BoundCall:
    signature = layer.parameters
    known = [*signature.parameters, *layer.ignored_arguments]
    for key in named:
        if key not in known:
            near = _suggestion(key, dict.fromkeys(known)) or f", it has {', '.join(signature.parameters)}"
            raise UnreadableLayer(f"{name} has no argument {key!r}{near}")
    try:
        bound = signature.bind(
            *arguments, **{key: value for key, value in named.items() if key not in layer.ignored_arguments}
        )
    except TypeError as error:
        raise UnreadableLayer(f"{name}: {error}") from None
    # Read before apply_defaults, which adds the arguments that the text does not have.
    given = frozenset(bound.arguments)
    bound.apply_defaults()
    return BoundCall(name, None, bound.arguments, given)


def _read_arguments(layer: LayerSignature, call: BoundCall) -> ParsedLayer:
    for argument, required in layer.required_values.items():
        allowed = required if isinstance(required, tuple) else (required,)
        # `is` first, because an argument that is NaN does not equal itself.
        if not any(value is call.arguments[argument] or value == call.arguments[argument] for value in allowed):
            supported = " or ".join(map(_quoted_value, allowed))
            raise UnreadableLayer(
                f"{argument}={_quoted_value(call.arguments[argument])}: only {supported} can be translated"
            )
    for argument in layer.array_arguments:
        if call.arguments[argument] is not None and not isinstance(call.arguments[argument], PlainName):
            raise UnreadableLayer(
                f"{argument}={_quoted_value(call.arguments[argument])}: expected the name of an array"
            )
    found = dict(layer.fixed_parameters)
    for name, reading in layer.readings.items():
        try:
            value = reading.convert(call, call.arguments[reading.argument])
        except UnreadableLayer as error:
            raise UnreadableLayer(
                f"{reading.argument}={_quoted_value(call.arguments[reading.argument])}: {error}"
            ) from None
        found |= {name: value} if value is not None else {}
    read = {*found}
    if layer.adjust:
        found |= layer.adjust(call, found)
    unused = read - found.keys()
    _check_same_padding(layer, call, found)
    found |= _select_result(layer, call, str(found.get("operator", layer.operator)))
    defaults = {name for name, reading in layer.readings.items() if reading.argument not in call.given_names}
    omitted = [name for name in layer.readings if name in defaults - unused]
    note = layer.note(call) if callable(layer.note) else layer.note
    return ParsedLayer(_make_request(layer.operator, found, call), tuple(omitted), (note,) if note else ())


def _check_same_padding(layer: LayerSignature, call: BoundCall, found: Mapping[str, Any]) -> None:
    """Raise UnreadableLayer if the padding is computed from the size of the input, and this is not specified.

    With stride 1, `same` adds the extent of the dilated window without one cell. That of a transposed convolution is
    computed from window and stride.
    """
    is_same = found.get("padding") in {PaddingWord.SAME_UPPER.value, PaddingWord.SAME_LOWER.value}
    operator = OPERATORS[found.get("operator", layer.operator)]
    stride = found.get("stride", operator.defaults.get("stride")) or found.get("window")
    steps = stride if isinstance(stride, tuple) else (stride,)
    if is_same and operator.geometry is not Geometry.TRANSPOSED and any(step != 1 for step in steps):
        call.input_extents("the padding")


def _select_result(layer: LayerSignature, call: BoundCall, operator: str) -> Mapping[str, Any]:
    """Return the parameter `output` if the layer selects one of several results."""
    outputs = OPERATORS[operator].outputs
    if call.result_index is None:
        return {}
    if not outputs and call.result_index >= layer.result_count:
        raise UnreadableLayer(f"[{call.result_index}]: {operator} has one result")
    return {"output": outputs[call.result_index]} if outputs else {}


def _make_request(operator: str, found: dict[str, Any], call: BoundCall) -> CaseRequest:
    of_inputs = {key: found.pop(key) for key in ("channels", "out_channels", "bias", "mask") if key in found}
    operator = found.pop("operator", operator)
    # That of grid_sample is a parameter of the operator.
    pads_first = PADDING_MODE not in OPERATORS[operator].defaults
    mode = found.pop(PADDING_MODE, PadMode.CONSTANT) if pads_first else PadMode.CONSTANT
    per_axis = next(
        (value for key in ("window", "pads") for value in [found.get(key)] if isinstance(value, tuple)), None
    )
    request = CaseRequest(operator, found, rank=call.rank or (len(per_axis) if per_axis else None), shape=call.shape)
    # A layer without padding pads in no mode.
    if mode != PadMode.CONSTANT and found.get("padding") not in (0, PaddingWord.VALID.value):
        request = replace(request, padding_mode=mode)
    return replace(request, **of_inputs)


def _quoted_value(value: Any) -> str:
    text = str(value) if isinstance(value, PlainName) else repr(value)
    return text if len(text) <= MAX_QUOTED_ARGUMENT_LENGTH else f"{text[:MAX_QUOTED_ARGUMENT_LENGTH]}…"


def layer_notes(found: ParsedLayer, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note with the defaults of the layer, which other frameworks may not share, and the layer's notes."""
    omitted = [name for name in found.omitted_parameters if parameters.get(name) is not None]
    if omitted:
        values = ", ".join(f"{name.replace('_', ' ')} {size_text(parameters[name])}" for name in omitted)
        yield f"defaults of the layer: {values}"
    yield from found.notes
