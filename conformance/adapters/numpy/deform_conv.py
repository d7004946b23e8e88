"""Deformable convolution and its gradients as Python loops, from exact coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from conformance.adapters.api import INDENT, Code, Step, tuple_of
from conformance.adapters.numpy.padding_convolution import bias_gradient
from conformance.cases.operators import OutsideMode

# The cells of an axis with e cells around a coordinate at distance t after cell i: the cell that is read, and whether
# it is.
SOURCES = {
    OutsideMode.ZEROS: ("cell", "0 <= cell < e"),
    OutsideMode.INSIDE: ("min(cell, e - 1)", "0 <= at < e"),
}
# Their weights, and the derivatives of the weights.
WEIGHTS = {"taps": "[(i, 1 - t), (i + 1, t)]", "slopes": "[(i, -1), (i + 1, 1)]"}
SAMPLE = (
    "def sample(plane, tables):",
    f"{INDENT}terms = [zip(*each) for each in itertools.product(*tables)]",
    f"{INDENT}return sum(float(math.prod(weights)) * float(plane[cells]) for cells, weights in terms)",
)
# The value of a point at a coordinate of NaN or infinity. A fraction is finite.
NOT_FINITE = (
    "if not np.isfinite(moves).all():",
    f"{INDENT}y[(n, o, *p)] = np.nan",
    f"{INDENT}continue",
)
MASK_INDEX, WEIGHT_INDEX, OUTPUT_INDEX = "(n, cell, *p)", "(o, i, *k)", "(n, o, *p)"


def _table_lines(step: Step, name: str) -> tuple[str, ...]:
    """Return the lines of a function that lists the cells of an axis that a coordinate reads, with their weights."""
    source, is_read = SOURCES[OutsideMode(step.parameters["padding_mode"])]
    return (
        f"def {name}(at, e):",
        f"{INDENT}i = math.floor(at)",
        f"{INDENT}t = at - i",
        f"{INDENT}return [({source}, weight) for cell, weight in {WEIGHTS[name]} if weight and {is_read}]",
    )


def _loop_lines(step: Step, output: str, body: tuple[str, ...], skipped: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return a loop over the outputs, and over the channels and cells of the window of each of them.

    skipped: lines for points that are not numbers.
    """
    given, before = step.parameters, tuple_of([pair[0] for pair in step.padding])
    axes = f"zip(p, k, {tuple_of(step.stride or ())}, {tuple_of(step.dilation)}, {before}, moves, x.shape[2:])"
    inner = (
        f"c = o // {step.kernel[0] // given['groups']} * kernel.shape[1] + i",
        f"group = c // {step.shape[1] // given['offset_groups']}",
        f"cell = group * {prod(step.window)} + np.ravel_multi_index(k, {tuple_of(step.window)})",
        f"moves = [float(offset[(n, cell * {step.rank} + axis, *p)]) for axis in range({step.rank})]",
        *skipped,
        f"points = [(a * s + b * d - f + Fraction(m), e) for a, b, s, d, f, m, e in {axes}]",
        *body,
    )
    return (
        *_table_lines(step, "taps"),
        *SAMPLE,
        f"for n, o, *p in np.ndindex({output}.shape):",
        f"{INDENT}for i, *k in np.ndindex(kernel.shape[1:]):",
        *(INDENT * 2 + line for line in inner),
    )


VALUE = "sample(x[n, c], [taps(*point) for point in points])"


def _factors(step: Step, *indices: str) -> str:
    """Return the product of some arrays at their indices, as text; a mask that the step lacks is left out."""
    named = zip(("grad", "kernel", "mask"), (OUTPUT_INDEX, WEIGHT_INDEX, MASK_INDEX), strict=True)
    used = [f"float({name}[{at}])" for name, at in named if name in indices and (name != "mask" or step.mask)]
    return " * ".join(used)


def deform_conv(step: Step) -> Code:
    """Return lines that add every product to its output element in float64."""
    return (
        f"y = np.zeros({tuple_of(step.output)})",
        *_loop_lines(step, "y", (f"y[{OUTPUT_INDEX}] += {_factors(step, 'kernel', 'mask')} * {VALUE}",), NOT_FINITE),
        *[f"y += bias[(..., *{(None,) * step.rank})].astype(float)"] * step.bias,
        "x = y.astype(x.dtype)",
    )


def _gradient_bodies(step: Step) -> Mapping[str, tuple[str, ...]]:
    """Return the lines that add the share of one product to the gradient of each input."""
    share = f"share = {_factors(step, 'grad', 'kernel', 'mask')}"
    tables = "[slopes(*one) if number == axis else taps(*one) for number, one in enumerate(points)]"
    return {
        "x": (
            share,
            "for terms in itertools.product(*[taps(*point) for point in points]):",
            f"{INDENT}cells, weights = zip(*terms)",
            f"{INDENT}slope[(n, c, *cells)] += float(math.prod(weights)) * share",
        ),
        "offset": (
            share,
            f"for axis in range({step.rank}):",
            f"{INDENT}slope[(n, cell * {step.rank} + axis, *p)] += share * sample(x[n, c], {tables})",
        ),
        "kernel": (f"slope[{WEIGHT_INDEX}] += {_factors(step, 'grad', 'mask')} * {VALUE}",),
        "mask": (f"slope[{MASK_INDEX}] += {_factors(step, 'grad', 'kernel')} * {VALUE}",),
    }


def deform_conv_gradient(step: Step) -> Code:
    """Return lines that compute the gradient with respect to one input, in float64."""
    output = step.parameters["output"]
    if output == "bias":
        return bias_gradient()
    slopes = _table_lines(step, "slopes") if output == "offset" else ()
    return (
        *slopes,
        f"slope = np.zeros({output}.shape)",
        *_loop_lines(step, "grad", _gradient_bodies(step)[output]),
        f"x = slope.astype({output}.dtype)",
    )
