"""Layers of models that are not window operators: defaults on which frameworks differ, for hints to people who port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.adapters.api.layers import RANK_PLACEHOLDER, SPATIAL_RANKS

SIGNIFICANT_DIGITS = 6
"""Digits to which numbers are compared and written. Files have them in float32, such as 9.999999747378752e-06."""


@dataclass(frozen=True)
class LayerDefault:
    """The default of an argument.

    argument: "" if the framework has no argument, and always computes with the value. meaning: what the number counts,
    if frameworks count differently. words: the names that frameworks share for values with other names, by the value.
    call: the class or function, if others of the framework have another default.
    """

    argument: str
    value: Any
    meaning: str = ""
    words: Mapping[Any, Any] = field(default_factory=dict)
    call: str = ""

    def text(self, framework: str, value: Any) -> str:
        """Return the framework with the argument and a value of it."""
        name = f"{framework} {self.call}".rstrip()
        setting = f"{self.argument}=" if self.argument else "has none, and computes with "
        return f"{name} {setting}{setting_text(value)}{f', {self.meaning}' if self.meaning else ''}"

    def shared(self, value: Any) -> Any:
        """Return a value in the words that frameworks share."""
        word = next((word for one, word in self.words.items() if one == value and type(one) is type(value)), value)
        return float(setting_text(word)) if type(word) in (int, float) else word


def setting_text(value: Any) -> str:
    """Return the text of a value of an argument."""
    return f"{value:.{SIGNIFICANT_DIGITS}g}" if type(value) in (int, float) else repr(value)


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
        if other and (default.shared(value) != other.shared(other.value) or default.meaning != other.meaning):
            yield f"{name} ({default.text(source[0], value)}; {other.text(target[0], other.value)})"
