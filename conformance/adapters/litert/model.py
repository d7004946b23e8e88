"""Reader of `.tflite` files. The file is parsed; no interpreter is created, and no operator is run."""

from __future__ import annotations

from pathlib import Path

from conformance.adapters.api import ModelReader

MODEL_READER = ModelReader(
    Path(__file__).parent / "reader" / "__init__.py",
    surface="litert",
    suffixes=(".tflite",),
    packages=("ai_edge_litert", "flatbuffers"),
)
