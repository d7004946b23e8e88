"""Keras 3 on its engines: one text for all, channels last or, of layers, first; kernels (*window, in/groups, out).

What it changes: padding that is neither valid nor same, and the output-size rules `ceil` and `full`, go through
explicit padding; layers get the input's dtype, or they would return float32; what Keras has no call for is made of
operations. Gradients are those of the engine: of autograd, of a function that JAX compiles, of a tape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from conformance.adapters.api.surface import Code, Surface, Unsupported, Variant, Verb, Words
from conformance.adapters.keras import convolution, padding, pooling
from conformance.adapters.keras.engines import ENGINES, EVERY, FLOATING, Engine

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
LAST = "keras.ops.convert_to_tensor(np.moveaxis({}, 1, -1))"
LEAVE = "np.moveaxis(keras.ops.convert_to_numpy(x), -1, 1)"
WHOLE = Unsupported("norms, exponentials and shares are of floating numbers")
KERNELS = Unsupported("the engine has no kernel of such a convolution")
MISSING = Unsupported("Keras on PyTorch has no uint64")
FLOATS_ONLY = ("lp_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities")
CONVOLUTIONS = ("conv", "conv_transpose")


def _fractional(_step: object) -> Unsupported:
    return Unsupported("Keras has no fractional pooling")


def _composed(engine: Engine, spell: pooling.Spelling) -> Mapping[str, Verb]:
    """Return what both surfaces write with several operations."""
    verbs: Mapping[str, Callable[..., Code]] = {
        "max_pool": pooling.extreme,
        "min_pool": pooling.extreme,
        "avg_pool": pooling.average,
        "lp_pool": pooling.norm,
        "softmax_pool": pooling.softmax_pool,
        "max_unpool": pooling.unpool,
        "adaptive_max_pool": pooling.bins,
        "adaptive_avg_pool": pooling.bins,
        "stochastic_pool_probabilities": pooling.probabilities,
        "stochastic_pool": pooling.stochastic_pool,
        "pad": padding.chosen,
    }
    indexed = partial(pooling.with_indices, engine, spell)
    return {**{name: partial(verb, engine) for name, verb in verbs.items()}, "max_pool_with_indices": indexed}


def _pooling(engine: Engine, spell: pooling.Spelling) -> Mapping[str, Verb]:
    pools = dict.fromkeys(("max_pool", "avg_pool"), partial(pooling.pool, engine, spell))
    adaptive = partial(pooling.adaptive, engine, spell)
    return {**pools, **dict.fromkeys(("adaptive_max_pool", "adaptive_avg_pool"), adaptive)}


def _layers(
    surface: Callable[..., Surface],
    name: str,
    engine: Engine,
    spell: pooling.Spelling,
    composed: Mapping[str, Verb],
    **rest: Any,
) -> Surface:
    """Return a surface of layers."""
    around = partial(padding.around_layers, engine)
    return surface(
        name,
        {
            **_pooling(engine, spell),
            **dict.fromkeys(("global_max_pool", "global_avg_pool"), partial(pooling.global_layer, spell)),
            "fractional_max_pool": _fractional,
            "conv": partial(convolution.layer_conv, engine),
            "conv_transpose": partial(convolution.layer_transpose, engine),
            "pad": partial(padding.layer, engine),
            "relu": lambda _step: "keras.layers.ReLU(dtype=x.dtype)(x)",
        },
        composed={**composed, "pad": around},
        around={"pad": around},
        gradient=engine.layer_tape,
        **rest,
    )


def _surfaces(engine: Engine) -> tuple[Surface, ...]:
    surface = partial(
        Surface,
        enter={
            "x": LAST,
            "kernel": "keras.ops.convert_to_tensor(np.moveaxis({}, (0, 1), (-1, -2)))",
            "bias": "keras.ops.convert_to_tensor({})",
            "draws": LAST,
        },
        leave=LEAVE,
        leaves={
            "kernel": "np.moveaxis(keras.ops.convert_to_numpy(x), (-1, -2), (0, 1))",
            "bias": "keras.ops.convert_to_numpy(x)",
        },
        channels_last=True,
        ones=pooling.ONES,
        words=Words(engine.words, 'keras.ops.cast({}, "bfloat16")'),
        dtypes={
            "": engine.dtypes,
            **dict.fromkeys(FLOATS_ONLY, FLOATING),
            **dict.fromkeys(CONVOLUTIONS, engine.dtypes & engine.convolved),
        },
        refuses={
            "": dict.fromkeys(EVERY - engine.dtypes, MISSING),
            **dict.fromkeys(FLOATS_ONLY, dict.fromkeys(EVERY - FLOATING, WHOLE)),
            **dict.fromkeys(CONVOLUTIONS, dict.fromkeys(EVERY - engine.convolved, KERNELS)),
        },
    )
    layers = partial(_layers, surface)
    return (
        surface(
            f"keras-{engine.name}.ops",
            {
                **_pooling(engine, pooling.ops),
                **dict.fromkeys(("global_max_pool", "global_avg_pool"), pooling.global_ops),
                "fractional_max_pool": _fractional,
                "conv": partial(convolution.ops_conv, engine),
                "conv_transpose": partial(convolution.ops_transpose, engine),
                "pad": partial(padding.pad, engine),
                "relu": lambda _step: "keras.ops.relu(x)",
            },
            composed={
                **_composed(engine, pooling.ops),
                "conv": partial(convolution.biased, engine),
                "conv_transpose": partial(convolution.composed_transpose, engine),
            },
            gradient=engine.tape,
        ),
        layers(
            f"keras-{engine.name}.layers",
            engine,
            pooling.layer,
            composed={
                **_composed(engine, pooling.layer),
                "conv_transpose": partial(convolution.composed_layer, engine),
            },
        ),
        layers(
            f"keras-{engine.name}.layers.channels_first",
            engine.channels_first,
            pooling.first,
            composed={},
            enter={**surface.keywords["enter"], "x": "keras.ops.convert_to_tensor({})"},
            leave="keras.ops.convert_to_numpy(x)",
            channels_last=False,
            level="smoke",
            tag="compiled",
        ),
    )


VARIANTS = {
    engine.name: Variant(
        ("keras", *engine.packages, "numpy"),
        SETUP.format(engine.name) + engine.setup,
        _surfaces(engine),
        RESET + engine.reset,
        engine.threads,
        engine.holds,
        engine.devices,
    )
    for engine in ENGINES
}
