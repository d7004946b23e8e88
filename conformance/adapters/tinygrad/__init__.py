"""Adapter for tinygrad: methods of `Tensor`, which clang compiles for the CPU. Channels first, as in the suite.

Differences from direct calls:
- Symmetric padding indexes the cells.
- Operators that `Tensor` lacks are computed on views of all windows, made with `unfold`.
- Indices are converted from int32 to int64.
- Compiled programs are cached in the cache folder of nn-conformance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.adapters.api import (
    ALL_DTYPES,
    BLOCK_OPERATORS,
    FLOATING,
    INTEGERS,
    SELECTION_OPERATORS,
    Bfloat16Conversion,
    DeviceSupport,
    Level,
    Surface,
    Unsupported,
    indexed_pad,
    unsupported_operators,
)
from conformance.adapters.api.blocks.recipes import BlockRecipe
from conformance.adapters.api.columns.recipes import UnfoldRecipe
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.api.normalization.recipes import NormalizationRecipe
from conformance.adapters.tinygrad import calls, resizing, windows, words
from conformance.adapters.tinygrad.padding import pad

PACKAGES = ("tinygrad", "numpy")
THREADS = """\
import os
import shutil
from importlib.util import find_spec

os.environ["DEV"] = "CPU"
os.environ["NUM_CPU_THREADS"] = "1"
# No processes that compile: they end with the case that started them, and the next one would start them anew.
os.environ["PARALLEL"] = "0"
# Compiled programs are kept for the next run.
folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nn-conformance", "tinygrad")
os.makedirs(folder, exist_ok=True)
os.environ.setdefault("CACHEDB", os.path.join(folder, "cache.db"))
# The package ziglang holds a clang, for machines that have none.
if find_spec("ziglang"):
    os.environ["CC"], own = os.path.join(folder, "clang"), os.path.join(folder, f"clang-{os.getpid()}")
    with open(own, "w") as script:
        script.write(f'#!/bin/sh\\nexec "{os.path.dirname(find_spec("ziglang").origin)}/zig" clang "$@"\\n')
    os.chmod(own, 0o755)
    os.replace(own, os.environ["CC"])
if not shutil.which(os.environ.get("CC", "clang")):
    raise ImportError("tinygrad needs clang to compile for the CPU, and there is none: install clang or ziglang")
"""
THREAD_SETTINGS = {'os.environ["NUM_CPU_THREADS"] = "1"': 'os.environ["NUM_CPU_THREADS"] = "{}"'}
SETUP = """\
import numpy as np
from tinygrad import Tensor, dtypes
"""
RESET = ""
DEVICES = {
    "cuda": DeviceSupport(
        'Tensor([1.0], device="CUDA").add(1).numpy()\nhardware = "CUDA device 0"\n',
        {"float32": "ALLOW_TF32.value = 0\n", "tf32": "ALLOW_TF32.value = 1\n"},
        setup="from tinygrad.helpers import ALLOW_TF32\n\n",
        threads='os.environ["DEV"] = "CUDA"\n',
    ),
}


def _backward_lines(lines: Sequence[str], _names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input."""
    # The lines assign x again, so the input needs another name.
    return (f"leaf = {input_name}", *lines, "(x,) = x.gradient(leaf, gradient=grad)")


# These operators are listed so that an unsupported dtype is reported with its own reason for them too.
UNSUPPORTED_OPERATORS = unsupported_operators(
    {
        "min_pool": "tinygrad has no minimum pooling",
        "lp_pool": "tinygrad has no Lp pooling",
        "softmax_pool": "tinygrad has no softmax pooling",
        "adaptive_max_pool": "tinygrad has no adaptive pooling",
        "adaptive_avg_pool": "tinygrad has no adaptive pooling",
        "fractional_max_pool": "tinygrad has no fractional pooling",
        "stochastic_pool": "tinygrad has no stochastic pooling",
        "stochastic_pool_probabilities": "tinygrad has no stochastic pooling",
        "unfold": "Tensor.unfold takes the windows of one axis, and does not move them to channels",
    }
)
DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOATING,
    **dict.fromkeys((*SELECTION_OPERATORS, *BLOCK_OPERATORS, "unfold", "pad", "resize", "relu", "negate"), ALL_DTYPES),
    **dict.fromkeys(("conv", "conv_transpose", "dilation2d"), FLOATING | INTEGERS),
}
NO_INTEGER_AVERAGES = Unsupported("averages, powers and quotients of integers are float32")
UNSUPPORTED_DTYPES = {
    "": dict.fromkeys((*INTEGERS, "bool"), NO_INTEGER_AVERAGES),
    # The reason of averages would be wrong for them: sums of bool have a dtype, but not that of x.
    "conv": {"bool": Unsupported("sums of bool are int32")},
    "conv_transpose": {"bool": Unsupported("sums of bool are int32")},
}
BLOCK_RECIPE = BlockRecipe(transpose="x.permute({})")

SURFACES = (
    Surface(
        "tinygrad.Tensor",
        {
            "max_pool": calls.max_pool,
            "avg_pool": calls.avg_pool,
            "max_pool_with_indices": calls.indexed_max_pool,
            "max_unpool": calls.max_unpool,
            "global_max_pool": calls.global_pool,
            "global_avg_pool": calls.global_pool,
            "conv": partial(calls.convolution, "conv2d"),
            "conv_transpose": partial(calls.convolution, "conv_transpose2d"),
            "pad": pad,
            "resize": resizing.resize,
            "relu": lambda _step: "x.relu()",
            **UNSUPPORTED_OPERATORS,
        },
        fallbacks={
            **windows.FALLBACKS,
            **dict.fromkeys(BLOCK_OPERATORS, BLOCK_RECIPE),
            "unfold": UnfoldRecipe(windows.COMPOSED, BLOCK_RECIPE),
            "dilation2d": DilationRecipe(windows.COMPOSED),
            "lrn": NormalizationRecipe("({x}).pad({pads})", False, "x.cast(dtypes.float32)", "x.cast(dtypes.{dtype})"),
            "pad": indexed_pad,
        },
        words=words.WORDS,
        to_framework=dict.fromkeys(("x", "kernel", "bias", "draws"), "Tensor({})"),
        to_numpy="x.numpy()",
        dtypes=DTYPES,
        unsupported_dtypes=UNSUPPORTED_DTYPES,
        bfloat16=Bfloat16Conversion(
            "{}.bitcast(dtypes.bfloat16)",
            "{}.cast(dtypes.bfloat16)",
            'x.bitcast(dtypes.uint16).numpy().view([("bfloat16", np.uint16)])',
        ),
        ones_expression="x.ones_like()",
        # Tensor.pad takes one flat list, the last axis first, or a pair for each axis of the array.
        takes_flat_pads=True,
        # Every program is compiled with clang, and compiled programs of one shape do not serve another.
        max_level=Level.SMOKE,
        slow_tag="compiled",
        write_gradient=_backward_lines,
    ),
)
