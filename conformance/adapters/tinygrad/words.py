"""tinygrad: an argument that restates a default, and negative pads in every mode."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import (
    REPLICATE_AND_CIRCULAR_NAMES,
    Code,
    Lowering,
    Step,
    Unsupported,
    call,
    crops,
    flat_pads,
    pooling_stride_argument,
    tuple_of,
)

NO_COUNT = Unsupported("count_include_pad restates the default if nothing is padded")
NO_CROP = Unsupported("no pad is negative")


def avg_pool(step: Step) -> Code:
    """Return the average that states whether padding counts, although nothing is padded."""
    if step.padded or step.dilated or step.parameters["divisor"] is not None:
        return NO_COUNT
    counts = str(step.parameters["count_include_pad"])
    return call("x.avg_pool2d", tuple_of(step.window), stride=pooling_stride_argument(step), count_include_pad=counts)


def pad(step: Step) -> Code:
    """Return `Tensor.pad` with negative pads in a mode other than constant."""
    mode = step.parameters["mode"]
    if not crops(step) or mode not in REPLICATE_AND_CIRCULAR_NAMES:
        return NO_CROP
    return call("x.pad", flat_pads(step), mode=f'"{REPLICATE_AND_CIRCULAR_NAMES[mode]}"')


WORDS: Mapping[str, Lowering] = {"avg_pool": avg_pool, "pad": pad}
