"""The name of a model that a Python function returns: BACKEND:FILE.py:FACTORY or BACKEND:MODULE:FACTORY.

Every command that takes such a model parses it here, and every process that runs it loads it with
`conformance.adapters.api.model_reader.factory_loading`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from conformance import ConformanceError
from conformance.adapters import registry

ATTRIBUTE_PATTERN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
PYTHON_SUFFIX = ".py"


@dataclass(frozen=True)
class FactoryName:
    """The name of a function that returns a model.

    backend: "" if the text names none. place: a Python file, or the dotted name of a module. attribute: the function.
    """

    backend: str
    place: str
    attribute: str

    @property
    def reference(self) -> str:
        """The name without the backend."""
        return f"{self.place}:{self.attribute}"


def parse_factory(text: str, expected: str) -> FactoryName:
    """Return the function that [BACKEND:]FILE.py:FACTORY or [BACKEND:]MODULE:FACTORY names.

    expected: the names that the command takes, for the message. Raises ConformanceError in one line.
    """
    rest, colon, attribute = text.rpartition(":")
    backend, place = _split_backend(rest)
    if not colon or not place:
        raise ConformanceError(f"model {text!r}: expected {expected}")
    if attribute.endswith(PYTHON_SUFFIX) and Path(attribute).is_file():
        raise ConformanceError(f"model {text!r}: {attribute} has no factory after it; expected {expected}")
    if not ATTRIBUTE_PATTERN.fullmatch(attribute):
        raise ConformanceError(f"model {text!r}: {attribute!r} is not the name of a factory")
    if place.endswith(PYTHON_SUFFIX):
        check_file(text, place)
    elif not ATTRIBUTE_PATTERN.fullmatch(place):
        raise ConformanceError(f"model {text!r}: {place!r} is neither a .py file nor the name of a module")
    return FactoryName(backend, place, attribute)


def _split_backend(text: str) -> tuple[str, str]:
    """Return the backend and the place. A path may contain a colon, but no backend has the name of its first part."""
    backend, colon, place = text.partition(":")
    if not colon or (Path(text).is_file() and backend not in registry.backend_names()):
        return "", text
    return backend, place


def check_file(text: str, place: str) -> None:
    """Raise ConformanceError if a model names a file that does not exist."""
    if not Path(place).is_file():
        raise ConformanceError(f"model {text!r}: {place}: no such file")
