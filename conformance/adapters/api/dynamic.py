"""Programs that are compiled once for arrays of several sizes, and called with other sizes before that of the case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.adapters.api.source_text import tuple_of

Shape = tuple[int, ...]


@dataclass(frozen=True)
class InputSizes:
    """The shape of an input, (n, c, *spatial), and its other shapes: one for each call before that of the case."""

    shape: Shape
    others: tuple[Shape, ...]

    def dimensions(self) -> tuple[int | None, ...]:
        """Return the extents that all shapes share, None for those that vary."""
        shapes = (self.shape, *self.others)
        return tuple(extents[0] if len(set(extents)) == 1 else None for extents in zip(*shapes, strict=True))

    def channels_last(self) -> InputSizes:
        """Return the same sizes as (n, *spatial, c)."""
        shape, *others = ((n, *spatial, c) for n, c, *spatial in (self.shape, *self.others))
        return InputSizes(shape, tuple(others))


Sizes = Mapping[str, InputSizes]
"""The sizes of the inputs whose size varies, by name."""


def calls_with_other_sizes(sizes: Sizes, names: Sequence[str], call: str, array: str) -> list[str]:
    """Return lines that call a function with arrays of the other sizes, one call for each.

    call: template of the call, `{}` is the list of its arguments. array: template of an array, from `{shape}` and the
    `{name}` of the input, whose dtype it has.
    """
    shapes = {name: one.others for name, one in sizes.items()}
    count = min(map(len, shapes.values()))
    return [
        call.format(
            ", ".join(array.format(shape=tuple_of(shapes[one][k]), name=one) if one in shapes else one for one in names)
        )
        for k in range(count)
    ]
