"""Parsing of parameters: from the short forms of a YAML file to explicit values for every spatial axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from conformance.cases.arrays import ArraySpec
from conformance.cases.case import (
    ARRAYS_KEY,
    CALL_KEYS,
    DEFAULTS_KEY,
    DRAWN_KEY,
    FLAT_PADS_KEY,
    FRAMEWORK_SAME,
    MIXED_KEY,
    SEED_KEY,
    WORDS_KEY,
    ArrayUse,
    DrawnRegions,
    MixedDtype,
)
from conformance.cases.operators import (
    INPUTS,
    MATRIX_AXES,
    PARAMETERS,
    Geometry,
    Operator,
    PaddingWord,
    ParameterKind,
    Rounding,
)
from reference import Windows

if TYPE_CHECKING:  # a run imports no YAML parser before it starts its first worker
    from conformance.cases.yaml_reader import YamlPath

PER_AXIS_PARAMETERS = tuple(sorted(name for name, parameter in PARAMETERS.items() if parameter.is_per_axis))
"""Parameters with an entry for each spatial axis."""
NUMBER_NAMES: Mapping[str, str] = {"p": "the power", "alpha": "alpha", "beta": "the power", "k": "the constant"}
"""Parameters that must not be NaN, which the limits of the schema do not exclude, with their words in errors."""
DEFAULT_SEED = 1
"""Seed of a case whose call draws random numbers. In some calls 0 means a random seed."""
# Keys of a case that are neither inputs nor parameters.
RESERVED_KEYS = {
    "id",
    "about",
    "source",
    "level",
    "tags",
    "via",
    "then",
    "expect",
    "also",
    "inexact",
    "answers",
    "question",
    *CALL_KEYS,
}


class CaseError(ValueError):
    """An error in a case of a YAML file; `key_path` is the path of the key inside the case."""

    def __init__(self, key_path: YamlPath, message: str) -> None:
        super().__init__(f"key {'.'.join(map(str, key_path))!r}: {message}" if key_path else message)
        self.key_path = key_path


def parse_parameters(
    operator: Operator,
    raw: Mapping[str, Any],
    inputs: Mapping[str, ArraySpec],
    omitted: tuple[str, ...],
    *,
    invalid: bool,
) -> dict[str, Any]:
    """Return every parameter of the operator. Raises CaseError.

    omitted: parameters that the call omits; only the answers of a convention have values for them.
    invalid: whether the parameters may be invalid, because the case must be rejected or observes a convention.
    """
    known = set(operator.defaults)
    for key in raw.keys() - known - RESERVED_KEYS - set(INPUTS):
        # A global pooling operator has no parameters.
        known_names = f"; known parameters: {', '.join(sorted(known))}" if known else ""
        raise CaseError((key,), f"{operator.name} has no such parameter{known_names}")
    given: dict[str, Any] = {**operator.defaults, **{key: plain_value(raw[key]) for key in known & raw.keys()}}
    for key in operator.required_parameters:
        if given[key] is None and not (key == "pads" and FLAT_PADS_KEY in raw):
            raise CaseError((), f"{operator.name} needs the key {key!r}")
    if given.get("output", "x") not in (operator.outputs or ("x",)):
        outputs = ", ".join(operator.outputs) or "one array"
        raise CaseError(("output",), f"{operator.name} returns {outputs}, not {given['output']!r}")
    if given.get("output") in operator.optional_inputs and given["output"] not in raw:
        raise CaseError(("output",), f"the case has no input {given['output']}, so there is no gradient of it")
    _check_words(operator, given)
    if "scale" in known and given["size"] is None and given["scale"] is None:
        raise CaseError((), f"{operator.name} needs the key 'size', or a scale")
    given.update(_per_axis_parameters(operator, given, inputs, invalid=invalid))
    if raw.get("padding") == FRAMEWORK_SAME:
        given["padding"] = FRAMEWORK_SAME
    if FLAT_PADS_KEY in raw:
        given[FLAT_PADS_KEY] = plain_value(raw[FLAT_PADS_KEY])
    given.update({key: True for key in (DEFAULTS_KEY, WORDS_KEY) if raw.get(key)})
    if MIXED_KEY in raw:
        given[MIXED_KEY] = MixedDtype(raw[MIXED_KEY]).value
    if DRAWN_KEY in raw:
        given |= {DRAWN_KEY: DrawnRegions(raw[DRAWN_KEY]).value, SEED_KEY: raw.get(SEED_KEY, DEFAULT_SEED)}
        _check_drawn(operator, given[DRAWN_KEY])
    if ARRAYS_KEY in raw:
        given[ARRAYS_KEY] = ArrayUse(raw[ARRAYS_KEY]).value
        _check_arrays(given[ARRAYS_KEY], inputs)
    return {key: value for key, value in given.items() if key not in omitted}


def _check_words(operator: Operator, given: Mapping[str, Any]) -> None:
    """Raise CaseError for a word of another operator. The schema has the words of all operators."""
    for one in operator.parameters:
        value = given[one.name]
        if one.kind is ParameterKind.CHOICE and value is not None and value not in one.choices:
            raise CaseError((one.name,), f"{value!r} is not {', '.join(one.choices[:-1])} or {one.choices[-1]}")


def _check_drawn(operator: Operator, drawn: str) -> None:
    """Raise CaseError unless the regions of the operator can be drawn in this way."""
    geometry = Geometry.FRACTIONS if drawn == DrawnRegions.WINDOWS else Geometry.BINS
    if operator.geometry is not geometry or operator.is_gradient:
        raise CaseError((DRAWN_KEY,), f"{operator.name} has no {drawn.replace('_', ' ')} that a call can draw")


def _check_arrays(use: str, inputs: Mapping[str, ArraySpec]) -> None:
    """Raise CaseError if the items of a batch differ that is passed as one repeated item."""
    if use != ArrayUse.EXPANDED:
        return
    x = inputs["x"].make()
    if not len(x) or (x != x[:1]).any():
        raise CaseError((ARRAYS_KEY,), "expanded needs a batch of equal items")


def _per_axis_parameters(
    operator: Operator, given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, invalid: bool
) -> dict[str, Any]:
    """Return the parameters that have a value for each spatial axis, in the form that the reference takes."""
    if operator.geometry is Geometry.TRANSPOSED:
        return _transposed_parameters(given, inputs, invalid=invalid)
    rank = len(inputs["x"].shape) - 2
    if operator.geometry in {Geometry.WINDOWS, Geometry.DEFORMED, Geometry.TO_COLUMNS}:
        return _window_parameters(given, inputs["x"].shape[2:], inputs, invalid=invalid)
    if operator.geometry is Geometry.FROM_COLUMNS:
        size = _repeat_per_axis(given["output_size"], rank)
        return {"output_size": size, **_window_parameters(given, size, inputs, invalid=invalid)}
    if operator.geometry is Geometry.POINTS:
        return {"grid_size": _repeat_per_axis(given["grid_size"], inputs["x"].shape[1])}
    kinds = {ParameterKind.SIZES, ParameterKind.SCALES}
    sizes = [one.name for one in operator.parameters if one.kind in kinds and given[one.name] is not None]
    return {name: _repeat_per_axis(given[name], rank) for name in sizes}


def explicit_windows(windows: Windows) -> dict[str, Any]:
    """Return the parameters of windows with a value for each spatial axis."""
    return {
        "window": windows.window,
        "stride": windows.stride,
        "padding": windows.pads,
        "dilation": windows.dilation,
    }


def _window_parameters(
    given: Mapping[str, Any], size: tuple[int, ...], inputs: Mapping[str, ArraySpec], *, invalid: bool
) -> dict[str, Any]:
    """Return window, stride, padding and dilation for each axis. Raises CaseError where no window fits.

    size: the extents of the plane that the windows are on.
    """
    window = given.get("window", inputs["kernel"].shape[2:] if "kernel" in inputs else None)
    try:
        windows = Windows.of(
            size, window, given["stride"], given["padding"], given["dilation"], given.get("rounding", Rounding.FLOOR)
        )
        parameters = explicit_windows(windows)
        if any(min(pair) < 0 for pair in windows.pads):
            # The reference would crop. Pooling and convolution of the frameworks reject negative padding.
            # The operator `pad` accepts it.
            raise ValueError(f"padding {given['padding']} must be at least 0; to crop, use the operator pad first")
    except ValueError as error:
        if not invalid:
            raise CaseError((), str(error)) from None
        # The case must be rejected or observes a convention, so the values are passed on as they are.
        parameters = _spread_scalars(given, window, len(inputs["x"].shape) - 2)
    return {key: value for key, value in parameters.items() if key in given}


def _transposed_parameters(
    given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, invalid: bool
) -> dict[str, Any]:
    """Return stride, padding, dilation and output padding of a transposed convolution, whose padding crops the output.

    `same_upper` and `same_lower` become the padding and the output padding for the output size input * stride.
    """
    size, window = inputs["x"].shape[2:], inputs["kernel"].shape[2:]
    spread = _spread_scalars(
        {**given, "padding": 0 if isinstance(given["padding"], str) else given["padding"]}, window, len(size)
    )
    output_padding = _repeat_per_axis(given["output_padding"], len(size))
    parameters = {key: spread[key] for key in ("stride", "padding", "dilation")} | {"output_padding": output_padding}
    if given["padding"] in {PaddingWord.SAME_UPPER, PaddingWord.SAME_LOWER} and not invalid:
        check_ranks(parameters, len(size))
        output = [extent * step for extent, step in zip(size, parameters["stride"], strict=True)]
        # The padding of a convolution in the opposite direction: it reads the output with this window and stride.
        pads = Windows.of(output, window, parameters["stride"], given["padding"], parameters["dilation"]).pads
        axes = zip(size, parameters["stride"], parameters["dilation"], window, pads, strict=True)
        unpadded = [(n - 1) * s + d * (w - 1) + 1 - sum(ends) for n, s, d, w, ends in axes]
        missing = tuple(full - base for full, base in zip(output, unpadded, strict=True))
        parameters |= {"padding": pads, "output_padding": missing}
    if not invalid and any(number < 0 for pair in parameters["padding"] for number in pair):
        # The reference adds cells for negative padding. Most frameworks reject it or give it another meaning.
        raise CaseError((), f"padding {given['padding']} must be at least 0; to add cells, use output_padding")
    return parameters


def _repeat_per_axis(value: Any, rank: int) -> tuple[Any, ...]:
    """Return a tuple unchanged; repeat any other value for each axis."""
    return value if isinstance(value, tuple) else (value,) * rank


def check_ranks(parameters: Mapping[str, Any], rank: int) -> None:
    """Raise CaseError if a per-axis parameter does not have one entry for each spatial axis."""
    for name in PER_AXIS_PARAMETERS:
        value = parameters.get(name)
        if isinstance(value, tuple) and len(value) != rank:
            raise CaseError((name,), f"{list(value)} has {len(value)} entries: expected {rank}, one per spatial axis")


def check_extents(parameters: Mapping[str, Any], inputs: Mapping[str, ArraySpec], least_output_size: int) -> None:
    """Raise CaseError for a kernel whose rank differs from that of x, a small output size, and numbers out of range."""
    x, kernel = inputs["x"].shape, inputs.get("kernel")
    if kernel and len(kernel.shape) != len(x):
        raise CaseError(("kernel", "shape"), f"{list(kernel.shape)} has {len(kernel.shape)} axes, but x has {len(x)}")
    for name in ("output_size", "grid_size"):
        sizes = parameters.get(name, ())
        if min(sizes, default=least_output_size) < least_output_size:
            raise CaseError((name,), f"{list(sizes)} must be at least {least_output_size} along every axis")
    if "grid_size" in parameters:
        _check_matrices(parameters["grid_size"], x)
    for name, word in NUMBER_NAMES.items():
        if math.isnan(parameters.get(name, 1)):
            raise CaseError((name,), f"{word} must not be nan")


def _check_matrices(grid: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise CaseError unless the grid has 2 or 3 axes, and its matrices have as many rows, and a column more."""
    axes = len(grid)
    if axes not in MATRIX_AXES:
        raise CaseError(("grid_size",), f"{list(grid)} has {axes} entries: expected 2 or 3")
    if shape[1:] != (axes, axes + 1):
        raise CaseError(
            ("x", "shape"), f"{list(shape)}: expected matrices of {axes} x {axes + 1}, [n, {axes}, {axes + 1}]"
        )


def _spread_scalars(given: Mapping[str, Any], window: Any, rank: int) -> dict[str, Any]:
    """Return the parameters of a possibly invalid case unchecked; scalars are repeated for each axis."""
    padding = _repeat_per_axis(0 if isinstance(given["padding"], str) else given["padding"], rank)
    return {
        "window": _repeat_per_axis(window, rank),
        "stride": _repeat_per_axis(window if given["stride"] is None else given["stride"], rank),
        "padding": tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in padding),
        "dilation": _repeat_per_axis(given["dilation"], rank),
    }


def plain_value(value: Any) -> Any:
    """Convert lists to tuples and decimals to floats."""
    if isinstance(value, (list, tuple)):
        return tuple(plain_value(item) for item in value)
    return float(value) if isinstance(value, Decimal) else value
