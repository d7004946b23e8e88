"""Inputs of cases: literal numbers, or the same numbers from a generator on every machine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from conformance.cases.generators import FULL_MANTISSA_GENERATORS, GENERATORS

Array = NDArray[Any]

NUMPY_DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
    | {name: np.dtype(name) for name in ("float16", "float32", "float64", "bool")}
    | {f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
)

SHORT_FLOATS = frozenset({"float16", "bfloat16"})
"""The floating types of 16 bits."""


def lowest_value(dtype: str) -> float:
    """Return what no number of a dtype is less than: it never wins a maximum."""
    kind = NUMPY_DTYPES[dtype].kind
    return -math.inf if kind in "fV" else 0 if kind == "b" else int(np.iinfo(NUMPY_DTYPES[dtype]).min)


def highest_value(dtype: str) -> float:
    """Return what no number of a dtype is greater than: it never wins a minimum."""
    kind = NUMPY_DTYPES[dtype].kind
    return math.inf if kind in "fV" else 1 if kind == "b" else int(np.iinfo(NUMPY_DTYPES[dtype]).max)


@dataclass(frozen=True)
class ArraySpec:
    """How one input is made.

    values: "literal" with numbers in `options["numbers"]`, or the name of a generator;
    shape: (n, c, *spatial) for x, (out, in/groups, *window) for a kernel, (out,) for a bias, the output's for grad.
    """

    values: str
    shape: tuple[int, ...]
    dtype: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Array:
        """Return the array; the same bits under every NumPy."""
        dtype = NUMPY_DTYPES[self.dtype]
        made = GENERATORS[self.values].make(self.shape, dtype, **self.options)
        if not (isinstance(made, np.ndarray) and made.dtype == dtype):
            # NumPy would take numbers of 64 bits, with and without a sign, for floats, which lose the last digits.
            exact = object if dtype.kind in "iu" and not isinstance(made, np.ndarray) else None
            made = np.asarray(made, np.float64 if dtype.kind in "fV" else exact).astype(dtype)
        array: Array = made.reshape(self.shape)
        return array

    @property
    def fills_mantissa(self) -> bool:
        """Whether the numbers fill the mantissa."""
        return self.values in FULL_MANTISSA_GENERATORS


def can_represent(dtype: str, number: int | Decimal) -> bool:
    """Whether a dtype has the number, floating types one next to it."""
    kind = NUMPY_DTYPES[dtype]
    if kind.kind in "fV":
        with np.errstate(over="ignore"):
            rounded = np.float64(float(Decimal(number))).astype(kind)
        return bool(np.isfinite(rounded)) or not Decimal(number).is_finite()
    info = np.iinfo("uint8" if kind.kind == "b" else kind)
    return isinstance(number, int) and info.min <= number <= (1 if kind.kind == "b" else info.max)


def canonical_bytes(array: Array) -> bytes:
    """Return the elements as bytes that equal values share on every machine: little-endian, one NaN."""
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind in "fV":
        plain = np.where(plain != plain, np.array(math.nan, plain.dtype), plain)  # noqa: PLR0124 - NaN differs from itself
        plain = plain.view(f"u{plain.dtype.itemsize}")
    return plain.astype(plain.dtype.newbyteorder("<")).tobytes()


def array_digest(*arrays: Array) -> str:
    """Return 128 bits over dtypes, shapes and canonical bytes."""
    state = hashlib.blake2b(digest_size=16)
    for array in arrays:
        state.update(f"{array.dtype.name}{array.shape}".encode())
        state.update(canonical_bytes(array))
    return state.hexdigest()


def json_value(value: Any) -> Any:
    """Return the value as JSON has it: tuples as lists, NaN and infinities as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    return value
