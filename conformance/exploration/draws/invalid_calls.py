"""Invalid calls: a valid candidate with one violated precondition, at its boundary and beyond.

The violations and the rules for them are those of `conformance.cases.invalid`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry

AMOUNTS = (0, 0, 1, 5, 1000, 2**32)
"""Distances from the boundary that are drawn. The first invalid value has the distance 0; the last one is the same
number in 32 bits."""
MAX_WINDOW_AMOUNT = 1000
"""Maximum distance of a window. Some frameworks need a time that grows with the window."""
MAX_KERNEL_AMOUNT = 5
"""Maximum distance of the shape of an array."""
MAX_LITERAL_CELLS = 20_000
"""Maximum number of cells of an input that is written out. A case file may have a megabyte."""
REACH = "reach"
"""Requirement of violations that concern the extent of a window or of a kernel that moves over the input."""
PROBABILITIES = "probabilities"
"""Requirement of violations that concern inputs used as probabilities."""
RawChange = Callable[[Case, int, int], Mapping[str, Any]]
"""Returns the keys that change in a valid case: (case, axis, distance from the boundary)."""


@dataclass(frozen=True)
class Violation:
    """A violated precondition. amount: distance from the boundary."""

    name: str
    axis: int = 0
    amount: int = 0

    def changes(self, valid: Case) -> Mapping[str, Any]:
        """Return the keys that change in the valid case, in the format of a catalogue file."""
        return RAW_CHANGES[self.name](valid, min(self.axis, len(valid.shape) - 3), self.amount)


def violations_for(operator: str) -> Sequence[str]:
    """Return the names of the violations that can be drawn for an operator."""
    described = OPERATORS[operator]
    known = {*described.defaults, *described.inputs, *described.required_parameters}
    known |= {one.name for one in described.parameters}
    # The grid has the shape of the output, so no call has another output size.
    known -= {"output_size"} if "grid" in known else set()
    known |= {REACH} if described.geometry in {Geometry.WINDOWS, Geometry.DEFORMED} else set()
    known |= {PROBABILITIES} if described.arithmetic is Arithmetic.PROBABILITIES else set()
    return tuple(name for name, needed in NEEDED.items() if needed in known)


def _on_axis(name: str, number: Callable[[Case, int, int], Any]) -> RawChange:
    """Return a change of a parameter on one axis."""

    def change(case: Case, axis: int, amount: int) -> Mapping[str, Any]:
        values = list(case.parameters[name])
        values[axis] = number(case, axis, amount)
        return {name: [list(one) if isinstance(one, tuple) else one for one in values]}

    return change


FURTHER_PADS = 3
"""Number of pads that a call has too many. Two can belong to the batch and the channels."""


def _another_rank(name: str) -> RawChange:
    """Return a change of a parameter to another number of entries than there are axes, at least two.

    The entries differ. An adapter writes equal entries as one number, or leaves out a default.
    """

    def change(case: Case, _axis: int, amount: int) -> Mapping[str, Any]:
        entries = [list(one) if isinstance(one, tuple) else one for one in case.parameters[name]]
        if name == "pads":
            changed = [*entries, *entries[-1:] * FURTHER_PADS]
        else:
            changed = entries[:-1] if amount and len(entries[:-1]) > 1 else [*entries, entries[-1]]
        if all(entry == changed[0] for entry in changed):
            first = changed[0]
            changed[0] = [first[0] + 1, *first[1:]] if isinstance(first, list) else first + 1
        return {name: changed}

    return change


def _another_axis(name: str) -> RawChange:
    """Return a change that adds an axis of one cell to an input."""

    def change(case: Case, _axis: int, _amount: int) -> Mapping[str, Any]:
        return {name: _literal(case.inputs[name].make()[..., None], case.inputs[name].dtype)}

    return change


def _floating_indices(case: Case, _axis: int, _amount: int) -> Mapping[str, Any]:
    return {"indices": _literal(case.inputs["indices"].make(), "float32")}


def _reach_beyond_input(case: Case, axis: int, amount: int) -> Mapping[str, Any]:
    """Return a window or a kernel that exceeds the padded input on one axis."""
    if "kernel" not in case.inputs:
        return _on_axis("window", _window_beyond_input)(case, axis, min(amount, MAX_WINDOW_AMOUNT))
    array, shape = case.inputs["kernel"].make(), list(case.inputs["kernel"].shape)
    shape[2 + axis] = _window_beyond_input(case, axis, min(amount, MAX_KERNEL_AMOUNT))
    return {"kernel": _literal(np.resize(array, shape), case.inputs["kernel"].dtype)}


def _window_beyond_input(case: Case, axis: int, amount: int) -> int:
    """Return a window that exceeds the padded input, by a stride or more if sizes are rounded up.

    A smaller excess gives one window by PyTorch's formula, ceil((input - window) / stride) + 1.
    """
    padding = case.parameters["padding"]
    plane = case.parameters.get("output_size", case.shape[2:])
    padded = int(plane[axis]) + (0 if isinstance(padding, str) else sum(padding[axis]))
    rounds_up = case.parameters.get("rounding", "floor") != "floor"
    allowed = padded + (int(case.parameters["stride"][axis]) - 1 if rounds_up else 0)
    return (allowed - 1) // int(case.parameters["dilation"][axis]) + 2 + amount


def _padding_beyond_output(case: Case, axis: int, amount: int) -> list[int]:
    given = {name: case.parameters[name][axis] for name in ("stride", "dilation", "output_padding")}
    reach = given["dilation"] * (case.inputs["kernel"].shape[2 + axis] - 1) + 1
    size = (case.shape[2 + axis] - 1) * given["stride"] + reach + given["output_padding"]
    return [size, 1 + amount]


def _next_groups(case: Case, _axis: int, amount: int) -> Mapping[str, Any]:
    channels, outputs = case.shape[1], case.inputs["kernel"].shape[0]
    # For a convolution, groups that do not divide the outputs would be a second violation.
    divisors = [count for count in range(2, outputs + 1) if outputs % count == 0]
    counts = range(2 + amount, 3 * channels + 4 + amount) if "output_padding" in case.parameters else divisors
    return {"groups": next(count for count in counts if channels % count)}


def _with_other_shape(name: str, axis: int) -> RawChange:
    """Return a change that makes one axis of an input longer; the numbers are repeated."""

    def change(case: Case, _axis: int, amount: int) -> Mapping[str, Any]:
        array, shape = case.inputs[name].make(), list(case.inputs[name].shape)
        shape[axis] += 1 + min(amount, MAX_KERNEL_AMOUNT)
        return {name: _literal(np.resize(array, shape), case.inputs[name].dtype)}

    return change


def _with_fitting_bias(change: RawChange) -> RawChange:
    """Return a change that also makes the bias as long as the outputs: another length would be a second violation."""

    def changed(case: Case, axis: int, amount: int) -> Mapping[str, Any]:
        raw = change(case, axis, amount)
        if "bias" not in case.inputs:
            return raw
        kernel = np.shape(raw["kernel"]["values"]) if "kernel" in raw else case.inputs["kernel"].shape
        groups = raw.get("groups", case.parameters["groups"])
        outputs = OPERATORS[case.operator].output_channels(kernel, groups)
        if outputs > MAX_LITERAL_CELLS:
            raise ValueError(f"bias: {outputs} numbers: at most {MAX_LITERAL_CELLS}")
        spec = case.inputs["bias"]
        return {**raw, "bias": _literal(np.resize(spec.make(), outputs), spec.dtype)}

    return changed


def _with_number(name: str, number: Callable[[Case, int], float]) -> RawChange:
    """Return a change of the first number of an input."""

    def change(case: Case, _axis: int, amount: int) -> Mapping[str, Any]:
        array = case.inputs[name].make().copy()
        with np.errstate(over="ignore"):  # a large amount is infinite in 16 bits
            array.flat[0] = number(case, amount)
        return {name: _literal(array, case.inputs[name].dtype)}

    return change


def _literal(array: np.ndarray[Any, Any], dtype: str) -> Mapping[str, Any]:
    if array.size > MAX_LITERAL_CELLS:
        raise ValueError(f"{array.size} cells, more than the limit of {MAX_LITERAL_CELLS}")
    numbers = array.astype(np.float64) if array.dtype.kind in "fV" else array
    return {"values": numbers.tolist(), "dtype": dtype}


def _kernel_channels(case: Case, axis: int, amount: int) -> Mapping[str, Any]:
    # The kernels of channels are on the first axis, as the input channels of a transposed convolution.
    is_first = OPERATORS[case.operator].has_channel_kernels or "output_padding" in case.parameters
    return _with_other_shape("kernel", 0 if is_first else 1)(case, axis, amount)


RAW_CHANGES: Mapping[str, RawChange] = {
    "StrideIsZero": _on_axis("stride", lambda _case, _axis, _amount: 0),
    "NegativeStride": _on_axis("stride", lambda _case, _axis, amount: -1 - amount),
    "DilationIsZero": _on_axis("dilation", lambda _case, _axis, _amount: 0),
    "NegativeDilation": _on_axis("dilation", lambda _case, _axis, amount: -1 - amount),
    "WindowIsZero": _on_axis("window", lambda _case, _axis, _amount: 0),
    "NegativeWindow": _on_axis("window", lambda _case, _axis, amount: -1 - amount),
    "WindowExceedsPaddedInput": _reach_beyond_input,
    "DivisorIsZero": lambda _case, _axis, _amount: {"divisor": 0},
    "PowerIsZero": lambda _case, _axis, _amount: {"p": 0},
    "GroupsAreZero": lambda _case, _axis, _amount: {"groups": 0},
    "NegativeGroups": lambda _case, _axis, amount: {"groups": -1 - amount},
    "GroupsDoNotDivideChannels": _with_fitting_bias(_next_groups),
    "GroupsDoNotDivideOutputs": _with_fitting_bias(
        lambda case, axis, _amount: _with_other_shape("kernel", 0)(case, axis, 0)
    ),
    "NegativeOutputPadding": _on_axis("output_padding", lambda _case, _axis, amount: -1 - amount),
    "PaddingExceedsOutput": _on_axis("padding", _padding_beyond_output),
    "CropExceedsInput": _on_axis("pads", lambda case, axis, amount: [-case.shape[2 + axis] - 1 - amount, 0]),
    "NegativeOutputSize": _on_axis("output_size", lambda _case, _axis, amount: -1 - amount),
    "IndexBeyondOutput": _with_number(
        "indices", lambda case, amount: math.prod(case.parameters["output_size"]) + amount
    ),
    "IndexBelowMinusOne": _with_number("indices", lambda _case, amount: -2 - amount),
    "NegativeGridSize": lambda case, _axis, amount: {"grid_size": [-1 - amount, *case.parameters["grid_size"][1:]]},
    "MatrixShapeMismatch": lambda case, _axis, _amount: {
        "x": _literal(case.inputs["x"].make()[..., :-1], case.inputs["x"].dtype)
    },
    "LocalSizeIsZero": lambda _case, _axis, _amount: {"local_size": 0},
    "NegativeLocalSize": lambda _case, _axis, amount: {"local_size": -1 - amount},
    "BlockIsZero": lambda _case, _axis, _amount: {"block": 0},
    "NegativeBlock": lambda _case, _axis, amount: {"block": -1 - amount},
    "KernelChannelsMismatch": _kernel_channels,
    "BiasLengthMismatch": _with_other_shape("bias", 0),
    "SampleOutOfRange": _with_number("samples", lambda _case, amount: 1 + amount),
    "DrawOutOfRange": _with_number("draws", lambda _case, amount: 1 + amount),
    "NegativeActivation": _with_number("x", lambda _case, amount: -1 - amount),
    "StrideRankMismatch": _another_rank("stride"),
    "DilationRankMismatch": _another_rank("dilation"),
    "WindowRankMismatch": _another_rank("window"),
    "PaddingRankMismatch": _another_rank("padding"),
    "PadsRankMismatch": _another_rank("pads"),
    "OutputSizeRankMismatch": _another_rank("output_size"),
    "OutputPaddingRankMismatch": _another_rank("output_padding"),
    "KernelRankMismatch": _another_axis("kernel"),
    "BiasRankMismatch": _another_axis("bias"),
    "IndicesShapeMismatch": _with_other_shape("indices", 2),
    "SamplesShapeMismatch": _with_other_shape("samples", 2),
    "DrawsShapeMismatch": _with_other_shape("draws", 2),
    "GridRankMismatch": _another_axis("grid"),
    "GridBatchMismatch": _with_other_shape("grid", 0),
    "GridAxesMismatch": _with_other_shape("grid", -1),
    "OffsetShapeMismatch": _with_other_shape("offset", 1),
    "MaskShapeMismatch": _with_other_shape("mask", 1),
    "OffsetGroupsDoNotDivideChannels": lambda case, _axis, amount: {
        "offset_groups": next(count for count in range(2 + amount, 4 + amount + case.shape[1]) if case.shape[1] % count)
    },
    "IndicesAreFloating": _floating_indices,
    "GradShapeMismatch": _with_other_shape("grad", -1),
}
"""Changes that cause a violation, by its name."""
NEEDED: Mapping[str, str] = {
    "StrideIsZero": "stride", "NegativeStride": "stride", "DilationIsZero": "dilation", "NegativeDilation": "dilation",
    "WindowIsZero": "window", "NegativeWindow": "window", "WindowExceedsPaddedInput": REACH,
    "DivisorIsZero": "divisor", "PowerIsZero": "p", "GroupsAreZero": "groups", "NegativeGroups": "groups",
    "GroupsDoNotDivideChannels": "groups", "GroupsDoNotDivideOutputs": "groups",
    "NegativeOutputPadding": "output_padding", "PaddingExceedsOutput": "output_padding", "CropExceedsInput": "pads",
    "NegativeGridSize": "grid_size", "MatrixShapeMismatch": "grid_size",
    "LocalSizeIsZero": "local_size", "NegativeLocalSize": "local_size",
    "BlockIsZero": "block", "NegativeBlock": "block",
    "NegativeOutputSize": "output_size", "IndexBeyondOutput": "indices", "IndexBelowMinusOne": "indices",
    "KernelChannelsMismatch": "kernel", "BiasLengthMismatch": "bias", "SampleOutOfRange": "samples",
    "DrawOutOfRange": "draws", "NegativeActivation": PROBABILITIES, "StrideRankMismatch": "stride",
    "DilationRankMismatch": "dilation", "WindowRankMismatch": "window", "PaddingRankMismatch": "padding",
    "PadsRankMismatch": "pads", "OutputSizeRankMismatch": "output_size",
    "OutputPaddingRankMismatch": "output_padding", "KernelRankMismatch": "kernel", "BiasRankMismatch": "bias",
    "IndicesShapeMismatch": "indices", "SamplesShapeMismatch": "samples", "DrawsShapeMismatch": "draws",
    "GridRankMismatch": "grid", "GridBatchMismatch": "grid", "GridAxesMismatch": "grid",
    "OffsetShapeMismatch": "offset", "MaskShapeMismatch": "mask", "OffsetGroupsDoNotDivideChannels": "offset_groups",
    "IndicesAreFloating": "indices", "GradShapeMismatch": "grad",
}  # fmt: skip
"""The parameter or input that an operator needs for each violation, or PROBABILITIES."""
