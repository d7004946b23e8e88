"""Keras: layers that are not window operators, with the defaults of Keras 3."""

from __future__ import annotations

from conformance.adapters.api import LayerDefault, OtherLayer

DOCS = "https://keras.io/api/layers/"
OLD_VALUE = "the weight of the old value"
LAYERS = (
    OtherLayer(
        "BatchNormalization",
        "batch_norm",
        f"{DOCS}normalization_layers/batch_normalization/",
        {"epsilon": LayerDefault("epsilon", 0.001), "momentum": LayerDefault("momentum", 0.99, OLD_VALUE)},
        ("axis", "momentum", "epsilon"),
        "the running variance is that of the batch, with n",
    ),
    OtherLayer(
        "LayerNormalization",
        "layer_norm",
        f"{DOCS}normalization_layers/layer_normalization/",
        {"epsilon": LayerDefault("epsilon", 0.001)},
        ("axis", "epsilon"),
    ),
    OtherLayer(
        "GroupNormalization",
        "group_norm",
        f"{DOCS}normalization_layers/group_normalization/",
        {"epsilon": LayerDefault("epsilon", 0.001)},
        ("groups", "axis", "epsilon"),
    ),
    OtherLayer(
        "GroupNormalization",
        "instance_norm",
        f"{DOCS}normalization_layers/group_normalization/",
        {"epsilon": LayerDefault("epsilon", 0.001, call="GroupNormalization(groups=-1)")},
    ),
    OtherLayer("Dense", "dense", f"{DOCS}core_layers/dense/", note="the weights are (in, out)"),
    OtherLayer(
        "Flatten",
        "flatten",
        f"{DOCS}reshaping_layers/flatten/",
        note="the order of the features depends on the layout: (c, h, w) or (h, w, c)",
    ),
    OtherLayer(
        "gelu",
        "gelu",
        f"{DOCS}activations/#gelu-function",
        {"approximation": LayerDefault("approximate", False, call="activations.gelu")},
    ),
    OtherLayer(
        "ops.gelu",
        "gelu",
        "https://keras.io/api/ops/nn/#gelu-function",
        {"approximation": LayerDefault("approximate", True, call="ops.gelu")},
    ),
    OtherLayer("ELU|elu", "elu", f"{DOCS}activation_layers/elu/", {"alpha": LayerDefault("alpha", 1.0)}, ("alpha",)),
    OtherLayer("celu", "celu", f"{DOCS}activations/#celu-function", {"alpha": LayerDefault("alpha", 1.0)}, ("alpha",)),
    OtherLayer("softplus", "softplus", f"{DOCS}activations/#softplus-function", {"beta": LayerDefault("", 1.0)}),
    OtherLayer(
        "hard_sigmoid",
        "hard_sigmoid",
        f"{DOCS}activations/#hard_sigmoid-function",
        {"slope": LayerDefault("", 1 / 6)},
    ),
    OtherLayer(
        "LeakyReLU",
        "leaky_relu",
        f"{DOCS}activation_layers/leaky_relu/",
        {"negative slope": LayerDefault("negative_slope", 0.3, call="LeakyReLU")},
        ("negative_slope",),
    ),
    OtherLayer(
        "leaky_relu",
        "leaky_relu",
        f"{DOCS}activations/#leaky_relu-function",
        {"negative slope": LayerDefault("negative_slope", 0.2, call="leaky_relu")},
        ("negative_slope",),
    ),
    OtherLayer(
        "PReLU",
        "prelu",
        f"{DOCS}activation_layers/prelu/",
        note="one weight for each element by default; shared_axes shares them",
    ),
    OtherLayer("Softmax", "softmax", f"{DOCS}activation_layers/softmax/", note="the axis depends on the layout"),
    OtherLayer("Dropout", "dropout", f"{DOCS}regularization_layers/dropout/", note="it is active in training only"),
    OtherLayer(
        "UpSampling2D",
        "upsample",
        f"{DOCS}reshaping_layers/up_sampling2d/",
        {
            "interpolation": LayerDefault("interpolation", "nearest"),
            "aligned corners": LayerDefault("", False, call="UpSampling2D"),
        },
    ),
    OtherLayer(
        "UpSampling{rank}D|Resizing",
        "upsample",
        f"{DOCS}reshaping_layers/up_sampling2d/",
        note="check the interpolation",
    ),
    OtherLayer(
        "LSTM|GRU", "recurrent", f"{DOCS}recurrent_layers/lstm/", note="it has one bias; check the order of the gates"
    ),
    OtherLayer("ReLU|relu", "relu", f"{DOCS}activation_layers/relu/"),
)
HINTS = {"keras": LAYERS, "tf": LAYERS}
SEPARATE_ARGUMENTS = {"activation": "a function of the result"}
"""Arguments that add another operation after the layer."""
