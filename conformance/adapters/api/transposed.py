"""Cropping of the output of a transposed convolution: arguments of the call, and a slice for the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OutputCrop:
    """Cropping of one axis.

    padding: argument of the call; cells removed from both ends.
    output_padding: argument of the call; cells added at the end.
    slice_before, slice_after: cells that a slice of the result removes.
    """

    padding: int
    output_padding: int
    slice_before: int
    slice_after: int

    @classmethod
    def split(cls, before: int, after: int, limit: int) -> OutputCrop:
        """Return the arguments and the slice that remove these cells; the output padding must be less than `limit`."""
        if 0 <= before - after < limit:
            # No slice is needed: the call removes `before` cells from both ends and adds `before - after` at the end.
            return cls(before, before - after, 0, 0)
        both = max(min(before, after), 0)
        return cls(both, max(-after, 0), before - both, max(after - both, 0))

    @property
    def slice_text(self) -> str:
        """The slice of the axis as text."""
        return f"{self.slice_before or ''}:{-self.slice_after or ''}"
