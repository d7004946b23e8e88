"""Signatures of calls that move channels into blocks of cells and back, for `conformance translate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import count_argument
from conformance.adapters.api.layers import LayerSignature
from conformance.cases.operators import BlockOrder


def block_layers(
    signatures: Mapping[str, str],
    order: BlockOrder,
    *,
    array: str = "",
    required_values: Mapping[str, Any] | None = None,
) -> tuple[LayerSignature, ...]:
    """Return the layers of a framework that has one order of channels.

    signatures: for each operator, the signature, whose argument with the block ends in `_size` or `_factor`.
    array: the argument that is the input, for functions.
    """
    return tuple(
        LayerSignature(
            signature,
            operator,
            {"block": count_argument(_block_argument(signature))},
            array_arguments=(array,) if array else (),
            required_values=required_values or {},
            fixed_parameters={"order": order.value},
        )
        for operator, signature in signatures.items()
    )


def _block_argument(signature: str) -> str:
    """Return the name of the argument with the block."""
    arguments = signature.partition("(")[2].removesuffix(")").split(", ")
    names = (argument.partition("=")[0] for argument in arguments)
    return next(name for name in names if name.endswith(("_size", "_factor")))
