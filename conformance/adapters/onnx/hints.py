"""ONNX: nodes that are not window operators, with the defaults of opset 22."""

from __future__ import annotations

from conformance.adapters.api import LayerDefault, OtherLayer

DOCS = "https://onnx.ai/onnx/operators/onnx__"
OLD_VALUE = "the weight of the old value"
EPSILON = {"epsilon": LayerDefault("epsilon", 1e-5)}
HINTS = {
    "onnx": (
        OtherLayer(
            "BatchNormalization",
            "batch_norm",
            f"{DOCS}BatchNormalization.html",
            {**EPSILON, "momentum": LayerDefault("momentum", 0.9, OLD_VALUE)},
            note="the running variance is that of the batch, with n",
        ),
        OtherLayer("InstanceNormalization", "instance_norm", f"{DOCS}InstanceNormalization.html", EPSILON),
        OtherLayer("LayerNormalization", "layer_norm", f"{DOCS}LayerNormalization.html", EPSILON),
        OtherLayer("GroupNormalization", "group_norm", f"{DOCS}GroupNormalization.html", EPSILON),
        OtherLayer(
            "LeakyRelu",
            "leaky_relu",
            f"{DOCS}LeakyRelu.html",
            {"negative slope": LayerDefault("alpha", 0.01)},
        ),
        OtherLayer(
            "Gelu",
            "gelu",
            f"{DOCS}Gelu.html",
            {"approximation": LayerDefault("approximate", "none", words={"none": False, "tanh": True})},
        ),
        OtherLayer("Elu", "elu", f"{DOCS}Elu.html", {"alpha": LayerDefault("alpha", 1.0)}),
        OtherLayer("Celu", "celu", f"{DOCS}Celu.html", {"alpha": LayerDefault("alpha", 1.0)}),
        OtherLayer("HardSigmoid", "hard_sigmoid", f"{DOCS}HardSigmoid.html", {"slope": LayerDefault("alpha", 0.2)}),
    )
}
