"""Keras 3: the engines that it runs on, what the kernels of each lack, and how each differentiates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.adapters import jax, tensorflow, torch
from conformance.adapters.api.devices import Variables
from conformance.adapters.api.surface import Devices, Differentiation, Unsupported
from conformance.adapters.jax.windows import jitted
from conformance.adapters.tensorflow.channels_first import ONEDNN_ONLY
from conformance.adapters.tensorflow.convolution import HOLES, NO_INTEGERS_3D
from conformance.adapters.tensorflow.dtypes import HOLES_AND_STRIDE, ONEDNN, SPATIAL, WHOLE_AVERAGES, ones
from conformance.adapters.tensorflow.pooling import adaptive_lacks, unpoolable
from conformance.adapters.torch.calls import HALVES
from conformance.adapters.torch.convolution import gradient as torch_tape
from conformance.adapters.torch.pooling import INTEGER_AVERAGES, NO_HALVES, NO_INTEGERS
from conformance.cases.arrays import DTYPES
from conformance.cases.steps import Step

Limit = Callable[[Step], Unsupported | None]
"""Why an engine has no kernel for a call that Keras can write, None where it has one."""

CHANNELS_FIRST = '"channels_first"'
FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
EVERY = frozenset(DTYPES)


def none_lacking(_step: Step) -> None:
    """Return that there is a kernel."""


@dataclass(frozen=True)
class Engine:
    """One of the frameworks that computes for Keras.

    packages: the modules whose versions count besides Keras; threads, holds, setup, reset: what it adds to Keras' own;
    devices: those that it knows beside the CPU; dtypes: what Keras hands it; convolved: what it convolves;
    words: how bfloat16 comes in;
    pools, convolves, transposes: limits of its kernels; weights: what the weights of layers cannot be;
    modes: its words for modes of padding beside the constant;
    reach: how many cells fewer than there are a mode repeats, any number where that is not said;
    spaces: whether it does so along three axes; scattered: how many values it is asked to scatter;
    tape, layer_tape: how it differentiates, towards the weights of a layer too;
    compiled: whether it compiles call by call, so that several go faster as one function;
    turned: further limits of its convolutions where channels come first; first: whether they do.
    """

    name: str
    packages: tuple[str, ...]
    tape: Differentiation
    layer_tape: Differentiation
    modes: Mapping[str, str]
    threads: str
    holds: Variables
    setup: str
    reset: str = ""
    devices: Devices = field(default_factory=dict)
    dtypes: frozenset[str] = EVERY
    convolved: frozenset[str] = EVERY - {"bool"}
    words: str = 'keras.ops.view({}, "bfloat16")'
    pools: Limit = none_lacking
    convolves: Limit = none_lacking
    transposes: Limit = none_lacking
    weights: Limit = none_lacking
    reach: Mapping[str, int] = field(default_factory=dict)
    spaces: bool = True
    scattered: int = sys.maxsize
    compiled: bool = False
    turned: Limit = none_lacking
    first: bool = False

    @property
    def channels_first(self) -> Engine:
        """The engine where every layer is told that channels come first."""
        return replace(
            self,
            first=True,
            convolves=lambda step: self.turned(step) or self.convolves(step),
            transposes=lambda step: self.turned(step) or self.transposes(step),
        )

    @property
    def layout(self) -> str | None:
        """The `data_format` that a layer is told, None where the usual one holds."""
        return CHANNELS_FIRST if self.first else None

    def whole(self, *lines: str, names: Sequence[str] = ("x",)) -> tuple[str, ...]:
        """Return several calls; as one function where the engine would compile each by itself."""
        called = "convolve" if "kernel" in names else "pool"
        return jitted(*lines, names=names, called=called) if self.compiled else lines


def _torch_pools(step: Step) -> Unsupported | None:
    if step.dtype in FLOATING:
        lacking = "avg" in step.verb and step.rank == SPATIAL and step.dtype in HALVES
        return Unsupported("three-dimensional averages have no kernel for 16 bits", NO_HALVES) if lacking else None
    if step.verb.startswith("adaptive"):
        return Unsupported(f"adaptive pooling has no kernel for {step.dtype}")
    if step.verb == "avg_pool":
        return Unsupported(f"average pooling has no kernel for {step.dtype}", INTEGER_AVERAGES)
    if step.dtype == "bool" or step.rank == 1:
        return Unsupported(f"max pooling along {step.rank} axes has no kernel for {step.dtype}", NO_INTEGERS)
    return None


def _torch_weights(step: Step) -> Unsupported | None:
    return None if step.dtype in FLOATING else Unsupported("the weights of layers are trained, and integers cannot be")


def _torch_layer_tape(lines: Sequence[str], names: Sequence[str], wanted: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input, or of the variable of a layer."""
    if wanted == "x" or not any(line.startswith("conv.set_weights") for line in lines):
        return torch_tape(lines, names, wanted)
    return (*lines, f"(x,) = torch.autograd.grad(x, conv.{wanted}.value, grad)")


TORCH = Engine(
    "torch",
    ("torch",),
    torch_tape,
    _torch_layer_tape,
    {"reflect": "reflect", "symmetric": "symmetric", "wrap": "circular"},
    threads="import torch\n\ntorch.set_num_threads(1)\n",
    holds=torch.HOLDS,
    setup="import torch\n",
    # Keras itself puts on the device whatever it makes tensors of, and takes it back.
    devices={"cuda": replace(torch.CUDA, surface=None)},
    words="{}.to(torch.uint16).view(torch.bfloat16)",
    dtypes=EVERY - {"uint64"},
    pools=_torch_pools,
    weights=_torch_weights,
    reach={"reflect": 1, "wrap": 0},
    spaces=False,
    scattered=10_000,  # one after the other, in Python
)


def _jax_layer_tape(lines: Sequence[str], names: Sequence[str], wanted: str) -> Sequence[str]:
    """Pull the gradient back through a compiled function; a layer is made before it, and handed its weights."""
    made = tuple(line for line in lines if line.startswith(("conv = ", "conv.build")))
    handed = f"conv.stateless_call([{', '.join(names[1:])}], [], x)[0]"
    called = [line.replace("conv(x)", handed) for line in lines if not line.startswith("conv")]
    return (*made, *jax.gradient(called, names, wanted))


JAX = Engine(
    "jax",
    ("jax", "jaxlib"),
    jax.gradient,
    _jax_layer_tape,
    {mode: mode for mode in ("edge", "reflect", "symmetric", "wrap")},
    threads=jax.THREADS,
    holds=jax.HOLDS,
    setup='import jax\n\njax.config.update("jax_enable_x64", True)\n',
    reset=jax.RESET,
    devices=jax.DEVICES,
    compiled=True,
)


def _tensorflow_pools(step: Step) -> Unsupported | None:
    if "avg" in step.verb and step.dtype not in FLOATING:
        return WHOLE_AVERAGES
    return adaptive_lacks(step) if step.verb.startswith("adaptive") else unpoolable(step)


def _tensorflow_convolves(step: Step) -> Unsupported | None:
    if step.rank == SPATIAL and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    return HOLES_AND_STRIDE if step.dilated and step.stride != ones(step) else None


def _tensorflow_transposes(step: Step) -> Unsupported | None:
    if step.dilated and step.dtype not in ONEDNN:
        return Unsupported("dilated transposed convolutions exist for float32 and bfloat16 only on the CPU", HOLES)
    return _tensorflow_convolves(step)


def _tensorflow_turned(step: Step) -> Unsupported | None:
    by_xla = step.verb == "conv" and (step.rank == SPATIAL or step.parameters["groups"] != 1)
    return None if by_xla or step.dtype in ONEDNN else ONEDNN_ONLY


TENSORFLOW = Engine(
    "tensorflow",
    ("tensorflow",),
    tensorflow.tape,
    tensorflow.layer_tape,
    {mode: mode for mode in ("reflect", "symmetric")},
    threads=tensorflow.THREADS,
    holds=tensorflow.HOLDS,
    setup="import tensorflow as tf\n",
    reset=tensorflow.SEED,
    devices=tensorflow.DEVICES,
    convolved=FLOATING | {"int32"},
    pools=_tensorflow_pools,
    convolves=_tensorflow_convolves,
    transposes=_tensorflow_transposes,
    reach={"reflect": 1, "symmetric": 0},
    turned=_tensorflow_turned,
)
ENGINES = (TORCH, JAX, TENSORFLOW)
