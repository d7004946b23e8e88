"""Programs that compute a call in the framework's mixed precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.adapters.api import Surface, Unsupported


def with_mixed_precision(surface: Surface, dtype: str) -> Surface | Unsupported:
    """Return a surface whose programs compute in mixed precision with a 16-bit dtype."""
    mixed = surface.mixed_precision
    if mixed is None:
        return Unsupported(f"{surface.name} has no mixed precision")

    def wrap_program(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        return mixed.write(surface.wrap_program(lines, names) if surface.wrap_program else lines, dtype)

    to_numpy = mixed.to_numpy or surface.to_numpy
    # The dtype of the result may differ from that of x, so one expression converts both.
    bfloat16 = surface.bfloat16 and replace(surface.bfloat16, to_numpy=to_numpy)
    return replace(surface, wrap_program=wrap_program, to_numpy=to_numpy, bfloat16=bfloat16)
