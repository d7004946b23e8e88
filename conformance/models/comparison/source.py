"""Where a model comes from: a factory in a Python file or module, or a file that a backend runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.models.factory import check_file, parse_factory

EXPECTED = "BACKEND:FILE.py:FACTORY, BACKEND:MODULE:FACTORY or FILE.onnx"


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
        check_file(text, place)
        return _with_capture(text, source)
    factory = parse_factory(text, EXPECTED)
    if not factory.backend:
        raise ConformanceError(f"model {text!r}: it names no backend; expected {EXPECTED}")
    return _with_capture(text, ModelSource(factory.backend, factory.place, factory.attribute))


def _with_capture(text: str, source: ModelSource) -> ModelSource:
    registry.get_backend(source.backend)
    if not registry.capture_text(source.backend):
        known = ", ".join(name for name in registry.backend_names() if registry.capture_text(name))
        raise ConformanceError(f"model {text!r}: models of {source.backend} cannot be recorded, only those of {known}")
    return source
