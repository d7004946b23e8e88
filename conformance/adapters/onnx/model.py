"""Reader of ONNX files. The file is parsed and its shapes are inferred; no node is evaluated."""

from __future__ import annotations

from pathlib import Path

from conformance.adapters.api import ModelReader

MODEL_READER = ModelReader(
    Path(__file__).parent / "reader" / "__init__.py",
    surface="onnx.reference",
    suffixes=(".onnx",),
    packages=("onnx",),
    # The surface has the answers of the specification; the file does not name the runtime that users run it on.
    is_run=False,
)
