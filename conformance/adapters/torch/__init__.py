"""Adapter for PyTorch. The layout is channels first, as in the suite.

Differences from direct calls:
- Asymmetric padding, padding of more than half a window and the output-size rule `full` use explicit padding.
- Dilated averages are convolutions.
- Layers with weights get the weights of the case.
- Lp norms with a power that is not even use absolute values.
- Symmetric padding, and padding beyond the extent, index the cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
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
    Level,
    Lowering,
    MixedPrecision,
    Step,
    Surface,
    d2l,
    derivative_surface,
    indexed_pad,
    limit_axes,
    mapped_surface,
    tuple_of,
)
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.api.quantization.formulas import (
    QUANTIZE_DTYPES,
    QUANTIZED_CONVOLUTION_DTYPES,
    QUANTIZED_POOLING_DTYPES,
)
from conformance.adapters.api.resizing import affine_grids
from conformance.adapters.torch import (
    adaptive as regions,
    blocks,
    channels_last as layout,
    columns,
    compiled as compiling,
    convolution as weights,
    grid_sampling,
    normalization,
    padding,
    pooling,
    resizing,
    windows,
    words as named,
)
from conformance.adapters.torch.calls import (
    INTEGERS,
    CallWriter,
    functional_call,
    in_float32,
    in_wider_dtype,
    layer_call,
    no_kernel,
)
from conformance.adapters.torch.quantization import (
    convolution as quantized_convolution,
    decomposed,
    tensors as quantization,
)
from conformance.adapters.torch.quantization.convolution import Engine
from conformance.cases.operators import Formula

PACKAGES = ("torch", "numpy")
THREADS = """\
import os

import torch

torch.set_num_threads(1)
# torch.compile compiles in this process, and caches programs in a folder of the user. Code that is cached with AVX-512
# is wrong with AVX2, so each set of instructions has a folder.
cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
capability = os.environ.get("ATEN_CPU_CAPABILITY", "native")
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(cache, "nn-conformance", "inductor", capability))
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
"""
THREAD_SETTINGS = {"torch.set_num_threads(1)": "torch.set_num_threads({})"}
# ATen, oneDNN and MKL each select kernels by processor features, so each has a variable of its own.
INSTRUCTION_VARIABLES = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
SETUP = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
"""
RESET = """\
import sys

torch.set_default_dtype(torch.float32)
torch.manual_seed(0)
# Programs with quantized convolutions select an engine.
if "x86" in torch.backends.quantized.supported_engines:
    torch.backends.quantized.engine = "x86"
if "torch._dynamo" in sys.modules:
    torch._dynamo.reset()
"""
RESET += compiling.REMOVE_PARTIAL_LIBRARIES


def _d2l_pool(reduce: str, step: Step) -> Code:
    """Return the book's loop over the positions of a plane, or the padded layer that its tab shows."""
    if d2l.shows_padded_pooling(step, READER_EXAMPLES):
        return pooling.max_pool(layer_call, step)
    return d2l.unsupported_by_loops(step) or (
        f"y = torch.zeros({tuple_of(step.output)}, dtype=x.dtype)",
        "for plane, out in zip(x.flatten(0, 1), y.flatten(0, 1)):",
        "    for i in range(out.shape[0]):",
        "        for j in range(out.shape[1]):",
        f"            out[i, j] = plane[i:i + {step.window[0]}, j:j + {step.window[1]}].{reduce}()",
        "x = y",
    )


# An example by a reader of the PyTorch tab, with padding on both axes.
READER_EXAMPLES = (((2, 3), (2, 3), ((1, 1), (1, 1))),)
FLOATING_AND_SIGNED = FLOATING | INTEGERS
# In DTYPES, fallbacks count as support: a dtype without a kernel is computed in a wider one where that is exact.
# Fallbacks compute integers in float64, which does not represent all values of int64 and uint64.
CARRIED_DTYPES = ALL_DTYPES - {"int64", "uint64"}
DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOATING,
    "max_pool": ALL_DTYPES - {"uint64"},
    "max_pool_with_indices": FLOATING_AND_SIGNED,
    "min_pool": ALL_DTYPES - {"uint64"},
    "avg_pool": FLOATING_AND_SIGNED,
    "global_avg_pool": FLOATING_AND_SIGNED,
    "global_max_pool": ALL_DTYPES - {"uint64"},
    "adaptive_max_pool": CARRIED_DTYPES,
    "max_unpool": CARRIED_DTYPES,
    "pad": ALL_DTYPES,
    "resize": FLOATING | {"uint8"},
    **dict.fromkeys(BLOCK_OPERATORS, ALL_DTYPES),
    "unfold": ALL_DTYPES,
    "dilation2d": FLOATING_AND_SIGNED,
    "conv": FLOATING_AND_SIGNED,
    "conv_transpose": FLOATING | {"int64"},
    "relu": FLOATING_AND_SIGNED,
    "negate": FLOATING_AND_SIGNED,
}
UNSUPPORTED_DTYPES = {
    "max_pool": no_kernel("max pooling", except_dtypes=DTYPES["max_pool"], issue=pooling.INTEGER_POOLING_ISSUE),
    "max_pool_with_indices": no_kernel(
        "max pooling", except_dtypes=FLOATING_AND_SIGNED, issue=pooling.INTEGER_POOLING_ISSUE
    ),
    "min_pool": no_kernel("max pooling", except_dtypes=DTYPES["min_pool"], issue=pooling.INTEGER_POOLING_ISSUE),
    "avg_pool": no_kernel("average pooling", except_dtypes=FLOATING_AND_SIGNED, issue=pooling.INTEGER_AVERAGES_ISSUE),
    "lp_pool": no_kernel("Lp pooling", except_dtypes=FLOATING),
    "softmax_pool": no_kernel("softmax", except_dtypes=FLOATING),
    "global_max_pool": no_kernel("adaptive max pooling", except_dtypes=DTYPES["global_max_pool"]),
    "adaptive_max_pool": no_kernel("adaptive max pooling", except_dtypes=CARRIED_DTYPES),
    "global_avg_pool": no_kernel("adaptive average pooling", except_dtypes=FLOATING_AND_SIGNED),
    "adaptive_avg_pool": no_kernel("adaptive average pooling", except_dtypes=FLOATING),
    "fractional_max_pool": no_kernel("fractional max pooling", except_dtypes=FLOATING),
    "max_unpool": no_kernel("max unpooling", except_dtypes=CARRIED_DTYPES),
    "conv": no_kernel("convolution", except_dtypes=FLOATING_AND_SIGNED),
    "resize": no_kernel("interpolation", except_dtypes=DTYPES["resize"]),
    "grid_sample": no_kernel("grid_sample", except_dtypes=FLOATING),
    "affine_grid": no_kernel("affine_grid", except_dtypes=FLOATING),
    "fold": no_kernel("fold", except_dtypes=FLOATING),
    "lrn": no_kernel("local_response_norm", except_dtypes=FLOATING),
    "dilation2d": no_kernel("addition", except_dtypes=FLOATING_AND_SIGNED),
    "conv_transpose": no_kernel("transposed convolution", except_dtypes=DTYPES["conv_transpose"]),
}
# Convolutions of integers work as functions, but the constructor of a layer fails before its weights can be set.
UNSUPPORTED_RANDOM_WEIGHTS = dict.fromkeys(INTEGERS, weights.NO_RANDOM_INTEGER_WEIGHTS)
LAYER_DTYPES = {**DTYPES, "conv": FLOATING, "conv_transpose": FLOATING}
LAYER_UNSUPPORTED_DTYPES = {
    **UNSUPPORTED_DTYPES,
    "conv": {**UNSUPPORTED_DTYPES["conv"], **UNSUPPORTED_RANDOM_WEIGHTS},
    "conv_transpose": {**UNSUPPORTED_DTYPES["conv_transpose"], **UNSUPPORTED_RANDOM_WEIGHTS},
}
INPUT_NAMES = ("x", "kernel", "bias", "samples", "draws", "grid")
# NumPy has no bfloat16: the words are reinterpreted, not converted. The field named bfloat16 marks the result.
BFLOAT16_CONVERSION = Bfloat16Conversion(
    "{}.view(torch.bfloat16)",
    "{}.to(torch.bfloat16)",
    'x.view(torch.uint16).numpy().view([("bfloat16", np.uint16)])',
)


# Tensors of CUDA have no `numpy` method: `x.cpu()` copies them first, also in the expression for bfloat16.
def surface_on_cuda(surface: Surface) -> Surface:
    """Return the surface with inputs moved to the CUDA device, and results moved back."""
    bfloat16 = Bfloat16Conversion(
        BFLOAT16_CONVERSION.to_framework,
        BFLOAT16_CONVERSION.from_float32,
        f"x.cpu(){BFLOAT16_CONVERSION.to_numpy.removeprefix('x')}",
    )
    to_framework = dict.fromkeys(INPUT_NAMES, 'torch.from_numpy({}).to("cuda")')
    return replace(surface, to_framework=to_framework, to_numpy="x.cpu().numpy()", bfloat16=bfloat16)


# Products and convolutions have a switch each; the default of cuDNN is True, that of matmul is False.
TF32_SETUP = "torch.backends.cuda.matmul.allow_tf32 = {0}\ntorch.backends.cudnn.allow_tf32 = {0}\n"
CUDA_SUPPORT = DeviceSupport(
    "torch.cuda.init()\nhardware = torch.cuda.get_device_name()\n",
    {"float32": TF32_SETUP.format(False), "tf32": TF32_SETUP.format(True)},
    setup='torch.set_default_device("cuda")\n',
    # Kernels run asynchronously, so their errors appear later. Synchronizing reports them before the next case.
    reset="torch.cuda.synchronize()\n",
    surface=surface_on_cuda,
)
DEVICES = {"cuda": CUDA_SUPPORT}


def _lowerings(
    write_call: CallWriter,
    resize: resizing.ResizeWriter,
    conv: Lowering,
    transpose: Lowering,
    *,
    block: Lowering,
    column: Mapping[str, Lowering],
    lrn: Lowering,
    pad: Lowering,
    relu: str,
) -> Mapping[str, Lowering]:
    adaptive = partial(regions.adaptive_pool, write_call)
    windowed: Mapping[str, Lowering] = {
        "max_pool": partial(pooling.max_pool, write_call),
        "avg_pool": partial(pooling.avg_pool, write_call),
        "lp_pool": partial(pooling.lp_pool, write_call),
        "max_pool_with_indices": partial(pooling.indexed_max_pool, write_call),
        "max_unpool": partial(regions.max_unpool, write_call),
        "global_max_pool": adaptive,
        "global_avg_pool": adaptive,
        "adaptive_max_pool": adaptive,
        "adaptive_avg_pool": adaptive,
        "fractional_max_pool": partial(regions.fractional_max_pool, write_call),
        "conv": conv,
        "conv_transpose": transpose,
        "resize": partial(resizing.resize, resize),
    }
    return {
        **limit_axes(windowed),
        **dict.fromkeys(BLOCK_OPERATORS, block),
        **column,
        "lrn": lrn,
        "grid_sample": grid_sampling.grid_sample,
        "affine_grid": affine_grids.functional_call,
        "pad": pad,
        "relu": lambda _step: relu,
    }


def _fallbacks(
    write_call: CallWriter, transpose: Callable[..., Code], lrn: Lowering, pad: Lowering
) -> Mapping[str, Lowering]:
    composed = windows.compositions(pad)
    # The names of these calls end with the number of axes, from 1d to 3d. All other fallbacks work for any number.
    windowed: Mapping[str, Lowering] = {
        "max_pool": partial(pooling.fallback_max_pool, write_call),
        "min_pool": partial(pooling.integer_min_pool, write_call, pad),
        "max_pool_with_indices": partial(pooling.padded_max_pool, write_call, pad),
        "max_unpool": partial(in_wider_dtype, regions.EXACT_DTYPES, partial(regions.max_unpool, write_call)),
        "adaptive_max_pool": partial(in_wider_dtype, regions.EXACT_DTYPES, partial(regions.adaptive_pool, write_call)),
        "conv_transpose": partial(transpose, sliced=True),
    }
    return {
        **limit_axes(windowed),
        "avg_pool": partial(pooling.fallback_avg_pool, write_call, pad),
        "softmax_pool": partial(in_float32, windows.FUNCTIONAL.softmax_pool),
        "lp_pool": partial(in_float32, partial(pooling.fallback_lp_pool, write_call, pad)),
        "global_max_pool": partial(regions.channel_maximum, write_call),
        "global_avg_pool": windows.global_avg_pool,
        "fractional_max_pool": partial(regions.fractional_max_pool_1d, write_call),
        "stochastic_pool_probabilities": partial(in_float32, composed.stochastic_pool_probabilities),
        "stochastic_pool": partial(in_float32, composed.stochastic_pool),
        **dict.fromkeys(BLOCK_OPERATORS, blocks.RECIPE),
        "unfold": columns.fallback_unfold,
        "lrn": lrn,
        "dilation2d": DilationRecipe(composed, "amax"),
        # Only symmetric padding, and pads beyond the extent: all other modes are calls.
        "pad": indexed_pad,
    }


FIELDS: dict[str, Any] = {
    "to_framework": dict.fromkeys(INPUT_NAMES, "torch.from_numpy({})"),
    "to_numpy": "x.numpy()",
    "bfloat16": BFLOAT16_CONVERSION,
    "ones_expression": windows.OPERATIONS.ones,
    "takes_flat_pads": True,
}
_make_surface: Callable[..., Surface] = partial(Surface, **FIELDS)

# The result of an operator that autocast leaves alone has the dtype of x, and NumPy has no bfloat16.
AUTOCAST = MixedPrecision(
    lambda lines, dtype: (
        f"with torch.autocast(x.device.type, dtype=torch.{dtype}):",
        *(f"{INDENT}{line}" for line in lines),
    ),
    f"{BFLOAT16_CONVERSION.to_numpy} if x.dtype == torch.bfloat16 else x.numpy()",
)
FUNCTIONAL_WORDS = named.words(functional_call, named.functional_pad, layer=False)
FUNCTIONAL_LOWERINGS = _lowerings(
    functional_call,
    resizing.functional_resize,
    weights.functional_conv,
    weights.functional_transpose,
    block=blocks.FUNCTIONAL,
    column=columns.FUNCTIONAL,
    lrn=normalization.FUNCTIONAL,
    pad=padding.functional_pad,
    relu="F.relu(x)",
)
DECOMPOSED_LOWERINGS: Mapping[str, Lowering] = {
    "quantize": quantization.decomposed_quantize,
    "dequantize": quantization.decomposed_dequantize,
    "quantized_conv": partial(decomposed.conv, FUNCTIONAL_LOWERINGS["conv"]),
    "quantized_avg_pool": partial(decomposed.avg_pool, FUNCTIONAL_LOWERINGS["avg_pool"]),
}
FUNCTIONAL_FALLBACKS = _fallbacks(
    functional_call, weights.functional_transpose, normalization.FUNCTIONAL_FALLBACK, padding.functional_pad
)
# These fallbacks consist of slices and indexing, for which a memory format selects no other kernel.
SLICED_FALLBACKS = {
    "softmax_pool",
    "stochastic_pool",
    "stochastic_pool_probabilities",
    "pad",
    "unfold",
    "dilation2d",
    *BLOCK_OPERATORS,
}
SURFACES: tuple[Surface, ...] = (
    _make_surface(
        "torch.nn",
        _lowerings(
            layer_call,
            resizing.layer_resize,
            weights.layer_conv,
            weights.layer_transpose,
            block=blocks.LAYER,
            column=columns.LAYER,
            lrn=normalization.LAYER,
            pad=padding.layer_pad,
            relu="nn.ReLU()(x)",
        ),
        fallbacks=_fallbacks(layer_call, weights.layer_transpose, normalization.LAYER_FALLBACK, padding.layer_pad),
        words=named.words(layer_call, named.layer_pad, layer=True),
        chain_words=named.LAYER_CHAIN_WORDS,
        drawn={"fractional_max_pool": partial(regions.drawn_fractional_max_pool, layer_call)},
        mixed_precision=AUTOCAST,
        dtypes=LAYER_DTYPES,
        unsupported_dtypes=LAYER_UNSUPPORTED_DTYPES,
        write_gradient=weights.layer_autograd_gradient,
    ),
    _make_surface(
        "torch.nn.functional",
        FUNCTIONAL_LOWERINGS,
        fallbacks=FUNCTIONAL_FALLBACKS,
        words=FUNCTIONAL_WORDS,
        drawn={"fractional_max_pool": partial(regions.drawn_fractional_max_pool, functional_call)},
        mixed_precision=AUTOCAST,
        dtypes=DTYPES,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        write_gradient=weights.autograd_gradient,
    ),
    _make_surface(
        "torch.channels_last",
        layout.channels_last_lowerings(FUNCTIONAL_LOWERINGS),
        fallbacks=layout.channels_last_lowerings(
            {name: lowering for name, lowering in FUNCTIONAL_FALLBACKS.items() if name not in SLICED_FALLBACKS}
        ),
        words=layout.channels_last_lowerings(FUNCTIONAL_WORDS),
        dtypes=DTYPES,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        write_gradient=layout.channels_last_gradient,
        wrap_program=layout.without_repeated_conversion,
        mixed_precision=AUTOCAST,
    ),
    _make_surface(
        "torch.compile",
        FUNCTIONAL_LOWERINGS,
        fallbacks=FUNCTIONAL_FALLBACKS,
        words=FUNCTIONAL_WORDS,
        dtypes=DTYPES,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        write_gradient=compiling.compiled_gradient,
        wrap_program=compiling.compile_lines,
        mixed_precision=AUTOCAST,
        missing_requirement=compiling.missing_compiler,
        # Inductor compiles every program with a C++ compiler, which takes seconds.
        max_level=Level.SMOKE,
        slow_tag="compiled",
    ),
    _make_surface(
        "torch.compile.dynamic",
        FUNCTIONAL_LOWERINGS,
        fallbacks=FUNCTIONAL_FALLBACKS,
        dtypes=DTYPES,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        write_gradient=compiling.compiled_gradient,
        with_sizes=compiling.dynamic_surface,
        missing_requirement=compiling.missing_compiler,
        max_level=Level.SMOKE,
        # A program with symbolic extents takes several times as long to compile as one with numbers.
        slow_tag="dynamic_compiled",
        only_tagged=True,
    ),
    d2l.book_surface(
        "torch.book",
        _d2l_pool,
        **FIELDS,
        dtypes={"": FLOATING, "max_pool": FLOATING_AND_SIGNED},
        unsupported_dtypes={"avg_pool": no_kernel("the mean of a tensor", except_dtypes=FLOATING)},
    ),
)
QUANTIZED_MAXIMA = {"max_pool": frozenset({"int8", "uint8"})}
SURFACES += (
    _make_surface(
        "torch.quantized",
        {
            "quantize": quantization.quantize,
            "dequantize": quantization.dequantize,
            "quantized_avg_pool": partial(quantization.avg_pool, "", Formula.RECIPROCAL_PLUS_ZERO_POINT),
            "quantized_conv": partial(quantized_convolution.conv, Engine.FBGEMM),
            "max_pool": quantization.max_pool,
        },
        fallbacks={"quantize": quantization.RECIPE.quantize},
        dtypes={**QUANTIZE_DTYPES, **QUANTIZED_POOLING_DTYPES, **QUANTIZED_CONVOLUTION_DTYPES, **QUANTIZED_MAXIMA},
    ),
    _make_surface(
        "torch.quantized_onednn",
        {"quantized_conv": partial(quantized_convolution.conv, Engine.ONEDNN)},
        dtypes=QUANTIZED_CONVOLUTION_DTYPES,
    ),
    _make_surface(
        "torch.quantized_qnnpack",
        {
            "quantized_conv": partial(quantized_convolution.conv, Engine.QNNPACK),
            "quantized_avg_pool": quantization.qnnpack_avg_pool,
            "max_pool": quantization.qnnpack_max_pool,
        },
        dtypes={**QUANTIZED_CONVOLUTION_DTYPES, **QUANTIZED_POOLING_DTYPES, **QUANTIZED_MAXIMA},
    ),
    _make_surface(
        "torch.quantized_channels_last",
        {"quantized_avg_pool": partial(quantization.avg_pool, "channels_last", Formula.RECIPROCAL)},
        dtypes=QUANTIZED_POOLING_DTYPES,
    ),
    _make_surface(
        "torch.quantized_decomposed",
        DECOMPOSED_LOWERINGS,
        dtypes={**QUANTIZE_DTYPES, **QUANTIZED_POOLING_DTYPES, **QUANTIZED_CONVOLUTION_DTYPES},
    ),
)
FUNCTIONAL_SURFACE = SURFACES[1]
SURFACES += (
    derivative_surface(
        FUNCTIONAL_SURFACE, "torch.func.jvp", lambda function: (f"_, x = torch.func.jvp({function}, (x,), (x,))",)
    ),
    derivative_surface(FUNCTIONAL_SURFACE, "torch.double_backward", compiling.double_backward_lines),
    mapped_surface(FUNCTIONAL_SURFACE, "torch.func.vmap", "torch.func.vmap"),
)
