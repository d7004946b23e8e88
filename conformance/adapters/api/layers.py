"""How a framework writes its layers: signatures, what their arguments mean, and the calls that are bound to them."""

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

    arguments: every one, with its default where the call leaves it out; given: the names of those that it names;
    shape, kernel: those of the input and of the weights, as the catalogue has them, where somebody has said them;
    result: which of several results is taken, where the text says so.
    """

    name: str
    rank: int | None
    arguments: Mapping[str, Any]
    given_names: frozenset[str]
    shape: tuple[int, ...] | None = None
    kernel_shape: tuple[int, ...] | None = None
    result_index: int | None = None

    def spatial_axes(self, value: Any = None) -> int:
        """Return the number of spatial axes: as the name says, the shape, or the length of a tuple."""
        if self.rank is not None:
            return self.rank
        if isinstance(value, tuple):
            return len(value)
        return len(self.shape) - 2 if self.shape else 2

    def input_extents(self, why: str) -> tuple[int, ...]:
        """Return the extents of the input. Raises Unread where nobody has said them."""
        if self.shape is None:
            raise UnreadableLayer(f"{why} depends on the size of the input: say --shape N,C,…")
        return self.shape[2:]

    def weight_shape(self, why: str) -> tuple[int, ...]:
        """Return the shape of the weights. Raises Unread where nobody has said it."""
        if self.kernel_shape is None:
            raise UnreadableLayer(
                f"{why} depends on the size of the kernel: say --kernel-shape, (in, out/groups, *window)"
            )
        return self.kernel_shape


ArgumentReader = Callable[[BoundCall, Any], Any]


@dataclass(frozen=True)
class ArgumentReading:
    """Where a word of the catalogue stands in a call: the argument, and what it means; None leaves the word out."""

    argument: str
    convert: ArgumentReader


@dataclass(frozen=True)
class LayerSignature:
    """One class or function of a framework: its signature, and what its arguments mean.

    signature: as Python writes it, `Pool{rank}d(size, stride=None)`; several names stand side by side with `|`, with
    their module where others have the same name; `{rank}` is the number of spatial axes, which is read off names such
    as `Pool2d` too;
    data: arguments that are arrays; ignored: further ones without a say in the result;
    must: what an argument has to be, because anything else has no words here;
    reads: for parameters of the operator, and for `channels`, `out_channels`, `bias`, where they stand;
    always: parameters that hold whatever the call says; meaning: what changes several of them, last of all;
    ranked: whether a name such as `Pool2d` says the number of axes;
    results: how many the call gives to choose from by number, also where the operator has one;
    note: what a reader should know besides.
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
        """Every name that the layer has, with the rank that the name says."""
        patterns = self.signature.partition("(")[0].split("|")
        names = (
            pattern.replace(RANK_PLACEHOLDER, str(rank))
            for pattern in patterns
            for rank in SPATIAL_RANKS[: 3 if RANK_PLACEHOLDER in pattern else 1]
        )
        found = ((name, re.search(r"([1-3])[dD]", name) if self.has_rank_in_name else None) for name in names)
        return [(name, int(rank[1]) if rank else None) for name, rank in found]

    @property
    def parameters(self) -> inspect.Signature:
        """The arguments with their defaults; a text that is no signature is a fault of the table."""
        return _signature(self.signature.partition("(")[2].removesuffix(")"))


@lru_cache
def _signature(text: str) -> inspect.Signature:
    function = ast.parse(f"def f({text}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - so it was written
    given, kinds = function.args, inspect.Parameter
    defaults = [inspect.Parameter.empty] * (len(given.args) - len(given.defaults))
    defaults += [ast.literal_eval(node) for node in given.defaults]
    plain = [kinds(a.arg, kinds.POSITIONAL_OR_KEYWORD, default=d) for a, d in zip(given.args, defaults, strict=True)]
    named = [
        kinds(a.arg, kinds.KEYWORD_ONLY, default=ast.literal_eval(d) if d else kinds.empty)
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return inspect.Signature([*plain, *named])


@dataclass(frozen=True)
class Dialect:
    """The layers of one surface, and what people write before their names.

    prefixes: modules, as they are usually imported; applied, followed, naming, methods: see `layer_source.Writing`.
    """

    prefixes: tuple[str, ...]
    layers: tuple[LayerSignature, ...]
    apply_methods: tuple[str, ...] = ()
    ignored_methods: tuple[str, ...] = ()
    name_function: str = ""
    methods: bool = False

    @cached_property
    def syntax(self) -> LayerSyntax:
        """How a layer is written; the values of arguments that no layer looks at may be anything."""
        seen = {name for layer in self.layers for name in layer.parameters.parameters}
        unseen = {name for layer in self.layers for name in layer.ignored_arguments} - seen
        return LayerSyntax(
            self.prefixes, self.apply_methods, self.ignored_methods, self.name_function, frozenset(unseen), self.methods
        )

    @cached_property
    def layers_by_name(self) -> dict[str, list[tuple[LayerSignature, int | None]]]:
        """The layers by their names, each with the rank that the name says."""
        found: dict[str, list[tuple[LayerSignature, int | None]]] = {}
        for layer in self.layers:
            for name, rank in layer.names:
                found.setdefault(name, []).append((layer, rank))
        return found


IMPLIED_GROUPS = "implied"
"""As many groups as the channels of the input and of the kernel say."""
