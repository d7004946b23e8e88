"""Reader of PyTorch models: programs of torch.export in `.pt2` files, and modules that a Python function returns."""

from __future__ import annotations

from pathlib import Path

from conformance.adapters.api import ModelReader

MODEL_READER = ModelReader(
    Path(__file__).with_name("read_model.py"),
    surface="torch.nn.functional",
    suffixes=(".pt2",),
    packages=("torch",),
    reads_references=True,
    returns=("torch.Module",),
)
