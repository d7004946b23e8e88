"""Facts that depend on the release of OpenVINO: its newest opset whose module in Python has all calls of programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from packaging.version import Version

from conformance.adapters.api import Surface, limit_axes
from conformance.adapters.openvino import OPSET_SURFACE, SETUP, SURFACES, all_surfaces, pooling, words

OPSETS = (("2026.0", 16), ("2024.6", 15))
"""First release and newest opset, newest first. Earlier releases may have newer modules, but without `avg_pool`."""
OLDEST_OPSET = 14
"""The first opset with the rounding type `ceil_torch`, which programs use. OpenVINO 2024.2 has it."""
DILATED_AVERAGES = 16
"""The first opset whose `avg_pool` has `dilations`."""
SHORT_MODULE = Version("2025.0")
"""The first release with `openvino.opset…`. Earlier ones have `openvino.runtime.opset…` only."""


def newest_opset(version: str) -> int:
    """Return the newest opset of a release that has all calls."""
    return next((opset for first, opset in OPSETS if Version(version) >= Version(first)), OLDEST_OPSET)


def release_setup(version: str) -> str:
    """Return SETUP with the import of the opset of a release."""
    package = "openvino" if Version(version) >= SHORT_MODULE else "openvino.runtime"
    return SETUP.replace("from openvino import opset16", f"from {package} import opset{newest_opset(version)}")


def release_surfaces(version: str) -> Sequence[Surface]:
    """Return the surfaces with programs for a release."""
    if newest_opset(version) >= DILATED_AVERAGES:
        return SURFACES
    averages = partial(pooling.avg_pool, has_dilations=False)
    named = partial(words.avg_pool, has_dilations=False)
    opset = replace(
        OPSET_SURFACE,
        lowerings={**OPSET_SURFACE.lowerings, **limit_axes({"avg_pool": averages})},
        words={**OPSET_SURFACE.words, **limit_axes({"avg_pool": named})},
    )
    return all_surfaces(opset)
