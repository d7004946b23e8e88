"""Facts that depend on the release of onnx: the newest opset that it defines."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from conformance.adapters.api import Surface
from conformance.adapters.onnx import surfaces_with_opset
from conformance.adapters.onnx.graph import OPSET_VERSION

OPSETS = (("1.21", OPSET_VERSION), *((f"1.{minor}", minor + 5) for minor in range(20, 13, -1)))
"""First release and newest opset, newest first. See docs/Versioning.md of onnx."""
OLDEST_OPSET = 18


def release_surfaces(version: str) -> Sequence[Surface]:
    """Return the surface with programs for a release."""
    opset = next((opset for first, opset in OPSETS if Version(version) >= Version(first)), OLDEST_OPSET)
    return surfaces_with_opset(opset)
