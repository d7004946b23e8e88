"""Reader of JAX models: StableHLO, files of `jax.export`, and functions and Flax modules of a Python function."""

from __future__ import annotations

from pathlib import Path

from conformance.adapters.api import ModelReader

MODEL_READER = ModelReader(
    Path(__file__).parent / "reader" / "__init__.py",
    surface="jax.lax",
    suffixes=(".mlir", ".stablehlo", ".jax"),
    packages=("jax",),
    reads_references=True,
    returns=("flax.Module", "builtins.tuple"),
    variables={"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"},
)
