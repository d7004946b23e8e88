"""Window operators in NumPy. Each surface of the backend contains one planted bug that explorations should find."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from . import (  # noqa: F401 - importing a module registers its bugs
    bugs_convolution,
    bugs_geometry,
    bugs_padding,
    bugs_selection,
    bugs_sums,
)
from .registry import BUGS, Bug, Correct

__all__ = ["BUGS", "NONE", "Bug", "Correct", "call"]
__version__ = "1.0"
NONE = "none"
"""Name of the surface without a bug."""


def call(surface: str, operator: str, *arrays: Any, **parameters: Any) -> Any:
    """Return the result of an operator on a surface; surface: its name without `planted.`."""
    program = Correct if surface == NONE else BUGS[surface].program
    with np.errstate(all="ignore"):
        return getattr(program(), operator)(*arrays, p=SimpleNamespace(operator=operator, **parameters))
