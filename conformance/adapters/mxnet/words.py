"""Apache MXNet: arguments that restate a default."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, tuple_of
from conformance.adapters.mxnet.calls import ArrayApi

NO_COUNT = Unsupported("the padding of the average is written as a number")
KINDS = {"global_max_pool": "max", "global_avg_pool": "avg"}


def call_avg_pool(step: Step, *, api: ArrayApi) -> Code:
    """Return the average that states whether padding counts, although nothing is padded."""
    parameters = step.parameters
    if step.padded or step.dilated or parameters["divisor"] is not None or parameters["rounding"] != "floor":
        return NO_COUNT
    counts = str(parameters["count_include_pad"])
    window, stride = tuple_of(step.window), tuple_of(step.stride or ())
    return call(api.pooling, "x", kernel=window, pool_type='"avg"', stride=stride, count_include_pad=counts)


def call_global_pool(step: Step, *, api: ArrayApi) -> Code:
    """Return global pooling with padding, which it ignores."""
    ones = tuple_of([1] * step.rank)
    kind = f'"{KINDS[step.operator]}"'
    return call(api.pooling, "x", kernel=ones, pool_type=kind, global_pool="True", pad=ones)
