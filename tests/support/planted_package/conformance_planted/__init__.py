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
    fifth_convolution,
    fifth_pooling,
    fourth_convolution,
    fourth_pooling,
    second_arrays,
    second_calls,
    second_convolution,
    second_padding,
    second_positions,
    second_selection,
    second_sums,
    third_convolution,
    third_selection,
    third_sums,
)
from .calling_bugs import CALLING_BUGS
from .registry import BUGS, Bug, Correct

__all__ = ["BUGS", "CALLING_BUGS", "NONE", "Bug", "Correct", "call"]
__version__ = "1.0"
NONE = "none"
"""Name of the surface without a bug."""


_last: dict[str, Any] = {"output": None, "parameters": None}
"""Output and parameters of the last call, from which a bug knows which operator computed its input."""


def call(surface: str, operator: str, *arrays: Any, **parameters: Any) -> Any:
    """Return the result of an operator on a surface; surface: its name without `planted.`."""
    program = (Correct if surface == NONE else BUGS[surface].program)()
    previous = _last["parameters"] if arrays[0] is _last["output"] else None
    with np.errstate(all="ignore"):
        if program.validates:
            program.check(operator, arrays, parameters)
        given = SimpleNamespace(operator=operator, previous=previous, **parameters)
        _last["output"] = getattr(program, operator)(*arrays, p=given)
    _last["parameters"] = given
    return _last["output"]
