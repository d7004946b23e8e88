"""Reader of PyTorch models: programs of torch.export in `.pt2` files, and modules that a Python function returns."""

from __future__ import annotations

from pathlib import Path

from conformance.adapters.api import ModelReader

MODEL_READER = ModelReader(
    Path(__file__).parent / "reader" / "__init__.py",
    surface="torch.nn.functional",
    suffixes=(".pt2",),
    packages=("torch",),
    reads_references=True,
    returns=("torch.Module",),
    advice={
        "operator torchvision::": "torchvision was built for another torch and has no compiled operators; install both "
        "from one index, or skip these operators, as in 'A model of torchvision' of docs/how-to/audit-a-model.md"
    },
)
