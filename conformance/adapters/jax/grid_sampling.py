"""JAX: sampling at the points of a grid by `map_coordinates`, which reads one plane at coordinates that count cells."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, Unsupported
from conformance.cases.operators import OutsideMode, ResizeMode

ORDERS: Mapping[str, int] = {ResizeMode.NEAREST.value: 0, ResizeMode.LINEAR.value: 1}
OUTSIDE: Mapping[str, str] = {OutsideMode.ZEROS.value: "constant", OutsideMode.BORDER.value: "nearest"}
NO_DEFAULTS = Unsupported("the composition has no defaults")
NO_CUBIC = Unsupported('map_coordinates has no cubic interpolation: "currently requires order<=1"')


def grid_sample(step: Step) -> Code:
    """Return lines that convert the points to coordinates, and call map_coordinates for each plane."""
    given = step.parameters
    if not {"mode", "padding_mode", "align_corners"} <= given.keys():
        return NO_DEFAULTS
    if given["mode"] not in ORDERS:
        return NO_CUBIC
    aligned = given["align_corners"]
    # A plane is mirrored at the centres of its cells at the ends, or at their edges.
    mirror = "mirror" if aligned else "reflect"
    mode = OUTSIDE.get(given["padding_mode"], mirror)
    cells = "(grid + 1) * ((sizes - 1) / 2)" if aligned else "((grid + 1) * sizes - 1) / 2"
    call = f'jax.scipy.ndimage.map_coordinates(plane, at, {ORDERS[given["mode"]]}, "{mode}")'
    return (
        # The first number of a point is the coordinate on the last axis.
        "sizes = jnp.array(x.shape[:1:-1], grid.dtype)",
        f"points = jnp.moveaxis({cells}, -1, 1)[:, ::-1]",
        f"sample = jax.vmap(jax.vmap(lambda plane, at: {call}, (0, None)))",
        "x = sample(x, points)",
    )
