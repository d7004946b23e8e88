"""Layers of models that are not window operators: defaults on which frameworks differ, for hints to people who port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.adapters.api.layers import RANK_PLACEHOLDER, SPATIAL_RANKS


@dataclass(frozen=True)
class LayerDefault:
    """The default of an argument. meaning: what the number counts, if frameworks count differently."""

    argument: str
    value: Any
    meaning: str = ""

    def text(self, framework: str, value: Any) -> str:
        """Return the framework with the argument and a value of it."""
        return f"{framework} {self.argument}={value!r}{f', {self.meaning}' if self.meaning else ''}"


@dataclass(frozen=True)
class OtherLayer:
    """A class or function of a framework that is not a window operator.

    names: separated by `|`, with `{rank}` for the number of spatial axes.
    kind: the same for layers of other frameworks with this meaning.
    defaults: by a name that the frameworks share. parameters: names of positional arguments, in order.
    note: what else differs. source: URL of the documentation.
    """

    names: str
    kind: str
    source: str
    defaults: Mapping[str, LayerDefault] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    note: str = ""

    @property
    def all_names(self) -> frozenset[str]:
        """The names with each number of spatial axes."""
        names = self.names.split("|")
        return frozenset(name.replace(RANK_PLACEHOLDER, str(rank)) for name in names for rank in SPATIAL_RANKS)


def find_other_layer(layers: Sequence[OtherLayer], name: str) -> OtherLayer | None:
    """Return the entry for the name of a class or function."""
    return next((layer for layer in layers if name in layer.all_names), None)


def default_differences(
    source: tuple[str, OtherLayer], target: tuple[str, OtherLayer], given: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a text for each default of the target that is not the value of the source.

    source, target: the name of the framework and its layer. given: the arguments of the source that the call passes.
    """
    for name, default in source[1].defaults.items():
        other = target[1].defaults.get(name)
        value = given.get(default.argument, default.value)
        if other and (value != other.value or default.meaning != other.meaning):
            yield f"{name} ({default.text(source[0], value)}; {other.text(target[0], other.value)})"
