"""Arguments that calls of several frameworks share: strides, dilations, groups and pads, as source text."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.source_text import flat_pad_list, per_axis, text_unless_default, tuple_of
from conformance.adapters.api.surface import Unsupported
from conformance.cases.operators import PadMode
from conformance.cases.steps import Step

REPLICATE_AND_CIRCULAR_NAMES: Mapping[str, str] = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}
"""Names of padding modes in frameworks that do not use those of NumPy."""


def stride_argument(step: Step) -> str | None:
    """Return the stride; None if it is 1, the default of convolutions, or if a convention case omits it."""
    return per_axis(step.stride) if step.stride != (1,) * step.rank else None


def pooling_stride_argument(step: Step) -> str | None:
    """Return the stride; None if it is the window, the default of pooling, or if a convention case omits it."""
    return per_axis(step.stride) if step.stride != step.window else None


def count_include_pad_argument(step: Step) -> str | None:
    """Return "False" where an average excludes padding, for calls whose default is True; None elsewhere."""
    # Without padding, both rules count the same cells, so the argument is left out.
    return None if not step.padded or step.parameters.get("count_include_pad", True) else "False"


def dilation_argument(step: Step) -> str | None:
    """Return the dilation; None if it is 1."""
    return per_axis(step.dilation) if step.dilated else None


def groups_argument(step: Step) -> str | None:
    """Return the number of groups; None if it is 1."""
    return text_unless_default(1, step.parameters["groups"])


def nonzero_argument(values: tuple[int, ...]) -> str | None:
    """Return one number for each axis, such as padding; None if all of them are 0."""
    return per_axis(values) if any(values) else None


def flat_pads(step: Step) -> str:
    """Return the pads as one list, the last axis first. If the case has a flat list, return it unchanged."""
    # A convention case passes the list itself, to observe in which order the call reads it.
    return tuple_of(flat_pad_list(step) or [end for pair in reversed(step.padding) for end in pair])


def crops(step: Step) -> bool:
    """Whether any pad is negative."""
    return any(min(pair) < 0 for pair in step.padding)


def exceeds_extent(step: Step, margins: Mapping[str, int]) -> bool:
    """Whether a pad is larger than the call accepts in the mode of the step, or reaches cells that are cropped.

    margins: by mode, the extent of the input minus the largest pad; other modes accept any pad. The margin of `reflect`
    is usually 1, because the cell at the edge is not repeated.
    """
    margin = margins.get(step.parameters["mode"])
    pads = zip(step.padding, step.shape[2:], strict=True)
    cropped = [(max(pair), size + sum(min(end, 0) for end in pair)) for pair, size in pads]
    return margin is not None and any(largest > size - margin for largest, size in cropped)


def rejected_by_extent(step: Step, text: str) -> Unsupported | None:
    """Return why PyTorch and tinygrad reject the pads of the call `text`; None if they accept them.

    Modes `reflect` and `wrap` repeat the input at most once; `edge` repeats one cell, so it has no limit.
    """
    mode = step.parameters["mode"]
    if not exceeds_extent(step, {PadMode.REFLECT: 1, PadMode.WRAP: 0}):
        return None
    limit = "less than" if mode == PadMode.REFLECT else "at most"
    return Unsupported(
        f"pads in mode {REPLICATE_AND_CIRCULAR_NAMES[mode]} must be {limit} the extent", rejected_call=text
    )


def spatial_axes(step: Step, first: int = 2) -> tuple[int, ...]:
    """Return the numbers of the spatial axes. first: 2 for channels first, 1 for channels last."""
    return tuple(range(first, first + step.rank))
