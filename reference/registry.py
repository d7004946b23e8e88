"""The gradient of every operator, with respect to each of its floating inputs.

A gradient takes the gradient of the operator's output, then all that the operator takes, and returns one array for
each floating input. Its entry in GRADIENTS returns the Exact, or a tuple of them where there are several inputs.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from reference.arguments import Array
from reference.arithmetic.exact import Exact
from reference.operators import adaptive_pooling_grad as _adaptive
from reference.operators import convolution_grad as _convolution
from reference.operators import indexed_grad as _indexed
from reference.operators import lp_pooling_grad as _lp
from reference.operators import pooling_grad as _pooling
from reference.operators import softmax_pooling_grad as _softmax
from reference.operators import stochastic_pooling_grad as _stochastic

_Parameters = ParamSpec("_Parameters")


def values_only(operator: Callable[_Parameters, Exact]) -> Callable[_Parameters, Array]:
    """Return the operator that returns the value of its Exact."""

    @wraps(operator)
    def value(*arrays: _Parameters.args, **parameters: _Parameters.kwargs) -> Array:
        return operator(*arrays, **parameters).value

    value.__annotations__["return"] = Array
    return value


def all_values_only(operator: Callable[_Parameters, tuple[Exact, ...]]) -> Callable[_Parameters, tuple[Array, ...]]:
    """Return the operator that returns the values of its Exacts."""

    @wraps(operator)
    def values(*arrays: _Parameters.args, **parameters: _Parameters.kwargs) -> tuple[Array, ...]:
        return tuple(exact.value for exact in operator(*arrays, **parameters))

    values.__annotations__["return"] = tuple[Array, ...]
    return values


GRADIENTS: dict[str, Callable[..., Any]] = {
    operator.__name__: operator
    for operator in (
        _pooling.max_pool_grad,
        _pooling.min_pool_grad,
        _pooling.avg_pool_grad,
        _lp.lp_pool_grad,
        _softmax.softmax_pool_grad,
        _adaptive.global_max_pool_grad,
        _adaptive.global_avg_pool_grad,
        _adaptive.adaptive_max_pool_grad,
        _adaptive.adaptive_avg_pool_grad,
        _convolution.conv_grad,
        _convolution.conv_transpose_grad,
        _indexed.max_pool_with_indices_grad,
        _indexed.max_unpool_grad,
        _indexed.fractional_max_pool_grad,
        _stochastic.stochastic_pool_grad,
        _stochastic.stochastic_pool_probabilities_grad,
        _indexed.pad_grad,
    )
}

max_pool_grad = values_only(_pooling.max_pool_grad)
min_pool_grad = values_only(_pooling.min_pool_grad)
avg_pool_grad = values_only(_pooling.avg_pool_grad)
lp_pool_grad = values_only(_lp.lp_pool_grad)
softmax_pool_grad = values_only(_softmax.softmax_pool_grad)
global_max_pool_grad = values_only(_adaptive.global_max_pool_grad)
global_avg_pool_grad = values_only(_adaptive.global_avg_pool_grad)
adaptive_max_pool_grad = values_only(_adaptive.adaptive_max_pool_grad)
adaptive_avg_pool_grad = values_only(_adaptive.adaptive_avg_pool_grad)
conv_grad = all_values_only(_convolution.conv_grad)
conv_transpose_grad = all_values_only(_convolution.conv_transpose_grad)
max_pool_with_indices_grad = values_only(_indexed.max_pool_with_indices_grad)
max_unpool_grad = values_only(_indexed.max_unpool_grad)
fractional_max_pool_grad = values_only(_indexed.fractional_max_pool_grad)
stochastic_pool_grad = values_only(_stochastic.stochastic_pool_grad)
stochastic_pool_probabilities_grad = values_only(_stochastic.stochastic_pool_probabilities_grad)
pad_grad = values_only(_indexed.pad_grad)
