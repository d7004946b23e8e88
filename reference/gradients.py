"""The gradient of every operator, with respect to each of its floating inputs.

A gradient takes the gradient of the operator's output, then all that the operator takes, and returns one array for
each floating input. Its entry in GRADIENTS returns the Exact, or a tuple of them where there are several inputs.
"""

from collections.abc import Callable
from typing import Any

from . import gradients_adaptive as _adaptive
from . import gradients_convolution as _convolution
from . import gradients_indexed as _indexed
from . import gradients_lp as _lp
from . import gradients_pooling as _pooling
from . import gradients_softmax as _softmax
from . import gradients_stochastic as _stochastic
from .values import value_of, values_of

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

max_pool_grad = value_of(_pooling.max_pool_grad)
min_pool_grad = value_of(_pooling.min_pool_grad)
avg_pool_grad = value_of(_pooling.avg_pool_grad)
lp_pool_grad = value_of(_lp.lp_pool_grad)
softmax_pool_grad = value_of(_softmax.softmax_pool_grad)
global_max_pool_grad = value_of(_adaptive.global_max_pool_grad)
global_avg_pool_grad = value_of(_adaptive.global_avg_pool_grad)
adaptive_max_pool_grad = value_of(_adaptive.adaptive_max_pool_grad)
adaptive_avg_pool_grad = value_of(_adaptive.adaptive_avg_pool_grad)
conv_grad = values_of(_convolution.conv_grad)
conv_transpose_grad = values_of(_convolution.conv_transpose_grad)
max_pool_with_indices_grad = value_of(_indexed.max_pool_with_indices_grad)
max_unpool_grad = value_of(_indexed.max_unpool_grad)
fractional_max_pool_grad = value_of(_indexed.fractional_max_pool_grad)
stochastic_pool_grad = value_of(_stochastic.stochastic_pool_grad)
stochastic_pool_probabilities_grad = value_of(_stochastic.stochastic_pool_probabilities_grad)
pad_grad = value_of(_indexed.pad_grad)
