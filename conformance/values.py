"""Inputs of cases: literal numbers, or the same numbers from a generator on every machine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
    | {name: np.dtype(name) for name in ("float16", "float32", "float64", "bool")}
    | {f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


@dataclass(frozen=True)
class ArraySpec:
    """How one input is made.

    values: "literal" with numbers in `options["numbers"]`, or the name of a generator;
    shape: (n, c, *spatial) for x, (out, in/groups, *window) for a kernel, (out,) for a bias.
    """

    values: str
    shape: tuple[int, ...]
    dtype: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> Array:
        """Return the array; the same bits under every NumPy."""
        flat = GENERATORS[self.values](math.prod(self.shape), **self.options)
        wide = np.asarray(flat, np.float64 if DTYPES[self.dtype].kind in "fV" else None)
        array: Array = wide.astype(DTYPES[self.dtype]).reshape(self.shape)
        return array


def _literal(size: int, numbers: tuple[int | Decimal, ...]) -> Any:
    return [number if isinstance(number, int) else float(number) for number in numbers] if size else []


def _arange(size: int, start: int = 0, step: int = 1) -> Array:
    return np.arange(size, dtype=np.int64) * step + start


def _integers(size: int, low: int = -9, high: int = 9, seed: int = 0) -> Array:
    """Whole numbers from `low` to `high`, both included, from the raw bits of PCG64.

    NumPy guarantees the stream of a BitGenerator, but not what Generator makes of it.
    """
    raw: Array = np.asarray(np.random.PCG64(seed).random_raw(size) if size else (), np.uint64)
    positive: Array = (raw >> np.uint64(33)).astype(np.int64)
    return positive % (high - low + 1) + low


def holds(dtype: str, number: int | Decimal) -> bool:
    """Whether a dtype has the number, floating types one next to it."""
    kind = DTYPES[dtype]
    if kind.kind in "fV":
        with np.errstate(over="ignore"):
            rounded = np.float64(float(Decimal(number))).astype(kind)
        return bool(np.isfinite(rounded)) or not Decimal(number).is_finite()
    info = np.iinfo("uint8" if kind.kind == "b" else kind)
    return isinstance(number, int) and info.min <= number <= (1 if kind.kind == "b" else info.max)


GENERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"literal": _literal, "arange": _arange, "integers": _integers}
)


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
