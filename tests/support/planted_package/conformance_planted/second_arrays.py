"""Second set: bugs that depend on how a program passes its arrays."""

import numpy as np

from .registry import Correct, second_bug


@second_bug(
    "max_pool",
    condition="the input is strided, or its memory has another order of axes",
    depth=1,
    smallest={"x": {"values": [[[1, 2]]]}, "window": [1], "arrays": "strided"},
    near={"arrays": "read_only"},
)
class StridedInputReadAsDense(Correct):
    """Reads the memory of the input as if it were contiguous."""

    def max_pool(self, x, p):
        if p.operator != "max_pool" or x.flags.c_contiguous:
            return super().max_pool(x, p)
        memory = np.ravel(x if x.base is None else x.base, "K").view(x.dtype)
        return super().max_pool(np.resize(memory, x.shape), p)


@second_bug(
    "pad",
    condition="nothing is padded, and the input is overwritten after the call",
    depth=2,
    smallest={"x": {"values": [[[1, 2]]]}, "pads": [[0, 0]], "arrays": "overwritten"},
    near={"arrays": "twice"},
)
class ReturnsItsInput(Correct):
    """Padding by nothing returns the input itself."""

    def pad(self, x, p):
        return super().pad(x, p) if np.any(p.pads) else x
