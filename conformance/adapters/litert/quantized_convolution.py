"""LiteRT: convolutions of int8 and uint8. Each set of kernels has a formula and a rounding rule."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, number
from conformance.adapters.api.quantization.formulas import is_listed, is_per_channel, listed, values_text
from conformance.adapters.api.quantization.requantization import unsupported_requantization
from conformance.adapters.litert.convolution import grouped_conv
from conformance.adapters.litert.options import (
    EXPAND_LINE,
    KERNEL_LINE,
    SQUEEZE_LINE,
    VOLUME_RANK,
    as_plane,
    first_reason,
)
from conformance.cases.operators import Requantization, RoundMode

NO_MIXED_DTYPES = Unsupported("CONV_2D has no kernel for weights of another dtype than x")
NO_WEIGHT_ZERO_POINT = Unsupported("weights of int8 have the zero point 0")
NO_CHANNELS = Unsupported("weights of uint8 have one scale and one zero point")
NO_VOLUMES = Unsupported("CONV_3D has no kernel for numbers of eight bits")


def conv(formula: Requantization, round_mode: RoundMode, step: Step) -> Code:
    """Return CONV_2D of quantized tensors; the bias has the product of the scales of x and of the weights."""
    given = step.parameters
    unsupported = first_reason(
        (step.dtype != step.kernel_dtype, NO_MIXED_DTYPES),
        (step.rank == VOLUME_RANK, NO_VOLUMES),
        (step.dtype == "int8" and any(listed(given["w_zero_point"])), NO_WEIGHT_ZERO_POINT),
        (step.dtype == "uint8" and is_per_channel(step, "w"), NO_CHANNELS),
    ) or unsupported_requantization(step, formula, "CONV_2D", round_mode)
    plane = as_plane(step) if step.rank == 1 else step
    code = unsupported or grouped_conv(plane, "bias" if step.bias else f"np.zeros({step.kernel[0]}, np.int32)")
    if isinstance(code, Unsupported):
        return code
    of_weights = values_text(given["w_scale"]) if is_listed(given["w_scale"]) else number(given["w_scale"])
    quantize_x = f"graph.quantize(x, x_scale, {given['x_zero_point']})"
    quantize_y = f"graph.quantize(x, {number(given['y_scale'])}, {given['y_zero_point']})"
    is_row = step.rank == 1
    zero = "" if step.dtype == "int8" else f", {given['w_zero_point']}"
    return (
        f"x_scale, w_scale = np.float32({number(given['x_scale'])}), np.float32({of_weights})",
        quantize_x,
        *(EXPAND_LINE, KERNEL_LINE, quantize_x) * is_row,
        f"x = {code}",
        "_, weights, bias = graph.graph.operators[-1].inputs",
        f"graph.quantize(weights, w_scale{zero})",
        "graph.quantize(bias, x_scale * w_scale)",
        quantize_y,
        # Both lines around the operator change no value, so the program counts as one call.
        *(SQUEEZE_LINE, quantize_y) * is_row,
    )
