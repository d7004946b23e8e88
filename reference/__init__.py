"""The oracle: window operators in NumPy, exact, with error bounds.

Arrays are laid out (n, c, *spatial), for any number of spatial axes. Each operator returns its correctly rounded
result, or a tuple of results; its entry in OPERATORS returns the Exact of each, which knows the unrounded result and
its error bound too.
"""

from reference.arithmetic.bound import NoBound
from reference.arithmetic.exact import Exact
from reference.arithmetic.rounding import round_to
from reference.geometry.resampling import ResampledAxis, resampled_axes
from reference.geometry.windows import Windows
from reference.operators import (
    adaptive_pooling as _adaptive_pooling,
    adaptive_pooling_grad as _adaptive_pooling_grad,
    blocks as _blocks,
    conv_transpose as _conv_transpose,
    convolution as _convolution,
    convolution_grad as _convolution_grad,
    fractional_pooling as _fractional_pooling,
    indexed_grad as _indexed_grad,
    lp_pooling as _lp_pooling,
    lp_pooling_grad as _lp_pooling_grad,
    max_pool_indices as _max_pool_indices,
    padding as _padding,
    pooling as _pooling,
    pooling_grad as _pooling_grad,
    softmax_pooling as _softmax_pooling,
    softmax_pooling_grad as _softmax_pooling_grad,
    stochastic_pooling as _stochastic_pooling,
    stochastic_pooling_grad as _stochastic_pooling_grad,
    unfolding as _unfolding,
)
from reference.operators.morphology import dilation as _dilation, dilation_grad as _dilation_grad
from reference.operators.normalization import (
    response_normalization as _response_normalization,
    response_normalization_grad as _response_normalization_grad,
)
from reference.operators.quantization import convolution as _quantized_convolution, quantizing as _quantization
from reference.operators.resampling import (
    affine_grids as _affine_grids,
    deform_conv as _deform_conv,
    grid_sampling as _grid_sampling,
    resizing as _resizing,
)
from reference.registry import OPERATORS, values_only

max_pool = values_only(_pooling.max_pool)
min_pool = values_only(_pooling.min_pool)
avg_pool = values_only(_pooling.avg_pool)
lp_pool = values_only(_lp_pooling.lp_pool)
softmax_pool = values_only(_softmax_pooling.softmax_pool)
max_pool_with_indices = values_only(_max_pool_indices.max_pool_with_indices)
max_unpool = values_only(_max_pool_indices.max_unpool)
global_max_pool = values_only(_adaptive_pooling.global_max_pool)
global_avg_pool = values_only(_adaptive_pooling.global_avg_pool)
adaptive_max_pool = values_only(_adaptive_pooling.adaptive_max_pool)
adaptive_avg_pool = values_only(_adaptive_pooling.adaptive_avg_pool)
fractional_max_pool = values_only(_fractional_pooling.fractional_max_pool)
stochastic_pool_probabilities = values_only(_stochastic_pooling.stochastic_pool_probabilities)
stochastic_pool = values_only(_stochastic_pooling.stochastic_pool)
pad = values_only(_padding.pad)
conv = values_only(_convolution.conv)
deform_conv = values_only(_deform_conv.deform_conv)
deform_conv_grad = values_only(_deform_conv.deform_conv_grad)
conv_transpose = values_only(_conv_transpose.conv_transpose)
max_pool_grad = values_only(_pooling_grad.max_pool_grad)
min_pool_grad = values_only(_pooling_grad.min_pool_grad)
avg_pool_grad = values_only(_pooling_grad.avg_pool_grad)
lp_pool_grad = values_only(_lp_pooling_grad.lp_pool_grad)
softmax_pool_grad = values_only(_softmax_pooling_grad.softmax_pool_grad)
global_max_pool_grad = values_only(_adaptive_pooling_grad.global_max_pool_grad)
global_avg_pool_grad = values_only(_adaptive_pooling_grad.global_avg_pool_grad)
adaptive_max_pool_grad = values_only(_adaptive_pooling_grad.adaptive_max_pool_grad)
adaptive_avg_pool_grad = values_only(_adaptive_pooling_grad.adaptive_avg_pool_grad)
conv_grad = values_only(_convolution_grad.conv_grad)
conv_transpose_grad = values_only(_convolution_grad.conv_transpose_grad)
max_pool_with_indices_grad = values_only(_indexed_grad.max_pool_with_indices_grad)
max_unpool_grad = values_only(_indexed_grad.max_unpool_grad)
fractional_max_pool_grad = values_only(_indexed_grad.fractional_max_pool_grad)
stochastic_pool_grad = values_only(_stochastic_pooling_grad.stochastic_pool_grad)
stochastic_pool_probabilities_grad = values_only(_stochastic_pooling_grad.stochastic_pool_probabilities_grad)
pad_grad = values_only(_indexed_grad.pad_grad)
resize = values_only(_resizing.resize)
resize_grad = values_only(_resizing.resize_grad)
grid_sample = values_only(_grid_sampling.grid_sample)
grid_sample_grad = values_only(_grid_sampling.grid_sample_grad)
affine_grid = values_only(_affine_grids.affine_grid)
affine_grid_grad = values_only(_affine_grids.affine_grid_grad)
depth_to_space = values_only(_blocks.depth_to_space)
depth_to_space_grad = values_only(_blocks.depth_to_space_grad)
space_to_depth = values_only(_blocks.space_to_depth)
space_to_depth_grad = values_only(_blocks.space_to_depth_grad)
unfold = values_only(_unfolding.unfold)
unfold_grad = values_only(_unfolding.unfold_grad)
fold = values_only(_unfolding.fold)
fold_grad = values_only(_unfolding.fold_grad)
lrn = values_only(_response_normalization.lrn)
lrn_grad = values_only(_response_normalization_grad.lrn_grad)
dilation2d = values_only(_dilation.dilation2d)
dilation2d_grad = values_only(_dilation_grad.dilation2d_grad)
quantize = values_only(_quantization.quantize)
dequantize = values_only(_quantization.dequantize)
quantized_avg_pool = values_only(_quantization.quantized_avg_pool)
quantized_conv = values_only(_quantized_convolution.quantized_conv)
conv_integer = values_only(_quantized_convolution.conv_integer)

__all__ = [
    "OPERATORS",
    "Exact",
    "NoBound",
    "ResampledAxis",
    "Windows",
    "adaptive_avg_pool",
    "adaptive_avg_pool_grad",
    "adaptive_max_pool",
    "adaptive_max_pool_grad",
    "affine_grid",
    "affine_grid_grad",
    "avg_pool",
    "avg_pool_grad",
    "conv",
    "conv_grad",
    "conv_integer",
    "conv_transpose",
    "conv_transpose_grad",
    "deform_conv",
    "deform_conv_grad",
    "depth_to_space",
    "depth_to_space_grad",
    "dequantize",
    "dilation2d",
    "dilation2d_grad",
    "fold",
    "fold_grad",
    "fractional_max_pool",
    "fractional_max_pool_grad",
    "global_avg_pool",
    "global_avg_pool_grad",
    "global_max_pool",
    "global_max_pool_grad",
    "grid_sample",
    "grid_sample_grad",
    "lp_pool",
    "lp_pool_grad",
    "lrn",
    "lrn_grad",
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
    "quantize",
    "quantized_avg_pool",
    "quantized_conv",
    "resampled_axes",
    "resize",
    "resize_grad",
    "round_to",
    "softmax_pool",
    "softmax_pool_grad",
    "space_to_depth",
    "space_to_depth_grad",
    "stochastic_pool",
    "stochastic_pool_grad",
    "stochastic_pool_probabilities",
    "stochastic_pool_probabilities_grad",
    "unfold",
    "unfold_grad",
]
