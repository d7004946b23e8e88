"""Facts that depend on the release of ONNX Runtime: the newest opset that it supports."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from conformance.adapters.api import Surface
from conformance.adapters.onnx.graph import OPSET_VERSION
from conformance.adapters.onnxruntime import surfaces_with_opset

OPSETS = (
    *(("1.25", OPSET_VERSION), ("1.24", 25), ("1.23", 23), ("1.21", 22), ("1.18", 21), ("1.17", 20), ("1.16", 19)),
    *(("1.14", 18), ("1.12", 17), ("1.11", 16), ("1.9", 15), ("1.8", 14), ("1.6", 13)),
)
"""First release and newest opset, newest first. See docs/Versioning.md of ONNX Runtime."""
OLDEST_OPSET = 12


def release_surfaces(version: str) -> Sequence[Surface]:
    """Return the surfaces with programs for a release."""
    opset = next((opset for first, opset in OPSETS if Version(version) >= Version(first)), OLDEST_OPSET)
    return surfaces_with_opset(opset)
