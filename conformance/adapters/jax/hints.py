"""Flax: layers that are not window operators, with the defaults of Flax 0.12."""

from __future__ import annotations

from conformance.adapters.api import LayerDefault, OtherLayer

DOCS = "https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/"
ACTIVATIONS = f"{DOCS}activation_functions.html#flax.linen.activation."
OLD_VALUE = "the weight of the old value"
HINTS = {
    "flax": (
        OtherLayer(
            "BatchNorm",
            "batch_norm",
            f"{DOCS}layers.html#flax.linen.BatchNorm",
            {"epsilon": LayerDefault("epsilon", 1e-5), "momentum": LayerDefault("momentum", 0.99, OLD_VALUE)},
            note="the running variance is that of the batch, with n",
        ),
        OtherLayer(
            "LayerNorm",
            "layer_norm",
            f"{DOCS}layers.html#flax.linen.LayerNorm",
            {"epsilon": LayerDefault("epsilon", 1e-6)},
        ),
        OtherLayer(
            "GroupNorm",
            "group_norm",
            f"{DOCS}layers.html#flax.linen.GroupNorm",
            {"epsilon": LayerDefault("epsilon", 1e-6)},
        ),
        OtherLayer(
            "InstanceNorm",
            "instance_norm",
            f"{DOCS}layers.html#flax.linen.InstanceNorm",
            {"epsilon": LayerDefault("epsilon", 1e-6)},
        ),
        OtherLayer("Dense|Linear", "dense", f"{DOCS}layers.html#flax.linen.Dense", note="the weights are (in, out)"),
        OtherLayer(
            "gelu",
            "gelu",
            f"{ACTIVATIONS}gelu",
            {"approximation": LayerDefault("approximate", True)},
        ),
        OtherLayer(
            "leaky_relu",
            "leaky_relu",
            f"{ACTIVATIONS}leaky_relu",
            {"negative slope": LayerDefault("negative_slope", 0.01)},
        ),
        OtherLayer("elu", "elu", f"{ACTIVATIONS}elu", {"alpha": LayerDefault("alpha", 1.0)}, ("alpha",)),
        OtherLayer("celu", "celu", f"{ACTIVATIONS}celu", {"alpha": LayerDefault("alpha", 1.0)}, ("alpha",)),
        OtherLayer("softplus", "softplus", f"{ACTIVATIONS}softplus", {"beta": LayerDefault("", 1.0)}),
        OtherLayer("hard_sigmoid", "hard_sigmoid", f"{ACTIVATIONS}hard_sigmoid", {"slope": LayerDefault("", 1 / 6)}),
        OtherLayer(
            "image.resize",
            "upsample",
            "https://docs.jax.dev/en/latest/_autosummary/jax.image.resize.html",
            {"aligned corners": LayerDefault("", False, call="jax.image.resize")},
        ),
        OtherLayer("PReLU", "prelu", f"{DOCS}layers.html", note="one weight for all channels"),
        OtherLayer("softmax", "softmax", f"{DOCS}activation_functions.html", note="the axis depends on the layout"),
        OtherLayer("Dropout", "dropout", f"{DOCS}layers.html", note="it is active in training only"),
        OtherLayer("LSTMCell|GRUCell", "recurrent", f"{DOCS}layers.html", note="check the order of the gates"),
        OtherLayer("relu", "relu", f"{DOCS}activation_functions.html"),
    )
}
