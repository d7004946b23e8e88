"""Draws of candidates that often observe a convention: each changes a candidate that is being drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from conformance.cases.operators import Rounding
from conformance.catalogue.factors import FactorLevel
from conformance.exploration.rng import Rng

InputOptions = Mapping[str, Mapping[str, Any]]
CandidateDraft = tuple[dict[str, FactorLevel], InputOptions]
"""Levels and input options of a candidate that is being drawn."""
DraftChange = Callable[[CandidateDraft, Rng], CandidateDraft]
SIGNED_INTEGER_INPUT = {"values": "integers", "low": -9, "high": 9}
NEGATIVE_INTEGER_INPUT = {"values": "integers", "low": -9, "high": -1}
LARGE_LOW = 7500
LARGE_INTEGER_INPUT = {"values": "integers", "low": LARGE_LOW, "high": 30_000}
"""Integers whose sums and powers leave the range of float16."""
EMPTY_FACTORS = ("batch", "channels", "extent")
EMPTY_INTERVAL = 8
"""One in this number of draws about empty arrays has one. Nearly all of them are valid, unlike other draws."""
MOVING_FACTORS = {"padding", "pads"}
"""Factors of operators whose axes have at least one cell."""
LEVELS_OF_EMPTY_AXIS: Mapping[str, FactorLevel] = {"extent": 0, "output_size": 1}
MAX_EXTENT_FOR_LARGE_PADS = 9
"""Maximum extent of an axis whose pads are drawn beyond the extent."""


class PaddingOnlyWindow(Enum):
    """Where a window without an input cell is."""

    BEFORE = "before the input"
    AFTER = "after the input"
    LAST = "in a partial last position"
    AROUND = "around the input, with the input between its dilated cells"


def draw_large_padding(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
    """Draw padding that leaves a window without an input cell on one axis."""
    levels, inputs = draft
    pairs = [[0, 0] for _ in levels["window"]]
    axis = rng.randrange(len(pairs))
    reach = (levels["window"][axis] - 1) * levels["dilation"][axis] + 1
    place = rng.choice(tuple(PaddingOnlyWindow))
    if place is PaddingOnlyWindow.AROUND:
        # Two cells, one in the padding on each side: the dilation steps over the whole input.
        pairs[axis] = [1, 1]
        dilated = {"window": (2,), "dilation": (levels["extent"][axis] + 1,)}
        changed = {name: (*levels[name][:axis], *level, *levels[name][axis + 1 :]) for name, level in dilated.items()}
        return {**levels, **changed, "rounding": Rounding.FLOOR.value, "padding": tuple(map(tuple, pairs))}, inputs
    if place is PaddingOnlyWindow.LAST:
        # A stride of at least the window lets the last window start after the input.
        levels["stride"] = tuple(window + rng.randint(0, 2) for window in levels["window"])
        return {**levels, "rounding": Rounding.FULL.value, "padding": tuple(map(tuple, pairs))}, inputs
    pairs[axis][place is PaddingOnlyWindow.AFTER] = reach + rng.randrange(3)
    rounding = rng.choice((Rounding.FLOOR, Rounding.CEIL)).value
    return {**levels, "rounding": rounding, "padding": tuple(map(tuple, pairs))}, inputs


def draw_pads_beyond_extent(mode: str) -> DraftChange:
    """Return a function that draws pads of up to three times the extent, in a mode that copies cells."""

    def draw(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
        levels, inputs = draft
        extent = tuple(min(size, MAX_EXTENT_FOR_LARGE_PADS) for size in levels["extent"])
        pads = tuple((rng.randint(0, 3 * size), rng.randint(0, 3 * size)) for size in extent)
        return {**levels, "mode": mode, "value": 0, "extent": extent, "pads": pads}, inputs

    return draw


def draw_inputs(**options: Mapping[str, Any]) -> DraftChange:
    """Return a function that fills inputs with integers, generated with these options."""
    return lambda draft, _rng: ({**draft[0], "values": "integers"}, {**draft[1], **options})


def draw_float16(x: Mapping[str, Any]) -> DraftChange:
    """Return a function that fills x in float16 with integers, generated with these options."""
    draw_values = draw_inputs(x=x)
    return lambda draft, rng: draw_values(({**draft[0], "dtype": "float16"}, draft[1]), rng)


def draw_marked(mark: str, *, low: int = -9, high: int = 9) -> DraftChange:
    """Return a function that puts a special value at a random cell of each plane, among integers from low to high."""

    def draw(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
        levels, inputs = draft
        at = rng.randrange(math.prod(levels["extent"]))
        return {**levels, "values": mark}, {**inputs, "x": {"values": "integers", "low": low, "high": high, "at": at}}

    return draw


def draw_power(*powers: int) -> DraftChange:
    """Return a function that chooses one of these powers and fills x with negative integers."""
    draw_negative = draw_inputs(x=NEGATIVE_INTEGER_INPUT)
    return lambda draft, rng: draw_negative(({**draft[0], "p": rng.choice(powers)}, draft[1]), rng)


def draw_integer_dtype(dtype: str) -> DraftChange:
    """Return a function that sets an integer dtype and fills x with integers of both signs."""
    draw_signed = draw_inputs(x=SIGNED_INTEGER_INPUT)
    return lambda draft, rng: draw_signed(({**draft[0], "dtype": dtype}, draft[1]), rng)


def draw_empty(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
    """Draw an input without images or channels, or with an axis without cells if it has no windows and no pads."""
    levels, inputs = draft
    names = [
        name for name in EMPTY_FACTORS if name in levels and not (name == "extent" and MOVING_FACTORS & levels.keys())
    ]
    empty = rng.choice(names)
    if empty != "extent":
        return {**levels, "values": "integers", empty: 0}, inputs
    axis = rng.randrange(len(levels["extent"]))
    return {**levels, "values": "integers", **_on_axis(levels, axis, LEVELS_OF_EMPTY_AXIS)}, inputs


def _on_axis(levels: Mapping[str, Any], axis: int, changes: Mapping[str, FactorLevel]) -> dict[str, FactorLevel]:
    """Return the changed levels of the factors that the draft has for each axis."""
    given = {name: levels[name] for name in changes if isinstance(levels.get(name), tuple)}
    return {name: (*every[:axis], changes[name], *every[axis + 1 :]) for name, every in given.items()}
