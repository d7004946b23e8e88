"""Whether the declared condition of an answer covers a variant with another answer."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from conformance.adapters.api import Declaration


class Change(Enum):
    """What a variant changes. The value matches the words for it in conditions."""

    NOTHING = r"(?!)"
    IMAGES = r"\b(images?|batch)\b"
    CHANNELS = r"\b(channels?|groups?)\b"
    AXES = r"\b(dimensions?|axes|axis|planes?|volumes|rows|columns)\b"
    REPEATED_AXES = r"\b(dimensions?|axes|axis|planes?|volumes|rows|columns|cells|size|windows|bins)\b"
    EXTENT = r"\b(cells|size|windows|planes?|rows|columns|bins|positions?)\b"
    WINDOW = r"\b(windows?|kernel|cells|size|stride|planes?|positions?)\b"
    DTYPE = r"\b(dtype|float16|float32|float64|bfloat16)\b"

    def is_named_in(self, condition: str) -> bool:
        """Whether a declared condition mentions the change."""
        return re.search(self.value, condition) is not None


def is_within_condition(declaration: Declaration, change: Change, observed: Collection[str]) -> bool:
    """Whether a surface declares that its answer depends on a change, and declares every observed answer for a case."""
    return change.is_named_in(declaration.depends_on) and set(observed) <= set(declaration.answers)
