"""Models of Flax Linen and Flax NNX as people write them."""

from __future__ import annotations

from conformance.adapters.api import ModuleStyle

ARRAY_IMPORTS = ("import jax", "from jax import lax, numpy as jnp")
MODULE_STYLES = {
    "flax.linen": ModuleStyle(
        (*ARRAY_IMPORTS, "from flax import linen as nn"),
        "nn.Module",
        "def setup(self):",
        "__call__",
        has_fields=True,
        apply_methods=frozenset({"apply"}),
    ),
    "flax.nnx": ModuleStyle(
        (*ARRAY_IMPORTS, "from flax import nnx"),
        "nnx.Module",
        "def __init__(self{parameters}):",
        "__call__",
        replaced_keywords={"rngs": "rngs"},
        deferred=frozenset({"nnx.eval_shape"}),
        extra_parameters=("*", "rngs"),
    ),
}
