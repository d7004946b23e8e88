"""Deterministic generators of input arrays: the bits depend on neither the machine nor the NumPy version.

Each generator takes (shape, dtype) and its options. It returns the elements in row-major order, in the dtype or in a
type that is cast to it. Random numbers are taken from the raw bits of PCG64, because NumPy guarantees the stream of a
BitGenerator, but not the output of Generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from reports.results.vocabulary import Word

Array = NDArray[Any]
DType = np.dtype[Any]
ArrayShape = tuple[int, ...]


class DtypeKind(Enum):
    """The kind of a dtype, with the letters that NumPy has for it.

    NumPy reports the letter V, "void", for bfloat16 of ml_dtypes.
    """

    FLOATING = "fV"
    INTEGER = "iu"
    BOOL = "b"

    @classmethod
    def of(cls, dtype: DType) -> DtypeKind:
        """Return the kind of a dtype."""
        return next(kind for kind in cls if dtype.kind in kind.value)


class GeneratorName(Word):
    """The name of a generator, the value of `values` in the specification of an array."""

    LITERAL = "literal"
    ARANGE = "arange"
    INTEGERS = "integers"
    DISTINCT = "distinct"
    MANTISSAS = "mantissas"
    WIDE = "wide"
    CANCELLING = "cancelling"
    EXTREMES = "extremes"
    MARKED = "marked"


class SpecialValue(Word):
    """A value that the generator `marked` writes between integers."""

    NAN = "nan"
    INF = "inf"
    NEGATIVE_INF = "-inf"
    NEGATIVE_ZERO = "-0.0"
    SUBNORMAL = "subnormal"
    NEGATIVE_SUBNORMAL = "-subnormal"

    def number(self, dtype: DType) -> Any:
        """Return the value in a floating dtype."""
        if not self.endswith("subnormal"):
            return dtype.type(float(self))
        # Three times the smallest subnormal number: half of it is still not 0.
        tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)  # type: ignore[no-untyped-call]
        return dtype.type(tiny * (-3 if self is SpecialValue.NEGATIVE_SUBNORMAL else 3))


# Bits of the mantissa, exponent bias, and the smallest and largest exponent of `wide`. With these exponents, sums of
# 4,096 products (64 for 16-bit types) stay finite, and differences of products are normal numbers or 0.
MANTISSA_FORMATS: Mapping[str, tuple[int, int, int, int]] = MappingProxyType(
    {
        "float16": (10, 15, 0, 2),
        "bfloat16": (7, 127, -12, 12),
        "float32": (23, 127, -12, 12),
        "float64": (52, 1023, -40, 40),
    }
)
SPECIAL_VALUES = tuple(SpecialValue)
DEFAULT_LOW, DEFAULT_HIGH = -9, 9
"""Smallest and largest number of the generators `integers` and `marked` if the options do not give them."""


def _random_words(count: int, seed: int) -> Array:
    return np.asarray(np.random.PCG64(seed).random_raw(count) if count else (), np.uint64)


def literal(shape: ArrayShape, _dtype: DType, numbers: tuple[int | Decimal, ...]) -> Any:
    """Return the numbers written in the catalogue."""
    return [number if isinstance(number, int) else float(number) for number in numbers] if math.prod(shape) else []


def arange(shape: ArrayShape, _dtype: DType, start: int = 0, step: int = 1) -> Array:
    """Return start, start + step and so on."""
    return np.arange(math.prod(shape), dtype=np.int64) * step + start


def integers(
    shape: ArrayShape, _dtype: DType, low: int = DEFAULT_LOW, high: int = DEFAULT_HIGH, seed: int = 0, over: int = 1
) -> Array:
    """Return integers from `low` to `high`, both included, divided by `over`, a power of two."""
    # The upper 31 bits of a word, so that the number stays positive in int64.
    positive: Array = (_random_words(math.prod(shape), seed) >> np.uint64(33)).astype(np.int64)
    numbers: Array = positive % (high - low + 1) + low
    return numbers if over == 1 else numbers / over


def distinct(shape: ArrayShape, _dtype: DType, low: int | None = None, high: int | None = None, seed: int = 0) -> Array:
    """Return integers from `low` to `high` without repetition in a plane (n, c); by default, the range is around 0."""
    planes, cells = math.prod(shape[:2]), math.prod(shape[2:])
    first, last = distinct_range(shape, low, high)
    raw = _random_words(planes * (last - first + 1), seed).reshape(planes, last - first + 1)
    # A stable sort of random numbers is a random permutation, and the same one under every NumPy.
    chosen: Array = np.argsort(raw, axis=1, kind="stable")[:, :cells] + first
    return chosen.ravel()


def distinct_range(shape: ArrayShape, low: int | None, high: int | None) -> tuple[int, int]:
    """Return the smallest and the largest number that `distinct` draws. Raises ValueError if the range is too small."""
    cells = math.prod(shape[2:])
    first = low if low is not None else high - cells + 1 if high is not None else -(cells // 2)
    last = high if high is not None else first + max(cells - 1, 0)
    if last - first + 1 < cells:
        raise ValueError(f"{last - first + 1} numbers from {first} to {last} are too few for {cells} distinct ones")
    return first, last


def mantissas(shape: ArrayShape, dtype: DType, seed: int = 0, spread: int = 0) -> Array:
    """Return numbers of both signs that use all bits of the mantissa, with exponents from -spread to spread."""
    return _full_mantissas(shape, dtype, seed, (-spread, spread))


def _full_mantissas(shape: ArrayShape, dtype: DType, seed: int, exponents: tuple[int, int]) -> Array:
    bits, one = MANTISSA_FORMATS[dtype.name][:2]
    words = _random_words(2 * math.prod(shape), seed)
    fractions, exponent_words = words[::2], words[1::2] >> np.uint64(33)
    # The last bit is always set, so that no number needs fewer bits than the mantissa has.
    mantissa = (fractions >> np.uint64(5)) & np.uint64(2**bits - 1) | np.uint64(1)
    low, high = exponents
    biased = exponent_words % np.uint64(high - low + 1) + np.uint64(one + low)
    width = 8 * dtype.itemsize
    # Sign, biased exponent and mantissa, assembled as an integer.
    encoded = (fractions >> np.uint64(63)) << np.uint64(width - 1) | biased << np.uint64(bits) | mantissa
    numbers: Array = encoded.astype(f"u{dtype.itemsize}").view(dtype)
    return numbers


def wide(shape: ArrayShape, dtype: DType, seed: int = 0) -> Array:
    """Return full mantissas with exponents from MANTISSA_FORMATS, the widest range in which sums remain normal."""
    return _full_mantissas(shape, dtype, seed, MANTISSA_FORMATS[dtype.name][2:])


def cancelling(shape: ArrayShape, dtype: DType, seed: int = 0) -> Array:
    """Return full mantissas in pairs that nearly cancel: every second number is almost the negative of the previous."""
    numbers = mantissas(shape, dtype, seed)
    words = numbers.view(f"u{dtype.itemsize}")
    sign_bit = words.dtype.type(1 << (8 * dtype.itemsize - 1))
    # Flip the sign and two low bits of the mantissa (6 = 0b110), so that the sum of a pair is small but not 0.
    words[1::2] = (words[: len(words) // 2 * 2 : 2] ^ sign_bit) ^ words.dtype.type(6)
    return numbers


def extremes(shape: ArrayShape, dtype: DType, seed: int = 0) -> Array:
    """Return the smallest and largest integers of a dtype, their neighbours, and -1, 0 and 1."""
    if DtypeKind.of(dtype) is DtypeKind.BOOL:
        choices = [0, 1]
    else:
        info = np.iinfo(dtype)
        choices = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, *([-1] if info.min < 0 else [])]
    chosen: Array = np.array(choices, dtype)[_random_words(math.prod(shape), seed) % np.uint64(len(choices))]
    return chosen


def marked(shape: ArrayShape, dtype: DType, mark: str, at: int = 0, **options: int) -> Array:
    """Return integers with one special value per plane: in batch item b at cell `at` + b.

    mark: a SpecialValue; options: those of `integers`.
    """
    value = SpecialValue(mark).number(dtype)
    # Through float64, because NumPy cannot convert int64 to bfloat16.
    numbers = integers(shape, dtype, **options).astype(np.float64).astype(dtype)
    numbers = numbers.reshape(*shape[:2], math.prod(shape[2:]))
    for item in range(shape[0] if numbers.size else 0):
        numbers[item, :, (at + item) % numbers.shape[2]] = value
    return numbers.ravel()


@dataclass(frozen=True)
class Generator:
    """A generator, its options, and the kinds of dtype that it supports."""

    make: Callable[..., Any]
    options: frozenset[str]
    kinds: frozenset[DtypeKind]


_FLOATING, _NUMBERS = frozenset({DtypeKind.FLOATING}), frozenset({DtypeKind.FLOATING, DtypeKind.INTEGER})
_INTEGRAL, _ALL = frozenset({DtypeKind.INTEGER, DtypeKind.BOOL}), frozenset(DtypeKind)
GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        GeneratorName.LITERAL: Generator(literal, frozenset(), _ALL),
        GeneratorName.ARANGE: Generator(arange, frozenset({"start", "step"}), _ALL),
        GeneratorName.INTEGERS: Generator(integers, frozenset({"low", "high", "seed", "over"}), _ALL),
        GeneratorName.DISTINCT: Generator(distinct, frozenset({"low", "high", "seed"}), _NUMBERS),
        GeneratorName.MANTISSAS: Generator(mantissas, frozenset({"seed", "spread"}), _FLOATING),
        GeneratorName.WIDE: Generator(wide, frozenset({"seed"}), _FLOATING),
        GeneratorName.CANCELLING: Generator(cancelling, frozenset({"seed"}), _FLOATING),
        GeneratorName.EXTREMES: Generator(extremes, frozenset({"seed"}), _INTEGRAL),
        GeneratorName.MARKED: Generator(marked, frozenset({"mark", "at", "low", "high", "seed"}), _FLOATING),
    }
)
FULL_MANTISSA_GENERATORS = frozenset({GeneratorName.MANTISSAS, GeneratorName.WIDE, GeneratorName.CANCELLING})
"""Generators of numbers that use all bits of the mantissa. Results are rounded, so only the error bound applies."""
