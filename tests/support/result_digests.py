"""Print a digest of each of a fixed set of results and bounds, on inputs made of raw random bits."""

import hashlib
import json
import sys

import ml_dtypes
import numpy as np

import reference

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}

# The most a biased exponent differs from that of 1, and what makes that of 1, for numbers of moderate size.
MODERATE = {"float16": (10, 5, 15), "bfloat16": (7, 8, 127), "float32": (23, 8, 127), "float64": (52, 11, 1023)}

WALK = {"stride": 2, "padding": 1}
CALLS = {
    "max_pool": lambda x, *_: reference.max_pool(x, 3, **WALK),
    "min_pool": lambda x, *_: reference.min_pool(x, (5, 4), stride=1, padding=2),
    "avg_pool": lambda x, *_: reference.avg_pool(x, 3, **WALK),
    "avg_pool of sevens": lambda x, *_: reference.avg_pool(x, (7, 1), stride=1),
    "conv": lambda x, kernel, bias: reference.conv(x, kernel, bias, padding=1),
    "conv in groups": lambda x, kernel, _: reference.conv(x, kernel[:, :1], stride=2, groups=8),
    "pad": lambda x, *_: reference.pad(x, (1, -2), value=0.1),
}
BOUNDED = {
    "conv": lambda x, kernel, bias: reference.OPERATORS["conv"](x, kernel, bias, padding=1),
    "avg_pool": lambda x, *_: reference.OPERATORS["avg_pool"](x, 3, **WALK),
}


def raw(shape, bits, seed):
    """Raw bits of a generator whose stream NumPy guarantees."""
    words = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return (words >> np.uint64(64 - bits)).astype(f"u{bits // 8}").reshape(shape)


def moderate(name, shape, seed):
    """Numbers with full mantissas and exponents within 7 of that of 1."""
    mantissa, exponent, one = MODERATE[name]
    bits = 1 + mantissa + exponent
    words = raw(shape, bits, seed).astype(np.uint64)
    kept = words & np.uint64((1 << mantissa) - 1 | 1 << bits - 1)
    exponents = one - 7 + (words >> np.uint64(mantissa) & np.uint64(7)) * np.uint64(2)
    return (kept | exponents.astype(np.uint64) << np.uint64(mantissa)).astype(f"u{bits // 8}").view(DTYPES[name])


def anything(name, shape, seed):
    """Any bits at all: NaN, infinities, subnormals and both zeros among them."""
    x = raw(shape, 8 * np.dtype(DTYPES[name]).itemsize, seed).view(DTYPES[name])
    x.flat[::17], x.flat[1::17], x.flat[2::31] = 0.0, -0.0, np.inf
    return x


def digest(array):
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()


def digests():
    """Return {case: digest of the bits of a result or a bound}."""
    found = {}
    for name in DTYPES:
        for style, make in (("moderate", moderate), ("any", anything)):
            arrays = make(name, (2, 8, 23, 21), 1), make(name, (8, 8, 3, 3), 2), make(name, (8,), 3)
            for call, function in CALLS.items():
                result = np.ascontiguousarray(function(*arrays))
                found[f"{call}, {name}, {style}"] = digest(result)
        arrays = moderate(name, (2, 8, 23, 21), 1), moderate(name, (8, 8, 3, 3), 2), moderate(name, (8,), 3)
        for call, function in BOUNDED.items():
            found[f"bound of {call}, {name}"] = digest(function(*arrays).bound())
    return found


if __name__ == "__main__":
    json.dump(digests(), sys.stdout, indent=0, sort_keys=True)
