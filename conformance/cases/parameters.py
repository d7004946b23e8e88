"""The parameters of a case, from the words of a case file to what the reference and the adapters understand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conformance.cases.arrays import ArraySpec
from conformance.cases.case import DEFAULTS_KEY, FLAT_PADS_KEY, FRAMEWORK_SAME
from conformance.cases.operators import INPUT_ORDER, Operator
from conformance.cases.yaml_reader import YamlPath
from reference import Windows

# Parameters with an entry for each spatial axis.
PER_AXIS_PARAMETERS = frozenset({"window", "stride", "padding", "dilation", "output_size", "output_padding", "pads"})
# What a case says beside inputs and parameters.
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
    DEFAULTS_KEY,
    FLAT_PADS_KEY,
}


class CaseError(ValueError):
    """A case that contradicts itself; `where` is the path of the key inside the case."""

    def __init__(self, where: YamlPath, message: str) -> None:
        super().__init__(f"key {'.'.join(map(str, where))!r}: {message}" if where else message)
        self.key_path = where


def parse_parameters(
    operator: Operator,
    raw: Mapping[str, Any],
    inputs: Mapping[str, ArraySpec],
    omitted: tuple[str, ...],
    *,
    invalid: bool,
) -> dict[str, Any]:
    """Return every parameter of the operator; for a case that must be rejected, as it stands."""
    known = set(operator.defaults)
    for key in raw.keys() - known - RESERVED_KEYS - set(INPUT_ORDER):
        has = f", it has {', '.join(sorted(known))}" if known else ""
        raise CaseError((key,), f"{operator.name} has no such parameter{has}")
    given: dict[str, Any] = {**operator.defaults, **{key: plain_value(raw[key]) for key in known & raw.keys()}}
    for key in operator.required_parameters:
        if given[key] is None and not (key == "pads" and FLAT_PADS_KEY in raw):
            raise CaseError((), f"{operator.name} needs the key {key!r}")
    if given.get("output", "x") not in (operator.outputs or ("x",)):
        outputs = ", ".join(operator.outputs) or "one array"
        raise CaseError(("output",), f"{operator.name} returns {outputs}, not {given['output']!r}")
    if given.get("output") in operator.optional_inputs and given["output"] not in raw:
        raise CaseError(("output",), f"the case has no {given['output']} whose gradient could be asked for")
    given.update(_per_axis_parameters(operator, given, inputs, invalid=invalid))
    if raw.get("padding") == FRAMEWORK_SAME:
        given["padding"] = FRAMEWORK_SAME
    if FLAT_PADS_KEY in raw:
        given[FLAT_PADS_KEY] = plain_value(raw[FLAT_PADS_KEY])
    if raw.get(DEFAULTS_KEY):
        given[DEFAULTS_KEY] = True
    return {key: value for key, value in given.items() if key not in omitted}


def _per_axis_parameters(
    operator: Operator, given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, invalid: bool
) -> dict[str, Any]:
    """Return the parameters that have a value for every spatial axis, as the reference understands them."""
    if operator.forward == "conv_transpose":
        return _transposed_parameters(given, inputs, invalid=invalid)
    if "dilation" in given:
        return _window_parameters(given, inputs, invalid=invalid)
    rank = len(inputs["x"].shape) - 2
    return {key: _repeat_per_axis(given[key], rank) for key in ("window", "output_size") if key in given}


def _window_parameters(given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, invalid: bool) -> dict[str, Any]:
    """Return window, stride, padding and dilation of a walk over the input."""
    size = inputs["x"].shape[2:]
    window = given.get("window", inputs["kernel"].shape[2:] if "kernel" in inputs else None)
    try:
        walk = Windows.of(
            size, window, given["stride"], given["padding"], given["dilation"], given.get("rounding", "floor")
        )
        walked = {"window": walk.window, "stride": walk.stride, "padding": walk.pads, "dilation": walk.dilation}
        if any(min(pair) < 0 for pair in walk.pads):
            # The reference crops; no framework's pooling or convolution takes such padding, but `pad` does.
            raise ValueError(f"padding {given['padding']} must be at least 0; to crop, pad comes first")
    except ValueError as error:
        if not invalid:
            raise CaseError((), str(error)) from None
        walked = _spread_scalars(given, window, len(size))
    return {key: value for key, value in walked.items() if key in given}


def _transposed_parameters(
    given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, invalid: bool
) -> dict[str, Any]:
    """Return the same for a transposed convolution, whose padding crops the output; `same` is input times stride."""
    size, window = inputs["x"].shape[2:], inputs["kernel"].shape[2:]
    spread = _spread_scalars(
        {**given, "padding": 0 if isinstance(given["padding"], str) else given["padding"]}, window, len(size)
    )
    further = _repeat_per_axis(given["output_padding"], len(size))
    walked = {key: spread[key] for key in ("stride", "padding", "dilation")} | {"output_padding": further}
    if given["padding"] in {"same_upper", "same_lower"} and not invalid:
        check_ranks(walked, len(size))
        whole = [extent * step for extent, step in zip(size, walked["stride"], strict=True)]
        pads = Windows.of(whole, window, walked["stride"], given["padding"], walked["dilation"]).pads
        cells = zip(size, walked["stride"], walked["dilation"], window, pads, strict=True)
        natural = [(n - 1) * s + d * (w - 1) + 1 - sum(ends) for n, s, d, w, ends in cells]
        walked |= {"padding": pads, "output_padding": tuple(w - n for w, n in zip(whole, natural, strict=True))}
    if not invalid and any(number < 0 for pair in walked["padding"] for number in pair):
        # The reference adds cells then; most frameworks take such padding for something else, or for a fault.
        raise CaseError(
            (), f"padding {given['padding']} must be at least 0; output_padding adds cells after the output"
        )
    return walked


def _repeat_per_axis(value: Any, rank: int) -> tuple[Any, ...]:
    """Return a tuple as it stands, anything else once for each axis."""
    return value if isinstance(value, tuple) else (value,) * rank


def check_ranks(parameters: Mapping[str, Any], rank: int) -> None:
    """Raise Faulty unless a parameter that goes along the axes has an entry for each."""
    for name in sorted(PER_AXIS_PARAMETERS & parameters.keys()):
        value = parameters[name]
        if isinstance(value, tuple) and len(value) != rank:
            raise CaseError((name,), f"{list(value)} has {len(value)} entries: expected {rank}, one per spatial axis")


def check_extents(parameters: Mapping[str, Any], inputs: Mapping[str, ArraySpec]) -> None:
    """Raise Faulty for a kernel of another rank than x, for an output without cells, and for a power that is none."""
    x, kernel = inputs["x"].shape, inputs.get("kernel")
    if kernel and len(kernel.shape) != len(x):
        raise CaseError(("kernel", "shape"), f"{list(kernel.shape)} has {len(kernel.shape)} axes, and x has {len(x)}")
    if "output_size" in parameters and min(parameters["output_size"], default=1) < 1:
        raise CaseError(("output_size",), f"{list(parameters['output_size'])} must be at least 1 along every axis")
    if math.isnan(parameters.get("p", 1)):
        raise CaseError(("p",), "nan is no power")


def _spread_scalars(given: Mapping[str, Any], window: Any, rank: int) -> dict[str, Any]:
    """Return the parameters of a faulty case as they stand, a scalar standing for every axis."""
    padding = _repeat_per_axis(0 if isinstance(given["padding"], str) else given["padding"], rank)
    return {
        "window": _repeat_per_axis(window, rank),
        "stride": _repeat_per_axis(window if given["stride"] is None else given["stride"], rank),
        "padding": tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in padding),
        "dilation": _repeat_per_axis(given["dilation"], rank),
    }


def plain_value(value: Any) -> Any:
    """Return the value with lists as tuples and decimals as floats."""
    if isinstance(value, list):
        return tuple(plain_value(item) for item in value)
    return float(value) if isinstance(value, Decimal) else value
