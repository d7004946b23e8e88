"""Layers of a model that have no window and are not checked: their numbers on whose default frameworks differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from conformance.adapters import registry
from conformance.adapters.api import default_differences, find_other_layer
from conformance.models.layer import Model


def framework_of(surface: str) -> str:
    """Return the framework in whose name the layers of a surface are described."""
    return surface.partition(".")[0].partition("-")[0]


def other_layer_notes(model: Model, targets: Sequence[str]) -> Iterator[str]:
    """Yield for each kind of layer its numbers in the model, and the defaults of the targets that are others."""
    for kind, found in model.settings.items():
        for settings in found:
            values = ", ".join(f"{name}={_number(value)}" for name, value in settings.items())
            checks = list(_checks(model, kind, settings, targets))
            yield f"{kind} with {values} in the model{': set ' if checks else ''}{'; '.join(checks)}."


def _number(value: float | None) -> str:
    # Numbers of a file in float32, such as 9.999999747378752e-06.
    return "None" if value is None else f"{value:.6g}"


def _checks(model: Model, kind: str, settings: Mapping[str, float | None], targets: Sequence[str]) -> Iterator[str]:
    tables = registry.other_layers()
    source = framework_of(model.surface)
    own = find_other_layer(tables.get(source, ()), kind)
    given = {name: value if value is None else float(_number(value)) for name, value in settings.items()}
    for framework in dict.fromkeys(map(framework_of, targets)):
        for other in tables.get(framework, ()) if own and framework != source else ():
            if own and other.kind == own.kind:
                yield from default_differences((source, own), (framework, other), given)
