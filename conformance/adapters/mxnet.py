"""Apache MXNet: channels first, like the suite; `mxnet.np` stands as `mnp` beside NumPy.

What it changes: asymmetric padding goes through explicit padding, which is an array filled and written into, because
`mnp.pad` of MXNet 1.9.1 pads with zeros whatever it is told; averages with holes are convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from conformance import book
from conformance.adapter import Code, Declaration, Surface, Unsupported, Verb
from conformance.code import all_axes, call, number, pairs_of, per_axis, slices, tuple_of, unless
from conformance.stacking import Stacking
from conformance.steps import Step

PACKAGES = ("mxnet", "numpy")
THREADS = """\
import os

os.environ["OMP_NUM_THREADS"] = "1"
"""
SETUP = """\
import numpy as np
from mxnet import np as mnp
from mxnet import npx
from mxnet.gluon import nn

npx.set_np()
"""
RESET = """\
npx.set_np()
npx.random.seed(0)
"""
ASYMMETRIC = Unsupported("the padding before and after an axis is one number")


def _refusal(step: Step, divisor: object = None) -> Unsupported | None:
    """Return what no pooling call of MXNet can say."""
    if step.dilated:
        return Unsupported("pooling has no dilation")
    if divisor is not None:
        return Unsupported("average pooling has no divisor")
    if step.symmetric is None:
        return ASYMMETRIC
    if step.parameters["rounding"] == "ceil" and step.walk.output != step.with_parameters(rounding="full").walk.output:
        return Unsupported("the last window always counts, even where it starts in the padding")
    return None


def _checked(step: Step, text: str) -> Code:
    if any(pad >= extent for pad, extent in zip(step.symmetric or (), step.window, strict=False)):
        return Unsupported("padding must be smaller than the window", refused=text)
    return text


def _include(step: Step) -> str | None:
    """Padding counts unless told not to, which matters to padded averages only."""
    return "False" if step.verb == "avg_pool" and step.padded and not step.parameters["count_include_pad"] else None


def _npx_pool(step: Step) -> Code:
    refusal = _refusal(step, step.parameters.get("divisor"))
    if refusal:
        return refusal
    text = call(
        "npx.pooling",
        "x",
        kernel=tuple_of(step.window),
        stride=tuple_of(step.stride) if step.stride is not None else None,
        pad=tuple_of(step.symmetric or ()) if step.padded else None,
        pool_type=unless("'max'", f"'{step.verb.split('_')[0]}'", f'"{step.verb.split("_")[0]}"'),
        pooling_convention=unless("floor", step.parameters["rounding"], '"full"'),
        count_include_pad=_include(step),
    )
    return _checked(step, text)


def _gluon_pool(name: str, step: Step) -> Code:
    refusal = _refusal(step, step.parameters.get("divisor"))
    if refusal:
        return refusal
    text = call(
        f"nn.{name}{step.rank}D",
        per_axis(step.window),
        strides=per_axis(step.stride) if step.stride != step.window else None,
        padding=per_axis(step.symmetric) if step.padded else None,
        ceil_mode=unless("floor", step.parameters["rounding"], "True"),
        count_include_pad=_include(step),
    )
    return _checked(step, f"{text}(x)")


def _npx_conv(step: Step) -> Code:
    if step.symmetric is None:
        return ASYMMETRIC
    return call(
        "npx.convolution",
        "x",
        "kernel",
        "bias" if step.bias else None,
        kernel=tuple_of(step.window),
        stride=tuple_of(step.stride or ()),
        pad=tuple_of(step.symmetric) if step.padded else None,
        dilate=tuple_of(step.dilation) if step.dilated else None,
        num_filter=str(step.kernel[0]),
        num_group=unless(1, step.parameters["groups"]),
        no_bias=None if step.bias else "True",
    )


def _gluon_conv(step: Step) -> Code:
    if step.symmetric is None:
        return ASYMMETRIC
    layer = call(
        f"nn.Conv{step.rank}D",
        str(step.kernel[0]),
        per_axis(step.window),
        strides=per_axis(step.stride),
        padding=per_axis(step.symmetric) if step.padded else None,
        dilation=per_axis(step.dilation) if step.dilated else None,
        groups=unless(1, step.parameters["groups"]),
        use_bias=None if step.bias else "False",
        in_channels=str(step.shape[1]),
    )
    lines = [f"conv = {layer}", "conv.initialize()", "conv.cast(x.dtype)", "conv.weight.set_data(kernel)"]
    return (*lines, *["conv.bias.set_data(bias)"] * step.bias, "x = conv(x)")


def _pad(step: Step) -> Code:
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("mnp.pad cannot crop")
    value = unless(0, step.parameters["value"])
    return call("mnp.pad", "x", pairs_of(all_axes(step.padding, channels_last=False)), constant_values=value)


def _filled(step: Step) -> Code:
    """Explicit padding as users get it right: an array of the value, and the input written into it."""
    if step.parameters["value"] == 0 or any(min(pair) < 0 for pair in step.padding):
        return _pad(step)
    inner = slices(
        [f"{before}:{before + size}" for (before, _), size in zip(step.padding, step.shape[2:], strict=True)],
        channels_last=False,
    )
    value = number(step.parameters["value"])
    return (f"padded = mnp.full({tuple_of(step.output)}, {value}, dtype=x.dtype)", f"padded{inner} = x", "x = padded")


def _chosen(step: Step) -> Code:
    """Explicit padding as one expression: where there was nothing, the value."""
    value = step.parameters["value"]
    if value == 0:
        return _pad(step)
    pairs = pairs_of(all_axes(step.padding, channels_last=False))
    return f"mnp.where(mnp.pad(mnp.ones_like(x), {pairs}), mnp.pad(x, {pairs}), {number(value)})"


def _no_padding(_step: Step) -> Code:
    return Unsupported("gluon has no constant padding; its users call mnp.pad")


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the padded layer that its tab shows."""
    if book.shows_padding(step):
        return _gluon_pool("MaxPool", step)
    refusal = book.beyond_the_loops(step)
    if refusal:
        return refusal
    height, width = step.window
    return (
        f"y = mnp.zeros({tuple_of(step.output)}, dtype=x.dtype)",
        "for n, c, i, j in np.ndindex(y.shape):",
        f"    y[n, c, i, j] = x[n, c, i:i + {height}, j:j + {width}].{reduce}()",
        "x = y",
    )


FLOATING = frozenset({"float16", "float32", "float64"})
PADS = FLOATING | {"int8", "int32", "int64", "uint8"}
STACKED = Stacking(_chosen, stack="mnp.stack", softmax="npx.softmax({}, axis=0)")
STACKING = {"max_pool": STACKED.max_pool, "softmax_pool": STACKED.softmax_pool}
DECLARES = {
    "max_pool/padding-equal-to-window": Declaration("rejected"),
    "max_pool/window-larger-than-input": Declaration("rejected"),
    "max_pool/window-larger-than-input-stride-1": Declaration("rejected"),
    "max_pool/nan-in-window": Declaration("passed-over"),
    "max_pool/window-of-minus-infinity": Declaration("lowest-finite"),
}
DOCUMENTS = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/api"
GLUON_STRIDE = f'{DOCUMENTS}/gluon/nn/index.html: "If None, it will default to pool_size."'
NPX_STRIDE = f'{DOCUMENTS}/npx: "Stride: for pooling (y, x) or (d, y, x). Defaults to 1 for each dimension."'
ENTER = dict.fromkeys(("x", "kernel", "bias"), "mnp.array({0}, dtype={0}.dtype)")


def _surface(name: str, verbs: Mapping[str, Verb], **more: object) -> Surface:
    composed: Mapping[str, Verb] = STACKING if "conv" in verbs else {}
    return Surface(
        name,
        verbs,
        composed=composed,
        around={"pad": _filled, "relu": lambda _step: "npx.relu(x)"},
        enter=ENTER,
        leave="x.asnumpy()",
        dtypes={"max_pool": FLOATING, "pad": PADS},
        **more,  # type: ignore[arg-type]
    )


SURFACES = (
    _surface(
        "mxnet.gluon",
        {
            "max_pool": partial(_gluon_pool, "MaxPool"),
            "avg_pool": partial(_gluon_pool, "AvgPool"),
            "conv": _gluon_conv,
            "pad": _no_padding,
            "relu": lambda _step: 'nn.Activation("relu")(x)',
        },
        declares={**DECLARES, "max_pool/stride-when-none-is-given": Declaration("window", GLUON_STRIDE)},
    ),
    _surface(
        "mxnet.npx",
        {
            "max_pool": _npx_pool,
            "avg_pool": _npx_pool,
            "conv": _npx_conv,
            "pad": _pad,
            "relu": lambda _step: "npx.relu(x)",
        },
        declares={**DECLARES, "max_pool/stride-when-none-is-given": Declaration("one", NPX_STRIDE)},
    ),
    _surface(
        "mxnet.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        compositions=False,
        level="smoke",
    ),
)
