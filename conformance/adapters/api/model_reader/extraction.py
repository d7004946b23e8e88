"""Program that lists the layers of a model. It runs in the environment of a framework, without the suite.

    python extraction.py SCRIPT REQUEST RESULT

SCRIPT defines `read_model(source, model)`. REQUEST is a JSON file with the source, the input shapes and the limits.
RESULT is written: a JSON file with the layers, or with the one line of an error. Needs Python 3.8 or newer.
"""

from __future__ import annotations

import json
import os
import resource
import runpy
import sys
from collections.abc import Sequence
from typing import Any

MAX_LAYERS = 20000
MAX_NODES = 200000
MAX_WEIGHTS = 4096
"""Maximum number of elements of a kernel that are written. Of a larger kernel, the first channels are written."""
MAX_NAME_LENGTH = 200


class ModelError(Exception):
    """The model cannot be read; the message is one line."""


class Model:
    """The layers of a model.

    inputs: the shapes of inputs that the user gave, by name; the name "" stands for the only input.
    """

    error = ModelError

    def __init__(self, inputs: dict[str, Sequence[int]], limits: dict[str, Any]) -> None:
        self.inputs = inputs
        self.limits = limits
        self.layers: list[dict[str, Any]] = []
        self.others: dict[str, int] = {}
        self.nodes: list[dict[str, Any]] = []

    def add(self, name: str, operator: str, parameters: dict[str, Any], **fields: Any) -> None:
        """Add a layer with an operator of the suite.

        fields: shape and dtype of the input; kernel: the shape of its weights, bias: whether it has one, weights: their
        values, see first_channels; source: the kind of the node.
        """
        self._append({"name": name, "operator": operator, "parameters": parameters, **fields})

    def add_problem(self, name: str, source: str, problem: object) -> None:
        """Add a layer that has a window but cannot be checked, with the reason."""
        self._append({"name": name, "source": source, "problem": str(problem)[:MAX_NAME_LENGTH]})

    def add_other(self, kind: str) -> None:
        """Count a layer that has no window."""
        self.others[kind] = self.others.get(kind, 0) + 1

    def add_node(self, name: str, kind: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Add a node of the graph in its order, whether or not it has a window. A reader of another format need not.

        name: as of its layer. inputs: the values that it reads, without constants.
        """
        if len(self.nodes) < MAX_NODES:
            node = {"name": name, "kind": kind, "inputs": list(inputs), "outputs": list(outputs)}
            self.nodes.append({**node, "name": name[:MAX_NAME_LENGTH], "kind": kind[:MAX_NAME_LENGTH]})

    def _append(self, layer: dict[str, Any]) -> None:
        if len(self.layers) >= MAX_LAYERS:
            raise ModelError(f"it has more than {MAX_LAYERS} layers")
        self.layers.append({**layer, **{key: str(layer.get(key, ""))[:MAX_NAME_LENGTH] for key in ("name", "source")}})


def first_channels(array: Any, channels: Sequence[int]) -> Any:
    """Return the first output and input channels of a kernel as nested lists of floats, or None for other numbers.

    channels: how many of each axis. The array is one of NumPy.
    """
    part = array[: channels[0], : channels[1]] if array.ndim > 1 else array[: channels[0]]
    if part.size > MAX_WEIGHTS or part.dtype.kind not in "fiu":
        return None
    numbers = part.astype("float64")
    return numbers.tolist() if abs(numbers).max(initial=0) < float("inf") else None


def limit_resources(limits: dict[str, int]) -> None:
    """Limit memory and processor time of this process, and the size of the files that it writes."""
    for kind, name in ((resource.RLIMIT_AS, "memory_bytes"), (resource.RLIMIT_CPU, "processor_seconds")):
        if limits.get(name):
            resource.setrlimit(kind, (limits[name], limits[name]))


def main(script: str, request_path: str, result_path: str) -> None:
    """Read the model and write the result."""
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    # Modules of the user are found from the current folder, as with `python -m`.
    sys.path[0] = os.getcwd()
    limit_resources(request["limits"])
    model = Model({name: tuple(shape) for name, shape in request["inputs"].items()}, request["limits"])
    try:
        runpy.run_path(script)["read_model"](request["source"], model)
        result = {"layers": model.layers, "others": model.others, "nodes": model.nodes}
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
