"""Python loops that map positions: padding, unpooling, convolution, transposed convolution and their gradients."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from conformance.adapters.api import INDENT, Code, Step, crop as crop_text, number, tuple_of
from conformance.cases.operators import PadMode

# Index of the element that a mode copies to position a of an axis with n elements.
SOURCE_CELL_BY_MODE: Mapping[str, str] = {
    "constant": "a",
    "edge": "min(max(a, 0), n - 1)",
    "reflect": "n - 1 - abs(n - 1 - a % max(2 * n - 2, 1))",
    "symmetric": "min(a % (2 * n), 2 * n - 1 - a % (2 * n))",
    "wrap": "a % n",
}


def _padding_loop(step: Step, array: str, move: str) -> tuple[str, ...]:
    """Return the loop over the padded array; move: the statement that copies between `position` and `at`."""
    mode = step.parameters["mode"]
    # Negative pads have been applied before, as a crop, so that the modes see only the remaining cells.
    before = tuple_of([max(pair[0], 0) for pair in step.padding])
    source = f"at = [{SOURCE_CELL_BY_MODE[mode]} for a, n in zip(at, {array}.shape[2:])]"
    inside = f"if all(0 <= a < n for a, n in zip(at, {array}.shape[2:])):"
    return (
        f"for n, c, *position in np.ndindex{tuple_of(step.output)}:",
        f"{INDENT}at = [p - b for p, b in zip(position, {before})]",
        f"{INDENT}{inside if mode == PadMode.CONSTANT else source}",
        f"{INDENT}{INDENT * (mode == PadMode.CONSTANT)}{move}",
    )


def _crop_lines(step: Step, array: str) -> str:
    # The crop is a view, so the gradient can be added to the cells of the uncropped array.
    cropped = any(min(pair) < 0 for pair in step.padding)
    return crop_text(step, channels_last=False).replace("x", array, 1) if cropped else array


def pad(step: Step) -> Code:
    """Return lines that crop by the negative pads, then copy each element of the padded array."""
    crop = _crop_lines(step, "x")
    return (
        *(f"x = {crop}",) * (crop != "x"),
        f"y = np.full({tuple_of(step.output)}, {number(step.parameters['value'])}, x.dtype)",
        *_padding_loop(step, "x", "y[(n, c, *position)] = x[(n, c, *at)]"),
        "x = y",
    )


def pad_gradient(step: Step) -> Code:
    """Return lines that add the gradients of all copies of each element."""
    return (
        "slope = np.zeros_like(x)",
        f"inner = {_crop_lines(step, 'slope')}",
        *_padding_loop(step, "inner", "inner[(n, c, *at)] += grad[(n, c, *position)]"),
        "x = slope",
    )


def max_unpool(step: Step) -> Code:
    """Return lines that write each value at its index; index -1 is skipped."""
    return (
        f"y = np.zeros({tuple_of((*step.shape[:2], prod(step.output[2:])))}, x.dtype)",
        "for n, c, *at in np.ndindex(x.shape):",
        f"{INDENT}if indices[(n, c, *at)] >= 0:",
        f"{INDENT * 2}y[n, c, indices[(n, c, *at)]] = x[(n, c, *at)]",
        f"x = y.reshape{tuple_of(step.output)}",
    )


def max_unpool_gradient(_step: Step) -> Code:
    """Return lines that pass each gradient to the last of the values with its index."""
    return (
        "slope = np.zeros_like(x)",
        "for n, c in np.ndindex(x.shape[:2]):",
        # Of several values with one index, the last one remains, and only that one gets the gradient.
        f"{INDENT}stays = {{int(index): at for at, index in np.ndenumerate(indices[n, c])}}",
        f"{INDENT}for index, at in stays.items():",
        f"{INDENT * 2}if index >= 0:",
        f"{INDENT * 3}slope[(n, c, *at)] = grad[n, c].reshape(-1)[index]",
        "x = slope",
    )


def _product_loop(step: Step, narrow: str, wide: str, line: str) -> tuple[str, ...]:
    """Return the loop over all products of a convolution.

    narrow: the array with one element for each position of the kernel; wide: the other one. A convolution reads the
    wide array and writes the narrow one, a transposed convolution reads the narrow one and writes the wide one.
    """
    before = tuple_of([pair[0] for pair in step.padding])
    axes = f"zip(position, offset, {tuple_of(step.stride or ())}, {tuple_of(step.dilation)}, {before})"
    return (
        # A transposed convolution has its kernel as (in, out/groups), so both have the narrow channels first.
        f"share = {step.kernel[0] // step.parameters['groups']}",
        f"for n, o, *position in np.ndindex({narrow}.shape):",
        f"{INDENT}for i, *offset in np.ndindex(kernel.shape[1:]):",
        f"{INDENT * 2}c = o // share * kernel.shape[1] + i",
        f"{INDENT * 2}at = [p * s + k * d - b for p, k, s, d, b in {axes}]",
        f"{INDENT * 2}if all(0 <= a < e for a, e in zip(at, {wide}.shape[2:])):",
        f"{INDENT * 3}{line}",
    )


NARROW_INDEX, WIDE_INDEX, WEIGHT_INDEX = "(n, o, *position)", "(n, c, *at)", "(o, i, *offset)"


def _narrow_and_wide(step: Step, output: str) -> tuple[str, str]:
    """Return the names of the narrow and the wide array."""
    return ("x", output) if step.operator == "conv_transpose" else (output, "x")


def conv(step: Step) -> Code:
    """Return lines that add every product to its output element; a transposed convolution scatters."""
    narrow, wide = _narrow_and_wide(step, "y")
    read, written = (NARROW_INDEX, WIDE_INDEX) if narrow == "x" else (WIDE_INDEX, NARROW_INDEX)
    return (
        f"y = np.zeros({tuple_of(step.output)}, x.dtype)",
        *_product_loop(step, narrow, wide, f"y[{written}] += x[{read}] * kernel[{WEIGHT_INDEX}]"),
        *[f"y += bias[(..., *{(None,) * step.rank})]"] * step.bias,
        "x = y",
    )


def bias_gradient() -> Code:
    """Return lines that add all gradients of a channel: the bias adds to every output cell."""
    loop = ("for n, o, *position in np.ndindex(grad.shape):", f"{INDENT}slope[o] += grad[{NARROW_INDEX}]")
    return ("slope = np.zeros_like(bias)", *loop, "x = slope")


def conv_gradient(step: Step) -> Code:
    """Return lines that add, for every product, its gradient times one factor to the gradient of the other."""
    output = step.parameters["output"]
    if output == "bias":
        return bias_gradient()
    # All three gradients walk over the same products; they differ in the factor that they accumulate.
    narrow, wide = _narrow_and_wide(step, "grad")
    x_index, grad_index = (NARROW_INDEX, WIDE_INDEX) if narrow == "x" else (WIDE_INDEX, NARROW_INDEX)
    line = f"slope[{x_index}] += grad[{grad_index}] * kernel[{WEIGHT_INDEX}]"
    if output == "kernel":
        line = f"slope[{WEIGHT_INDEX}] += grad[{grad_index}] * x[{x_index}]"
    return (f"slope = np.zeros_like({output})", *_product_loop(step, narrow, wide, line), "x = slope")
