"""What a transposed convolution takes away from its output: partly by its own call, the rest by a slice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OutputCrop:
    """What is taken from one axis.

    both: from both ends, the padding of the call; further: what the call adds at the end, its output padding;
    before, after: what a slice then takes away.
    """

    padding: int
    output_padding: int
    slice_before: int
    slice_after: int

    @classmethod
    def split(cls, before: int, after: int, limit: int) -> OutputCrop:
        """Split what is to be taken away; what is given back at the end must stay below the limit."""
        if 0 <= before - after < limit:
            # As much from both ends as from the start, and some of it given back, is one call.
            return cls(before, before - after, 0, 0)
        both = max(min(before, after), 0)
        return cls(both, max(-after, 0), before - both, max(after - both, 0))

    @property
    def slice_text(self) -> str:
        """The slice, as text."""
        return f"{self.slice_before or ''}:{-self.slice_after or ''}"
