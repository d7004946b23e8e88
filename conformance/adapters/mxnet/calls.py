"""Apache MXNet: the answers that several verbs share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.adapters.api.surface import Lowering, Unsupported
from conformance.cases.steps import Step

NO_BFLOAT16 = Unsupported("MXNet has no arrays of bfloat16: \"data type 'bfloat16' not understood\"")
NO_INTEGER_CONVOLUTION = Unsupported("convolution takes floating point numbers only")
INT8_SATURATES = Unsupported("convolution of int8 saturates where sums of integers wrap")
NO_FLOAT16 = Unsupported('"FP16 gemm on cpu not implemented!"', "https://github.com/apache/mxnet/issues/12700")
FLOATING = frozenset({"float16", "float32", "float64"})
INTEGERS = frozenset({"int8", "int32", "int64", "uint8"})
ALL_DTYPES = FLOATING | INTEGERS | {"bool"}
NO_ASYMMETRIC_PADDING = Unsupported("the padding before and after an axis is one number")


@dataclass(frozen=True)
class ArrayApi:
    """One of MXNet's two kinds of arrays: the same operators, under other names.

    arrays, operators: where functions of arrays and where operators of networks stand; pad: explicit padding;
    each: what stands before the list of arrays that `stack` takes; inward, outward: how an array goes into what only
    the older kind has, and out of it.
    """

    arrays: str
    operators: str
    pooling: str
    convolution: str
    deconvolution: str
    pad: Lowering
    elementwise: str = ""
    to_framework: str = ""
    to_numpy: str = ""


def missing_dtypes() -> Mapping[str, Unsupported]:
    """Return the refusal of every dtype that MXNet has no arrays of."""
    names = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    whole = {name: Unsupported(f"MXNet has no arrays of {name}") for name in names if name not in INTEGERS}
    return {**whole, "bfloat16": NO_BFLOAT16}


def unsupported_convolution_dtypes() -> Mapping[str, Unsupported]:
    """Return the refusal of every dtype that MXNet does not convolve on the CPU."""
    whole = dict.fromkeys((*INTEGERS, "bool"), NO_INTEGER_CONVOLUTION)
    return {**missing_dtypes(), **whole, "int8": INT8_SATURATES, "float16": NO_FLOAT16}


def floating_only(what: str) -> Mapping[str, Unsupported]:
    """Return the refusal of every dtype but floating ones."""
    refusal = Unsupported(f"{what} takes floating point numbers only")
    return {**missing_dtypes(), **dict.fromkeys((*INTEGERS, "bool"), refusal)}


def spatial_axes(step: Step, first: int = 2) -> tuple[int, ...]:
    """Return the numbers of the spatial axes."""
    return tuple(range(first, first + step.rank))
