"""The oracle: window operators in NumPy, exact, with error bounds.

Arrays are laid out (n, c, *spatial), for any number of spatial axes. Each operator returns its correctly rounded
result; its entry in OPERATORS returns the Exact, which knows the unrounded result and its error bound too.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from .arguments import Array
from .bound import NoBound
from .convolution import conv as _conv
from .exact import Exact
from .padding import pad as _pad
from .pooling import avg_pool as _avg_pool
from .pooling import max_pool as _max_pool
from .pooling import min_pool as _min_pool
from .rounding import round_to
from .softmax_pooling import softmax_pool as _softmax_pool
from .windows import Windows

_Parameters = ParamSpec("_Parameters")


def _value_of(operator: Callable[_Parameters, Exact]) -> Callable[_Parameters, Array]:
    @wraps(operator)
    def value(*arrays: _Parameters.args, **parameters: _Parameters.kwargs) -> Array:
        return operator(*arrays, **parameters).value

    value.__annotations__["return"] = Array
    return value


OPERATORS: dict[str, Callable[..., Exact]] = {
    operator.__name__: operator for operator in (_max_pool, _min_pool, _avg_pool, _softmax_pool, _pad, _conv)
}

max_pool = _value_of(_max_pool)
min_pool = _value_of(_min_pool)
avg_pool = _value_of(_avg_pool)
softmax_pool = _value_of(_softmax_pool)
pad = _value_of(_pad)
conv = _value_of(_conv)

__all__ = [
    "OPERATORS",
    "Exact",
    "NoBound",
    "Windows",
    "avg_pool",
    "conv",
    "max_pool",
    "min_pool",
    "pad",
    "round_to",
    "softmax_pool",
]
