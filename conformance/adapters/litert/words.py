"""LiteRT: operators with a fused activation, and CONV_2D with groups where DEPTHWISE_CONV_2D is used otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.adapters.api import ChainLowering, Code, Lowering, Step, Unsupported, is_depthwise
from conformance.adapters.litert import convolution, pooling
from conformance.adapters.litert.options import PLANE_RANK, through_plane

RELU = "schema.ActivationFunctionType.RELU"


def grouped_conv(step: Step) -> Code:
    """Return CONV_2D for a convolution that is written as DEPTHWISE_CONV_2D otherwise."""
    if step.rank != PLANE_RANK or not is_depthwise(step):
        return Unsupported("not a depthwise convolution")
    return convolution.grouped_conv(step)


def _with_relu(lowering: Callable[[Step, str], Code]) -> ChainLowering:
    return lambda first, _relu: through_plane(lambda step: lowering(step, RELU))(first)


WORDS: Mapping[str, Lowering] = {"conv": through_plane(grouped_conv)}
CHAIN_WORDS: Mapping[tuple[str, ...], ChainLowering] = {
    ("conv", "relu"): _with_relu(convolution.conv),
    ("max_pool", "relu"): _with_relu(pooling.max_pool),
    ("avg_pool", "relu"): _with_relu(pooling.avg_pool),
}
