"""IREE: nodes that its compiler does not lower, with the operation of its message "failed to legalize operation"."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.adapters.api import Step, Unsupported
from conformance.adapters.api.quantization.requantization import has_powers_of_two
from conformance.adapters.api.resizing.rules import excludes_outside
from conformance.adapters.onnx.dtypes import unsupported_by_schema, unsupported_output_padding
from conformance.cases.operators import Coordinates, OutsideMode, PadMode, ResizeMode

COVERAGE = "https://github.com/iree-org/iree/issues/24378"
PLANE_RANK = 2


def _not_lowered(name: str, issue: str = COVERAGE) -> Unsupported:
    return Unsupported(f'"failed to legalize operation": {name}', issue)


NODES: Mapping[str, Unsupported] = {
    "fold": _not_lowered("onnx.Col2Im", "https://github.com/llvm/torch-mlir/pull/4012"),
    "deform_conv": _not_lowered("torchvision.deform_conv2d", "https://github.com/llvm/torch-mlir/pull/3469"),
    "affine_grid": _not_lowered("onnx.AffineGrid"),
    "max_unpool": _not_lowered("onnx.MaxUnpool"),
}
"""Nodes that are never lowered."""
NO_QUANTIZED_ROWS = _not_lowered("torch.aten.convolution of integers with one spatial axis")
NO_QUANTIZED_GROUPS = _not_lowered("torch.aten.convolution of integers with groups and three spatial axes")
NO_CHANNEL_ZERO_POINTS = _not_lowered("a convolution of integers with zero points of channels")
NO_FORMULA = Unsupported(
    "QLinearConv rounds sum · (x_scale · w_scale) and the quotient by y_scale to float32, a formula that no case has"
)
NO_WRAP = Unsupported("Pad with the mode wrap is not compiled within 60 s, for 1 to 4 cells before 3")
NO_AUTO_PAD = _not_lowered("onnx.ConvTranspose with auto_pad")
NO_GRID = _not_lowered("onnx.GridSample with this mode, padding or rank")
NO_GRID_DTYPE = Unsupported(
    "GridSample of float16 and float64: \"'arith.divf' op requires the same type for all operands and results\""
)
NO_BFLOAT16 = Unsupported("the runtime takes NumPy arrays, and NumPy has no bfloat16")
NO_RESIZE = _not_lowered("onnx.Resize with these attributes")
OLD_RESIZE: Mapping[str, Unsupported] = {"Resize(x, scales": _not_lowered("onnx.Resize of opset 10")}
NO_LINEAR_RANK = _not_lowered("torch.aten.__interpolate of one or three spatial axes")
NO_RESIZE_DTYPE = Unsupported("linear and cubic Resize of float16 and float64: \"'arith.mulf' op requires the same …\"")
CUBIC_A = -0.75
NEAREST_COORDINATES = frozenset({Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC})
FURTHER_COORDINATES = frozenset(
    {Coordinates.ALIGN_CORNERS, Coordinates.HALF_PIXEL_SYMMETRIC, Coordinates.PYTORCH_HALF_PIXEL}
)


def _pad_limit(step: Step) -> Unsupported | None:
    return NO_WRAP if step.parameters["mode"] == PadMode.WRAP else None


def _word_limit(step: Step) -> Unsupported | None:
    return NO_AUTO_PAD if isinstance(step.parameters.get("padding"), str) else None


def _integer_limit(step: Step) -> Unsupported | None:
    if step.rank == 1:
        return NO_QUANTIZED_ROWS
    if step.rank > PLANE_RANK and step.parameters.get("groups", 1) > 1:
        return NO_QUANTIZED_GROUPS
    return NO_CHANNEL_ZERO_POINTS if isinstance(step.parameters.get("w_zero_point"), (list, tuple)) else None


def _quantized_limit(step: Step) -> Unsupported | None:
    # A convention leaves the formula out, and observes the call.
    has_formula = "requantization" not in step.parameters or has_powers_of_two(step)
    return _integer_limit(step) or (None if has_formula else NO_FORMULA)


def _grid_limit(step: Step) -> Unsupported | None:
    is_lowered = step.parameters.get("padding_mode", OutsideMode.ZEROS) == OutsideMode.ZEROS
    is_cubic = step.parameters.get("mode") == ResizeMode.CUBIC
    if not is_lowered or is_cubic or step.rank != PLANE_RANK:
        return NO_GRID
    return None if step.dtype == "float32" else NO_GRID_DTYPE


def _resize_limit(step: Step) -> Unsupported | None:
    given = step.parameters
    is_nearest = given["mode"] == ResizeMode.NEAREST
    coordinates = given.get("coordinates", Coordinates.HALF_PIXEL)
    lowered = NEAREST_COORDINATES if is_nearest else NEAREST_COORDINATES | FURTHER_COORDINATES
    has_other_cubic = given["mode"] == ResizeMode.CUBIC and given.get("cubic_a", CUBIC_A) != CUBIC_A
    if coordinates not in lowered or given.get("antialias") or excludes_outside(step) or has_other_cubic:
        return NO_RESIZE
    if is_nearest:
        return None
    return NO_LINEAR_RANK if step.rank != PLANE_RANK else None if step.dtype == "float32" else NO_RESIZE_DTYPE


LIMITS: Mapping[str, Callable[[Step], Unsupported | None]] = {
    "conv_integer": _integer_limit,
    "conv_transpose": _word_limit,
    "quantized_conv": _quantized_limit,
    "grid_sample": _grid_limit,
    "pad": _pad_limit,
    "resize": _resize_limit,
}


def node_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node: the compiler does not lower it, or the schema does not allow its dtype."""
    if step.dtype == "bfloat16":
        return NO_BFLOAT16
    if step.operator in NODES:
        return NODES[step.operator]
    limit = LIMITS[step.operator](step) if step.operator in LIMITS else None
    return limit or unsupported_by_schema(step) or unsupported_output_padding(step)
