"""Input arrays of cases, made from literal numbers or by a deterministic generator."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from conformance.cases.generators import FULL_MANTISSA_GENERATORS, GENERATORS, Array, DtypeKind

__all__ = [
    "BFLOAT16",
    "FLOATING_DTYPES",
    "NUMPY_DTYPES",
    "SHORT_FLOATS",
    "Array",
    "ArraySpec",
    "array_digest",
    "can_represent",
    "canonical_bytes",
    "dtype_kind",
    "dtype_name",
    "highest_value",
    "json_value",
    "lowest_value",
]

BFLOAT16 = "bfloat16"
"""Name of the dtype that NumPy lacks. ml_dtypes adds it to NumPy; programs and files have it as 16-bit words."""

NUMPY_DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {BFLOAT16: np.dtype(ml_dtypes.bfloat16)}
    | {name: np.dtype(name) for name in ("float16", "float32", "float64", "bool")}
    | {f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
)

FLOATING_DTYPES = frozenset(name for name, dtype in NUMPY_DTYPES.items() if DtypeKind.of(dtype) is DtypeKind.FLOATING)
SHORT_FLOATS = frozenset({"float16", BFLOAT16})
"""16-bit floating dtypes."""


@lru_cache(64)
def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype. NumPy computes it at each access, which takes some microseconds."""
    return str(dtype.name)


def dtype_kind(dtype: str) -> DtypeKind:
    """Return the kind of a dtype."""
    return DtypeKind.of(NUMPY_DTYPES[dtype])


def _integer_limits(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer dtype or bool."""
    if dtype_kind(dtype) is DtypeKind.BOOL:
        return 0, 1
    limits = np.iinfo(NUMPY_DTYPES[dtype])
    return int(limits.min), int(limits.max)


def lowest_value(dtype: str) -> float:
    """Return the lowest value of a dtype, the identity of the maximum; -inf for floating dtypes."""
    return -math.inf if dtype in FLOATING_DTYPES else _integer_limits(dtype)[0]


def highest_value(dtype: str) -> float:
    """Return the highest value of a dtype, the identity of the minimum; inf for floating dtypes."""
    return math.inf if dtype in FLOATING_DTYPES else _integer_limits(dtype)[1]


@dataclass(frozen=True)
class ArraySpec:
    """Specification of one input array.

    values: "literal" with numbers in `options["numbers"]`, or the name of a generator;
    shape: (n, c, *spatial) for x, (out, in/groups, *window) for a kernel, (out,) for a bias, the shape of the
    output for grad.
    """

    values: str
    shape: tuple[int, ...]
    dtype: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Array:
        """Return the array; its bits do not depend on the NumPy version."""
        dtype = NUMPY_DTYPES[self.dtype]
        elements = GENERATORS[self.values].make(self.shape, dtype, **self.options)
        if not (isinstance(elements, np.ndarray) and elements.dtype == dtype):
            # NumPy converts int64 and uint64 values in one list to float64, which loses digits.
            # dtype=object preserves them.
            kind = DtypeKind.of(dtype)
            exact = object if kind is DtypeKind.INTEGER and not isinstance(elements, np.ndarray) else None
            elements = np.asarray(elements, np.float64 if kind is DtypeKind.FLOATING else exact).astype(dtype)
        array: Array = elements.reshape(self.shape)
        return array

    @property
    def fills_mantissa(self) -> bool:
        """Whether the generator makes numbers that use all bits of the mantissa."""
        return self.values in FULL_MANTISSA_GENERATORS


FINITE_IN_ALL_DTYPES = 65504
"""The largest finite number of float16, whose range is the smallest of all floating dtypes."""


def can_represent(dtype: str, number: int | Decimal) -> bool:
    """Whether a dtype can represent a number: integers exactly, floating dtypes after rounding to a finite value."""
    if dtype in FLOATING_DTYPES:
        if isinstance(number, int) and abs(number) <= FINITE_IN_ALL_DTYPES:
            return True
        with np.errstate(over="ignore"):
            rounded = np.float64(float(Decimal(number))).astype(NUMPY_DTYPES[dtype])
        return bool(np.isfinite(rounded)) or not Decimal(number).is_finite()
    lowest, highest = _integer_limits(dtype)
    return isinstance(number, int) and lowest <= number <= highest


def canonical_bytes(array: Array) -> bytes:
    """Return the elements as platform-independent bytes: row-major, little-endian, one bit pattern for NaN."""
    elements = np.ascontiguousarray(array)
    if dtype_name(elements.dtype) in FLOATING_DTYPES:
        # NaN differs from itself.
        elements = np.where(elements != elements, np.array(math.nan, elements.dtype), elements)  # noqa: PLR0124
        elements = elements.view(f"u{elements.dtype.itemsize}")
    return elements.astype(elements.dtype.newbyteorder("<")).tobytes()


def array_digest(*arrays: Array) -> str:
    """Return a 128-bit digest of dtypes, shapes and canonical bytes, as hexadecimal text."""
    state = hashlib.blake2b(digest_size=16)
    for array in arrays:
        state.update(f"{dtype_name(array.dtype)}{array.shape}".encode())
        state.update(canonical_bytes(array))
    return state.hexdigest()


def json_value(value: Any) -> Any:
    """Convert a value to JSON types: tuples to lists, NaN and infinities to the words nan, inf and -inf."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    return value
