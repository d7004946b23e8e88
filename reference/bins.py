"""The geometry of adaptive pooling: an axis cut into a given number of bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .arguments import Array, affordable, entries, integer
from .windows import Walk, ceil_div


@dataclass(frozen=True)
class Bins(Walk):
    """A walk of `output` windows that share the input as evenly as whole cells allow; one number per spatial axis.

    Bin o of m over n cells holds the cells floor(o * n / m) … ceil((o + 1) * n / m) - 1, so bins overlap where m
    does not divide n, and a bin is empty only if n is 0.
    Source: PyTorch AdaptiveAvgPool2d, https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html
    (the bins: start_index and end_index in aten/src/ATen/native/AdaptivePooling.h)
    """

    size: tuple[int, ...]
    # With a default, or Walk's abstract property of this name would stay in force.
    output: tuple[int, ...] = ()

    @classmethod
    def of(cls, size: Sequence[int], output_size: int | Sequence[int | None] | None) -> Bins:
        """Parse the output size as users write it: a number, or a number or None (the input's) per axis.

        Raises ValueError or TypeError, naming parameter, value and limit.
        """
        size = tuple(integer("size", extent, 0) for extent in size)
        listed = enumerate(zip(entries("output_size", output_size, len(size)), size, strict=True))
        output = tuple(n if m is None else integer("output_size", m, 1, f" on axis {axis}") for axis, (m, n) in listed)
        affordable("output_size", output)
        return cls(size, output)

    @property
    def is_identity(self) -> bool:
        """Whether each bin is the input cell of the same position."""
        return self.output == self.size

    def axis(self, axis: int) -> Bins:
        """Return the walk along one axis alone; the walk over all axes is the product of these."""
        return Bins((self.size[axis],), (self.output[axis],))

    def _bin(self, axis: int, o: int) -> tuple[int, int]:
        size, output = self.size[axis], self.output[axis]
        return o * size // output, ceil_div((o + 1) * size, output)

    def _cells(self, axis: int) -> list[tuple[int, slice, slice]]:
        # Bins repeat: those whose numbers differ by `phases` lie `stride` cells apart.
        common = math.gcd(self.size[axis], self.output[axis]) or 1
        phases, stride = self.output[axis] // common, self.size[axis] // common
        step = phases if phases > 1 else None
        found = []
        for phase in range(phases):
            start, stop = self._bin(axis, phase)
            for k in range(stop - start):
                last = start + k + (common - 1) * stride
                found.append((k, slice(start + k, last + 1, stride), slice(phase, self.output[axis], step)))
        return sorted(found, key=lambda cell: cell[0])

    def _inside(self, axis: int, o: int) -> tuple[slice, slice]:
        start, stop = self._bin(axis, o)
        return slice(0, stop - start), slice(start, stop)

    def _counts(self, axis: int, include_padding: bool) -> Array:  # noqa: ARG002  (bins have no padding)
        size, output = self.size[axis], self.output[axis]
        bins = np.arange(output, dtype=np.int64)
        counts: Array = -(-(bins + 1) * size // output) - bins * size // output
        return counts
