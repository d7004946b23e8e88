"""Conversion of arrays between the channels-first layout of the suite and channels last."""

from __future__ import annotations

from typing import Any

SPATIAL_LETTERS = "DHW"


def channels_last_fields(to_framework: str, to_numpy: str) -> dict[str, Any]:
    """Return the fields of a channels-last Surface, for `Surface(**fields)`.

    Data becomes (n, *spatial, c), kernels become (*window, in/groups, out). NumPy moves the axes, because every
    framework gets contiguous memory then, and no transposition becomes part of the program that is compared.
    to_framework: an expression that converts the NumPy array `{}`. to_numpy: an expression that converts `x` to NumPy.
    """
    data = "np.moveaxis({}, 1, -1)"
    moved = {"x": data, "kernel": "np.moveaxis({}, (0, 1), (-1, -2))", "bias": "{}", "draws": data}
    return {
        "to_framework": {name: to_framework.format(array) for name, array in moved.items()},
        "numpy_inputs": moved,
        "to_numpy": f"np.moveaxis({to_numpy}, -1, 1)",
        "gradient_to_numpy": {"kernel": f"np.moveaxis({to_numpy}, (-1, -2), (0, 1))", "bias": to_numpy},
        "channels_last": True,
    }


def axis_letters(rank: int) -> str:
    """Return the letters of the spatial axes in names of layouts, for example "HW" of NCHW."""
    return SPATIAL_LETTERS[-rank:]
