"""Program that lists the layers of a model. It runs in the environment of a framework, without the suite.

    python extraction.py REQUEST RESULT

REQUEST is a JSON file with the source, the readers, the input shapes and the limits. A reader is a script that defines
`read_model(source, model)` for files, and `read_object(value, model)` for the models that Python functions return.
RESULT is written: a JSON file with the layers, or with the one line of an error. Needs Python 3.8 or newer.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from typing import Any

MAX_LAYERS = 20000
MAX_NODES = 200000
MAX_WEIGHTS = 4096
"""Maximum number of elements of a kernel that are written. Of a larger kernel, the first channels are written."""
MAX_NAME_LENGTH = 200
MAX_SETTINGS = 8
"""Maximum number of different settings of one kind of layer without a window that are written."""


class ModelError(Exception):
    """The model cannot be read; the message is one line."""


class Model:
    """The layers of a model.

    inputs: the shapes of inputs that the user gave, by name; the name "" means the only input.
    surface: the surface whose answers to conventions apply to the model, "" for that of the reader.
    """

    error = ModelError
    surface = ""

    def __init__(self, inputs: dict[str, Sequence[int]], limits: dict[str, Any]) -> None:
        self.inputs = inputs
        self.limits = limits
        self.layers: list[dict[str, Any]] = []
        self.others: dict[str, int] = {}
        self.settings: dict[str, list[dict[str, Any]]] = {}
        self.nodes: list[dict[str, Any]] = []

    def add(self, name: str, operator: str, parameters: dict[str, Any], **fields: Any) -> None:
        """Add a layer with an operator of the suite.

        fields: shape and dtype of the input; kernel: the shape of its weights, bias: whether it has one, weights: their
        values, see first_channels; source: the kind of the node; padding_word: "same" if it computes its padding from
        the size of its input.
        """
        self._append({"name": name, "operator": operator, "parameters": parameters, **fields})

    def add_problem(self, name: str, source: str, problem: object) -> None:
        """Add a layer that has a window but cannot be checked, with the reason."""
        self._append({"name": name, "source": source, "problem": str(problem)[:MAX_NAME_LENGTH]})

    def add_other(self, kind: str, **settings: Any) -> None:
        """Count a layer that has no window.

        settings: numbers, words and truth values on whose default frameworks differ, such as epsilon, by the names of
        the framework.
        """
        self.others[kind] = self.others.get(kind, 0) + 1
        values = {name: _shortened(value) for name, value in settings.items() if _is_setting(value)}
        known = self.settings.setdefault(kind, []) if values and _is_finite(values) else [values]
        if values not in known and len(known) < MAX_SETTINGS:
            known.append(values)

    def add_node(self, name: str, kind: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Add a node of the graph in its order, whether or not it has a window. A reader of another format need not.

        name: as of its layer. inputs: the values that it reads, without constants.
        """
        if len(self.nodes) < MAX_NODES:
            node = {"name": name, "kind": kind, "inputs": list(inputs), "outputs": list(outputs)}
            self.nodes.append({**node, "name": name[:MAX_NAME_LENGTH], "kind": kind[:MAX_NAME_LENGTH]})

    def _append(self, layer: dict[str, Any]) -> None:
        if not _is_finite(layer.get("parameters")):
            problem = "a parameter of it is infinite or not a number"
            layer = {"name": layer["name"], "source": layer.get("source", ""), "problem": problem}
        if len(self.layers) >= MAX_LAYERS:
            raise ModelError(f"it has more than {MAX_LAYERS} layers")
        self.layers.append({**layer, **{key: str(layer.get(key, ""))[:MAX_NAME_LENGTH] for key in ("name", "source")}})


def _is_setting(value: Any) -> bool:
    return value is None or type(value) in (int, float, bool, str)


def _shortened(value: Any) -> Any:
    return value[:MAX_NAME_LENGTH] if isinstance(value, str) else value


def _is_finite(value: Any) -> bool:
    """Whether JSON can contain all numbers in nested lists and dictionaries."""
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error."""
    return (str(error).splitlines() or [type(error).__name__])[0][:MAX_NAME_LENGTH]


def first_channels(array: Any, channels: Sequence[int]) -> Any:
    """Return the first output and input channels of a kernel as nested lists of floats, or None for other numbers.

    channels: how many of each axis. The array is one of NumPy.
    """
    part = array[: channels[0], : channels[1]] if array.ndim > 1 else array[: channels[0]]
    if part.size > MAX_WEIGHTS or part.dtype.kind not in "fiu":
        return None
    numbers = part.astype("float64")
    return numbers.tolist() if abs(numbers).max(initial=0) < float("inf") else None


def imported_versions() -> dict[str, str]:
    """Return the versions of the imported packages that have one."""
    found = ((name, getattr(module, "__version__", None)) for name, module in list(sys.modules.items()))
    return {name: one[:MAX_NAME_LENGTH] for name, one in found if "." not in name and isinstance(one, str)}


def limit_resources(limits: dict[str, int]) -> None:
    """Limit memory and processor time of this process, and the size of the files that it writes."""
    for kind, name in ((resource.RLIMIT_AS, "memory_bytes"), (resource.RLIMIT_CPU, "processor_seconds")):
        if limits.get(name):
            resource.setrlimit(kind, (limits[name], limits[name]))


def class_names(value: Any) -> Sequence[str]:
    """Return the package and the name of the class of an object and of its base classes, such as "package.Class"."""
    return [f"{one.__module__.partition('.')[0]}.{one.__qualname__}" for one in type(value).__mro__]


def find_script(value: Any, readers: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the script for an object: that of the reader that names its class, or else the nearest base class."""
    for name in class_names(value):
        for reader in readers:
            if name in reader["returns"]:
                script: str = reader["script"]
                return script
    return None


def load_script(path: str) -> Mapping[str, Any]:
    """Run the script of a reader and return its names. An `__init__.py` is that of a package with relative imports."""
    spec = importlib.util.spec_from_file_location("reader_script", path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return vars(module)


def load_reference(source: str) -> Any:
    """Return the object of a reference MODULE:FACTORY or FILE.py:FACTORY."""
    # This file runs as a script, which finds the modules of its folder.
    from factory_loading import load_factory  # noqa: PLC0415

    place, _, attribute = source.rpartition(":")
    try:
        return load_factory(place, attribute)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise ModelError(f"{type(error).__name__}: {first_line(error)}") from None


def call_factory(factory: Any) -> Any:
    """Return the model that a function or class returns without weights of a hub."""
    if not callable(factory):
        raise ModelError(f"it is {type(factory).__name__}, not a function that returns a model")
    try:
        parameters: Mapping[str, Any] = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        parameters = {}
    # The models of well-known packages fetch weights for their defaults, and two of them initialize for seconds.
    quick = {"weights": None, "pretrained": False, "init_weights": False, "weights_backbone": None}
    try:
        return factory(**{name: value for name, value in quick.items() if name in parameters})
    except Exception as error:
        raise ModelError(f"{type(error).__name__}: {first_line(error)}") from None


def read_reference(source: str, readers: Sequence[Mapping[str, Any]], model: Model) -> None:
    """Read the model that a function returns. With several readers, the class of this object decides."""
    functions: Mapping[str, Any] = {}
    if len(readers) == 1:
        # The script comes first: it may set up the framework before the module of the user imports it.
        functions = load_script(readers[0]["script"])
        if "read_object" not in functions:
            functions["read_model"](source, model)
            return
    found = load_reference(source)
    value = found if find_script(found, readers) else call_factory(found)
    script = find_script(value, readers)
    if script is None:
        known = ", ".join(f"{one['name']} reads {' and '.join(one['returns'])}" for one in readers)
        raise ModelError(f"it returned {class_names(value)[0]}; {known}")
    functions = functions or load_script(script)
    model.surface = model.surface or next(one["surface"] for one in readers if one["script"] == script)
    functions["read_object"](value, model)


def main(request_path: str, result_path: str) -> None:
    """Read the model and write the result."""
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    # Modules of the user are found from the current folder, as with `python -m`. Scripts import modules of this folder.
    sys.path.append(sys.path[0])
    sys.path[0] = os.getcwd()
    limit_resources(request["limits"])
    model = Model({name: tuple(shape) for name, shape in request["inputs"].items()}, request["limits"])
    try:
        if request["is_reference"]:
            read_reference(request["source"], request["readers"], model)
        else:
            load_script(request["readers"][0]["script"])["read_model"](request["source"], model)
        result = {
            "layers": model.layers,
            "others": model.others,
            "settings": model.settings,
            "nodes": model.nodes,
            "surface": model.surface,
            "versions": imported_versions(),
        }
    except ModelError as error:
        result = {"error": str(error)}
    except MemoryError:
        result = {"error": "it needs more memory than the limit"}
    except RecursionError:
        result = {"error": "it is nested too deeply"}
    except Exception as error:  # the library of the format may raise anything for a broken file
        result = {"error": f"{type(error).__name__}: {error}"}
    with open(result_path, "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    # A script imports the names of this file from the module `extraction`.
    sys.modules["extraction"] = sys.modules["__main__"]
    main(*sys.argv[1:])
