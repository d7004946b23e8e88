"""What the catalogue may say of each operator: its inputs, and its parameters with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

GRADIENT = "_grad"
INPUTS = ("grad", "x", "kernel", "bias", "indices", "samples", "draws")
"""All inputs that some operator has, in the order in which programs take them."""
_WALK: Mapping[str, object] = {"window": None, "stride": None, "padding": 0, "dilation": 1, "rounding": "floor"}
_CONV: Mapping[str, object] = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}


@dataclass(frozen=True)
class Operator:
    """One operator of the catalogue.

    defaults: every parameter with its default, `None` for one that must be given or is derived;
    optional: inputs that a case may leave out; needed: parameters that it may not leave out;
    outputs: the names of what it returns, where that is more than one array; a case's `output` chooses.
    """

    name: str
    defaults: Mapping[str, object]
    inputs: tuple[str, ...] = ("x",)
    optional: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    @property
    def pools(self) -> bool:
        """Whether a window without weights walks over the input."""
        return "window" in self.defaults and "rounding" in self.defaults

    @property
    def gradient(self) -> bool:
        """Whether it is the gradient of another operator."""
        return self.name.endswith(GRADIENT)

    @property
    def forward(self) -> str:
        """The operator itself, or the one whose gradient it is."""
        return self.name.removesuffix(GRADIENT)


def _forward() -> tuple[Operator, ...]:
    weights, window = ("x", "kernel", "bias"), ("window",)
    return (
        Operator("max_pool", _WALK, needed=window),
        Operator("min_pool", _WALK, needed=window),
        Operator("avg_pool", {**_WALK, "count_include_pad": False, "divisor": None}, needed=window),
        Operator("lp_pool", {**_WALK, "p": 2}, needed=window),
        Operator("softmax_pool", _WALK, needed=window),
        Operator("max_pool_with_indices", {**_WALK, "output": "values"}, needed=window, outputs=("values", "indices")),
        Operator("max_unpool", {"output_size": None}, inputs=("x", "indices"), needed=("output_size",)),
        Operator("global_max_pool", {}),
        Operator("global_avg_pool", {}),
        Operator("adaptive_max_pool", {"output_size": None}, needed=("output_size",)),
        Operator("adaptive_avg_pool", {"output_size": None}, needed=("output_size",)),
        Operator(
            "fractional_max_pool",
            {"window": None, "output_size": None},
            inputs=("x", "samples"),
            needed=("window", "output_size"),
        ),
        Operator("stochastic_pool_probabilities", _WALK, needed=window),
        Operator("stochastic_pool", _WALK, inputs=("x", "draws"), needed=window),
        Operator("pad", {"pads": None, "mode": "constant", "value": 0}, needed=("pads",)),
        Operator("conv", _CONV, inputs=weights, optional=("bias",)),
        Operator("conv_transpose", {**_CONV, "output_padding": 0}, inputs=weights, optional=("bias",)),
    )


TIED = frozenset({"max_pool", "min_pool", "global_max_pool", "adaptive_max_pool"})
"""Operators whose gradient has a rule for equal values as a parameter, `ties`."""


def _gradient(operator: Operator) -> Operator:
    """Return the gradient: it takes `grad` first, and gives one array for each input with weights."""
    defaults = {name: value for name, value in operator.defaults.items() if name != "output"}
    defaults |= {"ties": "first"} if operator.name in TIED else {}
    outputs = operator.inputs if "kernel" in operator.inputs else ()
    defaults |= {"output": outputs[0]} if outputs else {}
    return Operator(
        operator.name + GRADIENT, defaults, ("grad", *operator.inputs), operator.optional, operator.needed, outputs
    )


FORWARD = tuple(operator.name for operator in _forward())
OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {operator.name: operator for forward in _forward() for operator in (forward, _gradient(forward))}
)
