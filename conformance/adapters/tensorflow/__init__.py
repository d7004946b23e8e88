"""TensorFlow adapter: `tf.nn`, the same functions compiled by XLA, `tf.nn` with channels first, and Keras layers.

Data is channels last and kernels are (*window, in/groups, out), except on `tf.nn.nchw`.

- Padding that a call does not accept, and the output-size rules `ceil` and `full`, become explicit padding.
- Padding that equals SAME is written as SAME.
- Keras layers get the dtype of the input. By default they return float32.
- Gradients are recorded on a gradient tape: of the input, of the kernel, or of the weights of a layer. On the surface
  `tf.function`, XLA compiles the tape as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from conformance.adapters.api import (
    ALL_DTYPES,
    BLOCK_OPERATORS,
    FLOATING,
    INDENT,
    Bfloat16Conversion,
    Code,
    DeviceSupport,
    InstructionVariables,
    Level,
    Lowering,
    Step,
    Surface,
    Unsupported,
    call,
    channels_last_fields,
    d2l,
    limit_axes,
    pairs_for_all_axes,
    pairs_of,
    per_axis,
    unsupported_lowering,
)
from conformance.adapters.api.blocks.recipes import call_or_recipe
from conformance.adapters.tensorflow import (
    blocks,
    channels_first,
    columns,
    compiled,
    drawn,
    morphology,
    normalization,
    quantization,
    resizing,
    words,
)
from conformance.adapters.tensorflow.composed import (
    FALLBACKS,
    ONES_EXPRESSION,
    layer_stacked_avg_pool,
    pad,
    stacked_max_pool_all_dtypes,
)
from conformance.adapters.tensorflow.convolution import (
    composed_convolution,
    composed_layer_transpose,
    composed_transpose,
    layer_convolution,
    layer_transpose,
    native_convolution,
    native_transpose,
)
from conformance.adapters.tensorflow.dtypes import (
    NO_INTEGER_AVERAGES,
    padding_layer,
)
from conformance.adapters.tensorflow.pooling import (
    avg_pool,
    layer_adaptive,
    layer_global,
    layer_pool,
    max_pool,
    max_pool_with_argmax,
)
from conformance.cases.operators import Requantization, Rounding, RoundMode

PACKAGES = ("tensorflow", "keras", "numpy")
DISTRIBUTIONS = {"tensorflow": "tensorflow-cpu"}
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
THREAD_SETTINGS = {
    f"{function}(1)": f"{function}({{}})"
    for function in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads")
}
# By default, TensorFlow uses oneDNN only on processors with more than AVX2. On a processor with AVX-512 it passes
# bfloat16 to oneDNN, and oneDNN rejects bfloat16 if its instruction set is limited to AVX2. The same is true of float16
# on a processor with AVX512-FP16. The limits are therefore AVX512_CORE and AVX512_CORE_FP16.
INSTRUCTION_VARIABLES: InstructionVariables = {
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "ONEDNN_MAX_CPU_ISA": ("AVX512_CORE", "AVX512_CORE_FP16"),
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}
SETUP = """\
import numpy as np
import tensorflow as tf
"""
SEED_SETUP = """\
# Setting the seed throws away every kernel that is ready, so only where a program has set another one.
if tf.compat.v1.get_seed(1) != (0, 1):
    tf.random.set_seed(0)
"""
RESET = f"""\
tf.keras.backend.set_floatx("float32")
{SEED_SETUP}"""
TF32_SETUP = "tf.config.experimental.enable_tensor_float_32_execution({})\n"
# TensorFlow places every operation that has a GPU kernel on the first GPU, so programs need no device scope.
CUDA_SUPPORT = DeviceSupport(
    """\
gpus = tf.config.list_physical_devices("GPU")
if not gpus:
    built = "is built with" if tf.test.is_built_with_cuda() else "is built without"
    raise RuntimeError(f"TensorFlow sees no GPU; it {built} CUDA")
hardware = tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU")
""",
    {"float32": TF32_SETUP.format(False), "tf32": TF32_SETUP.format(True)},
    threads="""\
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
""",
)
DEVICES = {"cuda": CUDA_SUPPORT}

_layer_pad = partial(padding_layer, "tf.keras.layers")


def _layer_padding(step: Step) -> Code:
    """Return a padding layer, or `tf.pad` if no layer supports the step."""
    layer = _layer_pad(step)
    return pad(step) if isinstance(layer, Unsupported) else layer


def _layer_stacked_max_pool(step: Step) -> Code:
    if step.dtype != "bool" and (step.padded or step.parameters["rounding"] != Rounding.FLOOR):
        return Unsupported("layers pad, and round the output size down")
    return stacked_max_pool_all_dtypes(step)


def _d2l_pool(reduce: str, step: Step) -> Code:
    """Return the loop over output positions as printed in the book, or explicit zeros and a pooling layer."""
    pads = d2l.channels_last_zeros(step)
    if pads:
        padding = pairs_of(pairs_for_all_axes(pads, channels_last=True))
        pool = call("tf.keras.layers.MaxPool2D", per_axis(step.window), per_axis(step.stride), dtype="x.dtype")
        return (f"x = tf.pad(x, {padding})", f"x = {pool}(x)")
    # A tensor cannot be assigned to, so the book's tab uses a variable.
    assign = f"y[n, i, j, c].assign(tf.reduce_{reduce}({{cells}}))"
    return d2l.channels_last_loop(step, "tf.Variable(tf.zeros({shape}, x.dtype))", assign)


def tape_gradient(lines: Sequence[str], _names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return lines that run the forward lines on a tape and assign the gradient of one input to x."""
    # The lines assign x again, so the input needs another name. By default, only variables are watched.
    watched = (f"leaf = {input_name}", "tape.watch(leaf)")
    return (
        "with tf.GradientTape() as tape:",
        *(f"{INDENT}{line}" for line in (*watched, *lines)),
        "x = tape.gradient(x, leaf, grad)",
    )


# Also used by Keras on TensorFlow.
def layer_tape_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines of `tape_gradient`; for the weights of a layer, the gradient of the layer's variable.

    A tape watches trainable variables by default, so the program needs no `tape.watch`.
    """
    if input_name == "x" or not any(line.startswith("conv.set_weights") for line in lines):
        return tape_gradient(lines, names, input_name)
    return (
        "with tf.GradientTape() as tape:",
        *(f"{INDENT}{line}" for line in lines),
        f"x = tape.gradient(x, conv.{input_name}, grad)",
    )


CONVOLUTION_DTYPES = FLOATING | {"int32"}
NO_KERNELS = Unsupported("convolutions support floating-point dtypes and int32 only")
FLOATING_ONLY = Unsupported("norms, exponentials and probabilities need a floating-point dtype")
AVERAGES = ("avg_pool", "global_avg_pool", "adaptive_avg_pool")
FLOATING_OPERATORS = ("lp_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities")
CONVOLUTIONS = ("conv", "conv_transpose")
LAYOUT_FIELDS = channels_last_fields("tf.constant({})", "x.numpy()")
FIELDS: dict[str, Any] = dict(
    **LAYOUT_FIELDS,
    ones_expression=ONES_EXPRESSION,
    bfloat16=Bfloat16Conversion("tf.bitcast({}, tf.bfloat16)", "tf.cast({}, tf.bfloat16)"),
    dtypes={
        "": ALL_DTYPES,
        **dict.fromkeys((*AVERAGES, *FLOATING_OPERATORS), FLOATING),
        **dict.fromkeys(CONVOLUTIONS, CONVOLUTION_DTYPES),
    },
    unsupported_dtypes={
        **dict.fromkeys(AVERAGES, dict.fromkeys(ALL_DTYPES - FLOATING, NO_INTEGER_AVERAGES)),
        **dict.fromkeys(FLOATING_OPERATORS, dict.fromkeys(ALL_DTYPES - FLOATING, FLOATING_ONLY)),
        **dict.fromkeys(CONVOLUTIONS, dict.fromkeys(ALL_DTYPES - CONVOLUTION_DTYPES, NO_KERNELS)),
    },
)
_make_surface: Callable[..., Surface] = partial(Surface, **FIELDS)

TF_NN_LOWERINGS: Mapping[str, Lowering] = {
    **limit_axes(
        {"max_pool": max_pool, "avg_pool": avg_pool, "conv": native_convolution, "conv_transpose": native_transpose}
    ),
    "max_pool_with_indices": max_pool_with_argmax,
    "fractional_max_pool": unsupported_lowering(
        "tf.nn.fractional_max_pool draws its window sequences from a seed and takes no samples"
    ),
    "pad": pad,
    "resize": resizing.resize,
    **dict.fromkeys(BLOCK_OPERATORS, blocks.blocks),
    "unfold": columns.unfold,
    "lrn": normalization.lrn,
    "dilation2d": morphology.dilation2d,
    "quantize": quantization.quantize,
    "dequantize": quantization.dequantize,
    **limit_axes(
        {
            "conv_integer": quantization.conv_integer,
            "quantized_conv": partial(quantization.quantized_conv, Requantization.PRODUCT, RoundMode.HALF_UP),
        }
    ),
    "relu": lambda _step: "tf.nn.relu(x)",
}
CONVOLUTION_FALLBACKS = limit_axes({"conv": composed_convolution, "conv_transpose": composed_transpose})
# For inputs of any size, `x.shape` has no numbers.
BLOCK_RECIPES = {
    **dict.fromkeys(BLOCK_OPERATORS, blocks.RECIPE),
    "unfold": columns.RECIPE,
    "lrn": normalization.fallback,
    "dilation2d": morphology.FALLBACK,
}

SURFACES = (
    _make_surface(
        "tf.nn",
        TF_NN_LOWERINGS,
        fallbacks={
            **FALLBACKS,
            **CONVOLUTION_FALLBACKS,
            **BLOCK_RECIPES,
            "resize": resizing.converted_resize,
        },
        words=words.NN_WORDS,
        chain_words=words.NN_CHAIN_WORDS,
        drawn={
            "adaptive_max_pool": partial(drawn.fractional_pool, "max"),
            "adaptive_avg_pool": partial(drawn.fractional_pool, "avg"),
        },
        write_gradient=tape_gradient,
    ),
    _make_surface(
        "tf.function",
        {
            **TF_NN_LOWERINGS,
            **limit_axes({"max_pool": compiled.max_pool}),
            "max_pool_with_indices": compiled.max_pool_with_argmax,
            "dilation2d": morphology.compiled_dilation2d,
            "quantize": quantization.compiled_quantize,
            **limit_axes(
                {"quantized_conv": partial(quantization.quantized_conv, Requantization.FUSED, RoundMode.HALF_EVEN)}
            ),
            "resize": compiled.resize,
            "unfold": compiled.unfold,
        },
        fallbacks={**compiled.FALLBACKS, **CONVOLUTION_FALLBACKS, **BLOCK_RECIPES},
        words=words.NN_WORDS,
        chain_words=words.NN_CHAIN_WORDS,
        wrap_program=compiled.compile_with_xla,
        write_gradient=compiled.compile_gradient_with_xla(tape_gradient),
        # Compiling each program takes long.
        max_level=Level.SMOKE,
        slow_tag="compiled",
    ),
    _make_surface(
        "tf.function.dynamic",
        TF_NN_LOWERINGS,
        fallbacks={**FALLBACKS, **CONVOLUTION_FALLBACKS, "resize": resizing.converted_resize},
        with_sizes=compiled.dynamic_surface,
        write_gradient=tape_gradient,
        max_level=Level.SMOKE,
        slow_tag="dynamic",
    ),
    _make_surface(
        "tf.nn.nchw",
        {
            **limit_axes(
                {
                    "max_pool": channels_first.max_pool,
                    "avg_pool": channels_first.avg_pool,
                    "conv": channels_first.conv,
                    "conv_transpose": channels_first.conv_transpose,
                }
            ),
            "pad": channels_first.pad,
            "relu": TF_NN_LOWERINGS["relu"],
        },
        fallbacks=limit_axes({"conv": channels_first.with_bias}),
        words={"conv": channels_first.depthwise_conv},
        # Kernels have the same layout as with channels last; only data is not moved.
        to_framework={**LAYOUT_FIELDS["to_framework"], "x": "tf.constant({})"},
        numpy_inputs={**LAYOUT_FIELDS["numpy_inputs"], "x": "{}"},
        to_numpy="x.numpy()",
        channels_last=False,
        # The lowerings themselves report unsupported dtypes.
        dtypes={"": ALL_DTYPES},
        unsupported_dtypes={},
        write_gradient=tape_gradient,
        max_level=Level.SMOKE,
        slow_tag="compiled",
    ),
    _make_surface(
        "tf.keras.layers",
        {
            **limit_axes(
                {
                    "max_pool": partial(layer_pool, "MaxPool"),
                    "avg_pool": partial(layer_pool, "AveragePooling"),
                    "global_max_pool": partial(layer_global, "GlobalMaxPooling"),
                    "global_avg_pool": partial(layer_global, "GlobalAveragePooling"),
                    "adaptive_max_pool": partial(layer_adaptive, "AdaptiveMaxPooling"),
                    "adaptive_avg_pool": partial(layer_adaptive, "AdaptiveAveragePooling"),
                    "conv": layer_convolution,
                    "conv_transpose": layer_transpose,
                }
            ),
            "pad": _layer_pad,
            "resize": partial(resizing.layer_resize, engine="tensorflow", module="tf.keras.layers"),
            "relu": lambda _step: "tf.keras.layers.ReLU(dtype=x.dtype)(x)",
        },
        fallbacks={
            **FALLBACKS,
            **dict.fromkeys(BLOCK_OPERATORS, partial(call_or_recipe, blocks.blocks, blocks.RECIPE)),
            "max_pool": _layer_stacked_max_pool,
            "avg_pool": layer_stacked_avg_pool,
            **limit_axes({"conv_transpose": composed_layer_transpose}),
        },
        words=words.LAYER_WORDS,
        chain_words=words.LAYER_CHAIN_WORDS,
        mixed_precision=words.DTYPE_POLICY,
        # Padding layers pad with zeros only, so the padding of a maximum is `tf.pad`.
        building_blocks={"pad": _layer_padding},
        write_gradient=layer_tape_gradient,
    ),
    d2l.book_surface("tf.book", _d2l_pool, **FIELDS),
)
