"""Signatures of a framework's layers, and the parameters of the catalogue that their arguments set."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from conformance.adapters.api.layer_parser import LayerSyntax, UnreadableLayer

SPATIAL_RANKS = (1, 2, 3)
RANK_PLACEHOLDER = "{rank}"


@dataclass(frozen=True)
class BoundCall:
    """A call with its arguments bound to the names of its signature.

    arguments: all arguments, with defaults for those that the call leaves out. given_names: those that it passes.
    shape, kernel_shape: of the input and of the weights, in the layout of the catalogue, if the user specified them.
    result_index: the index of the result that is used, if the text selects one.
    constants: the values of names that lines before the call assign.
    """

    name: str
    rank: int | None
    arguments: Mapping[str, Any]
    given_names: frozenset[str]
    shape: tuple[int, ...] | None = None
    kernel_shape: tuple[int, ...] | None = None
    result_index: int | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)

    def spatial_axes(self, value: Any = None) -> int:
        """Return the number of spatial axes, from the name of the layer, the length of a tuple, or the input shape."""
        if self.rank is not None:
            return self.rank
        if isinstance(value, tuple):
            return len(value)
        return len(self.shape) - 2 if self.shape else 2

    def input_extents(self, why: str) -> tuple[int, ...]:
        """Return the extents of the input. Raises UnreadableLayer, with `why`, if they are not specified."""
        if self.shape is None:
            raise UnreadableLayer(f"{why} depends on the size of the input: {ADD_SHAPE}")
        return self.shape[2:]

    def weight_shape(self, why: str) -> tuple[int, ...]:
        """Return the shape of the weights. Raises UnreadableLayer, with `why`, if it is not specified."""
        if self.kernel_shape is None:
            message = f"{why} depends on the size of the kernel: add --kernel-shape, (in, out/groups, *window)"
            raise UnreadableLayer(message)
        return self.kernel_shape


ADD_SHAPE = "add --shape N,C,…"
"""End of errors about a layer that needs the shape of its input. For a layer of a file it is the option --input."""
ArgumentReader = Callable[[BoundCall, Any], Any]


@dataclass(frozen=True)
class ArgumentReading:
    """The argument that sets a parameter of the catalogue, and its conversion. A result of None omits the parameter."""

    argument: str
    convert: ArgumentReader


PADDING_MODE = "padding_mode"
"""Key of `LayerSignature.readings` for the PadMode in which a convolution layer pads."""


@dataclass(frozen=True)
class LayerSignature:
    """One class or function of a framework: its signature, and the parameters that its arguments set.

    signature: in Python syntax, `Pool{rank}d(size, stride=None)`. Several names are separated by `|`; a name includes
        its module if other modules have the same name. `{rank}` is the number of spatial axes.
    operator: the operator of the catalogue.
    readings: for each parameter of the operator, and for `channels`, `out_channels` and `bias`, the argument.
    array_arguments: arguments that are arrays. ignored_arguments: others that do not change the result.
    required_values: arguments for which only one value can be translated.
    fixed_parameters: parameters with the same value for every call.
    adjust: changes several parameters at once, after all arguments have been read.
    has_rank_in_name: whether the digit in a name such as `Pool2d` is the number of spatial axes.
    result_count: number of results that the text may select by index, if the operator has one output.
    note: additional information for the user.
    """

    signature: str
    operator: str
    readings: Mapping[str, ArgumentReading] = field(default_factory=dict)
    array_arguments: tuple[str, ...] = ()
    ignored_arguments: tuple[str, ...] = ()
    required_values: Mapping[str, Any] = field(default_factory=dict)
    fixed_parameters: Mapping[str, Any] = field(default_factory=dict)
    adjust: Callable[[BoundCall, dict[str, Any]], Mapping[str, Any]] | None = None
    has_rank_in_name: bool = True
    result_count: int = 0
    note: str | Callable[[BoundCall], str] = ""

    @property
    def names(self) -> list[tuple[str, int | None]]:
        """All names of the layer, each with the rank in the name, or None."""
        patterns = self.signature.partition("(")[0].split("|")
        names = (
            pattern.replace(RANK_PLACEHOLDER, str(rank))
            for pattern in patterns
            for rank in SPATIAL_RANKS[: 3 if RANK_PLACEHOLDER in pattern else 1]
        )
        # The digit may be within the name, as in conv2d_transpose.
        found = ((name, re.search(r"([1-3])[dD]", name) if self.has_rank_in_name else None) for name in names)
        return [(name, int(rank[1]) if rank else None) for name, rank in found]

    @property
    def parameters(self) -> inspect.Signature:
        """The arguments with their defaults."""
        return _signature(self.signature.partition("(")[2].removesuffix(")"))


@lru_cache
def _signature(text: str) -> inspect.Signature:
    # Python's own parser reads positional, keyword-only and default arguments; nothing is executed.
    function = ast.parse(f"def f({text}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - for mypy; the text above is a function
    found, kinds = function.args, inspect.Parameter
    defaults = [inspect.Parameter.empty] * (len(found.args) - len(found.defaults))
    defaults += [ast.literal_eval(node) for node in found.defaults]
    positional = [
        kinds(a.arg, kinds.POSITIONAL_OR_KEYWORD, default=d) for a, d in zip(found.args, defaults, strict=True)
    ]
    keyword_only = [
        kinds(a.arg, kinds.KEYWORD_ONLY, default=ast.literal_eval(d) if d else kinds.empty)
        for a, d in zip(found.kwonlyargs, found.kw_defaults, strict=True)
    ]
    return inspect.Signature([*positional, *keyword_only])


@dataclass(frozen=True)
class Dialect:
    """The layers of one surface, and the module prefixes that users write before their names.

    prefixes: modules, with their usual import names.
    apply_methods, ignored_methods, name_function, methods, constants: see layer_parser.LayerSyntax.
    """

    prefixes: tuple[str, ...]
    layers: tuple[LayerSignature, ...]
    apply_methods: tuple[str, ...] = ()
    ignored_methods: tuple[str, ...] = ()
    name_function: str = ""
    methods: bool = False
    constants: bool = False

    @cached_property
    def syntax(self) -> LayerSyntax:
        """The syntax of a layer call. Arguments that every layer ignores may have any value."""
        # An argument that one layer reads must be parsed even if another layer ignores it.
        used = {name for layer in self.layers for name in layer.parameters.parameters}
        ignored = {name for layer in self.layers for name in layer.ignored_arguments} - used
        return LayerSyntax(
            self.prefixes,
            self.apply_methods,
            self.ignored_methods,
            self.name_function,
            frozenset(ignored),
            self.methods,
            self.constants,
        )

    @cached_property
    def layers_by_name(self) -> dict[str, list[tuple[LayerSignature, int | None]]]:
        """The layers by name, each with the rank in the name, or None."""
        found: dict[str, list[tuple[LayerSignature, int | None]]] = {}
        for layer in self.layers:
            for name, rank in layer.names:
                found.setdefault(name, []).append((layer, rank))
        return found


IMPLIED_GROUPS = "implied"
"""Value of `groups` if it follows from the channels of the input and of the kernel."""
