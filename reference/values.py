"""Operators that return values alone, made from those that return everything known about them."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from .arguments import Array
from .exact import Exact

_Parameters = ParamSpec("_Parameters")


def value_of(operator: Callable[_Parameters, Exact]) -> Callable[_Parameters, Array]:
    """Return the operator that returns the value of its Exact."""

    @wraps(operator)
    def value(*arrays: _Parameters.args, **parameters: _Parameters.kwargs) -> Array:
        return operator(*arrays, **parameters).value

    value.__annotations__["return"] = Array
    return value


def values_of(operator: Callable[_Parameters, tuple[Exact, ...]]) -> Callable[_Parameters, tuple[Array, ...]]:
    """Return the operator that returns the values of its Exacts."""

    @wraps(operator)
    def values(*arrays: _Parameters.args, **parameters: _Parameters.kwargs) -> tuple[Array, ...]:
        return tuple(exact.value for exact in operator(*arrays, **parameters))

    values.__annotations__["return"] = tuple[Array, ...]
    return values
