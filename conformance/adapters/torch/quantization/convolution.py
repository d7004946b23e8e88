"""PyTorch: convolutions of quantized tensors, by each engine that computes them."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, Unsupported, call, number, per_axis, too_many_axes
from conformance.adapters.api.quantization.formulas import channel_numbers, is_per_channel, listed, values_text
from conformance.adapters.api.quantization.requantization import has_powers_of_two, unsupported_requantization
from conformance.cases.operators import Requantization
from reports.results.vocabulary import Word


class Engine(Word):
    """An engine of quantized tensors."""

    FBGEMM = "fbgemm"
    ONEDNN = "onednn"
    QNNPACK = "qnnpack"


FORMULAS: Mapping[Engine, Requantization] = {
    Engine.FBGEMM: Requantization.PRODUCT,
    Engine.ONEDNN: Requantization.STEPWISE,
    Engine.QNNPACK: Requantization.RECIPROCAL,
}
NO_SIGNED_INPUT = Unsupported('"Only torch.quint8 is supported for activation tensor!"')
NO_UNSIGNED_WEIGHTS = Unsupported('"Only torch.qint8 is supported for weight tensor!"')
NO_WEIGHT_ZERO_POINT = Unsupported(
    '"ONEDNN only supports symmetric quantization of weight, whose zero point must be 0."'
)
NO_UNEQUAL_PADDING = Unsupported("convolution has one padding for both ends of an axis")
NO_ROUNDED_BIAS = Unsupported("the bias is a number of float32, and its quotient by the scales is rounded")


def conv(engine: Engine, step: Step) -> Code:
    """Return the convolution of a quantized tensor of the numbers of x, with a bias in float32."""
    unsupported = (
        too_many_axes(step) or _unsupported_numbers(engine, step) or _unsupported_bias(engine, step)
    ) or unsupported_requantization(step, FORMULAS[engine], engine)
    if unsupported or step.symmetric is None:
        return unsupported or NO_UNEQUAL_PADDING
    given = step.parameters
    x_scale, y_scale = (number(float(given[name])) for name in ("x_scale", "y_scale"))
    arguments = {
        "stride": per_axis(step.stride or (1,) * step.rank),
        "padding": per_axis(step.symmetric),
        "dilation": per_axis(step.dilation),
        "groups": str(given["groups"]),
        "scale": y_scale,
        "zero_point": str(given["y_zero_point"]),
    }
    bias = "bias" if step.bias else "None"
    called = call(f"torch.ao.nn.quantized.functional.conv{step.rank}d", "x", "kernel", bias, **arguments)
    return (
        f'torch.backends.quantized.engine = "{engine}"',
        f"x = torch._make_per_tensor_quantized_tensor(x, {x_scale}, {given['x_zero_point']})",
        *_weight_lines(step),
        *((f"bias = (bias.double() * {x_scale} * {_scale_of_weights(step)}).float()",) if step.bias else ()),
        f"x = {called}.int_repr()",
    )


def _weight_lines(step: Step) -> tuple[str, ...]:
    """Return the lines that make a quantized tensor of the weights."""
    if not is_per_channel(step, "w"):
        zero_point = step.parameters["w_zero_point"]
        return (f"kernel = torch._make_per_tensor_quantized_tensor(kernel, {_scale_of_weights(step)}, {zero_point})",)
    numbers, zeros = (values_text(channel_numbers(step, f"w_{name}")) for name in ("scale", "zero_point"))
    return (
        f"scale = torch.tensor({numbers}, dtype=torch.float32)",
        f"zero = torch.tensor({zeros})",
        "kernel = torch._make_per_channel_quantized_tensor(kernel, scale, zero, 0)",
    )


def _scale_of_weights(step: Step) -> str:
    return "scale.double()" if is_per_channel(step, "w") else number(float(step.parameters["w_scale"]))


def _unsupported_numbers(engine: Engine, step: Step) -> Unsupported | None:
    """Return the reason if the engine has no convolution of these dtypes or zero points."""
    if step.dtype != "uint8":
        return NO_SIGNED_INPUT
    if step.kernel_dtype == "uint8":
        return NO_UNSIGNED_WEIGHTS
    has_zero_point = any(listed(step.parameters["w_zero_point"]))
    return NO_WEIGHT_ZERO_POINT if engine is Engine.ONEDNN and has_zero_point else None


def _unsupported_bias(engine: Engine, step: Step) -> Unsupported | None:
    """Return the reason if the bias changes the sum. QNNPACK makes whole numbers of it first."""
    is_exact = not step.bias or engine is Engine.QNNPACK or has_powers_of_two(step)
    return None if is_exact else NO_ROUNDED_BIAS
