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
    )
}
