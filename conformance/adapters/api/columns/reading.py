"""Signatures of calls that unfold windows and fold columns, for `conformance translate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.adapters.api.layer_arguments import sizes_argument
from conformance.adapters.api.layers import ArgumentReading, LayerSignature
from conformance.cases.operators import BlockOrder


@dataclass(frozen=True)
class ColumnArguments:
    """The names of the arguments of a framework."""

    window: str = "kernel_size"
    stride: str = "stride"
    padding: str = "padding"
    dilation: str = "dilation"
    output_size: str = "output_size"


def column_layers(
    signatures: Mapping[str, str],
    order: BlockOrder,
    names: ColumnArguments,
    *,
    array: str = "",
    padding: ArgumentReading | None = None,
    ignored: tuple[str, ...] = (),
) -> tuple[LayerSignature, ...]:
    """Return the layers of a framework that has one order of channels, and one padding for both ends of an axis.

    signatures: for each operator, the signature. array: the argument that is the input, for functions. padding: how
    to read it, if it may differ between the ends of an axis. ignored: the arguments that do not change the result.
    """
    readings = {name: sizes_argument(getattr(names, name)) for name in ("window", "stride", "padding", "dilation")}
    readings |= {"padding": padding} if padding else {}
    size = {"output_size": sizes_argument(names.output_size)}
    return tuple(
        LayerSignature(
            signature,
            operator,
            {**size, **readings} if operator == "fold" else readings,
            array_arguments=(array,) if array else (),
            ignored_arguments=ignored,
            fixed_parameters={"order": order.value},
        )
        for operator, signature in signatures.items()
    )
