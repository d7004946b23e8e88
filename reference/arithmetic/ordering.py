"""Order-preserving integer keys, so that comparing numbers is comparing integers.

Keys make selections the same bits everywhere, fast in 16 bits, and free of values that mark padding. The order is
total: −inf < … < −0 < +0 < … < +inf < NaN, and turned round for minima but for NaN, which stays on top and so
propagates. Source of the bit trick: IEEE 754-2019, section 5.10 (totalOrder).
"""

from dataclasses import dataclass

import numpy as np

from reference.arguments import BOOL_DTYPE, FLOAT_DTYPES, Array, DType
from reference.geometry.folding import fold_windows
from reference.geometry.windows import WindowWalk

# The hardware compares these itself.
NATIVELY_COMPARED_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))

# Elements looked at together in the search for NaN.
COMPARISON_CHUNK_ELEMENTS = 2**16


@dataclass(frozen=True)
class DtypeOrder:
    """The order of one dtype, from the least to the greatest or the other way round (`descending`)."""

    dtype: DType
    descending: bool

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return _integer_dtype(self.dtype) if self.dtype in FLOAT_DTYPES else self.dtype

    @property
    def lowest_key(self) -> int | bool:
        """The key of the first value of all: of −inf or the least integer, or of +inf or the greatest one."""
        if self.dtype in FLOAT_DTYPES:
            return ~_infinity_bits(self.dtype)
        return False if self.dtype == BOOL_DTYPE else int(np.iinfo(self.dtype).min)

    @property
    def lowest_value(self) -> float | int | bool:
        """The value of the bottom key."""
        if self.dtype in FLOAT_DTYPES:
            return np.inf if self.descending else -np.inf
        return int(~np.array(self.lowest_key, self.dtype)) if self.descending else self.lowest_key

    def select(self, x: Array, walk: WindowWalk, out: Array) -> None:
        """Put the first value of each window into out: (n, c, *output) of x's dtype; a NaN comes as some NaN.

        x: (n, c, *spatial). Numbers are compared by keys only where it matters: in 16 bits, where comparing keys is
        faster, and if there is a −0, which compares equal to +0 in hardware.
        """
        if self.dtype in FLOAT_DTYPES and (self.dtype not in NATIVELY_COMPARED_DTYPES or _has_negative_zero(x)):
            out[...] = self.values(fold_windows(self.keys(x), walk, np.maximum, self.lowest_key))
        else:
            fold_windows(x, walk, np.minimum if self.descending else np.maximum, self.lowest_value, out)

    def keys(self, x: Array) -> Array:
        """Return the integer keys of x, in the same shape; every NaN gets the one key above all others."""
        if self.dtype not in FLOAT_DTYPES:
            return ~x if self.descending else x
        keys = _flip_negative(x.view(self.key_dtype))
        keys = ~keys if self.descending else keys
        # A NaN with the wrong sign for this direction fell below the infinity at the bottom.
        keys[(keys < self.lowest_key) | (keys > ~self.lowest_key)] = np.iinfo(keys.dtype).max
        return keys

    def values(self, keys: Array) -> Array:
        """Return the values of the keys; a NaN comes back as some NaN."""
        keys = ~keys if self.descending else keys
        return _flip_negative(keys).view(self.dtype) if self.dtype in FLOAT_DTYPES else keys


def with_canonical_nan(x: Array) -> Array:
    """Return x with every NaN canonical: positive, quiet, without payload. Without NaN, the result may be x itself."""
    if x.dtype not in FLOAT_DTYPES or (x.dtype in NATIVELY_COMPARED_DTYPES and not _has_nan(x)):
        return x
    copy = np.array(x)
    make_nan_canonical(copy)
    return copy


def make_nan_canonical(x: Array) -> None:
    """Make every NaN of x the canonical one, in place."""
    if x.dtype not in FLOAT_DTYPES:
        return
    if not x.flags.c_contiguous:
        for part in x:
            make_nan_canonical(part)
        return
    flat, infinity = x.reshape(-1), _infinity_bits(x.dtype)
    for start in range(0, flat.size, COMPARISON_CHUNK_ELEMENTS):
        chunk = flat[start : start + COMPARISON_CHUNK_ELEMENTS]
        if x.dtype in NATIVELY_COMPARED_DTYPES and not _has_nan(chunk):
            continue
        # Not np.isnan, which warns of signalling NaNs in some dtypes.
        bits = chunk.view(_integer_dtype(x.dtype))
        nan = bits & np.iinfo(bits.dtype).max > infinity
        if nan.any():
            chunk[nan] = np.nan


def _has_nan(x: Array) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.isnan(x.max(initial=-np.inf)))


def _has_negative_zero(x: Array) -> bool:
    bits = x.view(_integer_dtype(x.dtype))
    return int(bits.min(initial=0)) == np.iinfo(bits.dtype).min


def _integer_dtype(dtype: DType) -> DType:
    return np.dtype(f"int{8 * dtype.itemsize}")


def _infinity_bits(dtype: DType) -> int:
    return int(np.array([np.inf]).astype(dtype).view(_integer_dtype(dtype))[0])


def _flip_negative(bits: Array) -> Array:
    """Turn sign and magnitude into two's complement, and back: it is its own inverse."""
    flipped: Array = bits ^ ((bits >> (8 * bits.dtype.itemsize - 1)) & np.iinfo(bits.dtype).max)
    return flipped
