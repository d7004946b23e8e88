"""Data-only binary format of cached objects. It contains no code, and reading it calls only constructors of data.

A document is a MessagePack array of nodes. A number, a text, bytes, True, False and None are nodes of their own. Every
other node is an array: its kind, and the positions of earlier nodes that it consists of. Equal immutable values are
written once. Instances are limited to the classes that the reader allows, and are restored without a call of their
class, from the values of their attributes. Sizes of arrays are checked against their bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

TUPLE, LIST, DICT, SET, INSTANCE, ENUM, ARRAY, INTEGER, DECIMAL, FRACTION = range(10)
"""Kinds of nodes."""
MIN_INTEGER, MAX_INTEGER = -(1 << 63), (1 << 63) - 1
"""Limits of the integers that MessagePack can contain. Others are written as text."""

Node = Any
Classes = Sequence[type]


def encode_object(value: object, classes: Classes) -> bytes:
    """Return an object as a document. Raises TypeError for a type that is not allowed.

    classes: the dataclasses and enums that the object may contain.
    """
    writer = _Writer(classes)
    writer.add(value)
    return msgspec.msgpack.encode(writer.nodes)


def decode_object(content: bytes | memoryview, classes: Classes) -> Any:
    """Return the object in a document. Raises ValueError for any content that `encode_object` cannot have written."""
    try:
        nodes = msgspec.msgpack.decode(content, type=list)
        values: list[Any] = []
        append, get, readers = values.append, values.__getitem__, READERS
        for node in nodes:
            append(readers[node[0]](node, get, classes) if type(node) is list else node)
        return values[-1]
    # The content can have any structure, so that any operation on it can fail.
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise ValueError(f"not a cached object: {error}") from None


class _Writer:
    """Collects the nodes of an object."""

    def __init__(self, classes: Classes) -> None:
        self.nodes: list[Node] = []
        self._indices = {one: index for index, one in enumerate(classes)}
        self._positions: dict[Any, int] = {}

    def add(self, value: Any) -> int:
        """Add the nodes of a value; return the position of its last node."""
        node, is_shared = self._node(value)
        if not is_shared:
            return self._append(node)
        # 1, 1.0 and True are equal, and so are 0.0 and -0.0: the type and the bits belong to the key.
        content = struct.pack("d", node) if type(node) is float else tuple(node) if type(node) is list else node
        key = type(node), content
        if key not in self._positions:
            self._positions[key] = self._append(node)
        return self._positions[key]

    def _append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _node(self, value: Any) -> tuple[Node, bool]:
        """Return the node of a value, and whether equal values can share it."""
        kind = type(value)
        if kind in (str, bytes, float, bool, type(None)):
            return value, True
        if kind is int:
            return (value, True) if MIN_INTEGER <= value <= MAX_INTEGER else ([INTEGER, str(value)], True)
        if kind in (tuple, frozenset):
            return [TUPLE if kind is tuple else SET, *map(self.add, value)], True
        if kind is list:
            return [LIST, *map(self.add, value)], False
        if kind is dict:
            return [DICT, *(self.add(part) for item in value.items() for part in item)], False
        return self._object_node(value)

    def _object_node(self, value: Any) -> tuple[Node, bool]:
        kind = type(value)
        if kind in self._indices and isinstance(value, Enum):
            return [ENUM, self._indices[kind], self.add(value.value)], True
        if kind in self._indices and is_dataclass(value):
            names = [*(vars(value) if hasattr(value, "__dict__") else (one.name for one in fields(value)))]
            values = (self.add(getattr(value, name)) for name in names)
            # The names are one text: many instances of a class in a document share it.
            return [INSTANCE, self._indices[kind], self.add(" ".join(names)), *values], False
        if kind is Decimal:
            return [DECIMAL, str(value)], True
        if kind is Fraction:
            return [FRACTION, str(value)], True
        if kind is np.ndarray and not value.dtype.hasobject:
            return [ARRAY, value.dtype.name, self.add(value.shape), np.ascontiguousarray(value).tobytes()], False
        raise TypeError(f"{kind.__qualname__} cannot be cached")


Get = Callable[[int], Any]
"""Function that returns the value of an earlier node."""


@lru_cache(1024)
def _checked_names(kind: type, text: str) -> tuple[tuple[str, ...], bool]:
    """Return the names and whether instances have a `__dict__`. Raises ValueError if a field has no name."""
    names = tuple(text.split())
    if not {one.name for one in fields(kind)} <= {*names}:
        raise ValueError(f"{kind.__qualname__} without all of its fields")
    return names, bool(kind.__dictoffset__)


def _dictionary(node: Node, get: Get, _classes: Classes) -> dict[Any, Any]:
    return dict(zip(map(get, node[1::2]), map(get, node[2::2]), strict=True))


def _instance(node: Node, get: Get, classes: Classes) -> Any:
    kind = classes[node[1]]
    names, has_dictionary = _checked_names(kind, get(node[2]))
    made, state = kind.__new__(kind), zip(names, map(get, node[3:]), strict=True)
    if has_dictionary:
        made.__dict__.update(state)
    else:
        for name, value in state:
            object.__setattr__(made, name, value)  # the dataclass is frozen
    return made


READERS: Mapping[int, Callable[[Node, Get, Classes], Any]] = {
    TUPLE: lambda node, get, _: tuple(map(get, node[1:])),
    LIST: lambda node, get, _: list(map(get, node[1:])),
    DICT: _dictionary,
    SET: lambda node, get, _: frozenset(map(get, node[1:])),
    INSTANCE: _instance,
    ENUM: lambda node, get, classes: classes[node[1]](get(node[2])),
    ARRAY: lambda node, get, _: _array(node[1], get(node[2]), node[3]),
    INTEGER: lambda node, _get, _: int(node[1]),
    DECIMAL: lambda node, _get, _: Decimal(node[1]),
    FRACTION: lambda node, _get, _: Fraction(node[1]),
}
"""Function for each kind of node that makes its value from the values of earlier nodes."""


def _array(dtype: str, shape: tuple[int, ...], content: bytes) -> Any:
    """Return an array. Raises ValueError if the bytes do not have its size."""
    # A copy, because an array of the bytes themselves would be read-only.
    return np.frombuffer(bytearray(content), np.dtype(dtype)).reshape(shape)
