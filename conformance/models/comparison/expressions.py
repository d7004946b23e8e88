"""Expressions of recorded arrays: which operators may be between a layer and the layers before it.

The reference knows window operators only. The numbers that a layer reads are compared with a few expressions of the
results and inputs of earlier layers: an activation, a sum, a concatenation, or a normalization. An expression that
gives the same numbers is a likely explanation, and no proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.cases.arrays import Array

MAX_SAMPLES = 4096
"""Number of elements of each array that are compared."""
SAMPLE_SEED = 0
TOLERANCE = 1e-5
"""Largest difference of numbers that count as the same, in units of the largest number."""
MAX_ARRAYS = 24
"""Number of arrays before a layer that are part of expressions: the last ones."""
MIN_NEGATIVE = 4
"""Smallest number of negative numbers from which a slope is computed."""

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _gelu_tanh(x: Array) -> Array:
    found: Array = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return found


ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "{}": lambda x: x,
    "ReLU of {}": lambda x: np.maximum(x, 0),
    "ReLU6 of {}": lambda x: np.clip(x, 0, 6),
    "SiLU of {}": lambda x: x / (1 + np.exp(-x)),
    "GELU of {}": lambda x: x / 2 * (1 + _erf(x / math.sqrt(2))),
    "GELU (tanh approximation) of {}": _gelu_tanh,
    "hard swish of {}": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "ELU of {}": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "tanh of {}": np.tanh,
    "sigmoid of {}": lambda x: 1 / (1 + np.exp(-x)),
    "softplus of {}": lambda x: np.logaddexp(x, 0),
}
"""Activations, with a text for each. `{}` is the argument."""
SUM_ACTIVATIONS = ("{}", "ReLU of {}", "SiLU of {}", "GELU of {}")
"""Activations of sums."""


@dataclass(frozen=True)
class NamedArray:
    """An array of a run with words for it, such as `the result of conv1`."""

    name: str
    values: Array


def is_close(one: Array, other: Array) -> bool:
    """Whether two arrays have the same numbers but for rounding."""
    if one.shape != other.shape or not one.size:
        return False
    scale = float(np.abs(other).max())
    return bool(np.isfinite(scale) and scale > 0 and float(np.abs(one - other).max()) <= TOLERANCE * scale)


def find_expression(values: Array, arrays: Sequence[NamedArray]) -> str | None:
    """Return words for an expression of some arrays that has these values, None if none is known."""
    used = arrays[-MAX_ARRAYS:]
    alike = [one for one in used if one.values.shape == values.shape]
    chosen = _sample(values.size)
    wanted = _chosen(values, chosen)
    parts = [NamedArray(one.name, _chosen(one.values, chosen)) for one in reversed(alike)]
    found = next(_of_one(wanted, parts), None) or next(_of_two(wanted, parts), None)
    return found or _concatenation(values, used)


def reduced_arrays(array: NamedArray, shape: Sequence[int]) -> Iterator[NamedArray]:
    """Yield means and maxima of an array over some of its axes, and its softmax; shape: of the vectors, (n, c, 1)."""
    x = array.values
    with np.errstate(all="ignore"):
        if x.shape == tuple(shape):
            shifted = x - x.max(1, keepdims=True)
            logarithm = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
            yield NamedArray(f"softmax of {array.name}", np.exp(logarithm))
            yield NamedArray(f"log softmax of {array.name}", logarithm)
            return
        for axis in range(1, x.ndim):
            others = tuple(one for one in range(1, x.ndim) if one != axis)
            if x.shape[axis] != shape[1] or x.shape[0] != shape[0]:
                continue
            where = "" if axis == 1 else f" over the channels and all spatial axes but {axis - 2}"
            # Of equal arrays the last is named: the maximum of a ReLU is often that of its input.
            for text, values in ((f"ReLU of {array.name}", np.maximum(x, 0)), (array.name, x)):
                yield NamedArray(f"the mean of {text}{where}", values.mean(others)[..., None])
                yield NamedArray(f"the maximum of {text}{where}", values.max(others)[..., None])


def _sample(size: int) -> Array:
    if size <= MAX_SAMPLES:
        return np.arange(size)
    return np.random.default_rng(SAMPLE_SEED).choice(size, MAX_SAMPLES, replace=False)


def _chosen(values: Array, chosen: Array) -> Array:
    found: Array = values.ravel()[chosen].astype(np.float64)
    return found


def _of_one(wanted: Array, parts: Sequence[NamedArray]) -> Iterator[str]:
    with np.errstate(all="ignore"):
        for part in parts:
            for text, activation in ACTIVATIONS.items():
                if is_close(activation(part.values), wanted):
                    yield text.format(part.name)
            slope = leaky_slope(part.values, wanted)
            if slope is not None:
                yield f"leaky ReLU with slope {slope:.3g} of {part.name}"


def leaky_slope(x: Array, y: Array) -> float | None:
    """Return the factor of the negative numbers of x that gives y, None if there is none or positive numbers differ."""
    negative = x < 0
    if np.count_nonzero(negative) < MIN_NEGATIVE:
        return None
    slope = float(np.median(y[negative] / x[negative]))
    return slope if is_close(np.where(negative, slope * x, x), y) else None


def _of_two(wanted: Array, parts: Sequence[NamedArray]) -> Iterator[str]:
    with np.errstate(all="ignore"):
        for one, two in itertools.combinations_with_replacement(parts, 2):
            for text in SUM_ACTIVATIONS:
                if is_close(ACTIVATIONS[text](one.values + two.values), wanted):
                    yield text.format(f"{one.name} + {two.name}")
            for left, right in ((one, two), (two, one)):
                if is_close(left.values + np.maximum(right.values, 0), wanted):
                    yield f"{left.name} + ReLU of {right.name}"


def _concatenation(values: Array, arrays: Sequence[NamedArray]) -> str | None:
    """Return words for arrays whose channels, one after another, are the values."""
    names, offset = list[str](), 0
    while offset < values.shape[1]:
        following = next((one for one in reversed(arrays) if _begins(values, offset, one.values)), None)
        if following is None:
            return None
        names.append(following.name)
        offset += following.values.shape[1]
    return f"{', '.join(names)} one after another" if len(names) > 1 else None


def _begins(values: Array, offset: int, part: Array) -> bool:
    if part.ndim != values.ndim:
        return False
    own = values[:, offset : offset + part.shape[1]]
    return own.shape == part.shape and is_close(own, part)
