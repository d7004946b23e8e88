"""The oracle: window operators in NumPy, exact, with error bounds.

Arrays are laid out (n, c, *spatial), for any number of spatial axes. Each operator returns its correctly rounded
result, or a tuple of results; its entry in OPERATORS returns the Exact of each, which knows the unrounded result and
its error bound too.
"""

from collections.abc import Callable
from typing import Any

from reference.arithmetic.bound import NoBound
from reference.arithmetic.exact import Exact
from reference.arithmetic.rounding import round_to
from reference.geometry.windows import Windows
from reference.operators.adaptive_pooling import adaptive_avg_pool as _adaptive_avg_pool
from reference.operators.adaptive_pooling import adaptive_max_pool as _adaptive_max_pool
from reference.operators.adaptive_pooling import global_avg_pool as _global_avg_pool
from reference.operators.adaptive_pooling import global_max_pool as _global_max_pool
from reference.operators.conv_transpose import conv_transpose as _conv_transpose
from reference.operators.convolution import conv as _conv
from reference.operators.fractional_pooling import fractional_max_pool as _fractional_max_pool
from reference.operators.lp_pooling import lp_pool as _lp_pool
from reference.operators.max_pool_indices import max_pool_with_indices as _max_pool_with_indices
from reference.operators.max_pool_indices import max_unpool as _max_unpool
from reference.operators.padding import pad as _pad
from reference.operators.pooling import avg_pool as _avg_pool
from reference.operators.pooling import max_pool as _max_pool
from reference.operators.pooling import min_pool as _min_pool
from reference.operators.softmax_pooling import softmax_pool as _softmax_pool
from reference.operators.stochastic_pooling import stochastic_pool as _stochastic_pool
from reference.operators.stochastic_pooling import stochastic_pool_probabilities as _stochastic_pool_probabilities
from reference.registry import (
    GRADIENTS,
    adaptive_avg_pool_grad,
    adaptive_max_pool_grad,
    all_values_only,
    avg_pool_grad,
    conv_grad,
    conv_transpose_grad,
    fractional_max_pool_grad,
    global_avg_pool_grad,
    global_max_pool_grad,
    lp_pool_grad,
    max_pool_grad,
    max_pool_with_indices_grad,
    max_unpool_grad,
    min_pool_grad,
    pad_grad,
    softmax_pool_grad,
    stochastic_pool_grad,
    stochastic_pool_probabilities_grad,
    values_only,
)

OPERATORS: dict[str, Callable[..., Any]] = {
    operator.__name__: operator
    for operator in (
        _max_pool,
        _min_pool,
        _avg_pool,
        _lp_pool,
        _softmax_pool,
        _max_pool_with_indices,
        _max_unpool,
        _global_max_pool,
        _global_avg_pool,
        _adaptive_max_pool,
        _adaptive_avg_pool,
        _fractional_max_pool,
        _stochastic_pool_probabilities,
        _stochastic_pool,
        _pad,
        _conv,
        _conv_transpose,
    )
}
OPERATORS |= GRADIENTS

max_pool = values_only(_max_pool)
min_pool = values_only(_min_pool)
avg_pool = values_only(_avg_pool)
lp_pool = values_only(_lp_pool)
softmax_pool = values_only(_softmax_pool)
max_pool_with_indices = all_values_only(_max_pool_with_indices)
max_unpool = values_only(_max_unpool)
global_max_pool = values_only(_global_max_pool)
global_avg_pool = values_only(_global_avg_pool)
adaptive_max_pool = values_only(_adaptive_max_pool)
adaptive_avg_pool = values_only(_adaptive_avg_pool)
fractional_max_pool = values_only(_fractional_max_pool)
stochastic_pool_probabilities = values_only(_stochastic_pool_probabilities)
stochastic_pool = values_only(_stochastic_pool)
pad = values_only(_pad)
conv = values_only(_conv)
conv_transpose = values_only(_conv_transpose)

__all__ = [
    "OPERATORS",
    "Exact",
    "NoBound",
    "Windows",
    "adaptive_avg_pool",
    "adaptive_avg_pool_grad",
    "adaptive_max_pool",
    "adaptive_max_pool_grad",
    "avg_pool",
    "avg_pool_grad",
    "conv",
    "conv_grad",
    "conv_transpose",
    "conv_transpose_grad",
    "fractional_max_pool",
    "fractional_max_pool_grad",
    "global_avg_pool",
    "global_avg_pool_grad",
    "global_max_pool",
    "global_max_pool_grad",
    "lp_pool",
    "lp_pool_grad",
    "max_pool",
    "max_pool_grad",
    "max_pool_with_indices",
    "max_pool_with_indices_grad",
    "max_unpool",
    "max_unpool_grad",
    "min_pool",
    "min_pool_grad",
    "pad",
    "pad_grad",
    "round_to",
    "softmax_pool",
    "softmax_pool_grad",
    "stochastic_pool",
    "stochastic_pool_grad",
    "stochastic_pool_probabilities",
    "stochastic_pool_probabilities_grad",
]
