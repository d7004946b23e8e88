"""Keras 3 adapter: `keras.ops` and Keras layers on PyTorch, JAX and TensorFlow. Each engine is one backend.

The programs are the same on all engines. Data is channels last, or channels first on one surface of layers, and kernels
are (*window, in/groups, out).

- Padding that is neither valid nor same, and the output-size rules `ceil` and `full`, become explicit padding.
- Layers get the dtype of the input. By default they return float32.
- Operators without a Keras call are compositions of `keras.ops`.
- Gradients are those of the engine: autograd on PyTorch, a compiled `jax.vjp` on JAX, a gradient tape on TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from conformance.adapters.api import (
    ALL_DTYPES,
    BLOCK_OPERATORS,
    FLOATING,
    MAX_WINDOW_AXES,
    AdapterVariant,
    Bfloat16Conversion,
    Level,
    Lowering,
    Surface,
    Unsupported,
    channels_last_fields,
    limit_axes,
    unsupported_lowering,
)
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.api.normalization.recipes import NormalizationRecipe
from conformance.adapters.keras import blocks, columns, convolution, padding, pooling, resizing, words
from conformance.adapters.keras.engines import ENGINES, Engine
from conformance.adapters.tensorflow.words import DTYPE_POLICY

SETUP = """\
import os

os.environ["KERAS_BACKEND"] = "{}"
import keras
import numpy as np
"""
RESET = """\
keras.config.set_floatx("float32")
keras.config.set_image_data_format("channels_last")
# A cleared session and a new seed throw away what the engine has ready. A program that sets a seed sets NumPy's too.
uncleared = globals().get("uncleared", 0) + 1
if uncleared > 200 or np.random.get_state()[1][0] != 0:
    keras.backend.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    uncleared = 0
"""
DISTRIBUTIONS = {"tensorflow": "tensorflow-cpu"}
TO_FRAMEWORK, TO_NUMPY = "keras.ops.convert_to_tensor({})", "keras.ops.convert_to_numpy(x)"
CHANNELS_LAST_FIELDS = channels_last_fields(TO_FRAMEWORK, TO_NUMPY)
FLOATING_ONLY = Unsupported("norms, exponentials and probabilities need a floating-point dtype")
NO_KERNEL = Unsupported("the engine has no convolution kernel for the dtype")
FIRST_ARGUMENT = ', data_format="channels_first"'
NO_UNSIGNED_SUMS = Unsupported("on PyTorch, arrays of uint16 become int32, and those of uint32 int64")
NO_UINT64 = Unsupported("Keras on PyTorch has no uint64")
NO_FRACTIONAL_POOLING = unsupported_lowering("Keras has no fractional pooling")
FLOATING_OPERATORS = ("lp_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities")
CONVOLUTION_OPERATORS = ("conv", "conv_transpose")

NORMALIZATION = NormalizationRecipe(
    "keras.ops.pad({x}, {pads})", True, 'keras.ops.cast(x, "float32")', 'keras.ops.cast(x, "{dtype}")'
)


def _fallbacks(engine: Engine, write_call: pooling.PoolingCallWriter) -> Mapping[str, Lowering]:
    """Return the compositions that the surfaces of an engine share."""
    compositions: dict[str, Lowering] = {
        "max_pool": partial(pooling.stacked_extreme_pool, engine),
        "min_pool": partial(pooling.stacked_extreme_pool, engine),
        "avg_pool": partial(pooling.stacked_average_pool, engine),
        "lp_pool": pooling.stacked_lp_pool,
        "softmax_pool": pooling.COMPOSED.softmax_pool,
        "max_pool_with_indices": partial(pooling.max_pool_with_indices, engine, write_call),
        "max_unpool": pooling.max_unpool,
        "adaptive_max_pool": pooling.adaptive_pool_by_bins,
        "adaptive_avg_pool": pooling.adaptive_pool_by_bins,
        "stochastic_pool_probabilities": pooling.COMPOSED.stochastic_pool_probabilities,
        "stochastic_pool": pooling.COMPOSED.stochastic_pool,
    }
    compositions |= dict.fromkeys(BLOCK_OPERATORS, blocks.BLOCKS_OR_RECIPE)
    compositions["unfold"] = columns.RECIPE
    compositions["lrn"] = NORMALIZATION
    compositions["dilation2d"] = DilationRecipe(pooling.COMPOSED)
    compiled = {name: partial(pooling.compiled, engine, lowering) for name, lowering in compositions.items()}
    return {**compiled, "pad": partial(padding.gathered_pad, engine)}


def _pooling_lowerings(
    engine: Engine, write_call: pooling.PoolingCallWriter, most: int = MAX_WINDOW_AXES
) -> Mapping[str, Lowering]:
    """Return the lowerings of pooling. most: largest number of spatial axes of the calls."""
    pools = dict.fromkeys(("max_pool", "avg_pool"), partial(pooling.window_pool, engine, write_call))
    adaptive = partial(pooling.adaptive_pool, engine, write_call)
    bins = dict.fromkeys(("adaptive_max_pool", "adaptive_avg_pool"), adaptive)
    return {**limit_axes(pools, most), **limit_axes(bins)}


def _layer_surface(
    make_surface: Callable[..., Surface],
    name: str,
    engine: Engine,
    write_call: pooling.PoolingCallWriter,
    fallbacks: Mapping[str, Lowering],
    **fields: Any,
) -> Surface:
    """Return a surface of layers. fields: further fields of the surface."""
    # Padding layers pad with zeros only, so other padding is an operation.
    pad = partial(padding.padding_layer_or_ops, engine)
    return make_surface(
        name,
        {
            **_pooling_lowerings(engine, write_call),
            **limit_axes(
                {
                    "global_max_pool": partial(pooling.global_layer_pool, write_call),
                    "global_avg_pool": partial(pooling.global_layer_pool, write_call),
                    "conv": partial(convolution.layer_convolution, engine),
                    "conv_transpose": partial(convolution.layer_transpose, engine),
                }
            ),
            "fractional_max_pool": NO_FRACTIONAL_POOLING,
            "pad": partial(padding.zero_padding_layer, engine),
            "resize": partial(
                resizing.layer_resize,
                engine=engine.name,
                layout=FIRST_ARGUMENT if engine.has_channels_first else "",
            ),
            "relu": lambda _step: "keras.layers.ReLU(dtype=x.dtype)(x)",
            **blocks.layer_lowerings(engine),
        },
        fallbacks={**fallbacks, "pad": pad},
        words={"conv": partial(words.layer_conv, engine)},
        chain_words={("conv", "conv"): partial(words.layer_separable, engine)},
        mixed_precision=DTYPE_POLICY,
        building_blocks={"pad": pad},
        write_gradient=engine.write_layer_gradient,
        **fields,
    )


def _engine_surfaces(engine: Engine) -> tuple[Surface, ...]:
    """Return the surfaces of one engine: layers, which are the usual ones, operations, layers with channels first."""
    make_surface: Callable[..., Surface] = partial(
        Surface,
        **CHANNELS_LAST_FIELDS,
        ones_expression=pooling.ONES_EXPRESSION,
        select_mode=engine.select_mode,
        bfloat16=Bfloat16Conversion(engine.bfloat16_expression, 'keras.ops.cast({}, "bfloat16")'),
        dtypes={
            "": engine.dtypes,
            **dict.fromkeys(FLOATING_OPERATORS, FLOATING),
            **dict.fromkeys(CONVOLUTION_OPERATORS, engine.dtypes & engine.convolution_dtypes),
            **dict.fromkeys(
                (*BLOCK_OPERATORS, "unfold", "dilation2d"),
                engine.dtypes.difference(blocks.WIDENED_DTYPES.get(engine.name, ())),
            ),
        },
        unsupported_dtypes={
            "": dict.fromkeys(ALL_DTYPES - engine.dtypes, NO_UINT64),
            **dict.fromkeys(FLOATING_OPERATORS, dict.fromkeys(ALL_DTYPES - FLOATING, FLOATING_ONLY)),
            **dict.fromkeys(CONVOLUTION_OPERATORS, dict.fromkeys(ALL_DTYPES - engine.convolution_dtypes, NO_KERNEL)),
            **dict.fromkeys(
                (*BLOCK_OPERATORS, "unfold"),
                dict.fromkeys(blocks.WIDENED_DTYPES.get(engine.name, ()), blocks.NO_UNSIGNED),
            ),
            "dilation2d": dict.fromkeys(blocks.WIDENED_DTYPES.get(engine.name, ()), NO_UNSIGNED_SUMS),
        },
    )
    layers, layers_channels_first = _layer_surfaces(make_surface, engine)
    return (layers, _ops_surface(make_surface, engine), layers_channels_first)


def _ops_surface(make_surface: Callable[..., Surface], engine: Engine) -> Surface:
    """Return the surface of `keras.ops`."""
    convolutions = {
        "conv": partial(convolution.ops_convolution, engine),
        "conv_transpose": partial(convolution.ops_transpose, engine),
    }
    composed_convolutions = {
        "conv": partial(convolution.biased_convolution, engine),
        "conv_transpose": partial(convolution.composed_transpose, engine),
    }
    return make_surface(
        f"keras-{engine.name}.ops",
        {
            **_pooling_lowerings(engine, pooling.ops_call, engine.max_axes),
            **dict.fromkeys(("global_max_pool", "global_avg_pool"), pooling.global_ops_pool),
            "fractional_max_pool": NO_FRACTIONAL_POOLING,
            **limit_axes(convolutions, engine.max_axes),
            "pad": partial(padding.pad, engine),
            "resize": partial(resizing.ops_resize, engine=engine.name),
            **dict.fromkeys(BLOCK_OPERATORS, blocks.blocks),
            "unfold": partial(columns.unfold, engine),
            "relu": lambda _step: "keras.ops.relu(x)",
        },
        fallbacks={
            **_fallbacks(engine, pooling.ops_call),
            **limit_axes(composed_convolutions, engine.max_axes),
        },
        words={"conv": words.depthwise_conv},
        chain_words={("conv", "conv"): words.separable_conv},
        write_gradient=engine.write_gradient,
    )


def _layer_surfaces(make_surface: Callable[..., Surface], engine: Engine) -> tuple[Surface, Surface]:
    """Return the surfaces of layers, with channels last and with channels first."""
    composed_transpose = {"conv_transpose": partial(convolution.composed_layer, engine)}
    return (
        _layer_surface(
            make_surface,
            f"keras-{engine.name}.layers",
            engine,
            pooling.layer_call,
            fallbacks={**_fallbacks(engine, pooling.layer_call), **limit_axes(composed_transpose)},
        ),
        _layer_surface(
            make_surface,
            f"keras-{engine.name}.layers.channels_first",
            engine.channels_first,
            pooling.channels_first_layer_call,
            # The compositions are written for channels last only.
            fallbacks={},
            # Keras passes kernels channels last in both layouts.
            to_framework={**CHANNELS_LAST_FIELDS["to_framework"], "x": TO_FRAMEWORK},
            numpy_inputs={**CHANNELS_LAST_FIELDS["numpy_inputs"], "x": "{}"},
            to_numpy=TO_NUMPY,
            channels_last=False,
            max_level=Level.SMOKE,
            slow_tag="compiled",
        ),
    )


VARIANTS = {
    engine.name: AdapterVariant(
        ("keras", *engine.packages, "numpy"),
        # Keras imports the engine when it is imported, so the name must be set before, and the engine's own setup
        # after.
        SETUP.format(engine.name) + engine.setup,
        _engine_surfaces(engine),
        RESET + engine.reset,
        engine.threads,
        engine.instruction_variables,
        engine.devices,
        engine.thread_settings,
    )
    for engine in ENGINES
}
