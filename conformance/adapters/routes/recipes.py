"""What to write in place of calls that do not survive an export.

A test runs each of them in the environments of the routes (`tests/conformance/adapters/routes/test_recipes.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from conformance.adapters.api import (
    Code,
    Lowering,
    Recipe,
    Step,
    Unsupported,
    as_lines,
    is_framework_same,
    spatial_axes,
)
from conformance.adapters.api.source_text import bins_text


def _has_other_divisor(step: Step) -> bool:
    """Whether the divisor is not the number of cells, and no window ends after the padding."""
    divisor = step.parameters.get("divisor")
    return divisor is not None and divisor != math.prod(step.window) and not any(step.windows.overhang)


def _rescaled_average(lowering: Lowering) -> Lowering:
    """Return a lowering that averages over all cells of the window, and multiplies by their number / the divisor."""

    def lower(step: Step) -> Code:
        code = lowering(step.with_parameters(divisor=None, count_include_pad=True))
        factor = f"{math.prod(step.window)} / {step.parameters['divisor']}"
        return code if isinstance(code, Unsupported) else (*as_lines(code), f"x = x * ({factor})")

    return lower


def _has_unequal_bins(step: Step) -> bool:
    sizes = zip(step.shape[2:], step.parameters["output_size"], strict=True)
    return any(count and extent % count for extent, count in sizes)


def _sliced_maximum(step: Step) -> Code:
    """Return the maxima of the slices of each axis, one axis after the other."""
    axes = zip(spatial_axes(step), step.shape[2:], step.parameters["output_size"], strict=True)
    return tuple(
        f"x = torch.stack([x.narrow({axis}, a, b - a).amax({axis}) for a, b in {bins_text(extent, count)}], {axis})"
        for axis, extent, count in axes
    )


def torch_recipes(lowerings: Mapping[str, Lowering]) -> Mapping[str, Recipe]:
    """Return the recipes of the routes from PyTorch to ONNX. lowerings: those of the source."""
    average = _rescaled_average(lowerings["avg_pool"])
    refused = "both exporters refuse sizes that do not divide the extent"
    return {
        "avg_pool": Recipe("both exporters leave the divisor out", _has_other_divisor, average),
        "adaptive_max_pool": Recipe(refused, _has_unequal_bins, _sliced_maximum),
    }


def _has_padding_by_numbers(step: Step) -> bool:
    return step.padded and not is_framework_same(step)


def tensorflow_lite_recipes(_lowerings: Mapping[str, Lowering]) -> Mapping[str, Recipe]:
    """Return the recipes of the routes from TensorFlow to LiteRT."""
    return {"max_pool": Recipe("the converter refuses padding by numbers", _has_padding_by_numbers)}


def _leaves_cells_after_one_window(step: Step) -> bool:
    if step.padded or step.stride is None or {*step.stride} == {1}:
        return False
    return {*step.windows.output} == {1} and _covered_cells(step) != step.shape[2:]


def _covered_cells(step: Step) -> tuple[int, ...]:
    """Return the number of cells from the first to the last one of a window, on each axis."""
    return tuple(dilation * (size - 1) + 1 for size, dilation in zip(step.window, step.dilation, strict=True))


def _cropped_to_one_window(lowering: Lowering) -> Lowering:
    """Return a lowering that leaves out the cells after the only window."""

    def lower(step: Step) -> Code:
        covered = _covered_cells(step)
        code = lowering(replace(step, shape=(*step.shape[:2], *covered)))
        slices = ", ".join(f":{count}" for count in covered)
        return code if isinstance(code, Unsupported) else (f"x = x[:, :, {slices}]", *as_lines(code))

    return lower


def iree_recipes(lowerings: Mapping[str, Lowering]) -> Mapping[str, Recipe]:
    """Return the recipes of the route from JAX to IREE. lowerings: those of the source."""
    reason = "IREE does not compile one window, with a stride other than 1, that leaves cells over"
    return {
        name: Recipe(reason, _leaves_cells_after_one_window, _cropped_to_one_window(lowerings[name]))
        for name in ("max_pool", "min_pool")
    }


def _is_bilinear_geometry(step: Step) -> bool:
    """Whether a transposed convolution has one channel and, on each axis, the geometry of bilinear upsampling."""
    axes = zip(step.stride or (), step.window, step.padding, strict=True)
    return step.kernel[:2] == (1, 1) and all(
        stride > 1 and size == 2 * stride - 1 and pair == (stride - 1, stride - 1) for stride, size, pair in axes
    )


def _cropped_transpose(lowering: Lowering) -> Lowering:
    """Return a lowering that computes one more cell at both ends of each axis, and crops it."""

    def lower(step: Step) -> Code:
        padding = tuple((before - 1, after - 1) for before, after in step.padding)
        code = lowering(step.with_parameters(padding=padding))
        slices = ", ".join(["1:-1"] * step.rank)
        return code if isinstance(code, Unsupported) else (*as_lines(code), f"x = x[:, :, {slices}]")

    return lower


def jax2tf_recipes(lowerings: Mapping[str, Lowering]) -> Mapping[str, Recipe]:
    """Return the recipes of the route from JAX to LiteRT. lowerings: those of the source."""
    return {
        "conv_transpose": Recipe(
            "the converter replaces this geometry with one channel by bilinear resizing, without the kernel",
            _is_bilinear_geometry,
            _cropped_transpose(lowerings["conv_transpose"]),
        )
    }


PLANE_RANK = 2


def _merged_batch(lowering: Lowering) -> Lowering:
    """Return a lowering that computes with the batch and the channels as one axis."""

    def lower(step: Step) -> Code:
        code = lowering(step)
        if isinstance(code, Unsupported):
            return code
        # Windows and strides have a 1, and paddings a pair of zeros, for each of the two axes.
        lines = (line.replace("(1, 1, ", "(1, ").replace("((0, 0), (0, 0), ", "((0, 0), ") for line in as_lines(code))
        batch, channels = step.shape[:2]
        return ("x = x.reshape(-1, *x.shape[2:])", *lines, f"x = x.reshape({batch}, {channels}, *x.shape[1:])")

    return lower


def jax2onnx_recipes(lowerings: Mapping[str, Lowering]) -> Mapping[str, Recipe]:
    """Return the recipes of the route from JAX through jax2onnx. lowerings: those of the source."""
    reason = "the model has a maximum of an image with four spatial axes, which ONNX Runtime refuses"
    return {"max_pool": Recipe(reason, lambda step: step.rank == PLANE_RANK, _merged_batch(lowerings["max_pool"]))}


def _with_kernel_shape(lowering: Lowering) -> Lowering:
    """Return a lowering whose node has the attribute `kernel_shape`."""

    def lower(step: Step) -> Code:
        code = lowering(step)
        return f"{code[:-1]}, kernel_shape={[*step.window]})" if isinstance(code, str) else code

    return lower


def onnx2tf_recipes(lowerings: Mapping[str, Lowering]) -> Mapping[str, Recipe]:
    """Return the recipes of the route from ONNX through onnx2tf. lowerings: those of the source."""
    reason = "onnx2tf refuses the node without the attribute kernel_shape, which ONNX does not require"
    lowering = _with_kernel_shape(lowerings["conv_transpose"])
    return {"conv_transpose": Recipe(reason, lambda _step: True, lowering)}
