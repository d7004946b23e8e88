"""Convolution, in the field's sense: the kernel is not turned round."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .arguments import FLOATS, INTEGERS, Array, Padding, PerAxis, image, integer, of_dtype
from .bound import SLACK
from .errorfree import DIGITS, GREATEST_EXPONENT, UNDERFLOW, Pair, cut, join, magnitude_exponent, widened
from .exact import Exact, rounded, selected
from .rounding import Position
from .windows import Windows, whole

ACCEPTED = (*FLOATS, *INTEGERS)

# Slices per factor. Beyond these an element is certain or recomputed, so the number bears on speed alone.
MAX_SLICES = 6

# Products of numbers of 53 digits whose exponents add up to less than this have digits below the subnormals.
LEAST_EXPONENT = 2 * DIGITS - 1074


def conv(
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    bias: npt.ArrayLike | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Exact:
    """Sum of products of each window with each kernel, plus bias.

    x: (n, c, *spatial); kernel: (out, c / groups, *window); bias: (out,); all of one dtype, floating or integer.
    Integers wrap. A product 0 · inf is NaN; padding takes no part in any product. Returns (n, out, *output).
    Raises ValueError if shapes do not fit or the window exceeds the padded input, TypeError for dtypes.
    Source: ONNX Conv-22, https://onnx.ai/onnx/operators/onnx__Conv.html
    """
    x = image(x, ACCEPTED)
    kernel = of_dtype("kernel", kernel, (x.dtype,))
    groups = integer("groups", groups, 1)
    _check_kernel(x, kernel, groups)
    biases = [] if bias is None else [_checked_bias(bias, kernel)]
    windows = Windows.of(x.shape[2:], kernel.shape[2:], stride, padding, dilation)
    terms = windows.counts(False) * kernel.shape[1] + len(biases)
    if x.dtype in FLOATS:
        return _convolve([x, kernel, *biases], windows, groups, terms)
    return selected(_biased(correlate(x, kernel, windows, groups), biases), terms)


def _check_kernel(x: Array, kernel: Array, groups: int) -> None:
    if kernel.ndim != x.ndim:
        raise ValueError(f"kernel has {kernel.ndim} axes {kernel.shape}: x has {x.ndim} {x.shape}")
    if 0 in kernel.shape[2:]:
        raise ValueError(f"kernel has shape {kernel.shape}: its window must be at least 1 on every axis")
    for name, channels in (("input", x.shape[1]), ("output", kernel.shape[0])):
        if channels % groups:
            raise ValueError(f"groups {groups} does not divide the {channels} {name} channels")
    if kernel.shape[1] != x.shape[1] // groups:
        raise ValueError(f"kernel takes {kernel.shape[1]} channels: x has {x.shape[1]} in {groups} groups")


def _checked_bias(bias: npt.ArrayLike, kernel: Array) -> Array:
    bias = of_dtype("bias", bias, (kernel.dtype,))
    if bias.shape != kernel.shape[:1]:
        raise ValueError(f"bias has shape {bias.shape}: expected ({kernel.shape[0]},), one per output channel")
    return bias


def _biased(total: Array, biases: Sequence[Array]) -> Array:
    """Add (out,) biases, none or one, to (n, out, *output)."""
    return sum((bias.reshape(-1, *(1,) * (total.ndim - 2)) for bias in biases), total)


def correlate(x: Array, kernel: Array, windows: Windows, groups: int) -> Array:
    """Convolve without any care for rounding: for integers, and for floats where every order gives the same sum.

    x: (n, c, *spatial), kernel: (out, c / groups, *window), one dtype. Returns (n, out, *output) of that dtype.
    """
    n, out = x.shape[0], kernel.shape[0]
    x = x.reshape(n, groups, x.shape[1] // groups, *windows.size)
    kernel = kernel.reshape(groups, out // groups, *kernel.shape[1:])
    total = np.zeros((n, groups, out // groups, *windows.output), x.dtype)
    for offsets, inputs, outputs in windows.cells():
        patch, target = x[whole(inputs)], total[whole(outputs)]
        flat = patch.reshape(*patch.shape[:3], math.prod(patch.shape[3:]))
        product = np.matmul(kernel[whole(offsets)], flat)
        target += product.reshape(target.shape)
    return total.reshape(n, out, *windows.output)


def _convolve(operands: Sequence[Array], windows: Windows, groups: int, terms: Array) -> Exact:
    """Convolve floats: x, kernel and perhaps a bias."""
    special = None
    wide = [widened(operand) for operand in operands]
    with np.errstate(all="ignore"):
        if not all(np.isfinite(operand).all() for operand in wide):
            x, kernel, *biases = (_signs(operand) for operand in wide)
            special = _biased(correlate(x, kernel, windows, groups), biases)
            wide = [np.where(np.isfinite(operand), operand, 0.0) for operand in wide]
        x, kernel, *biases = (np.abs(operand) for operand in wide)
        magnitude = _biased(correlate(x, kernel, windows, groups), biases) * (SLACK + terms * 2.0**-52)
        pair = _sums(wide, windows, groups, int(terms.max(initial=1)))
    return rounded(
        pair,
        operands[0].dtype,
        lambda position: _exactly(wide, windows, groups, position),
        special=special,
        terms=terms,
        magnitude=magnitude,
    )


def _signs(x: Array) -> Array:
    """Reduce finite numbers to −1, 0 and 1, so that a sum of products is not finite only where it must not be."""
    return np.where(np.isfinite(x), np.sign(x), x)


def _sums(operands: Sequence[Array], windows: Windows, groups: int, terms: int) -> Pair:
    """Add exactly: cut both factors into slices short enough that any order of any multiplication is exact."""
    x, kernel, *biases = operands
    shape = (x.shape[0], kernel.shape[0], *windows.output)
    x_exponent, kernel_exponent, *others = (magnitude_exponent(operand) or 0 for operand in operands)
    if max(x_exponent, kernel_exponent, x_exponent + kernel_exponent, *others) > GREATEST_EXPONENT:
        return join([], shape, np.inf)
    width = (DIGITS - terms.bit_length()) // 2
    x_slices, x_rest = cut(x, width, MAX_SLICES)
    kernel_slices, kernel_rest = cut(kernel, width, MAX_SLICES)
    parts = [correlate(a, b, windows, groups) for a in x_slices for b in kernel_slices]
    lost = terms * (x_rest * 2.0**kernel_exponent + kernel_rest * 2.0**x_exponent)
    if _least_exponent(x) + _least_exponent(kernel) < LEAST_EXPONENT:
        lost += terms * len(parts) * UNDERFLOW
    return join([*parts, *(_biased(np.zeros(shape), [bias]) for bias in biases)], shape, lost)


def _least_exponent(x: Array) -> int:
    sizes = np.abs(x[x != 0])
    return math.frexp(float(sizes.min()))[1] if sizes.size else 0


def _exactly(operands: Sequence[Array], windows: Windows, groups: int, position: Position) -> Fraction:
    """Return the sum of one window in rational arithmetic."""
    x, kernel, *biases = operands
    n, out, *spatial = position
    cells, inputs = windows.inside(spatial)
    channels = kernel.shape[1]
    first = out // (kernel.shape[0] // groups) * channels
    planes, weights = x[n, first : first + channels], kernel[out]
    pairs = zip(planes[whole(inputs)].ravel().tolist(), weights[whole(cells)].ravel().tolist(), strict=True)
    terms = [Fraction(a) * Fraction(b) for a, b in pairs]
    return sum([*terms, *(Fraction(float(bias[out])) for bias in biases)], Fraction(0))
