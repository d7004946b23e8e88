"""Reader of Keras models: `.keras` files, and models that a Python function returns."""

from __future__ import annotations

from pathlib import Path

from conformance.adapters.api import ModelReader

MODEL_READER = ModelReader(
    Path(__file__).parent / "reader" / "__init__.py",
    # The script replaces it by the surface of the engine with which it reads.
    surface="keras-tensorflow.layers",
    suffixes=(".keras",),
    packages=("keras", "h5py"),
    reads_references=True,
    returns=("keras.Model",),
    variables={"TF_CPP_MIN_LOG_LEVEL": "2"},
    backends={f"keras-{engine}": {"KERAS_BACKEND": engine} for engine in ("torch", "jax", "tensorflow")},
)
