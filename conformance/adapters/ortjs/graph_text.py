"""The graphs of the ONNX adapter as JavaScript. `javascript/model.mjs` builds the models."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from conformance.adapters.api.javascript import INDENT, list_of, number
from conformance.adapters.onnx.graph import WEIGHTS, GraphBuilder

# TensorProto.DataType, which Cast takes.
ELEMENT_TYPES: Mapping[str, int] = {
    **{"FLOAT": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6, "INT64": 7, "BOOL": 9, "FLOAT16": 10},
    **{"DOUBLE": 11, "UINT32": 12, "UINT64": 13, "BFLOAT16": 16},
}
DTYPE_OF_INPUT = re.compile(r"\b(\w+)\.dtype\b")
SAFE_INTEGER = 1 << 53
"""From here on, numbers of JavaScript do not represent every integer."""


def graph_lines(lines: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return lines that assign the result of a graph to `x`.

    lines: calls of nodes and NumPy code, see conformance.adapters.onnx.graph. names: the inputs. Kernels and biases are
    constants of the graph.
    """
    # A graph cannot return an input, so an empty program is the identity.
    graph = GraphBuilder(lines or ["x = Identity(x)"], names)
    weights = [name for name in names if name in WEIGHTS]
    inputs = [name for name in names if name not in weights]
    return [
        *_constant_lines(graph.python_lines, names, graph.constants),
        "x = compute(",
        f"{INDENT}[",
        *(f"{INDENT * 2}{_node_text(node)}," for node in graph.nodes),
        f"{INDENT}],",
        f"{INDENT}{_object_text({name: name for name in inputs})},",
        f"{INDENT}{_object_text({name: name for name in (*weights, *graph.constants)})},",
        ")",
    ]


def _object_text(items: Mapping[str, str]) -> str:
    parts = [name if name == value else f"{name}: {value}" for name, value in items.items()]
    return f"{{ {', '.join(parts)} }}" if parts else "{}"


def _node_text(node: str) -> str:
    """Return a call of `helper.make_node` as a call of `node`."""
    call = ast.parse(node, mode="eval").body
    if not isinstance(call, ast.Call):
        raise TypeError(f"not a call: {node}")
    kind, inputs, outputs = (ast.literal_eval(part) for part in call.args)
    attributes = {word.arg or "": _attribute_text(word.value) for word in call.keywords}
    texts = [_quoted(kind), _quoted_list(inputs), _quoted_list(outputs)]
    return f"node({', '.join([*texts, *([_object_text(attributes)] if attributes else [])])})"


def _attribute_text(value: ast.expr) -> str:
    if isinstance(value, ast.Attribute):
        return str(ELEMENT_TYPES[value.attr])
    found = ast.literal_eval(value)
    if isinstance(found, float):
        return f"{{ float: {number(found)} }}"
    return _quoted(found) if isinstance(found, str) else _integers(found)


def _integers(value: int | Sequence[int]) -> str:
    return _element(value) if isinstance(value, int) else f"[{', '.join(map(_element, value))}]"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _quoted_list(names: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _constant_lines(lines: Sequence[str], names: Sequence[str], used: Mapping[str, None]) -> list[str]:
    """Return lines that assign the constants which nodes read. NumPy computes their values now."""
    values: dict[str, Any] = {"np": np, "ml_dtypes": ml_dtypes}
    # An input has another dtype in each case with this program. Objects have every value of every dtype.
    values |= {name: SimpleNamespace(dtype=object) for name in names}
    texts = []
    for line in lines:
        target, _, expression = line.partition(" = ")
        values[target] = eval(expression, values)  # noqa: S307 - NumPy code of the lowerings
        of_input = DTYPE_OF_INPUT.search(expression)
        if target in used:
            dtype = f"{of_input[1]}.dtype" if of_input else _quoted(values[target].dtype.name)
            texts.append(f"{target} = {_array_text(values[target], dtype)}")
    return texts


def _array_text(array: Any, dtype: str) -> str:
    elements = ", ".join(map(_element, array.ravel().tolist()))
    return f"array({dtype}, {list_of(array.shape)}, [{elements}])"


def _element(value: float) -> str:
    is_long = isinstance(value, int) and abs(value) >= SAFE_INTEGER
    return f"{value}n" if is_long else number(value)
