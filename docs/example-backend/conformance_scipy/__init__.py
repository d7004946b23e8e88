"""Adapter for SciPy: pooling with the filters of `scipy.ndimage`, convolution with `scipy.signal`.

Both compute a result at every position inside the input. Slices of this result give the strides.
"""

from functools import partial

from conformance.adapters.api import (
    FLOATS,
    ArrayOperations,
    Code,
    Lowering,
    PoolingCompositions,
    StackedCells,
    Step,
    Surface,
    Unsupported,
    call,
    number,
    pairs_of,
    slices,
    tuple_of,
)

PACKAGES = ("scipy", "numpy")
SETUP = "import numpy as np\nfrom scipy import ndimage, signal, special\n"
RESET = ""
INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FILTERS = {"max": "maximum_filter", "min": "minimum_filter", "avg": "uniform_filter"}
NOT_NATIVE = Unsupported("SciPy computes every position inside the input; strides are slices, padding is explicit")


def _is_native(step: Step) -> bool:
    """Whether every window is inside the input and has no dilation.

    SciPy validates few parameters, so invalid ones are never passed to it.
    """
    try:
        has_windows = step.stride is not None and all(step.windows.output) and all(step.shape)
    except ValueError:
        return False
    return has_windows and not step.padded and not step.dilated and step.parameters.get("rounding", "floor") == "floor"


def _selected(step: Step, starts: list[int]) -> str:
    """Return slices that select the positions of the windows; `starts` is the first position on each axis."""
    axes = zip(starts, step.windows.output, step.windows.stride, strict=True)
    return slices([f"{at}:{at + (n - 1) * stride + 1}:{stride}" for at, n, stride in axes], channels_last=False)


def _filtered(name: str, step: Step) -> Code:
    if not _is_native(step) or step.parameters.get("divisor") is not None:
        return NOT_NATIVE
    centers = [window // 2 for window in step.window]
    return call(f"ndimage.{name}", "x", tuple_of((1, 1, *step.window))) + _selected(step, centers)


def _correlated(step: Step) -> Code:
    if not _is_native(step) or step.parameters["groups"] != 1 or step.shape[1] != step.kernel[1]:
        return NOT_NATIVE
    each = 'signal.correlate(image, weights, "valid", "direct")[0]'
    sums = f"np.array([[{each} for weights in kernel] for image in x])" + _selected(step, [0] * step.rank)
    return f"{sums} + bias.reshape{tuple_of([-1] + [1] * step.rank)}" if step.bias else sums


def _pad(step: Step) -> Code:
    if step.parameters["mode"] != "constant":
        return Unsupported("explicit padding before a filter supports only mode constant")
    pairs = pairs_of([(0, 0), (0, 0), *step.padding])
    return call("np.pad", "x", pairs, constant_values=number(step.parameters["value"]))


# Operators that SciPy lacks are composed of operations on a stack with one slice for each cell of the window.
OPERATIONS = ArrayOperations(
    stack="np.stack({list}{axis})",
    softmax="special.softmax({x}, 0)",
    norm="np.linalg.norm({x}, {p}, {axes})",
)
COMPOSED = PoolingCompositions(OPERATIONS, StackedCells(OPERATIONS.stack), _pad)
FALLBACKS: dict[str, Lowering] = {
    "lp_pool": COMPOSED.lp_pool,
    "softmax_pool": COMPOSED.softmax_pool,
    "adaptive_max_pool": partial(COMPOSED.adaptive_pool_by_axis, "max"),
}
POOLS = {f"{kind}_pool": partial(_filtered, name) for kind, name in FILTERS.items()}
CONV = {"conv": lambda step: Unsupported("signal.correlate adds no bias") if step.bias else _correlated(step)}
BUILDING_BLOCKS = {"pad": _pad, "relu": lambda _step: "np.maximum(x, 0)"}
DTYPES = {"": FLOATS, "max_pool": FLOATS | INTEGERS, "min_pool": FLOATS | INTEGERS}
NDIMAGE = Surface(
    "scipy.ndimage",
    POOLS,
    fallbacks=FALLBACKS,
    building_blocks=BUILDING_BLOCKS,
    ones_expression="np.ones_like(x)",
    dtypes=DTYPES,
)
SIGNAL = Surface("scipy.signal", CONV, fallbacks={"conv": _correlated}, building_blocks=BUILDING_BLOCKS)
SURFACES = (NDIMAGE, SIGNAL)
