"""TensorFlow: channels last, kernels (*window, in/groups, out).

What it changes: padding that the call cannot say, and the output-size rules `ceil` and `full`, go through explicit
padding; padding that equals SAME is written so; Keras layers get the input's dtype, or they would return float32.
Gradients are those of a tape: towards the input, the kernel, or the weights of a layer. `tf.function` is `tf.nn`
compiled by XLA, the tape with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from conformance.adapters.api import d2l
from conformance.adapters.api.devices import Variables
from conformance.adapters.api.source_text import INDENT, all_axes, call, pairs_of, per_axis
from conformance.adapters.api.surface import Code, OnDevice, Surface, Unsupported, Verb, Words
from conformance.adapters.tensorflow import channels_first as first
from conformance.adapters.tensorflow import compiled as xla
from conformance.adapters.tensorflow.composed import COMPOSED, ONES, STACKED, layers_average, pad, stacked_max
from conformance.adapters.tensorflow.convolution import (
    composed_conv,
    composed_layer_transpose,
    composed_transpose,
    layer_conv,
    layer_transpose,
    native_conv,
    native_transpose,
)
from conformance.adapters.tensorflow.dtypes import EVERY, FLOATING, INTEGERS, WHOLE_AVERAGES, padding_layer, refused
from conformance.adapters.tensorflow.pooling import (
    avg_pool,
    layer_adaptive,
    layer_global,
    layer_pool,
    max_pool,
    with_argmax,
)
from conformance.cases.steps import Step

PACKAGES = ("tensorflow", "keras", "numpy")
THREADS = """\
import os
import platform
import shutil

import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
# Layers with groups are compiled anew at each call. The next run of the same programs in the same order, as compiled
# functions are numbered, finds them in the user's own cache, or wherever $TF_XLA_FLAGS says.
folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nn-conformance")
folder = os.path.join(folder, "tensorflow", tf.__version__, platform.node())
if os.path.isdir(folder) and len(os.listdir(folder)) > 4000:
    shutil.rmtree(folder, ignore_errors=True)
kept = f"--tf_xla_persistent_cache_directory={folder} --tf_xla_persistent_cache_device_types=XLA_CPU_JIT,CPU"
os.environ.setdefault("TF_XLA_FLAGS", kept)
"""
# oneDNN is off by default where a processor has nothing beyond AVX2, and on where it has. TensorFlow asks the
# processor whether there is AVX-512, and leaves bfloat16 to oneDNN then, which refuses it if it is held to AVX2. So it
# does with float16 where there is AVX512-FP16.
HOLDS: Variables = {
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "ONEDNN_MAX_CPU_ISA": ("AVX512_CORE", "AVX512_CORE_FP16"),
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}
SETUP = """\
import numpy as np
import tensorflow as tf
"""
SEED = """\
# Setting the seed throws away every kernel that is ready, so only where a program has set another one.
if tf.compat.v1.get_seed(1) != (0, 1):
    tf.random.set_seed(0)
"""
RESET = f"""\
tf.keras.backend.set_floatx("float32")
{SEED}"""
TF32 = "tf.config.experimental.enable_tensor_float_32_execution({})\n"
# It puts on the first GPU whatever has a kernel there, so that programs need not say where they work.
CUDA = OnDevice(
    """\
gpus = tf.config.list_physical_devices("GPU")
if not gpus:
    built = "is built with" if tf.test.is_built_with_cuda() else "is built without"
    raise RuntimeError(f"TensorFlow sees no GPU; it {built} CUDA")
hardware = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU")
""",
    {"float32": TF32.format(False), "tf32": TF32.format(True)},
    threads="""\
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
""",
)
DEVICES = {"cuda": CUDA}

_layer_pad = partial(padding_layer, "tf.keras.layers")


def _layers_around(step: Step) -> Code:
    layer = _layer_pad(step)
    return pad(step) if isinstance(layer, Unsupported) else layer


def _stacked_layers_lack(step: Step) -> Code:
    return stacked_max(step) if step.dtype == "bool" else STACKED.max_pool(step)


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the zeros that its tab writes before pooling."""
    pads = d2l.written_zeros(step)
    if pads:
        padding = pairs_of(all_axes(pads, channels_last=True))
        pool = call("tf.keras.layers.MaxPool2D", per_axis(step.window), per_axis(step.stride), dtype="x.dtype")
        return (f"x = tf.pad(x, {padding})", f"x = {pool}(x)")
    refusal = d2l.beyond_the_loops(step)
    if refusal:
        return refusal
    (height, width), (n, c, rows, columns) = step.window, step.output
    return (
        f"y = tf.Variable(tf.zeros({(n, rows, columns, c)}, x.dtype))",
        f"for n, i, j, c in np.ndindex({(n, rows, columns, c)}):",
        f"    y[n, i, j, c].assign(tf.reduce_{reduce}(x[n, i:i + {height}, j:j + {width}, c]))",
        "x = y",
    )


def _fractional(_step: Step) -> Code:
    return Unsupported("tf.nn.fractional_max_pool draws its own sequences from a seed, and takes no samples")


def tape(lines: Sequence[str], _names: Sequence[str], wanted: str) -> Sequence[str]:
    """Record the lines, and ask for the gradient of what they leave in x."""
    watched = (f"leaf = {wanted}", "tape.watch(leaf)")
    return (
        "with tf.GradientTape() as tape:",
        *(f"{INDENT}{line}" for line in (*watched, *lines)),
        "x = tape.gradient(x, leaf, grad)",
    )


def layer_tape(lines: Sequence[str], names: Sequence[str], wanted: str) -> Sequence[str]:
    """As tape; the weights of a layer are watched by themselves."""
    if wanted == "x" or not any(line.startswith("conv.set_weights") for line in lines):
        return tape(lines, names, wanted)
    return (
        "with tf.GradientTape() as tape:",
        *(f"{INDENT}{line}" for line in lines),
        f"x = tape.gradient(x, conv.{wanted}, grad)",
    )


LAST = "tf.constant(np.moveaxis({}, 1, -1))"
KERNEL_OUT = "np.moveaxis(x.numpy(), (-1, -2), (0, 1))"
CONVOLVED = FLOATING | {"int32"}
NO_KERNELS = Unsupported("convolutions take floating numbers and int32 only")
NOT_FLOATING = Unsupported("norms, exponentials and shares are of floating numbers")
CHANNELS_LAST = {
    "x": LAST,
    "kernel": "tf.constant(np.moveaxis({}, (0, 1), (-1, -2)))",
    "bias": "tf.constant({})",
    "draws": LAST,
}
_surface: Callable[..., Surface] = partial(
    Surface,
    enter=CHANNELS_LAST,
    leave="np.moveaxis(x.numpy(), -1, 1)",
    leaves={"kernel": KERNEL_OUT, "bias": "x.numpy()"},
    channels_last=True,
    ones=ONES,
    words=Words("tf.bitcast({}, tf.bfloat16)", "tf.cast({}, tf.bfloat16)"),
    dtypes={
        "": EVERY,
        **dict.fromkeys(("avg_pool", "global_avg_pool", "adaptive_avg_pool"), FLOATING),
        **dict.fromkeys(("lp_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities"), FLOATING),
        **dict.fromkeys(("conv", "conv_transpose"), CONVOLVED),
    },
    refuses={
        **dict.fromkeys(
            ("avg_pool", "global_avg_pool", "adaptive_avg_pool"), refused(INTEGERS | {"bool"}, WHOLE_AVERAGES)
        ),
        **dict.fromkeys(("conv", "conv_transpose"), refused(EVERY - CONVOLVED, NO_KERNELS)),
        **dict.fromkeys(
            ("lp_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities"),
            refused(INTEGERS | {"bool"}, NOT_FLOATING),
        ),
    },
)

CALLS: Mapping[str, Verb] = {
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "max_pool_with_indices": with_argmax,
    "fractional_max_pool": _fractional,
    "conv": native_conv,
    "conv_transpose": native_transpose,
    "pad": pad,
    "relu": lambda _step: "tf.nn.relu(x)",
}
CONVOLUTIONS: Mapping[str, Verb] = {"conv": composed_conv, "conv_transpose": composed_transpose}

SURFACES = (
    _surface("tf.nn", CALLS, composed={**COMPOSED, **CONVOLUTIONS}, gradient=tape),
    _surface(
        "tf.function",
        {**CALLS, "max_pool": xla.max_pool, "max_pool_with_indices": xla.with_argmax},
        composed={**xla.COMPOSED, **CONVOLUTIONS},
        wrap=xla.compiled,
        gradient=xla.compiled_with(tape),
        level="smoke",
        tag="compiled",
    ),
    _surface(
        "tf.nn.nchw",
        {
            "max_pool": first.max_pool,
            "avg_pool": first.avg_pool,
            "conv": first.conv,
            "conv_transpose": first.conv_transpose,
            "pad": first.pad,
            "relu": CALLS["relu"],
        },
        composed={"conv": first.biased},
        enter={**CHANNELS_LAST, "x": "tf.constant({})"},
        leave="x.numpy()",
        channels_last=False,
        dtypes={"": EVERY},
        refuses={},
        gradient=tape,
        level="smoke",
        tag="compiled",
    ),
    _surface(
        "tf.keras.layers",
        {
            "max_pool": partial(layer_pool, "MaxPool"),
            "avg_pool": partial(layer_pool, "AveragePooling"),
            "global_max_pool": partial(layer_global, "GlobalMaxPooling"),
            "global_avg_pool": partial(layer_global, "GlobalAveragePooling"),
            "adaptive_max_pool": partial(layer_adaptive, "AdaptiveMaxPooling"),
            "adaptive_avg_pool": partial(layer_adaptive, "AdaptiveAveragePooling"),
            "conv": layer_conv,
            "conv_transpose": layer_transpose,
            "pad": _layer_pad,
            "relu": lambda _step: "tf.keras.layers.ReLU(dtype=x.dtype)(x)",
        },
        composed={
            **COMPOSED,
            "max_pool": _stacked_layers_lack,
            "avg_pool": layers_average,
            "conv_transpose": composed_layer_transpose,
        },
        around={"pad": _layers_around},
        gradient=layer_tape,
    ),
    _surface(
        "tf.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        compositions=False,
        level="smoke",
    ),
)
