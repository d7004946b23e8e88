"""TensorFlow: the operations on uniformly quantized tensors of `tf.raw_ops`, whose dtypes are qint8, quint8 and qint32.

`UniformQuantize` computes floor(x * reciprocal + 1/2) + zero point in float32. `UniformRequantize` multiplies by a
number of 31 bits, and rounds half up. Compiled by XLA, both round the sum of a product and the zero point once, half to
even.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.adapters.api import Code, Step, Unsupported, as_lines, call, is_framework_same, number
from conformance.adapters.api.quantization.formulas import (
    LIMITS,
    channel_numbers,
    is_per_channel,
    unsupported_quantization,
    values_text,
)
from conformance.adapters.api.quantization.requantization import has_powers_of_two, unsupported_requantization
from conformance.cases.operators import Formula, Requantization, RoundMode

QUANTIZED_NAMES = {"int8": "tf.qint8", "uint8": "tf.quint8", "int32": "tf.qint32"}
SUM_LIMITS = (-(2**31), 2**31 - 1)
INT8_ONLY = Unsupported("UniformQuantizedConvolution takes qint8")
NO_BIAS = Unsupported("UniformQuantizedConvolution has no bias")
ROUNDED_PRODUCT = Unsupported("UniformRequantize takes the product of two scales as one number of float32")
NO_CHANNELS = Unsupported("UniformQuantize of a scale for each channel: \"failed to legalize 'chlo.broadcast_divide'\"")
NUMBERS = "UniformQuantizedConvolutionDimensionNumbersAttr"
NUMBERS_IMPORT = f"from tensorflow.core.util.quantization.uniform_quant_ops_attr_pb2 import {NUMBERS} as Axes"
Arguments = dict[str, str | None]


def quantize(step: Step) -> Code:
    """Return UniformQuantize, and the numbers of its result."""
    unsupported = unsupported_quantization(step, Formula.RECIPROCAL, "UniformQuantize", RoundMode.HALF_UP)
    return unsupported or _quantize_lines(step)


def compiled_quantize(step: Step) -> Code:
    """Return the same for XLA."""
    unsupported = unsupported_quantization(step, Formula.FUSED, "UniformQuantize")
    return (NO_CHANNELS if is_per_channel(step, "y") else unsupported) or _quantize_lines(step)


def _quantize_lines(step: Step) -> tuple[str, ...]:
    dtype = step.parameters["output_dtype"]
    arguments = {**_numbers(step, "y", ""), "Tout": QUANTIZED_NAMES[dtype], **_limits("", *LIMITS[dtype])}
    axis = _axis(step, "y", "", step.rank + 1)
    return (f"x = {_operation('UniformQuantize', 'x', **arguments, **axis)}", f"x = tf.bitcast(x, tf.{dtype})")


def dequantize(step: Step) -> Code:
    """Return UniformDequantize of a quantized tensor of the numbers."""
    arguments = {**_numbers(step, "x", ""), "Tout": "tf.float32", **_limits("", *LIMITS[step.dtype])}
    axis = _axis(step, "x", "", step.rank + 1)
    return (
        f"x = tf.bitcast(x, {QUANTIZED_NAMES[step.dtype]})",
        f"x = {_operation('UniformDequantize', 'x', **arguments, **axis)}",
    )


def conv_integer(step: Step) -> Code:
    """Return UniformQuantizedConvolution, whose scales of 1 do not change the sums."""
    code = _sums(step)
    return code if isinstance(code, Unsupported) else (*code, "x = tf.bitcast(x, tf.int32)")


def quantized_conv(formula: Requantization, round_mode: RoundMode, step: Step) -> Code:
    """Return UniformQuantizedConvolution, and UniformRequantize of its sums.

    formula, round_mode: those of the second.
    """
    if not has_powers_of_two(step):
        return ROUNDED_PRODUCT
    unsupported = unsupported_requantization(step, formula, "UniformRequantize", round_mode)
    code = unsupported or (NO_BIAS if step.bias else _sums(step))
    if isinstance(code, Unsupported):
        return code
    given = step.parameters
    scales = [float(one) * float(given["x_scale"]) for one in channel_numbers(step, "w_scale")]
    is_listed = is_per_channel(step, "w")
    arguments = {
        "input_scales": values_text(scales) if is_listed else number(scales[0]),
        "input_zero_points": _zeros(step) if is_listed else "0",
        "output_scales": number(float(given["y_scale"])),
        "output_zero_points": str(given["y_zero_point"]),
        "Tout": "tf.qint8",
        **_limits("input_", *SUM_LIMITS),
        **_limits("output_", *LIMITS["int8"]),
        "input_quantization_axis": str(step.rank + 1) if is_listed else None,
    }
    requantize = _operation("UniformRequantize", "x", **arguments)
    return (*as_lines(code), f"x = {requantize}", "x = tf.bitcast(x, tf.int8)")


def _sums(step: Step) -> tuple[str, ...] | Unsupported:
    """Return the lines of the convolution. Its result is x, of qint32."""
    if step.dtype != "int8" or (step.kernel_dtype or step.dtype) != "int8":
        return INT8_ONLY
    # Scales of 1 also for numbers of quantized_conv, so that the operation does not round.
    of_ones = replace(step, parameters={**step.parameters, "x_scale": 1, "w_scale": 1})
    is_listed, last = is_per_channel(of_ones, "w"), step.rank + 1
    ones = values_text([1] * step.channels) if is_listed else "1"
    arguments: Arguments = {
        "rhs": "tf.bitcast(kernel, tf.qint8)",
        **_numbers(of_ones, "x", "lhs_"),
        **_numbers(of_ones, "w", "rhs_"),
        "output_scales": ones,
        "output_zero_points": _zeros(step) if is_listed else "0",
        "Tout": "tf.qint32",
        **_limits("lhs_", *LIMITS["int8"]),
        **_limits("rhs_", *LIMITS["int8"]),
        **_limits("output_", *SUM_LIMITS),
        **_axis(of_ones, "w", "rhs_", last),
        **_axis(of_ones, "w", "output_", last),
        **_window_arguments(step),
        "dimension_numbers": "axes.SerializeToString()",
    }
    return (
        NUMBERS_IMPORT,
        f"axes = {_axes(step.rank)}",
        "x = tf.bitcast(x, tf.qint8)",
        f"x = {call('tf.raw_ops.UniformQuantizedConvolution', lhs='x', **arguments)}",
    )


def _window_arguments(step: Step) -> Arguments:
    pads = [side for pair in step.padding for side in pair] if not is_framework_same(step) else []
    padding = "SAME" if is_framework_same(step) else "EXPLICIT" if step.padded else "VALID"
    groups = int(step.parameters.get("groups") or 1)
    return {
        "padding": f'"{padding}"',
        "explicit_padding": _list(pads) if padding == "EXPLICIT" else None,
        "window_strides": _list(step.stride) if step.stride else None,
        "rhs_dilation": _list(step.dilation) if step.dilated else None,
        "feature_group_count": str(groups) if groups != 1 else None,
    }


def _axes(rank: int) -> str:
    """Return the numbers of the axes of x (n, *spatial, c) and of the kernel (*window, in, out) as text."""
    last, spatial, window = rank + 1, _list(range(1, rank + 1)), _list(range(rank))
    of_data = {
        f"{name}_{axis}_dimension{'s' * (axis == 'spatial')}": value
        for name in ("input", "output")
        for axis, value in (("batch", "0"), ("feature", str(last)), ("spatial", spatial))
    }
    of_kernel = {
        "kernel_input_feature_dimension": str(rank),
        "kernel_output_feature_dimension": str(last),
        "kernel_spatial_dimensions": window,
    }
    return call("Axes", **of_data, **of_kernel)


def _numbers(step: Step, prefix: str, name: str) -> Arguments:
    """Return the scales and the zero points of a tensor. name: the prefix of the arguments."""
    if not is_per_channel(step, prefix):
        scale, zero = (step.parameters[f"{prefix}_{one}"] for one in ("scale", "zero_point"))
        return {f"{name}scales": number(scale), f"{name}zero_points": str(zero)}
    scales, zeros = (values_text(channel_numbers(step, f"{prefix}_{one}")) for one in ("scale", "zero_point"))
    return {f"{name}scales": scales, f"{name}zero_points": zeros}


def _axis(step: Step, prefix: str, name: str, axis: int) -> Arguments:
    return {f"{name}quantization_axis": str(axis) if is_per_channel(step, prefix) else None}


def _limits(name: str, least: int, most: int) -> Arguments:
    return {f"{name}quantization_min_val": str(least), f"{name}quantization_max_val": str(most)}


def _zeros(step: Step) -> str:
    return values_text([0] * step.channels)


def _list(values: Sequence[int] | range) -> str:
    return str([int(value) for value in values])


def _operation(name: str, x: str, **arguments: str | None) -> str:
    return call(f"tf.raw_ops.{name}", input=x, **arguments)
