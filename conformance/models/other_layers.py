"""Layers of a model that have no window and are not checked: their values on whose default frameworks differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from conformance.adapters import registry
from conformance.adapters.api import default_differences, find_other_layer, setting_text
from conformance.models.layer import Model, Setting


def framework_of(surface: str) -> str:
    """Return the framework in whose name the layers of a surface are described."""
    return surface.partition(".")[0].partition("-")[0]


def other_layer_notes(model: Model, targets: Sequence[str]) -> Iterator[str]:
    """Yield for each kind of layer its values in the model, and the defaults of the targets that are others."""
    for kind, found in model.settings.items():
        for settings in found:
            values = ", ".join(f"{name}={setting_text(value)}" for name, value in settings.items())
            # A framework can have a class and a function of one kind, with the same values.
            checks = list(dict.fromkeys(_checks(model, kind, settings, targets)))
            yield f"{kind} with {values} in the model{': set ' if checks else ''}{'; '.join(checks)}."


def _checks(model: Model, kind: str, settings: Mapping[str, Setting], targets: Sequence[str]) -> Iterator[str]:
    tables = registry.other_layers()
    source = framework_of(model.surface)
    own = find_other_layer(tables.get(source, ()), kind)
    for framework in dict.fromkeys(map(framework_of, targets)):
        for other in tables.get(framework, ()) if own and framework != source else ():
            if own and other.kind == own.kind:
                yield from default_differences((source, own), (framework, other), settings)
