"""Where a model comes from: a factory in a Python file or module, or a file that a backend runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters import registry

ATTRIBUTE_PATTERN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class ModelSource:
    """A model of a backend.

    place: a file, or the dotted name of a module. attribute: the factory in it, "" for a file that is not Python.
    """

    backend: str
    place: str
    attribute: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.backend, self.place, self.attribute)))


def parse_model_source(text: str) -> ModelSource:
    """Return the model that BACKEND:PLACE:FACTORY or FILE.onnx names. Raises ConformanceError."""
    backend, colon, rest = text.partition(":")
    runner = registry.model_file_backends().get(Path(text).suffix)
    if runner:
        # A path may contain a colon, but no backend has the name of its first part.
        place = rest if colon and backend in registry.backend_names() else text
        source = ModelSource(backend if place is rest else runner, place)
        _check_file(text, place)
        return _with_capture(text, source)
    place, colon, attribute = rest.rpartition(":")
    if not colon or not place or not backend:
        raise ConformanceError(f"model {text!r}: expected BACKEND:FILE.py:FACTORY, BACKEND:MODULE:FACTORY or FILE.onnx")
    if not ATTRIBUTE_PATTERN.fullmatch(attribute):
        raise ConformanceError(f"model {text!r}: {attribute!r} is not the name of a factory")
    if place.endswith(".py"):
        _check_file(text, place)
    elif not ATTRIBUTE_PATTERN.fullmatch(place):
        raise ConformanceError(f"model {text!r}: {place!r} is neither a .py file nor the name of a module")
    return _with_capture(text, ModelSource(backend, place, attribute))


def _check_file(text: str, place: str) -> None:
    if not Path(place).is_file():
        raise ConformanceError(f"model {text!r}: {place}: no such file")


def _with_capture(text: str, source: ModelSource) -> ModelSource:
    registry.get_backend(source.backend)
    if not registry.capture_text(source.backend):
        known = ", ".join(name for name in registry.backend_names() if registry.capture_text(name))
        raise ConformanceError(f"model {text!r}: models of {source.backend} cannot be recorded, only those of {known}")
    return source
