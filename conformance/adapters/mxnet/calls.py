"""Apache MXNet: dtypes, reasons and array APIs shared by the lowerings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.adapters.api import ALL_DTYPES, Lowering, Unsupported

NO_BFLOAT16 = Unsupported("MXNet has no arrays of bfloat16: \"data type 'bfloat16' not understood\"")
NO_INTEGER_CONVOLUTION = Unsupported("convolution takes floating point numbers only")
INT8_SATURATES = Unsupported("int8 convolution saturates, but integer sums must wrap")
NO_FLOAT16 = Unsupported('"FP16 gemm on cpu not implemented!"', "https://github.com/apache/mxnet/issues/12700")
FLOATING = frozenset({"float16", "float32", "float64"})
INTEGERS = frozenset({"int8", "int32", "int64", "uint8"})
ARRAY_DTYPES = FLOATING | INTEGERS | {"bool"}
"""Dtypes of `mxnet.np` arrays. The others cannot even be passed to a program."""
# Explicit padding comes first in this case, see padding.differentiable_pad.
NO_ASYMMETRIC_PADDING = Unsupported("padding before and after an axis cannot differ")


@dataclass(frozen=True)
class ArrayApi:
    """Names of the operators for one of MXNet's two array types, `mxnet.np` and `mxnet.nd`.

    arrays: module of array functions.
    operators: module of neural-network operators.
    pooling, convolution, deconvolution: the calls.
    pad: lowering of explicit padding.
    elementwise: prefix of the list that `stack` takes: "*" where it takes separate arguments.
    add: template of the sum of `{x}` and `{other}`, whose shapes may differ.
    to_framework, to_numpy: suffixes that convert an array to `mxnet.nd`, for operators that only it has, and back.
    """

    arrays: str
    operators: str
    pooling: str
    convolution: str
    deconvolution: str
    pad: Lowering
    elementwise: str = ""
    add: str = "{x} + {other}"
    to_framework: str = ""
    to_numpy: str = ""


def missing_dtypes() -> Mapping[str, Unsupported]:
    """Return the reason for every dtype that MXNet arrays do not support."""
    missing = ALL_DTYPES - ARRAY_DTYPES - {"bfloat16"}
    return {name: Unsupported(f"MXNet has no arrays of {name}") for name in sorted(missing)} | {"bfloat16": NO_BFLOAT16}


def unsupported_convolution_dtypes() -> Mapping[str, Unsupported]:
    """Return the reason for every dtype that MXNet does not convolve on the CPU."""
    integers = dict.fromkeys((*INTEGERS, "bool"), NO_INTEGER_CONVOLUTION)
    return {**missing_dtypes(), **integers, "int8": INT8_SATURATES, "float16": NO_FLOAT16}


def floating_only(operation: str) -> Mapping[str, Unsupported]:
    """Return the reason for every dtype that is not floating point."""
    unsupported = Unsupported(f"{operation} takes floating point numbers only")
    return {**missing_dtypes(), **dict.fromkeys((*INTEGERS, "bool"), unsupported)}
