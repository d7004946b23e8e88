"""What an operator returns: the exact result, its one correct rounding, and how far others may be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .arguments import Array, DType
from .bound import error_bound
from .errorfree import Pair, widened
from .ordering import canonical
from .rounding import Position, format_of, settle


@dataclass(frozen=True, eq=False)
class Exact:
    """The exact result of one operation, element by element; all arrays have the shape of `value`.

    value: the exact result rounded once, to nearest even, to the result's dtype. Its bits are certain; NaN is the
        canonical one, and an exact zero of a sum is +0.
    high, low: float64, the exact result as high + low, to far below the bound; None if `exact`. Where the exact
        result is beyond float64, high is infinite.
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

        accumulate: dtype in which terms are added; None means float64 for float64 and float32 for every other.
        flush: whether subnormals are flushed to zero on the way. Raises NoBound where (n + 3)u >= 1/2.
        """
        if self.high is None:
            return np.zeros(self.value.shape)
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
            wide, high = widened(got), widened(high)
            gap = np.abs((wide - high) - low)
            same = (got == self.value) & ~np.isfinite(widened(self.value)) | (np.isnan(wide) & np.isnan(high))
        return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))


def selected(value: Array, terms: Array) -> Exact:
    """Return the Exact of a result that no rounding touched: a selection, or integers."""
    nothing = np.broadcast_to(0.0, value.shape)
    return Exact(canonical(value), None, None, np.broadcast_to(terms, value.shape), nothing, 0.0, True)


def rounded(
    pair: Pair,
    dtype: DType,
    exactly: Callable[[Position], Fraction],
    *,
    special: Array | None,
    terms: Array,
    magnitude: Array,
    extra: Array | float = 0.0,
) -> Exact:
    """Return the Exact of a floating result known as a pair.

    exactly(position) returns a rational that rounds like the exact result there. special: float64, the result
    wherever it is not finite, and a finite number wherever it is; None if all are finite.
    """
    if special is None:
        value, high, low = settle(pair, dtype, exactly)
    else:
        known = ~np.isfinite(special)
        value, high, low = settle(pair.cleared(known), dtype, exactly)
        value = canonical(np.where(known, np.where(known, special, 0.0).astype(dtype), value))
        high = np.where(known, special, high)
    return Exact(value, high, low, np.broadcast_to(terms, value.shape), magnitude, extra, False)
