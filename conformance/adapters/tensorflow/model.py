"""Reader of TensorFlow SavedModels. The graph is parsed and its shapes are inferred; it is not run."""

from __future__ import annotations

from pathlib import Path

from conformance.adapters.api import ModelReader

MODEL_READER = ModelReader(
    Path(__file__).parent / "reader" / "__init__.py",
    surface="tf.nn",
    suffixes=("saved_model.pb",),
    packages=("tensorflow",),
    folder_file="saved_model.pb",
    variables={"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"},
)
