"""PyTorch: layers that are not window operators, with the defaults of PyTorch 2.13.

The functions have the defaults of the layers: https://docs.pytorch.org/docs/stable/nn.functional.html.
"""

from __future__ import annotations

from conformance.adapters.api import LayerDefault, OtherLayer

DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.nn."
FUNCTIONS = "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional."
NEW_VALUE = "the weight of the new value"
HINTS = {
    "torch": (
        OtherLayer(
            "BatchNorm{rank}d|SyncBatchNorm",
            "batch_norm",
            f"{DOCS}BatchNorm2d.html",
            {"epsilon": LayerDefault("eps", 1e-5), "momentum": LayerDefault("momentum", 0.1, NEW_VALUE)},
            ("num_features", "eps", "momentum", "affine", "track_running_stats"),
            "the running variance is that of the sample, with n - 1",
        ),
        OtherLayer(
            "InstanceNorm{rank}d",
            "instance_norm",
            f"{DOCS}InstanceNorm2d.html",
            {"epsilon": LayerDefault("eps", 1e-5)},
            ("num_features", "eps"),
            "without affine=True it has no weights",
        ),
        OtherLayer(
            "LayerNorm",
            "layer_norm",
            f"{DOCS}LayerNorm.html",
            {"epsilon": LayerDefault("eps", 1e-5)},
            ("normalized_shape", "eps"),
            "it normalizes the last axes, so a permutation before it changes with the layout",
        ),
        OtherLayer(
            "GroupNorm",
            "group_norm",
            f"{DOCS}GroupNorm.html",
            {"epsilon": LayerDefault("eps", 1e-5)},
            ("num_groups", "num_channels", "eps"),
        ),
        OtherLayer("Linear", "dense", f"{DOCS}Linear.html", note="the weights are (out, in)"),
        OtherLayer(
            "Flatten|flatten",
            "flatten",
            f"{DOCS}Flatten.html",
            note="the order of the features depends on the layout: (c, h, w) or (h, w, c)",
        ),
        OtherLayer(
            "batch_norm",
            "batch_norm",
            f"{FUNCTIONS}batch_norm.html",
            {"epsilon": LayerDefault("eps", 1e-5), "momentum": LayerDefault("momentum", 0.1, NEW_VALUE)},
            ("running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"),
            "the running variance is that of the sample, with n - 1",
        ),
        OtherLayer(
            "instance_norm",
            "instance_norm",
            f"{FUNCTIONS}instance_norm.html",
            {"epsilon": LayerDefault("eps", 1e-5)},
            ("running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps"),
        ),
        OtherLayer(
            "layer_norm",
            "layer_norm",
            f"{FUNCTIONS}layer_norm.html",
            {"epsilon": LayerDefault("eps", 1e-5)},
            ("normalized_shape", "weight", "bias", "eps"),
        ),
        OtherLayer(
            "group_norm",
            "group_norm",
            f"{FUNCTIONS}group_norm.html",
            {"epsilon": LayerDefault("eps", 1e-5)},
            ("num_groups", "weight", "bias", "eps"),
        ),
        OtherLayer(
            "GELU|gelu",
            "gelu",
            f"{DOCS}GELU.html",
            {"approximation": LayerDefault("approximate", "none", words={"none": False, "tanh": True})},
        ),
        OtherLayer("ELU|elu", "elu", f"{DOCS}ELU.html", {"alpha": LayerDefault("alpha", 1.0)}, ("alpha",)),
        OtherLayer("CELU|celu", "celu", f"{DOCS}CELU.html", {"alpha": LayerDefault("alpha", 1.0)}, ("alpha",)),
        OtherLayer(
            "Softplus|softplus",
            "softplus",
            f"{DOCS}Softplus.html",
            {"beta": LayerDefault("beta", 1.0)},
            ("beta", "threshold"),
        ),
        OtherLayer(
            "Hardsigmoid|hardsigmoid", "hard_sigmoid", f"{DOCS}Hardsigmoid.html", {"slope": LayerDefault("", 1 / 6)}
        ),
        OtherLayer(
            "LeakyReLU|leaky_relu",
            "leaky_relu",
            f"{DOCS}LeakyReLU.html",
            {"negative slope": LayerDefault("negative_slope", 0.01)},
            ("negative_slope",),
        ),
        OtherLayer("PReLU", "prelu", f"{DOCS}PReLU.html", note="one weight for all channels by default"),
        OtherLayer("Softmax", "softmax", f"{DOCS}Softmax.html", note="the axis depends on the layout"),
        OtherLayer(
            "Dropout|Dropout{rank}d|AlphaDropout",
            "dropout",
            f"{DOCS}Dropout.html",
            {"rate": LayerDefault("p", 0.5)},
            ("p",),
            "it is active in training only",
        ),
        OtherLayer(
            "Upsample|interpolate",
            "upsample",
            f"{DOCS}Upsample.html",
            {
                "interpolation": LayerDefault("mode", "nearest"),
                "aligned corners": LayerDefault("align_corners", None, words={None: False}),
            },
            ("size", "scale_factor", "mode", "align_corners"),
        ),
        OtherLayer("LSTM|GRU", "recurrent", f"{DOCS}LSTM.html", note="it has two biases; check the order of the gates"),
        OtherLayer("ReLU|relu|ReLU6|relu6", "relu", f"{DOCS}ReLU.html"),
    )
}
