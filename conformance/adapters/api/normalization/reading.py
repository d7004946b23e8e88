"""Signatures of calls of local response normalization, for `conformance translate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import count_argument, is_whole_number, number_argument
from conformance.adapters.api.layer_parser import UnreadableLayer
from conformance.adapters.api.layers import ArgumentReading, BoundCall, LayerSignature
from conformance.cases.operators import ExtraChannel


def normalization_layer(
    signature: str,
    *,
    side: ExtraChannel | None,
    size: str = "size",
    bias: str = "k",
    array: str = "",
    ignored: tuple[str, ...] = (),
    required_values: Mapping[str, Any] | None = None,
) -> LayerSignature:
    """Return a layer that divides alpha by the number of channels in the window.

    side: that of the extra channel of an even window; None if such a window has one channel less.
    size, bias: the names of these arguments. array: the argument that is the input, for functions.
    """
    return LayerSignature(
        signature,
        "lrn",
        {
            "local_size": count_argument(size),
            "alpha": number_argument("alpha"),
            "beta": number_argument("beta"),
            "k": number_argument(bias),
        },
        array_arguments=(array,) if array else (),
        ignored_arguments=ignored,
        required_values=required_values or {},
        fixed_parameters={"extra_channel": side.value} if side else {},
        adjust=None if side else _one_channel_less,
    )


def _one_channel_less(_call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the odd window of an even size, with the factor that the even size gives."""
    size = found["local_size"]
    if size is None or size % 2 or size < 1:
        return {}
    return {"local_size": size - 1, "alpha": found["alpha"] / size, "alpha_over_size": False}


def radius_argument(argument: str) -> ArgumentReading:
    """Read the number of channels on each side of a channel."""
    return ArgumentReading(argument, _read_radius)


def _read_radius(_call: BoundCall, value: Any) -> Any:
    if is_whole_number(value) and value >= 0:
        return 2 * value + 1
    raise UnreadableLayer("not a whole number of at least 0")
