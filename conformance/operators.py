"""What the catalogue may say of each operator: its inputs, and its parameters with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_WALK: Mapping[str, object] = {"window": None, "stride": None, "padding": 0, "dilation": 1, "rounding": "floor"}


@dataclass(frozen=True)
class Operator:
    """One operator of the catalogue.

    defaults: every parameter with its default, `None` for one that must be given or is derived;
    optional: inputs that a case may leave out.
    """

    name: str
    defaults: Mapping[str, object]
    inputs: tuple[str, ...] = ("x",)
    optional: tuple[str, ...] = ()

    @property
    def pools(self) -> bool:
        """Whether a window without weights walks over the input."""
        return "window" in self.defaults


def _operators() -> tuple[Operator, ...]:
    convolution = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    return (
        Operator("max_pool", _WALK),
        Operator("min_pool", _WALK),
        Operator("avg_pool", {**_WALK, "count_include_pad": False, "divisor": None}),
        Operator("softmax_pool", _WALK),
        Operator("pad", {"pads": None, "mode": "constant", "value": 0}),
        Operator("conv", convolution, inputs=("x", "kernel", "bias"), optional=("bias",)),
    )


OPERATORS: Mapping[str, Operator] = MappingProxyType({operator.name: operator for operator in _operators()})
