"""Models of PyTorch as people write them."""

from __future__ import annotations

from conformance.adapters.api import ModuleStyle

MODULE_STYLES = {
    "torch.nn": ModuleStyle(
        ("import torch", "import torch.nn.functional as F", "from torch import nn"),
        "nn.Module",
        "def __init__(self{parameters}):",
        "forward",
        ("super().__init__()",),
        omitted_keywords=frozenset({"dtype"}),
        sequence="nn.Sequential({layers})",
    ),
}
