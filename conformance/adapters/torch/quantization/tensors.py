"""PyTorch: quantization by tensors of quantized dtypes, and by the operators of exported programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.adapters.api import Code, Step, Unsupported, as_lines, call, number, per_axis
from conformance.adapters.api.quantization.formulas import (
    LIMITS,
    QuantizationRecipe,
    channel_numbers,
    is_per_channel,
    unsupported_quantization,
    values_text,
)
from conformance.adapters.torch import pooling
from conformance.adapters.torch.calls import functional_call
from conformance.cases.operators import Formula, Rounding, RoundMode

AVERAGED_RANKS = (2, 3)
VECTOR_CHANNELS = 16
MIXED_FORMULAS = Unsupported("with channels last, each 16 channels have another formula than the channels after them")
NO_AVERAGED_RANK = Unsupported("averages of quantized tensors have two or three spatial axes")
NO_AVERAGED_WINDOWS = Unsupported("averages of quantized tensors have neither unequal padding nor dilation")
NO_LARGE_PADDING = Unsupported('"pad should be at most half of effective kernel size"')
OTHER_DTYPES = Unsupported("quantized tensors of eight bits have numbers of int8 or uint8")
ONLY_UINT8_PLANES = Unsupported("QNNPACK averages planes of uint8; other averages have the same kernels in each engine")
ONE_CELL = Unsupported('a window of one cell: "createStatus == pytorch_qnnp_status_success INTERNAL ASSERT FAILED"')
ROUNDED_UP = Unsupported("with ceil_mode, averages have the same kernels in each engine")
NO_VOLUMES = Unsupported("QNNPACK backend doesn't support of quantized_max_pool3d")
# Max pooling selects numbers, so that any scale and zero point give the same result.
SCALE = 0.5
ZERO_POINT = 3
QNNPACK_LINE = 'torch.backends.quantized.engine = "qnnpack"'
QUANTIZED_NAMES = {"int8": "torch.qint8", "uint8": "torch.quint8"}
DECOMPOSED_IMPORT = "from torch.ao.quantization.fx import _decomposed  # registers torch.ops.quantized_decomposed"
NO_RECIPROCAL_OF_FLOAT32 = Unsupported(
    "the reciprocal of a scale is computed in float64, before it is rounded to float32"
)
RECIPE = QuantizationRecipe(
    array="torch.tensor({values}, dtype=torch.float32)",
    wide="x.double()",
    rounded={
        RoundMode.HALF_EVEN: "torch.round(x)",
        RoundMode.HALF_AWAY: "torch.trunc(x + torch.copysign(torch.tensor(0.5), x))",
        RoundMode.HALF_UP: "torch.floor(x + 0.5)",
        RoundMode.TOWARD_ZERO: "torch.trunc(x)",
    },
    limited="x.clamp({least}, {most})",
    narrow="x.to(torch.{dtype})",
)


def quantize(step: Step) -> Code:
    """Return the call: for a whole tensor it rounds product and sum once, for channels each of them."""
    per_channel = is_per_channel(step, "y")
    name = "quantize_per_channel" if per_channel else "quantize_per_tensor"
    formula = Formula.RECIPROCAL_PLUS_ZERO_POINT if per_channel else Formula.FUSED
    unsupported = unsupported_quantization(step, formula, name)
    if unsupported:
        return unsupported
    dtype = QUANTIZED_NAMES[step.parameters["output_dtype"]]
    if not per_channel:
        return f"torch.quantize_per_tensor(x, {_scalars(step, 'y')}, {dtype}).int_repr()"
    return (*_channel_lines(step, "y"), f"x = torch.quantize_per_channel(x, scale, zero, 1, {dtype}).int_repr()")


def dequantize(step: Step) -> Code:
    """Return the calls that make a quantized tensor of the numbers, and dequantize it."""
    if not is_per_channel(step, "x"):
        return f"torch._make_per_tensor_quantized_tensor(x, {_scalars(step, 'x')}).dequantize()"
    made = "torch._make_per_channel_quantized_tensor(x, scale, zero, 1)"
    return (*_channel_lines(step, "x"), f"x = {made}.dequantize()")


def avg_pool(memory_format: str, formula: Formula, step: Step) -> Code:
    """Return the average of a quantized tensor. Its formula depends on the memory format, "" for channels first."""
    if step.rank not in AVERAGED_RANKS:
        return NO_AVERAGED_RANK
    if memory_format and step.shape[1] < VECTOR_CHANNELS:  # the channels after the last whole vector
        formula = Formula.RECIPROCAL_PLUS_ZERO_POINT
    elif memory_format and step.shape[1] % VECTOR_CHANNELS:
        return MIXED_FORMULAS
    unsupported = unsupported_quantization(step, formula, f"avg_pool{step.rank}d {memory_format}".strip())
    given, symmetric = step.parameters, step.symmetric
    if unsupported or symmetric is None or step.dilated or given["rounding"] == Rounding.FULL:
        return unsupported or NO_AVERAGED_WINDOWS
    if any(2 * pad > window for pad, window in zip(symmetric, step.window, strict=True)):
        return NO_LARGE_PADDING
    made = f"x = torch._make_per_tensor_quantized_tensor(x, 1.0, {given['x_zero_point']})"
    arguments = {
        "stride": per_axis(step.stride),
        "padding": per_axis(symmetric) if any(symmetric) else None,
        "ceil_mode": "True" if given["rounding"] == Rounding.CEIL else None,
        "count_include_pad": None if given["count_include_pad"] else "False",
        "divisor_override": None if given["divisor"] is None else str(given["divisor"]),
    }
    converted = (f"x = x.contiguous(memory_format=torch.{memory_format}{'_3d' * (step.rank == max(AVERAGED_RANKS))})",)
    window = per_axis(step.window)
    called = call(f"F.avg_pool{step.rank}d", "x", window, **arguments)
    return (made, *(converted if memory_format else ()), f"x = {called}.int_repr()")


def max_pool(step: Step) -> Code:
    """Return the maximum of a quantized tensor."""
    if step.dtype not in LIMITS:
        return OTHER_DTYPES
    code = pooling.max_pool(functional_call, replace(step, dtype="float32"))
    if isinstance(code, Unsupported):
        return replace(code, rejected_call=None)
    (text,) = as_lines(code)
    made = f"x = torch._make_per_tensor_quantized_tensor(x, {SCALE}, {ZERO_POINT})"
    return made, f"{text}.int_repr()"


def qnnpack_max_pool(step: Step) -> Code:
    """Return the maximum of a quantized tensor by QNNPACK, whose kernel is for uint8."""
    if step.dtype == "uint8" and set(step.window) == {1} and step.parameters["rounding"] != Rounding.CEIL:
        return ONE_CELL
    code = NO_VOLUMES if step.rank == max(AVERAGED_RANKS) else max_pool(step)
    return code if isinstance(code, Unsupported) else (QNNPACK_LINE, *as_lines(code))


def qnnpack_avg_pool(step: Step) -> Code:
    """Return the average of a quantized tensor by QNNPACK, whose kernel is for planes of uint8."""
    if step.dtype != "uint8" or step.rank != min(AVERAGED_RANKS):
        return ONLY_UINT8_PLANES
    if step.parameters["rounding"] == Rounding.CEIL:
        return ROUNDED_UP
    code = avg_pool("", Formula.RECIPROCAL, step)
    return code if isinstance(code, Unsupported) else (QNNPACK_LINE, *as_lines(code))


def decomposed_quantize(step: Step) -> Code:
    """Return the call of the operator of exported programs, which adds the zero point after it rounds."""
    per_channel = is_per_channel(step, "y")
    name = f"quantize_per_{'channel' if per_channel else 'tensor'}"
    if not per_channel and _rounds_reciprocal_once(step):
        return NO_RECIPROCAL_OF_FLOAT32
    unsupported = unsupported_quantization(step, Formula.RECIPROCAL, f"quantized_decomposed.{name}")
    return unsupported or _decomposed_call(step, "y", name, step.parameters["output_dtype"])


def _rounds_reciprocal_once(step: Step) -> bool:
    """Whether the reciprocal of the scale in float64 rounds to another number of float32 than that of the scale."""
    scale = float(step.parameters["y_scale"])
    return bool(np.float32(1 / scale) != np.float32(1) / np.float32(scale))


def decomposed_dequantize(step: Step) -> Code:
    """Return the call of the operator of exported programs."""
    name = f"dequantize_per_{'channel' if is_per_channel(step, 'x') else 'tensor'}"
    return _decomposed_call(step, "x", name, step.dtype)


def _decomposed_call(step: Step, prefix: str, name: str, dtype: str) -> tuple[str, ...]:
    least, most = LIMITS[dtype]
    function, ends = f"torch.ops.quantized_decomposed.{name}", f"{least}, {most}, torch.{dtype}"
    if not is_per_channel(step, prefix):
        return (DECOMPOSED_IMPORT, f"x = {function}(x, {_scalars(step, prefix)}, {ends})")
    return (DECOMPOSED_IMPORT, *_channel_lines(step, prefix), f"x = {function}(x, scale, zero, 1, {ends})")


def _scalars(step: Step, prefix: str) -> str:
    return f"{number(float(step.parameters[f'{prefix}_scale']))}, {step.parameters[f'{prefix}_zero_point']}"


def _channel_lines(step: Step, prefix: str) -> tuple[str, str]:
    scales, zeros = (values_text(channel_numbers(step, f"{prefix}_{name}")) for name in ("scale", "zero_point"))
    return f"scale = torch.tensor({scales}, dtype=torch.float32)", f"zero = torch.tensor({zeros})"
