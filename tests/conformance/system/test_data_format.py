"""Data-only format of cached objects: everything comes back, and nothing but the listed classes is made."""

import pickle
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property

import ml_dtypes
import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from conformance.system.data_format import ARRAY, ENUM, INSTANCE, TUPLE, decode_object, encode_object


class Color(Enum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: object
    y: object = field(default_factory=dict)

    @cached_property
    def total(self):
        return self.x + 1


@dataclass(frozen=True)
class Slotted:
    __slots__ = ("x",)
    x: object


CLASSES = (Color, Point, Slotted)
VALUES = [
    *(None, True, False, 0, 1, -1, 2**63, -(2**70), 0.0, -0.0, 1.0, float("inf"), "", "text", b"\0\xff"),
    *((), (1, (2, 3)), [1, [2]], {}, {"a": 1, (1, 2): [None]}, frozenset({1, 2}), Decimal("1.10"), Fraction(1, 3)),
    *(Color.RED, Point(1, {"a": (1.5,)}), Slotted("x"), (1, 1.0, True, 0.0, -0.0)),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
NESTED = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner)
)


def again(value):
    return decode_object(encode_object(value, CLASSES), CLASSES)


def text(value):
    """Return a text that differs for 1, 1.0 and True, and for 0.0 and -0.0."""
    return repr((type(value), value))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_value_comes_back_with_its_type(value):
    assert text(again(value)) == text(value)


@given(NESTED)
def test_any_nested_value_comes_back(value):
    assert text(again(value)) == text(value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_array_comes_back_and_can_be_written(dtype, shape):
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    found = again(value)
    assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, value.shape, value.tobytes())
    assert found.flags.writeable


def test_cached_attributes_come_back():
    point = Point(1)
    assert point.total == 2
    assert vars(again(point)) == {"x": 1, "y": {}, "total": 2}


def test_equal_immutable_values_are_written_once():
    assert len(encode_object([("a" * 100, 1)] * 50, ())) < 400


def test_lists_are_not_shared():
    first, second = again([[1], [1]])
    first.append(2)
    assert second == [1]


@pytest.mark.parametrize(
    "value", [object(), print, Point, Color, np.array([None], object), {1, 2}, type("X", (), {})()]
)
def test_other_types_cannot_be_written(value):
    with pytest.raises(TypeError, match="cannot be cached"):
        encode_object([value], CLASSES)


@pytest.mark.parametrize("value", [Point(1), Color.RED])
def test_class_that_is_not_listed_cannot_be_written_or_read(value):
    with pytest.raises(TypeError, match="cannot be cached"):
        encode_object(value, ())
    with pytest.raises(ValueError, match="not a cached object"):
        decode_object(encode_object(value, CLASSES), ())


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        {},
        [[TUPLE, 0]],
        [[TUPLE, 5]],
        [[99, 0]],
        [[]],
        [["text"]],
        ["red", [ENUM, 0, 5]],
        ["blue", [ENUM, 0, 0]],
        ["x", [TUPLE, 0], [INSTANCE, 1, 1, 0]],
        ["x", [TUPLE, 0], [INSTANCE, 9, 1, 0]],
        [3, [TUPLE, 0], [ARRAY, "float64", 1, b"\0" * 8]],
        [-1, [TUPLE, 0], [ARRAY, "float64", 1, b"\0" * 9]],
        [1 << 40, [TUPLE, 0], [ARRAY, "float64", 1, b""]],
        [0, [TUPLE, 0], [ARRAY, "O", 1, b""]],
        [0, [TUPLE, 0], [ARRAY, "no dtype", 1, b""]],
    ],
    ids=repr,
)
def test_invalid_document_is_an_error(nodes):
    with pytest.raises(ValueError, match="not a cached object"):
        decode_object(msgspec.msgpack.encode(nodes), CLASSES)


@pytest.mark.parametrize("content", [b"", b"\xc1", pickle.dumps([1]), b"\xdd\xff\xff\xff\xff"], ids=repr)
def test_other_content_is_an_error(content):
    with pytest.raises(ValueError, match="not a cached object"):
        decode_object(content, CLASSES)
