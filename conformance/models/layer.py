"""A layer with a window as a reader found it in a model, and the cases that check it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.operators import OPERATORS, PARAMETERS, Operator, PaddingWord
from conformance.translation.call_text import call_text
from conformance.translation.option_text import size_text

Setting = float | str | bool | None
"""A number, a word or a truth value of a layer without a window."""
MAX_AXES = 6
"""Maximum number of spatial axes of a layer."""
MAX_NUMBER = 1_000_000
"""Maximum extent, and maximum of every other number, of a layer. Larger ones are refused."""
DIVISORS = frozenset({"window", "stride", "output_size"})
"""Parameters that divide an extent where a layer is shortened."""


@dataclass(frozen=True)
class ModelLayer:
    """One layer of a model.

    name: its name in the model. parameters: all that the reader knows, as in a case; other parameters have the default
    of the operator. shape: (n, c, *spatial) of its input. kernel: shape of the weights, `()` without weights.
    weights: the first channels of kernel and bias, as nested lists. source: the node or the line of the model.
    following: of a padding, the convolution that reads it and is the same layer of the model. problem: why the layer
    cannot be checked; the other fields are then empty. padding_word: "same" if the layer computes its padding from the
    size of its input, so that `padding` is that of this size.
    """

    name: str
    operator: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    kernel: tuple[int, ...] = ()
    bias: bool = False
    weights: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    problem: str = ""
    following: ModelLayer | None = None
    padding_word: str = ""

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.shape) - 2

    @property
    def window(self) -> tuple[int, ...]:
        """Extent of the window on each spatial axis; `()` for an operator without windows."""
        return tuple(self.parameters.get("window", self.kernel[2:]))

    @property
    def groups(self) -> int:
        """Number of groups of a convolution, 1 for other operators."""
        return int(self.parameters.get("groups", 1))

    @property
    def out_channels(self) -> int:
        """Number of output channels."""
        return OPERATORS[self.operator].output_channels(self.kernel, self.groups) if self.kernel else self.shape[1]

    @property
    def computed_padding(self) -> str:
        """The word of a padding that depends on the size of the input, as in a case: SAME with a stride above 1."""
        padding, stride = self.parameters.get("padding"), self.parameters.get("stride") or (1,)
        word = PaddingWord.SAME_UPPER.value if self.padding_word == "same" else padding
        return word if isinstance(word, str) and max(stride) > 1 else ""

    @property
    def key(self) -> tuple[Any, ...]:
        """Operator, parameters, shapes and dtype. Layers with the same key are one case. The batch does not count."""
        parameters = tuple(sorted((name, repr(value)) for name, value in self.parameters.items()))
        return (
            self.operator,
            parameters,
            self.shape[1:],
            self.kernel,
            self.bias,
            self.dtype,
            self.problem and (self.source, self.problem),
            self.following.key if self.following else (),
            self.padding_word,
        )

    @property
    def text(self) -> str:
        """The operator, its parameters and its shape: "conv, window 3, padding 1; 64 → 128 channels, 56 x 56"."""
        if not self.operator:
            return self.source
        call = call_text(self.operator, self.parameters, self.kernel)
        channels = f"{self.shape[1]} → {self.out_channels} channels" if self.kernel else f"{self.shape[1]} channels"
        dtype = "" if self.dtype == "float32" else f", {self.dtype}"
        return f"{', '.join(filter(None, [self.operator, call]))}; {channels}, {size_text(self.shape[2:])}{dtype}"


def validated(layer: ModelLayer) -> ModelLayer:
    """Return a layer with tuples in place of lists, or the layer with the problem that makes it unusable."""
    if layer.problem:
        return layer
    try:
        problem = _problem_of(layer)
    except (TypeError, ValueError, AttributeError):
        problem = "the reader returned parameters of a wrong type"
    if problem:
        return ModelLayer(layer.name, source=layer.source, problem=problem)
    parameters = {name: _as_tuple(value) for name, value in layer.parameters.items()}
    return ModelLayer(
        layer.name,
        layer.operator,
        parameters,
        tuple(layer.shape),
        layer.dtype,
        tuple(layer.kernel),
        layer.bias,
        layer.weights if all(value is not None for value in layer.weights.values()) else {},
        layer.source,
        padding_word=layer.padding_word,
    )


def _problem_of(layer: ModelLayer) -> str:
    """Return why a layer is no case, "" if it may be one."""
    operator = OPERATORS.get(layer.operator)
    if operator is None or operator.is_gradient:
        return f"unknown operator {layer.operator!r}"
    if layer.dtype not in NUMPY_DTYPES:
        return f"unknown dtype {layer.dtype!r}"
    if not 1 <= layer.rank <= MAX_AXES:
        return f"its input {list(layer.shape)} is not (n, c, *spatial) with 1 to {MAX_AXES} spatial axes"
    return _problem_of_numbers(layer) or (_problem_of_weights(layer, operator) if operator.has_weights else "")


def _problem_of_numbers(layer: ModelLayer) -> str:
    known = {*OPERATORS[layer.operator].defaults, "output"}
    for name, value in layer.parameters.items():
        if name not in known:
            return f"{layer.operator} has no parameter {name!r}"
        if PARAMETERS[name].is_per_axis and not isinstance(value, str) and len(value) != layer.rank:
            return f"{name} {value!r} does not have a value for each of the {layer.rank} axes"
        if name in DIVISORS and 0 in value:
            return f"{name} {value!r} contains 0"
    if min((*layer.shape[1:], *layer.kernel)) < 1:
        return f"an extent of its shapes {list(layer.shape)} {list(layer.kernel)} is not positive"
    numbers = _numbers([layer.shape[1:], layer.kernel, *layer.parameters.values()])
    return f"a number is above the limit of {MAX_NUMBER:,}" if max(map(abs, numbers)) > MAX_NUMBER else ""


def _problem_of_weights(layer: ModelLayer, operator: Operator) -> str:
    kernel, groups, channels = tuple(layer.kernel), layer.groups, layer.shape[1]
    if len(kernel) != len(layer.shape):
        return f"its weights {list(kernel)} do not fit its input {list(layer.shape)}"
    if groups < 1 or channels % groups or channels != operator.input_channels(kernel, groups):
        return f"its weights {list(kernel)} in {groups} groups do not fit {channels} channels"
    return f"its {layer.out_channels} output channels are not a multiple of {groups}" * bool(
        layer.out_channels % groups
    )


def _numbers(values: Sequence[Any]) -> Sequence[float]:
    found: list[float] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += _numbers(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf"):
            found.append(value)
    return found


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class ModelNode:
    """A node of the graph of a model. inputs, outputs: names of values, without constants. name: that of its layer."""

    name: str
    kind: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """A model: its layers with windows, and the number of its other layers by their kind.

    source: the file or the reference. surface: the surface whose answers to conventions apply to the model.
    nodes: all nodes in the order of the graph, if the reader lists them. settings: values of other layers on whose
    default frameworks differ, by the kind of the layer: the different ones, each by the names of the framework.
    versions: of the packages with which it was read. is_run: whether users run it on the surface.
    """

    source: str
    surface: str
    layers: tuple[ModelLayer, ...]
    others: Mapping[str, int] = field(default_factory=dict)
    nodes: tuple[ModelNode, ...] = ()
    settings: Mapping[str, Sequence[Mapping[str, Setting]]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    is_run: bool = True

    @property
    def is_chain(self) -> bool:
        """Whether every node reads the result of the node before it and nothing else but constants."""
        nodes = [node for node in self.nodes if node.inputs]
        pairs = itertools.pairwise(nodes)
        return bool(nodes) and all(len(one.outputs) == 1 and other.inputs == one.outputs for one, other in pairs)

    def distinct_layers(self) -> Mapping[tuple[Any, ...], Sequence[ModelLayer]]:
        """Return the layers in groups that are one case, in the order of the model."""
        groups: dict[tuple[Any, ...], list[ModelLayer]] = {}
        for layer in self.layers:
            groups.setdefault(layer.key, []).append(layer)
        return groups
