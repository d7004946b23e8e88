"""LiteRT: CONV_2D with groups where DEPTHWISE_CONV_2D is used otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Lowering, Step, Unsupported, is_depthwise
from conformance.adapters.litert import convolution
from conformance.adapters.litert.options import PLANE_RANK, through_plane


def grouped_conv(step: Step) -> Code:
    """Return CONV_2D for a convolution that is written as DEPTHWISE_CONV_2D otherwise."""
    if step.rank != PLANE_RANK or not is_depthwise(step):
        return Unsupported("not a depthwise convolution")
    return convolution.grouped_conv(step)


WORDS: Mapping[str, Lowering] = {"conv": through_plane(grouped_conv)}
