"""TensorFlow: channels last, kernels (*window, in/groups, out).

What it changes: padding that the call cannot say, and the output-size rules `ceil` and `full`, go through explicit
padding; padding that equals SAME is written so; Keras layers get the input's dtype, or they would return float32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance import book
from conformance.adapter import Code, Declaration, Surface, Unsupported
from conformance.code import all_axes, call, pairs_of, per_axis, tuple_of, unless
from conformance.stacking import Stacking
from conformance.steps import Step
from reference import Windows

PACKAGES = ("tensorflow", "keras", "numpy")
THREADS = """\
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
"""
SETUP = """\
import numpy as np
import tensorflow as tf
"""
RESET = """\
tf.keras.backend.set_floatx("float32")
tf.random.set_seed(0)
"""
SPATIAL = 3
FLOAT_ONLY = Unsupported("three-dimensional pooling has kernels for float32 and bfloat16 only on the CPU")
ROUNDS_DOWN = Unsupported("the call rounds the output size down")
HOLES_AND_STRIDE = Unsupported("strides and dilations above 1 are not taken together")


def _same(step: Step) -> bool:
    """Whether the padding is what SAME would choose."""
    if step.stride is None or not step.padded:
        return False
    return step.padding == Windows.of(step.shape[2:], step.window, step.stride, "same_upper", step.dilation).pads


def _named(step: Step) -> str | None:
    """Return VALID or SAME, None where the padding is neither."""
    return "VALID" if not step.padded else "SAME" if _same(step) else None


def _explicit(step: Step) -> str:
    return str([list(pair) for pair in all_axes(step.padding, channels_last=True)])


def _unpoolable(step: Step) -> Unsupported | None:
    if step.rank == SPATIAL and step.dtype not in {"float32", "bfloat16"}:
        return FLOAT_ONLY
    return ROUNDS_DOWN if step.parameters["rounding"] != "floor" else None


def _counts_padding(step: Step) -> bool:
    """Whether an average divides by more than its real cells, which SAME and VALID never do."""
    return step.parameters["divisor"] is not None or (step.padded and step.parameters["count_include_pad"])


def _dilated_pool(kind: str, step: Step) -> Code:
    """`tf.nn.pool` is the only one with dilation."""
    named = _named(step)
    if step.stride != (1,) * step.rank:
        return HOLES_AND_STRIDE
    window, dilations = tuple_of(step.window), tuple_of(step.dilation)
    text = call("tf.nn.pool", "x", window, f'"{kind}"', padding=f'"{named or "VALID"}"', dilations=dilations)
    if named == "SAME":
        return Unsupported("pooling with SAME padding is not implemented for dilations above 1", refused=text)
    return text if named else Unsupported("padding is VALID or SAME")


def _max_pool(step: Step) -> Code:
    refusal = _unpoolable(step)
    if refusal or step.dilated:
        return refusal or _dilated_pool("MAX", step)
    if step.stride is None:
        return Unsupported("the call needs strides")
    named = _named(step)
    function = f"tf.nn.max_pool{step.rank}d"
    if named is None and step.rank == SPATIAL:
        return Unsupported("three-dimensional pooling has no explicit padding")
    padding = f'"{named}"' if named else _explicit(step)
    text = call(function, "x", per_axis(step.window), per_axis(step.stride), padding)
    if named is None and any(max(pair) >= extent for pair, extent in zip(step.padding, step.window, strict=True)):
        return Unsupported("padding must be smaller than the window", refused=text)
    return text


def _avg_pool(step: Step) -> Code:
    refusal, named = _unpoolable(step), _named(step)
    if refusal or named is None or _counts_padding(step):
        return refusal or Unsupported("average pooling never counts padding, and has VALID and SAME only")
    if step.dilated:
        return (
            _dilated_pool("AVG", step)
            if named == "VALID"
            else Unsupported("dilated SAME is made of zeros, which count")
        )
    return call(f"tf.nn.avg_pool{step.rank}d", "x", per_axis(step.window), per_axis(step.stride), f'"{named}"')


def _conv(step: Step) -> Code:
    named = _named(step)
    if named is None and step.rank != 2:  # noqa: PLR2004 - images
        return Unsupported("explicit padding exists for two-dimensional convolutions only")
    if step.rank == SPATIAL and step.parameters["groups"] != 1:
        return Unsupported("three-dimensional convolutions have no groups on the CPU")
    if step.rank == SPATIAL and step.dilated and step.dtype != "float32":
        return Unsupported("three-dimensional dilated convolutions exist for float32 only on the CPU")
    padding = f'"{named}"' if named else _explicit(step)
    return call(f"tf.nn.conv{step.rank}d", "x", "kernel", _steps(step), padding, dilations=_dilations(step))


def _steps(step: Step) -> str | None:
    """Three-dimensional convolutions want a stride for every axis of the array."""
    return per_axis(step.stride) if step.rank != SPATIAL else tuple_of([1, *(step.stride or ()), 1])


def _dilations(step: Step) -> str | None:
    if not step.dilated:
        return None
    return per_axis(step.dilation) if step.rank != SPATIAL else tuple_of([1, *step.dilation, 1])


def _native_conv(step: Step) -> Code:
    return Unsupported("tf.nn convolutions have no bias") if step.bias else _conv(step)


def _biased_conv(step: Step) -> Code:
    text = _conv(step)
    return f"tf.nn.bias_add({text}, bias)" if step.bias and isinstance(text, str) else text


def _pad(step: Step) -> Code:
    if any(min(pair) < 0 for pair in step.padding):
        return Unsupported("tf.pad cannot crop")
    value = unless(0, step.parameters["value"])
    return call("tf.pad", "x", pairs_of(all_axes(step.padding, channels_last=True)), constant_values=value)


def _layer(name: str, step: Step, *arguments: str | None, **keywords: str | None) -> str:
    return call(f"tf.keras.layers.{name}{step.rank}D", *arguments, **keywords, dtype="x.dtype") + "(x)"


def _layer_pool(name: str, step: Step) -> Code:
    refusal, named = _unpoolable(step), _named(step)
    if refusal or step.dilated or named is None:
        return refusal or Unsupported("pooling layers have no dilation, and padding is valid or same")
    if name == "AveragePooling" and _counts_padding(step):
        return Unsupported("average pooling layers never count padding")
    stride = per_axis(step.stride) if step.stride != step.window else None
    return _layer(name, step, per_axis(step.window), strides=stride, padding=unless("VALID", named, '"same"'))


def _layer_conv(step: Step) -> Code:
    named, ones = _named(step), (1,) * step.rank
    if named is None:
        return Unsupported("the padding of layers is valid or same")
    if step.dilated and step.stride != ones:
        return HOLES_AND_STRIDE
    groups = unless(1, step.parameters["groups"])
    if groups and step.rank == SPATIAL:
        return Unsupported("three-dimensional convolutions have no groups on the CPU")
    layer = call(
        f"tf.keras.layers.Conv{step.rank}D",
        str(step.kernel[0]),
        per_axis(step.window),
        strides=per_axis(step.stride) if step.stride != ones else None,
        padding=unless("VALID", named, '"same"'),
        dilation_rate=per_axis(step.dilation) if step.dilated else None,
        groups=groups,
        use_bias=None if step.bias else "False",
        dtype="x.dtype",
    )
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    return (f"conv = {layer}", "conv.build(x.shape)", f"conv.set_weights({weights})", "x = conv(x)")


def _layer_pad(step: Step) -> Code:
    if step.parameters["value"] != 0 or any(min(pair) < 0 for pair in step.padding):
        return Unsupported("padding layers write zeros and cannot crop")
    return _layer("ZeroPadding", step, str(step.padding[0]) if step.rank == 1 else pairs_of(step.padding))


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the zeros that its tab writes before pooling."""
    pads = book.written_zeros(step)
    if pads:
        padding = pairs_of(all_axes(pads, channels_last=True))
        pool = call("tf.keras.layers.MaxPool2D", per_axis(step.window), per_axis(step.stride), dtype="x.dtype")
        return (f"x = tf.pad(x, {padding})", f"x = {pool}(x)")
    refusal = book.beyond_the_loops(step)
    if refusal:
        return refusal
    (height, width), (n, c, rows, columns) = step.window, step.output
    return (
        f"y = tf.Variable(tf.zeros({(n, rows, columns, c)}, x.dtype))",
        f"for n, i, j, c in np.ndindex({(n, rows, columns, c)}):",
        f"    y[n, i, j, c].assign(tf.reduce_{reduce}(x[n, i:i + {height}, j:j + {width}, c]))",
        "x = y",
    )


STACKED = Stacking(
    _pad,
    stack="tf.stack",
    softmax="tf.nn.softmax({}, axis=0)",
    total="tf.reduce_sum({}, axis=0)",
    largest="tf.reduce_max({}, axis=0)",
    channels_last=True,
)
SELECTED = frozenset({"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"})
DECLARES = {
    "max_pool/window-larger-than-input": Declaration("rejected"),
    "max_pool/window-larger-than-input-stride-1": Declaration("rejected"),
    "max_pool/nan-in-window": Declaration("passed-over"),
    "max_pool/window-of-minus-infinity": Declaration("lowest-finite"),
}
NN_PADDING = (
    "https://www.tensorflow.org/api_docs/python/tf/nn/max_pool2d: "
    '"the size of the paddings cannot be greater than the sliding window size."'
)
KERAS_STRIDE = 'https://keras.io/api/layers/pooling_layers/max_pooling2d: "If None, it will default to pool_size."'
_surface: Callable[..., Surface] = partial(
    Surface,
    enter={
        "x": "tf.constant(np.moveaxis({}, 1, -1))",
        "kernel": "tf.constant(np.moveaxis({}, (0, 1), (-1, -2)))",
        "bias": "tf.constant({})",
    },
    leave="np.moveaxis(x.numpy(), -1, 1)",
    channels_last=True,
    dtypes={"max_pool": SELECTED, "pad": SELECTED},
)

SURFACES = (
    _surface(
        "tf.nn",
        {
            "max_pool": _max_pool,
            "avg_pool": _avg_pool,
            "conv": _native_conv,
            "pad": _pad,
            "relu": lambda _step: "tf.nn.relu(x)",
        },
        composed={"conv": _biased_conv, "softmax_pool": STACKED.softmax_pool},
        declares={**DECLARES, "max_pool/padding-equal-to-window": Declaration("accepted", NN_PADDING)},
    ),
    _surface(
        "tf.keras.layers",
        {
            "max_pool": partial(_layer_pool, "MaxPool"),
            "avg_pool": partial(_layer_pool, "AveragePooling"),
            "conv": _layer_conv,
            "pad": _layer_pad,
            "relu": lambda _step: "tf.keras.layers.ReLU(dtype=x.dtype)(x)",
        },
        composed={"max_pool": STACKED.max_pool, "softmax_pool": STACKED.softmax_pool},
        around={"pad": lambda step: _layer_pad(step) if step.parameters["value"] == 0 else _pad(step)},
        declares={**DECLARES, "max_pool/stride-when-none-is-given": Declaration("window", KERAS_STRIDE)},
    ),
    _surface(
        "tf.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        compositions=False,
        level="smoke",
    ),
)
