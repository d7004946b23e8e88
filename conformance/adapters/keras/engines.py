"""Keras 3: the engines that it runs on, what the kernels of each lack, and how each differentiates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.adapters import jax, tensorflow, torch
from conformance.adapters.api.devices import InstructionVariables
from conformance.adapters.api.surface import DeviceSupportByName, GradientWriter, Unsupported
from conformance.adapters.jax.windows import jit_lines
from conformance.adapters.tensorflow.channels_first import ONEDNN_ONLY
from conformance.adapters.tensorflow.convolution import DILATION_ISSUE, NO_INTEGERS_3D
from conformance.adapters.tensorflow.dtypes import (
    NO_INTEGER_AVERAGES,
    NO_STRIDED_DILATION,
    ONEDNN_DTYPES,
    VOLUME_RANK,
    ones_per_axis,
)
from conformance.adapters.tensorflow.pooling import unsupported_adaptive, unsupported_pooling
from conformance.adapters.torch.calls import SHORT_FLOATS
from conformance.adapters.torch.convolution import autograd_gradient
from conformance.adapters.torch.pooling import FLOAT16_ISSUE, INTEGER_AVERAGES_ISSUE, INTEGER_POOLING_ISSUE
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.steps import Step

KernelLimit = Callable[[Step], Unsupported | None]
"""Why an engine has no kernel for a call that Keras can write, None where it has one."""

CHANNELS_FIRST_FORMAT = '"channels_first"'
FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
ALL_DTYPES = frozenset(NUMPY_DTYPES)


def no_limit(_step: Step) -> None:
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
    write_gradient: GradientWriter
    write_layer_gradient: GradientWriter
    padding_modes: Mapping[str, str]
    threads: str
    instruction_variables: InstructionVariables
    setup: str
    reset: str = ""
    devices: DeviceSupportByName = field(default_factory=dict)
    dtypes: frozenset[str] = ALL_DTYPES
    convolution_dtypes: frozenset[str] = ALL_DTYPES - {"bool"}
    bfloat16_expression: str = 'keras.ops.view({}, "bfloat16")'
    pooling_limit: KernelLimit = no_limit
    convolution_limit: KernelLimit = no_limit
    transposed_limit: KernelLimit = no_limit
    layer_weights_limit: KernelLimit = no_limit
    max_padding_by_mode: Mapping[str, int] = field(default_factory=dict)
    supports_space_to_batch: bool = True
    max_scatter_rank: int = sys.maxsize
    compiles_functions: bool = False
    transposed_layer_limit: KernelLimit = no_limit
    has_channels_first: bool = False

    @property
    def channels_first(self) -> Engine:
        """The engine where every layer is told that channels come first."""
        return replace(
            self,
            has_channels_first=True,
            convolution_limit=lambda step: self.transposed_layer_limit(step) or self.convolution_limit(step),
            transposed_limit=lambda step: self.transposed_layer_limit(step) or self.transposed_limit(step),
        )

    @property
    def layout(self) -> str | None:
        """The `data_format` that a layer is told, None where the usual one holds."""
        return CHANNELS_FIRST_FORMAT if self.has_channels_first else None

    def as_one_function(self, *lines: str, names: Sequence[str] = ("x",)) -> tuple[str, ...]:
        """Return several calls; as one function where the engine would compile each by itself."""
        called = "convolve" if "kernel" in names else "pool"
        return jit_lines(*lines, names=names, called=called) if self.compiles_functions else lines


def _torch_pooling_limit(step: Step) -> Unsupported | None:
    if step.dtype in FLOATING:
        lacking = "avg" in step.operator and step.rank == VOLUME_RANK and step.dtype in SHORT_FLOATS
        return Unsupported("three-dimensional averages have no kernel for 16 bits", FLOAT16_ISSUE) if lacking else None
    if step.operator.startswith("adaptive"):
        return Unsupported(f"adaptive pooling has no kernel for {step.dtype}")
    if step.operator == "avg_pool":
        return Unsupported(f"average pooling has no kernel for {step.dtype}", INTEGER_AVERAGES_ISSUE)
    if step.dtype == "bool" or step.rank == 1:
        return Unsupported(f"max pooling along {step.rank} axes has no kernel for {step.dtype}", INTEGER_POOLING_ISSUE)
    return None


def _torch_layer_weights_limit(step: Step) -> Unsupported | None:
    return None if step.dtype in FLOATING else Unsupported("the weights of layers are trained, and integers cannot be")


def _torch_layer_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input, or of the variable of a layer."""
    if input_name == "x" or not any(line.startswith("conv.set_weights") for line in lines):
        return autograd_gradient(lines, names, input_name)
    return (*lines, f"(x,) = torch.autograd.grad(x, conv.{input_name}.value, grad)")


TORCH_ENGINE = Engine(
    "torch",
    ("torch",),
    autograd_gradient,
    _torch_layer_gradient,
    {"reflect": "reflect", "symmetric": "symmetric", "wrap": "circular"},
    threads="import torch\n\ntorch.set_num_threads(1)\n",
    instruction_variables=torch.HOLDS,
    setup="import torch\n",
    # Keras itself puts on the device whatever it makes tensors of, and takes it back.
    devices={"cuda": replace(torch.CUDA_SUPPORT, surface=None)},
    bfloat16_expression="{}.to(torch.uint16).view(torch.bfloat16)",
    dtypes=ALL_DTYPES - {"uint64"},
    pooling_limit=_torch_pooling_limit,
    layer_weights_limit=_torch_layer_weights_limit,
    max_padding_by_mode={"reflect": 1, "wrap": 0},
    supports_space_to_batch=False,
    max_scatter_rank=10_000,  # one after the other, in Python
)


def _jax_layer_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Pull the gradient back through a compiled function; a layer is made before it, and handed its weights."""
    made = tuple(line for line in lines if line.startswith(("conv = ", "conv.build")))
    handed = f"conv.stateless_call([{', '.join(names[1:])}], [], x)[0]"
    called = [line.replace("conv(x)", handed) for line in lines if not line.startswith("conv")]
    return (*made, *jax.jit_gradient(called, names, input_name))


JAX_ENGINE = Engine(
    "jax",
    ("jax", "jaxlib"),
    jax.jit_gradient,
    _jax_layer_gradient,
    {mode: mode for mode in ("edge", "reflect", "symmetric", "wrap")},
    threads=jax.THREADS,
    instruction_variables=jax.HOLDS,
    setup='import jax\n\njax.config.update("jax_enable_x64", True)\n',
    reset=jax.RESET,
    devices=jax.DEVICES,
    compiles_functions=True,
)


def _tensorflow_pooling_limit(step: Step) -> Unsupported | None:
    if "avg" in step.operator and step.dtype not in FLOATING:
        return NO_INTEGER_AVERAGES
    return unsupported_adaptive(step) if step.operator.startswith("adaptive") else unsupported_pooling(step)


def _tensorflow_convolution_limit(step: Step) -> Unsupported | None:
    if step.rank == VOLUME_RANK and step.dtype not in FLOATING:
        return NO_INTEGERS_3D
    return NO_STRIDED_DILATION if step.dilated and step.stride != ones_per_axis(step) else None


def _tensorflow_transposed_limit(step: Step) -> Unsupported | None:
    if step.dilated and step.dtype not in ONEDNN_DTYPES:
        return Unsupported(
            "dilated transposed convolutions exist for float32 and bfloat16 only on the CPU", DILATION_ISSUE
        )
    return _tensorflow_convolution_limit(step)


def _tensorflow_transposed_layer_limit(step: Step) -> Unsupported | None:
    by_xla = step.operator == "conv" and (step.rank == VOLUME_RANK or step.parameters["groups"] != 1)
    return None if by_xla or step.dtype in ONEDNN_DTYPES else ONEDNN_ONLY


TENSORFLOW_ENGINE = Engine(
    "tensorflow",
    ("tensorflow",),
    tensorflow.tape_gradient,
    tensorflow.layer_tape_gradient,
    {mode: mode for mode in ("reflect", "symmetric")},
    threads=tensorflow.THREADS,
    instruction_variables=tensorflow.HOLDS,
    setup="import tensorflow as tf\n",
    reset=tensorflow.SEED_SETUP,
    devices=tensorflow.DEVICES,
    convolution_dtypes=FLOATING | {"int32"},
    pooling_limit=_tensorflow_pooling_limit,
    convolution_limit=_tensorflow_convolution_limit,
    transposed_limit=_tensorflow_transposed_limit,
    max_padding_by_mode={"reflect": 1, "symmetric": 0},
    transposed_layer_limit=_tensorflow_transposed_layer_limit,
)
ENGINES = (TORCH_ENGINE, JAX_ENGINE, TENSORFLOW_ENGINE)
