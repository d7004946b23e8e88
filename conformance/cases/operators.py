"""The operators of the catalogue: their inputs, outputs, parameters and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

GRADIENT_SUFFIX = "_grad"
INPUT_ORDER = ("grad", "x", "kernel", "bias", "indices", "samples", "draws")
"""All inputs of all operators, in the order in which programs take them."""
_WINDOW_DEFAULTS: Mapping[str, object] = {
    "window": None,
    "stride": None,
    "padding": 0,
    "dilation": 1,
    "rounding": "floor",
}
_CONVOLUTION_DEFAULTS: Mapping[str, object] = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}


@dataclass(frozen=True)
class Operator:
    """One operator of the catalogue.

    defaults: every parameter with its default, `None` for one that is required or derived;
    optional_inputs: inputs that a case may omit; required_parameters: parameters that it must give;
    outputs: the names of the returned arrays if there are several; the parameter `output` of a case selects one.
    """

    name: str
    defaults: Mapping[str, object]
    inputs: tuple[str, ...] = ("x",)
    optional_inputs: tuple[str, ...] = ()
    required_parameters: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    @property
    def is_pooling(self) -> bool:
        """Whether it is pooling with a window and a rounding rule, so that it has no weights."""
        return "window" in self.defaults and "rounding" in self.defaults

    @property
    def is_gradient(self) -> bool:
        """Whether it is the gradient of another operator."""
        return self.name.endswith(GRADIENT_SUFFIX)

    @property
    def forward(self) -> str:
        """The name of the operator; for a gradient, the name of the forward operator."""
        return self.name.removesuffix(GRADIENT_SUFFIX)


def _forward_operators() -> tuple[Operator, ...]:
    weights, window = ("x", "kernel", "bias"), ("window",)
    return (
        Operator("max_pool", _WINDOW_DEFAULTS, required_parameters=window),
        Operator("min_pool", _WINDOW_DEFAULTS, required_parameters=window),
        Operator(
            "avg_pool", {**_WINDOW_DEFAULTS, "count_include_pad": False, "divisor": None}, required_parameters=window
        ),
        Operator("lp_pool", {**_WINDOW_DEFAULTS, "p": 2}, required_parameters=window),
        Operator("softmax_pool", _WINDOW_DEFAULTS, required_parameters=window),
        Operator(
            "max_pool_with_indices",
            {**_WINDOW_DEFAULTS, "output": "values"},
            required_parameters=window,
            outputs=("values", "indices"),
        ),
        Operator("max_unpool", {"output_size": None}, inputs=("x", "indices"), required_parameters=("output_size",)),
        Operator("global_max_pool", {}),
        Operator("global_avg_pool", {}),
        Operator("adaptive_max_pool", {"output_size": None}, required_parameters=("output_size",)),
        Operator("adaptive_avg_pool", {"output_size": None}, required_parameters=("output_size",)),
        Operator(
            "fractional_max_pool",
            {"window": None, "output_size": None},
            inputs=("x", "samples"),
            required_parameters=("window", "output_size"),
        ),
        Operator("stochastic_pool_probabilities", _WINDOW_DEFAULTS, required_parameters=window),
        Operator("stochastic_pool", _WINDOW_DEFAULTS, inputs=("x", "draws"), required_parameters=window),
        Operator("pad", {"pads": None, "mode": "constant", "value": 0}, required_parameters=("pads",)),
        Operator("conv", _CONVOLUTION_DEFAULTS, inputs=weights, optional_inputs=("bias",)),
        Operator(
            "conv_transpose", {**_CONVOLUTION_DEFAULTS, "output_padding": 0}, inputs=weights, optional_inputs=("bias",)
        ),
    )


OPERATORS_WITH_TIES = frozenset({"max_pool", "min_pool", "global_max_pool", "adaptive_max_pool"})
"""Operators whose gradient has the parameter `ties`, the rule for equal values."""


def _gradient_operator(operator: Operator) -> Operator:
    """Return the gradient operator: `grad` is its first input. With weights, it has one output per forward input."""
    defaults = {name: value for name, value in operator.defaults.items() if name != "output"}
    defaults |= {"ties": "first"} if operator.name in OPERATORS_WITH_TIES else {}
    outputs = operator.inputs if "kernel" in operator.inputs else ()
    defaults |= {"output": outputs[0]} if outputs else {}
    return Operator(
        operator.name + GRADIENT_SUFFIX,
        defaults,
        ("grad", *operator.inputs),
        operator.optional_inputs,
        operator.required_parameters,
        outputs,
    )


FORWARD_OPERATORS = tuple(operator.name for operator in _forward_operators())
OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {operator.name: operator for forward in _forward_operators() for operator in (forward, _gradient_operator(forward))}
)
