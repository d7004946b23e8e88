"""Models of ONNX as people write them: graphs of nodes."""

from __future__ import annotations

from conformance.adapters.api import ModuleStyle

GRAPH_STYLE = ModuleStyle(
    ("import numpy as np", "from onnx import TensorProto, helper, numpy_helper"), "", "", "", nodes="nodes"
)
MODULE_STYLES = {"onnx.reference": GRAPH_STYLE, "onnxruntime": GRAPH_STYLE}
