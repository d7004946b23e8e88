"""PyTorch: channels first, like the suite.

What it changes: asymmetric padding, padding of more than half a window and the output-size rule `full` go through
explicit padding; averages with holes are convolutions; layers with weights get the case's; norms to a power that is not
even are those of absolute values; symmetric padding, and padding beyond the extent, name the cells by their indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api import d2l
from conformance.adapters.api.indexed_padding import indexed_pad
from conformance.adapters.api.source_text import tuple_of
from conformance.adapters.api.stacked_windows import Stacking
from conformance.adapters.api.surface import Code, OnDevice, Surface, Verb, Words
from conformance.adapters.torch import adaptive as regions
from conformance.adapters.torch import channels_last as layout
from conformance.adapters.torch import compiled as compiling
from conformance.adapters.torch import convolution as weights
from conformance.adapters.torch import padding, pooling, windows
from conformance.adapters.torch.calls import (
    EVERYTHING,
    FLOATING,
    INTEGERS,
    Spelling,
    carried,
    functional,
    in_float32,
    layer,
    no_kernel,
)
from conformance.cases.steps import Step

PACKAGES = ("torch", "numpy")
THREADS = """\
import os

import torch

torch.set_num_threads(1)
# What torch.compile makes is kept for the next run, in the user's own cache, and made in this very process.
cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(cache, "nn-conformance", "inductor"))
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
"""
HOLDS = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
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
if "torch._dynamo" in sys.modules:
    torch._dynamo.reset()
"""


def _book_pool(reduce: str, step: Step) -> Code:
    """Return the book's own loop over the positions of a plane, or the padded layer that its tab shows."""
    if d2l.shows_padding(step, READERS):
        return pooling.max_pool(layer, step)
    refusal = d2l.beyond_the_loops(step)
    if refusal:
        return refusal
    height, width = step.window
    return (
        f"y = torch.zeros({tuple_of(step.output)}, dtype=x.dtype)",
        "for plane, out in zip(x.flatten(0, 1), y.flatten(0, 1)):",
        "    for i in range(out.shape[0]):",
        "        for j in range(out.shape[1]):",
        f"            out[i, j] = plane[i:i + {height}, j:j + {width}].{reduce}()",
        "x = y",
    )


# One reader of the PyTorch tab pads both axes.
READERS = (((2, 3), (2, 3), ((1, 1), (1, 1))),)
STACKED = Stacking(padding.functional_pad, stack="torch.stack", softmax="torch.softmax({}, 0)")
WIDE = FLOATING | INTEGERS
CARRIED = EVERYTHING - {"int64", "uint64"}
DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOATING,
    "max_pool": EVERYTHING - {"uint64"},
    "max_pool_with_indices": WIDE,
    "min_pool": EVERYTHING - {"uint64"},
    "avg_pool": WIDE,
    "global_avg_pool": WIDE,
    "global_max_pool": EVERYTHING - {"uint64"},
    "adaptive_max_pool": CARRIED,
    "max_unpool": CARRIED,
    "pad": EVERYTHING,
    "conv": WIDE,
    "conv_transpose": FLOATING | {"int64"},
    "relu": WIDE,
    "negate": WIDE,
}
REFUSES = {
    "max_pool": no_kernel("max pooling", beside=DTYPES["max_pool"], issue=pooling.NO_INTEGERS),
    "max_pool_with_indices": no_kernel("max pooling", beside=WIDE, issue=pooling.NO_INTEGERS),
    "min_pool": no_kernel("max pooling", beside=DTYPES["min_pool"], issue=pooling.NO_INTEGERS),
    "avg_pool": no_kernel("average pooling", beside=WIDE, issue=pooling.INTEGER_AVERAGES),
    "lp_pool": no_kernel("Lp pooling", beside=FLOATING),
    "softmax_pool": no_kernel("softmax", beside=FLOATING),
    "global_max_pool": no_kernel("adaptive max pooling", beside=DTYPES["global_max_pool"]),
    "adaptive_max_pool": no_kernel("adaptive max pooling", beside=CARRIED),
    "global_avg_pool": no_kernel("adaptive average pooling", beside=WIDE),
    "adaptive_avg_pool": no_kernel("adaptive average pooling", beside=FLOATING),
    "fractional_max_pool": no_kernel("fractional max pooling", beside=FLOATING),
    "max_unpool": no_kernel("max unpooling", beside=CARRIED),
    "conv": no_kernel("convolution", beside=WIDE),
    "conv_transpose": no_kernel("transposed convolution", beside=DTYPES["conv_transpose"]),
}
RANDOM = dict.fromkeys(INTEGERS, weights.RANDOM)
LAYER_DTYPES = {**DTYPES, "conv": FLOATING, "conv_transpose": FLOATING}
LAYER_REFUSES = {
    **REFUSES,
    "conv": {**REFUSES["conv"], **RANDOM},
    "conv_transpose": {**REFUSES["conv_transpose"], **RANDOM},
}
INPUTS = ("x", "kernel", "bias", "samples", "draws")
ENTER = dict.fromkeys(INPUTS, "torch.from_numpy({})")
WORDS = Words(
    "{}.view(torch.bfloat16)",
    "{}.to(torch.bfloat16)",
    'x.view(torch.uint16).numpy().view([("bfloat16", np.uint16)])',
)


def on_cuda(surface: Surface) -> Surface:
    """Return a surface whose inputs go to the device that everything is made on, and whose results come back."""
    words = Words(WORDS.enter, WORDS.cast, f"x.cpu(){WORDS.leave.removeprefix('x')}")
    enter = dict.fromkeys(INPUTS, 'torch.from_numpy({}).to("cuda")')
    return replace(surface, enter=enter, leave="x.cpu().numpy()", words=words)


TF32 = "torch.backends.cuda.matmul.allow_tf32 = {0}\ntorch.backends.cudnn.allow_tf32 = {0}\n"
CUDA = OnDevice(
    "torch.cuda.init()\nhardware = torch.cuda.get_device_name()\n",
    {"float32": TF32.format(False), "tf32": TF32.format(True)},
    setup='torch.set_default_device("cuda")\n',
    # An error of a kernel shows late, and then in whatever comes next: it must end the process.
    reset="torch.cuda.synchronize()\n",
    surface=on_cuda,
)
DEVICES = {"cuda": CUDA}


def _verbs(spell: Spelling, conv: Verb, transpose: Verb, pad: Verb, relu: str) -> Mapping[str, Verb]:
    adaptive = partial(regions.adaptive_pool, spell)
    return {
        "max_pool": partial(pooling.max_pool, spell),
        "avg_pool": partial(pooling.avg_pool, spell),
        "lp_pool": partial(pooling.lp_pool, spell),
        "max_pool_with_indices": partial(pooling.indexed_max_pool, spell),
        "max_unpool": partial(regions.max_unpool, spell),
        "global_max_pool": adaptive,
        "global_avg_pool": adaptive,
        "adaptive_max_pool": adaptive,
        "adaptive_avg_pool": adaptive,
        "fractional_max_pool": partial(regions.fractional_max_pool, spell),
        "conv": conv,
        "conv_transpose": transpose,
        "pad": pad,
        "relu": lambda _step: relu,
    }


def _composed(spell: Spelling, transpose: Callable[..., Code], pad: Verb) -> Mapping[str, Verb]:
    return {
        "max_pool": partial(pooling.other_max_pool, spell),
        "avg_pool": partial(pooling.other_avg_pool, spell, pad),
        "min_pool": partial(pooling.least_pool, spell, pad),
        "softmax_pool": partial(in_float32, STACKED.softmax_pool),
        "lp_pool": partial(in_float32, partial(pooling.other_lp_pool, spell, pad)),
        "max_pool_with_indices": partial(pooling.padded_max_pool, spell, pad),
        "max_unpool": partial(carried, regions.EXACT, partial(regions.max_unpool, spell)),
        "global_max_pool": partial(regions.channel_maximum, spell),
        "global_avg_pool": windows.channel_average,
        "adaptive_max_pool": partial(carried, regions.EXACT, partial(regions.adaptive_pool, spell)),
        "fractional_max_pool": partial(regions.row_fractional_max_pool, spell),
        "stochastic_pool_probabilities": partial(in_float32, partial(windows.probabilities, pad)),
        "stochastic_pool": partial(in_float32, partial(windows.stochastic_pool, pad)),
        "pad": indexed_pad,
        "conv_transpose": partial(transpose, sliced=True),
    }


_surface: Callable[..., Surface] = partial(
    Surface, enter=ENTER, leave="x.numpy()", words=WORDS, ones=windows.ONES, flat_pads=True
)

FUNCTIONAL = _verbs(
    functional, weights.functional_conv, weights.functional_transpose, padding.functional_pad, "F.relu(x)"
)
OTHERS = _composed(functional, weights.functional_transpose, padding.functional_pad)
# What users write by hand is made of slices, which have no kernel for a memory format.
BY_HAND = {"softmax_pool", "stochastic_pool", "stochastic_pool_probabilities", "pad"}
SURFACES = (
    _surface(
        "torch.nn",
        _verbs(layer, weights.layer_conv, weights.layer_transpose, padding.layer_pad, "nn.ReLU()(x)"),
        composed=_composed(layer, weights.layer_transpose, padding.layer_pad),
        dtypes=LAYER_DTYPES,
        refuses=LAYER_REFUSES,
        gradient=weights.layer_gradient,
    ),
    _surface(
        "torch.nn.functional",
        FUNCTIONAL,
        composed=OTHERS,
        dtypes=DTYPES,
        refuses=REFUSES,
        gradient=weights.gradient,
    ),
    _surface(
        "torch.channels_last",
        layout.channels_last(FUNCTIONAL),
        composed=layout.channels_last({name: verb for name, verb in OTHERS.items() if name not in BY_HAND}),
        dtypes=DTYPES,
        refuses=REFUSES,
        gradient=layout.channels_last_gradient,
        wrap=layout.once,
    ),
    _surface(
        "torch.compile",
        FUNCTIONAL,
        composed=OTHERS,
        dtypes=DTYPES,
        refuses=REFUSES,
        gradient=compiling.compiled_gradient,
        wrap=compiling.compiled,
        lacks=compiling.no_compiler,
        level="smoke",
        tag="compiled",
    ),
    _surface(
        "torch.book",
        {"max_pool": partial(_book_pool, "max"), "avg_pool": partial(_book_pool, "mean")},
        dtypes={"": FLOATING, "max_pool": WIDE},
        refuses={"avg_pool": no_kernel("the mean of a tensor", beside=FLOATING)},
        compositions=False,
        level="smoke",
    ),
)
