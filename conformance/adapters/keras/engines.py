"""The engines of Keras 3: the limits of their kernels, and how they compute gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.adapters import jax, tensorflow, torch
from conformance.adapters.api import (
    ALL_DTYPES,
    FLOATING,
    MAX_WINDOW_AXES,
    DeviceSupportByName,
    GradientWriter,
    InstructionVariables,
    ModeSelector,
    Step,
    Unsupported,
)
from conformance.adapters.jax.windows import jit_lines
from conformance.adapters.tensorflow.channels_first import ONEDNN_ONLY
from conformance.adapters.tensorflow.composed import MAX_PADDED_AXES
from conformance.adapters.tensorflow.convolution import DILATION_ISSUE, NO_INTEGERS_3D
from conformance.adapters.tensorflow.dtypes import (
    NO_INTEGER_AVERAGES,
    NO_STRIDED_DILATION,
    ONEDNN_DTYPES,
    VOLUME_RANK,
    ones_per_axis,
)
from conformance.adapters.tensorflow.pooling import unsupported_adaptive, unsupported_pooling
from conformance.adapters.torch.convolution import autograd_gradient
from conformance.adapters.torch.pooling import FLOAT16_ISSUE, INTEGER_AVERAGES_ISSUE, INTEGER_POOLING_ISSUE
from conformance.cases.arrays import SHORT_FLOATS

KernelLimit = Callable[[Step], Unsupported | None]
"""Returns why an engine has no kernel for a Keras call, or None if it has one."""

CHANNELS_FIRST_FORMAT = '"channels_first"'


def no_limit(_step: Step) -> None:
    """Return None: there is a kernel for every step."""


@dataclass(frozen=True)
class Engine:
    """A framework that computes for Keras.

    packages: modules whose versions are recorded, in addition to Keras and NumPy.
    write_gradient, write_layer_gradient: how gradients are written; the second one also for the weights of a layer.
    padding_modes: the engine's names of the padding modes other than constant.
    threads, thread_settings, instruction_variables, setup, select_mode, reset, devices: the engine's part of the
        adapter interface.
    dtypes, convolution_dtypes: dtypes that Keras passes to the engine, and those that it convolves.
    bfloat16_expression: converts 16-bit words, `{}`, to bfloat16.
    pooling_limit, convolution_limit, transposed_limit: limits of the kernels.
    layer_weights_limit: limits of the weights of layers.
    padding_margins: by padding mode, the input extent minus the maximum padding; other modes have no limit.
    max_axes: largest number of spatial axes of pooling and convolution with `keras.ops`.
    max_constant_axes, max_padded_axes: the same of padding, in mode constant and in the other modes.
    large_constant_dtypes: dtypes whose largest number is too large for an argument of a call.
    compiles_functions: whether the engine compiles call by call, so that several calls are faster as one function.
    channels_first_limit: further limits of convolutions with channels first.
    has_channels_first: whether channels come first.
    """

    name: str
    packages: tuple[str, ...]
    write_gradient: GradientWriter
    write_layer_gradient: GradientWriter
    padding_modes: Mapping[str, str]
    threads: str
    thread_settings: Mapping[str, str]
    instruction_variables: InstructionVariables
    setup: str
    select_mode: ModeSelector | None = None
    reset: str = ""
    devices: DeviceSupportByName = field(default_factory=dict)
    dtypes: frozenset[str] = ALL_DTYPES
    convolution_dtypes: frozenset[str] = ALL_DTYPES - {"bool"}
    bfloat16_expression: str = 'keras.ops.view({}, "bfloat16")'
    pooling_limit: KernelLimit = no_limit
    convolution_limit: KernelLimit = no_limit
    transposed_limit: KernelLimit = no_limit
    layer_weights_limit: KernelLimit = no_limit
    padding_margins: Mapping[str, int] = field(default_factory=dict)
    max_axes: int = MAX_WINDOW_AXES
    max_constant_axes: int = sys.maxsize
    max_padded_axes: int = sys.maxsize
    large_constant_dtypes: frozenset[str] = frozenset({"uint64"})
    compiles_functions: bool = False
    channels_first_limit: KernelLimit = no_limit
    has_channels_first: bool = False

    @property
    def channels_first(self) -> Engine:
        """The same engine with channels first in every layer."""
        return replace(
            self,
            has_channels_first=True,
            convolution_limit=lambda step: self.channels_first_limit(step) or self.convolution_limit(step),
            transposed_limit=lambda step: self.channels_first_limit(step) or self.transposed_limit(step),
        )

    @property
    def data_format(self) -> str | None:
        """The `data_format` argument of a layer, None for the default."""
        return CHANNELS_FIRST_FORMAT if self.has_channels_first else None

    def as_one_function(self, *lines: str, names: Sequence[str] = ("x",), called: str = "") -> tuple[str, ...]:
        """Return the lines, as one compiled function if the engine would compile each call separately."""
        called = called or ("convolve" if "kernel" in names else "pool")
        return jit_lines(*lines, names=names, called=called) if self.compiles_functions else lines


def _torch_pooling_limit(step: Step) -> Unsupported | None:
    if step.dtype in FLOATING:
        # pytorch#83321: F.avg_pool3d and F.lp_pool3d are the only calls without 16-bit kernels.
        unsupported = "avg" in step.operator and step.rank == VOLUME_RANK and step.dtype in SHORT_FLOATS
        reason = "three-dimensional average pooling has no kernel for float16 and bfloat16"
        return Unsupported(reason, FLOAT16_ISSUE) if unsupported else None
    if step.operator.startswith("adaptive"):
        return Unsupported(f"adaptive pooling has no kernel for {step.dtype}")
    if step.operator == "avg_pool":
        return Unsupported(f"average pooling has no kernel for {step.dtype}", INTEGER_AVERAGES_ISSUE)
    if step.dtype == "bool" or step.rank == 1:
        return Unsupported(f"max pooling along {step.rank} axes has no kernel for {step.dtype}", INTEGER_POOLING_ISSUE)
    return None


def _torch_layer_weights_limit(step: Step) -> Unsupported | None:
    # torch.nn.Parameter requires a gradient, which PyTorch has for floating-point dtypes only.
    reason = "layers do not support integer weights, which cannot be trained"
    return None if step.dtype in FLOATING else Unsupported(reason)


def _torch_layer_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the lines followed by the gradient of one input, or of a variable of the layer."""
    if input_name == "x" or not any(line.startswith("conv.set_weights") for line in lines):
        return autograd_gradient(lines, names, input_name)
    # `value` is the torch.nn.Parameter inside the Keras variable.
    return (*lines, f"(x,) = torch.autograd.grad(x, conv.{input_name}.value, grad)")


TORCH_ENGINE = Engine(
    "torch",
    ("torch",),
    autograd_gradient,
    _torch_layer_gradient,
    # PyTorch calls the mode wrap "circular". It rejects Keras' name edge, and Keras computes symmetric as edge.
    {"reflect": "reflect", "symmetric": "symmetric", "wrap": "circular"},
    threads="import torch\n\ntorch.set_num_threads(1)\n",
    thread_settings=torch.THREAD_SETTINGS,
    instruction_variables=torch.INSTRUCTION_VARIABLES,
    setup="import torch\n",
    # Keras moves tensors to the device and results back to the CPU, so the programs need no change.
    devices={"cuda": replace(torch.CUDA_SUPPORT, surface=None)},
    bfloat16_expression="{}.to(torch.uint16).view(torch.bfloat16)",
    dtypes=ALL_DTYPES - {"uint64"},
    pooling_limit=_torch_pooling_limit,
    layer_weights_limit=_torch_layer_weights_limit,
    padding_margins={"reflect": 1, "wrap": 0},
    max_padded_axes=2,
)


def _jax_layer_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return lines that compute the gradient with `jax.vjp` in a compiled function.

    A layer is created outside the function, which passes the weights to `stateless_call`.
    """
    created = tuple(line for line in lines if line.startswith(("conv = ", "conv.build")))
    # jax.vjp differentiates functions of arrays, and the variables of a layer are state.
    stateless_call = f"conv.stateless_call([{', '.join(names[1:])}], [], x)[0]"
    forward = [line.replace("conv(x)", stateless_call) for line in lines if not line.startswith("conv")]
    return (*created, *jax.jit_gradient(forward, names, input_name))


JAX_ENGINE = Engine(
    "jax",
    ("jax", "jaxlib"),
    jax.jit_gradient,
    _jax_layer_gradient,
    {mode: mode for mode in ("edge", "reflect", "symmetric", "wrap")},
    threads=jax.THREADS,
    thread_settings=jax.THREAD_SETTINGS,
    instruction_variables=jax.INSTRUCTION_VARIABLES,
    setup="import jax\n",
    select_mode=jax.x64_mode,
    large_constant_dtypes=frozenset({"uint32", "uint64"}),  # in the default mode, Python integers become int32
    reset=jax.RESET,
    devices=jax.DEVICES,
    # XLA pools and convolves along any number of axes, and Keras passes calls of keras.ops on unchecked.
    max_axes=sys.maxsize,
    compiles_functions=True,
)


def _tensorflow_pooling_limit(step: Step) -> Unsupported | None:
    if "avg" in step.operator and step.dtype not in FLOATING:
        return NO_INTEGER_AVERAGES
    # Keras pools adaptive bins with ordinary windows on TensorFlow, so their limits apply, and one more.
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


def _tensorflow_channels_first_limit(step: Step) -> Unsupported | None:
    # XLA computes these convolutions. It is not limited to the dtypes of oneDNN.
    by_xla = step.operator == "conv" and (step.rank == VOLUME_RANK or step.parameters["groups"] != 1)
    return None if by_xla or step.dtype in ONEDNN_DTYPES else ONEDNN_ONLY


TENSORFLOW_ENGINE = Engine(
    "tensorflow",
    ("tensorflow",),
    tensorflow.tape_gradient,
    tensorflow.layer_tape_gradient,
    {mode: mode for mode in ("reflect", "symmetric")},
    threads=tensorflow.THREADS,
    thread_settings=tensorflow.THREAD_SETTINGS,
    instruction_variables=tensorflow.INSTRUCTION_VARIABLES,
    setup="import tensorflow as tf\n",
    reset=tensorflow.SEED_SETUP,
    devices=tensorflow.DEVICES,
    convolution_dtypes=FLOATING | {"int32"},
    pooling_limit=_tensorflow_pooling_limit,
    convolution_limit=_tensorflow_convolution_limit,
    transposed_limit=_tensorflow_transposed_limit,
    padding_margins={"reflect": 1, "symmetric": 0},
    max_constant_axes=MAX_PADDED_AXES,
    max_padded_axes=MAX_PADDED_AXES - 1,
    channels_first_limit=_tensorflow_channels_first_limit,
)
ENGINES = (TORCH_ENGINE, JAX_ENGINE, TENSORFLOW_ENGINE)
