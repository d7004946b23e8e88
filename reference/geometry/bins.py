"""The geometry of adaptive pooling: an axis cut into a given number of bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reference.arguments import Array, check_plane_size, entries_per_axis, parse_integer
from reference.geometry.windows import WindowWalk, ceil_div


@dataclass(frozen=True)
class Bins(WindowWalk):
    """A walk of `output` windows that share the input as evenly as whole cells allow; one number per spatial axis.

    Bin o of m over n cells contains the cells floor(o * n / m) … ceil((o + 1) * n / m) - 1, so bins overlap where m
    does not divide n, and a bin is empty only if n is 0.
    Source: PyTorch AdaptiveAvgPool2d, https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html
    (the bins: start_index and end_index in aten/src/ATen/native/AdaptivePooling.h)
    """

    size: tuple[int, ...]
    # With a default, or Walk's abstract property of this name would stay in force.
    output: tuple[int, ...] = ()
    # Where these are some bins of more along the first axis: the bins and the cells before them, and those of all.
    before: tuple[int, int] = (0, 0)
    full_axis: tuple[int, int] | None = None

    @classmethod
    def of(cls, size: Sequence[int], output_size: int | Sequence[int | None] | None) -> Bins:
        """Parse the output size: a number, or per axis a number or None for the input's extent.

        Raises ValueError or TypeError, naming parameter, value and limit.
        """
        size = tuple(parse_integer("size", extent, 0) for extent in size)
        listed = enumerate(zip(entries_per_axis("output_size", output_size, len(size)), size, strict=True))
        output = tuple(
            n if m is None else parse_integer("output_size", m, 1, f" on axis {axis}") for axis, (m, n) in listed
        )
        check_plane_size("output_size", output)
        return cls(size, output)

    @property
    def is_identity(self) -> bool:
        """Whether each bin is the input cell of the same position."""
        return self.output == self.size and self.full_axis is None

    def axis(self, axis: int) -> Bins:
        """Return the walk along one axis alone; the walk over all axes is the product of these."""
        alone = (self.size[axis],), (self.output[axis],)
        return Bins(*alone) if axis else Bins(*alone, self.before, self.full_axis)

    def rows(self, rows: slice) -> tuple[slice, Bins]:
        """Return the inputs of some bins along the first axis, and the walk from these to those."""
        start, stop = self._bin(0, rows.start)[0], self._bin(0, rows.stop - 1)[1]
        bins, cells = self._full_axis(0)
        before = self.before[0] + rows.start, self.before[1] + start
        size, output = (stop - start, *self.size[1:]), (rows.stop - rows.start, *self.output[1:])
        return slice(start, stop), Bins(size, output, before, (bins, cells))

    def _full_axis(self, axis: int) -> tuple[int, int]:
        """Return the number of all bins along an axis, and of all their cells."""
        alone = self.output[axis], self.size[axis]
        return alone if axis else self.full_axis or alone

    def _bin(self, axis: int, o: int) -> tuple[int, int]:
        bins, cells = self._full_axis(axis)
        first, offset = (0, 0) if axis else self.before
        return (first + o) * cells // bins - offset, ceil_div((first + o + 1) * cells, bins) - offset

    def _cells(self, axis: int) -> list[tuple[int, slice, slice]]:
        # Bins repeat: those whose numbers differ by `phases` lie `stride` cells apart.
        bins, cells = self._full_axis(axis)
        common = math.gcd(bins, cells) or 1
        phases, stride, output = bins // common, cells // common, self.output[axis]
        step = phases if phases > 1 else None
        found = []
        for phase in range(min(phases, output)):
            start, stop = self._bin(axis, phase)
            for k in range(stop - start):
                last = start + k + (output - 1 - phase) // phases * stride
                found.append((k, slice(start + k, last + 1, stride), slice(phase, output, step)))
        return sorted(found, key=lambda cell: cell[0])

    def _inside(self, axis: int, o: int) -> tuple[slice, slice]:
        start, stop = self._bin(axis, o)
        return slice(0, stop - start), slice(start, stop)

    def _counts(self, axis: int, include_padding: bool) -> Array:  # noqa: ARG002  (bins have no padding)
        bins, cells = self._full_axis(axis)
        numbers = np.arange(self.output[axis], dtype=np.int64) + (0 if axis else self.before[0])
        counts: Array = -(-(numbers + 1) * cells // bins) - numbers * cells // bins
        return counts
