"""The functions of an engine whose calls are recorded."""

import channels_last as last

from .arguments import dense_shape
from .convolution import record_convolution, record_separable, record_transposed
from .engine import engine
from .pooling import record_adaptive, record_pad, record_pool, record_reduction

CONVOLUTION = ("inputs", "kernel", "strides", "padding", "data_format", "dilation_rate")
TRANSPOSED = ("inputs", "kernel", "strides", "padding", "output_padding", "data_format", "dilation_rate")
SEPARABLE = ("inputs", "depthwise_kernel", "pointwise_kernel", *CONVOLUTION[2:])
POOLING = ("inputs", "pool_size", "strides", "padding", "data_format")
ADAPTIVE = ("inputs", "output_size", "data_format")
PATCHES = {
    (engine.nn, "conv"): (CONVOLUTION, record_convolution(last.kernel_first, dense_shape)),
    (engine.nn, "depthwise_conv"): (CONVOLUTION, record_convolution(last.depthwise_first, last.depthwise_shape)),
    (engine.nn, "separable_conv"): (SEPARABLE, record_separable),
    (engine.nn, "conv_transpose"): (TRANSPOSED, record_transposed),
    (engine.nn, "max_pool"): (POOLING, record_pool("max_pool")),
    (engine.nn, "average_pool"): (POOLING, record_pool("avg_pool")),
    (engine.nn, "adaptive_max_pool"): (ADAPTIVE, record_adaptive("adaptive_max_pool")),
    (engine.nn, "adaptive_average_pool"): (ADAPTIVE, record_adaptive("adaptive_avg_pool")),
    (engine.numpy, "pad"): (("x", "pad_width", "mode", "constant_values"), record_pad),
    (engine.numpy, "mean"): (("x", "axis", "keepdims"), record_reduction("mean")),
    (engine.numpy, "max"): (("x", "axis", "keepdims", "initial"), record_reduction("max")),
}
"""The functions of an engine that are recorded: the names of their arguments, and the function that records a call."""
