"""The result of an operator: the exact result, its correct rounding, and the error bound for other implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from reference.arguments import Array, DType
from reference.arithmetic.bound import error_bound
from reference.arithmetic.certainty import is_certainty_checked
from reference.arithmetic.errorfree import FloatPair, to_float64, zero_array
from reference.arithmetic.ordering import make_nan_canonical
from reference.arithmetic.rounding import Position, Positions, format_of, round_certainly
from reference.geometry.blocks import Block

# Maximum number of elements for which details are cached (at most 24 MB). The details of larger results are
# recomputed on access, so that a caller who needs the value only pays no memory for them.
MAX_CACHED_ELEMENTS = 2**20


@dataclass(frozen=True, eq=False)
class Exact:
    """The exact result of one operation, element by element; all arrays have the shape of `value`.

    For a large result, every field but `value` is computed from the inputs on first access. Do not change the inputs.

    value: the exact result rounded once, to nearest even, to the result's dtype. Its bits are certain; NaN is the
        canonical one, and an exact zero of a sum is +0.
    high, low: float64, the exact result as high + low, off by less than a millionth of the bound in the dtype that
        bound() uses by default; None if `exact`. Where the exact result is beyond float64, high is infinite.
    terms: int64, n, the terms really added, bias included.
    magnitude: float64, S, the sum of their absolute values, after the division, rounded up.
    extra: float64, further error in units of the unit roundoff, from exp and the like.
    exact: whether `value` itself is the exact result: selections, integers and booleans. Then the bound is 0.
    """

    value: Array
    high: Array | None
    low: Array | None
    terms: Array
    magnitude: Array
    extra: Array | float
    exact: bool

    def bound(self, accumulate: Any = None, flush: bool = False) -> Array:
        """Return B of the design, float64: the error allowed to each element.

        accumulate: dtype of the sums. None means float64 for float64 and float32 for every other dtype.
        flush: whether subnormals are flushed to zero on the way. Raises NoBound where (n + 3)u >= 1/2.
        """
        if self.high is None:
            return zero_array(self.value.shape)
        if accumulate is None:
            accumulate = np.float64 if self.value.dtype == np.float64 else np.float32
        return error_bound(
            self.high,
            terms=self.terms,
            magnitude=self.magnitude,
            extra=self.extra,
            accumulate=format_of(accumulate),
            result=format_of(self.value.dtype),
            flush=flush,
        )

    def distance(self, got: Array) -> Array:
        """Return |got − exact|, float64; 0 between equal infinities and between NaNs, infinite to any other value."""
        high, low = (self.value, 0.0) if self.high is None or self.low is None else (self.high, self.low)
        with np.errstate(all="ignore"):
            wide, high = to_float64(got), to_float64(high)
            gap = np.abs((wide - high) - low)
            same = (got == self.value) & ~np.isfinite(to_float64(self.value)) | (np.isnan(wide) & np.isnan(high))
        return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))


class LazyExact(Exact):
    """An Exact some of whose fields are computed on first use."""

    def __init__(self, *makers: tuple[tuple[str, ...], Callable[[], tuple[Any, ...]]], **known: Any) -> None:
        self.__dict__.update(known, _makers=makers)

    def __getattr__(self, name: str) -> Any:
        for names, make in self.__dict__.get("_makers", ()):
            if name in names:
                self.__dict__.update(zip(names, make(), strict=True))
                return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


@dataclass(frozen=True, eq=False)
class UnroundedResult:
    """A floating result, or a block of one, before its one rounding.

    pair: the result, but for an error. exactly(position) returns a rational that rounds like the exact result there.
    special: float64, the results that are not finite, and any finite number in the other elements; None if all are
    finite. magnitude() returns S, see Exact, or errors(high) both S and the extra error. closer(positions)
    returns some elements of the pair with a smaller error, where that takes longer.
    """

    pair: FloatPair
    exact_at: Callable[[Position], Fraction]
    special: Array | None
    magnitude: Callable[[], Array] | None = None
    errors: Callable[[Array], tuple[Array, Array]] | None = None
    refine: Callable[[Positions], FloatPair] | None = None

    def round(self, dtype: DType) -> tuple[Array, Array, Array]:
        """Return (value, high, low), every element of value certain."""
        if self.special is None:
            return round_certainly(self.pair, dtype, self.exact_at, self.refine)
        known = ~np.isfinite(self.special)
        value, high, low = round_certainly(self.pair.with_zeros(known), dtype, self.exact_at, self.refine)
        value = np.where(known, np.where(known, self.special, 0.0).astype(dtype), value)
        make_nan_canonical(value)
        return value, np.where(known, self.special, high), low


def as_if_exact(high: Array) -> UnroundedResult:
    """Return a float64 result as if it were exact; only where the certainty check is off."""
    zero = zero_array(high.shape)

    def fail(position: Position) -> Fraction:
        raise FloatingPointError(f"the result at {position} is unknown: the certainty check is off")

    return UnroundedResult(FloatPair(high, zero, zero), fail, None, lambda: zero)


def selection_result(value: Array, terms: Array | Callable[[], Array], *, is_canonical: bool = False) -> Exact:
    """Return the Exact of a result that no rounding touched: a selection, or integers.

    value: a new array, which becomes the result's own, NaN made canonical. terms: perhaps to be counted later.
    is_canonical: whether every NaN of value is canonical already.
    """
    if not is_canonical:
        make_nan_canonical(value)

    def counted() -> tuple[Array]:
        return (np.broadcast_to(terms() if callable(terms) else terms, value.shape),)

    known = {"high": None, "low": None, "magnitude": zero_array(value.shape), "extra": 0.0, "exact": True}
    return LazyExact((("terms",), counted), value=value, **known)


def round_result(
    pair: FloatPair,
    dtype: DType,
    exactly: Callable[[Position], Fraction],
    *,
    special: Array | None,
    terms: Array,
    magnitude: Array,
    extra: Array | float = 0.0,
    closer: Callable[[Positions], FloatPair] | None = None,
) -> Exact:
    """Return the Exact of a floating result known as a pair; the parameters are those of Unrounded."""
    value, high, low = UnroundedResult(pair, exactly, special, lambda: magnitude, refine=closer).round(dtype)
    return Exact(value, high, low, np.broadcast_to(terms, value.shape), magnitude, extra, False)


def round_in_blocks(
    shape: tuple[int, ...],
    dtype: DType,
    cut: Callable[[], Iterable[Block]],
    compute: Callable[[Block], UnroundedResult],
    terms: Array,
) -> Exact:
    """Return the Exact of a floating result of some shape that is computed block by block."""
    value = np.empty(shape, dtype)

    kept: tuple[Array, Array, Array, Array] | None = None

    if not is_certainty_checked():
        with np.errstate(all="ignore"):
            for block in cut():
                value[block.outputs] = compute(block).pair.high
    elif value.size <= MAX_CACHED_ELEMENTS:
        kept = _compute_details(value, cut, compute)
    else:
        for block in cut():
            value[block.outputs] = compute(block).round(dtype)[0]
    known = {"value": value, "terms": np.broadcast_to(terms, shape), "exact": False}
    return LazyExact(
        (("high", "low", "magnitude", "extra"), lambda: kept or _compute_details(np.empty(shape, dtype), cut, compute)),
        **known,
    )


def _compute_details(
    value: Array, cut: Callable[[], Iterable[Block]], compute: Callable[[Block], UnroundedResult]
) -> tuple[Array, Array, Array, Array]:
    """Fill in value, and return high, low, magnitude and extra."""
    high, low, magnitude = (np.empty(value.shape) for _ in range(3))
    extra = np.broadcast_to(0.0, value.shape)
    for block in cut():
        part = compute(block)
        value[block.outputs], high[block.outputs], low[block.outputs] = part.round(value.dtype)
        if part.magnitude is not None:
            magnitude[block.outputs] = part.magnitude()
        if part.errors is not None:
            extra = extra if extra.flags.writeable else np.zeros(value.shape)
            magnitude[block.outputs], extra[block.outputs] = part.errors(high[block.outputs])
    return high, low, magnitude, extra
