"""Axes of arrays: the limit of their number, their bins, and conversions between channels first and last.

Most frameworks pool and convolve along one to three spatial axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.cases.steps import Step

MAX_SLICES = 32
"""Maximum number of bins that a program writes as slices."""
MAX_WINDOW_AXES = 3
"""Largest number of spatial axes of pooling, convolution and padding layers in most frameworks."""


def too_many_axes(step: Step, most: int = MAX_WINDOW_AXES) -> Unsupported | None:
    """Return the reason if the step has more than `most` spatial axes, otherwise None."""
    # No rejected call: names such as max_pool4d do not exist, so there is no call that could be rejected.
    return Unsupported(f"more than {most} spatial axes are not supported") if step.rank > most else None


def limit_axes(lowerings: Mapping[str, Lowering], most: int = MAX_WINDOW_AXES) -> Mapping[str, Lowering]:
    """Return lowerings that do not support steps with more than `most` spatial axes."""
    return {operator: _limited(lowering, most) for operator, lowering in lowerings.items()}


def _limited(lowering: Lowering, most: int) -> Lowering:
    def lower(step: Step) -> Code:
        return too_many_axes(step, most) or lowering(step)

    return lower


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


def too_many_slices(step: Step) -> Unsupported | None:
    """Return the reason if adaptive pooling has more bins than a program writes as slices."""
    if sum(step.parameters["output_size"]) > MAX_SLICES:
        return Unsupported(f"each bin is a slice, and there are more than {MAX_SLICES}")
    return None


def bin_bounds(extent: int, bins: int) -> list[tuple[int, int]]:
    """Return the first cell of each bin of adaptive pooling, and the one after its last. Source: reference.geometry."""
    return [(index * extent // bins, -(-(index + 1) * extent // bins)) for index in range(bins)]
