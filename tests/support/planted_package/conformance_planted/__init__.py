"""Window operators in NumPy, with a fault in each of many surfaces: what explores a backend must find them."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from . import (  # noqa: F401 - each plants its faults
    faults_convolution,
    faults_geometry,
    faults_places,
    faults_selection,
    faults_sums,
)
from .record import FAULTS, Correct, Fault

__all__ = ["FAULTS", "NONE", "Correct", "Fault", "call"]
__version__ = "1.0"
NONE = "none"
"""The surface without a fault."""


def call(surface: str, verb: str, *arrays: Any, **parameters: Any) -> Any:
    """Return what an operator makes of its arrays on a surface, by its name without `planted.`."""
    program = Correct if surface == NONE else FAULTS[surface].program
    with np.errstate(all="ignore"):
        return getattr(program(), verb)(*arrays, p=SimpleNamespace(verb=verb, **parameters))
