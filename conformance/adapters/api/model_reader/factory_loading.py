"""Load the function that returns a model. Readers import this file, and workers run its text; Python 3.8 or newer."""

import importlib
import importlib.util
import os
import sys
from typing import Any


def load_factory(place: str, attribute: str) -> Any:
    """Import a factory from a file or a module. A file can import the modules next to it."""
    if place.endswith(".py"):
        folder = os.path.dirname(os.path.abspath(place))
        if folder not in sys.path:
            sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location("model_" + os.path.basename(place)[:-3], place)
        if spec is None or spec.loader is None:
            raise ImportError(f"{place} is no Python file")
        found: Any = importlib.util.module_from_spec(spec)
        # Classes of the file are looked up by the name of their module, by data classes for example.
        sys.modules[spec.name] = found
        spec.loader.exec_module(found)
    else:
        sys.path.insert(0, os.getcwd())
        found = importlib.import_module(place)
    for name in attribute.split("."):
        found = getattr(found, name)
    return found
