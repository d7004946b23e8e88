"""The table of all operators, and the forms of an operator that return values without error bounds."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, overload

from reference.arguments import Array
from reference.arithmetic.exact import Exact

OPERATORS: dict[str, Callable[..., Any]] = {}
"""Every operator and every gradient by name. A call returns the Exact of each result: one, or a tuple of several."""

_Parameters = ParamSpec("_Parameters")
_Operator = TypeVar("_Operator", bound=Callable[..., Any])


def operator(function: _Operator) -> _Operator:
    """Enter a function that returns Exact results into OPERATORS, under its own name."""
    OPERATORS[function.__name__] = function
    return function


@overload
def values_only(function: Callable[_Parameters, Exact]) -> Callable[_Parameters, Array]: ...
@overload
def values_only(function: Callable[_Parameters, tuple[Exact, ...]]) -> Callable[_Parameters, tuple[Array, ...]]: ...
def values_only(function: Callable[_Parameters, Any]) -> Callable[_Parameters, Any]:
    """Return the form of an operator that returns the rounded value of its Exact, or of each of several."""

    @wraps(function)
    def values(*arrays: _Parameters.args, **parameters: _Parameters.kwargs) -> Any:
        results = function(*arrays, **parameters)
        return tuple(exact.value for exact in results) if isinstance(results, tuple) else results.value

    several = "tuple" in str(function.__annotations__["return"])  # a text in modules that postpone annotations
    # A copy: `wraps` shares the annotations of the operator.
    values.__annotations__ = {**function.__annotations__, "return": tuple[Array, ...] if several else Array}
    return values
