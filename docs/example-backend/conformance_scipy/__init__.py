"""SciPy: pooling by the filters of `scipy.ndimage`, convolution by `scipy.signal`; both take every position."""

from functools import partial

from conformance.adapter import FLOATS, Code, Surface, Unsupported
from conformance.code import call, number, pairs_of, slices, tuple_of
from conformance.steps import Step

PACKAGES = ("scipy", "numpy")
SETUP = "import numpy as np\nfrom scipy import ndimage, signal\n"
RESET = ""
WHOLE = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FILTERS = {"max": "maximum_filter", "min": "minimum_filter", "avg": "uniform_filter"}
PLAIN = Unsupported("SciPy takes every position inside an input; strides are slices, padding is written first")


def _plain(step: Step) -> bool:
    """Whether the windows lie in the input, without holes; SciPy checks little, and is not asked what means nothing."""
    try:
        inside = step.stride is not None and all(step.walk.output) and all(step.shape)
    except ValueError:
        return False
    return inside and not step.padded and not step.dilated and step.parameters.get("rounding", "floor") == "floor"


def _kept(step: Step, firsts: list[int]) -> str:
    axes = zip(firsts, step.walk.output, step.walk.stride, strict=True)
    return slices([f"{at}:{at + (n - 1) * stride + 1}:{stride}" for at, n, stride in axes], channels_last=False)


def _filtered(name: str, step: Step) -> Code:
    if not _plain(step) or step.parameters.get("divisor") is not None:
        return PLAIN
    middles = [window // 2 for window in step.window]
    return call(f"ndimage.{name}", "x", tuple_of((1, 1, *step.window))) + _kept(step, middles)


def _correlated(step: Step) -> Code:
    if not _plain(step) or step.parameters["groups"] != 1 or step.shape[1] != step.kernel[1]:
        return PLAIN
    each = 'signal.correlate(image, weights, "valid", "direct")[0]'
    sums = f"np.array([[{each} for weights in kernel] for image in x])" + _kept(step, [0] * step.rank)
    return f"{sums} + bias.reshape{tuple_of([-1] + [1] * step.rank)}" if step.bias else sums


def _pad(step: Step) -> Code:
    if step.parameters["mode"] != "constant":
        return Unsupported("before a filter a value is written")
    pairs = pairs_of([(0, 0), (0, 0), *step.padding])
    return call("np.pad", "x", pairs, constant_values=number(step.parameters["value"]))


POOLS = {f"{verb}_pool": partial(_filtered, name) for verb, name in FILTERS.items()}
CONV = {"conv": lambda step: Unsupported("signal.correlate adds no bias") if step.bias else _correlated(step)}
AROUND = {"pad": _pad, "relu": lambda _step: "np.maximum(x, 0)"}
DTYPES = {"": FLOATS, "max_pool": FLOATS | WHOLE, "min_pool": FLOATS | WHOLE}
NDIMAGE = Surface("scipy.ndimage", POOLS, around=AROUND, ones="np.ones_like(x)", dtypes=DTYPES)
SIGNAL = Surface("scipy.signal", CONV, composed={"conv": _correlated}, around=AROUND)
SURFACES = (NDIMAGE, SIGNAL)
