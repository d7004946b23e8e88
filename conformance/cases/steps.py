"""Steps: the calls that adapters translate.

A step is one call of one operator on channels-first data. A case has one step; `via` and `then` add more, see
conformance.cases.compositions. Adapters translate only steps, so each composition is written once for all surfaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from conformance.cases.arrays import Array
from conformance.cases.case import ARRAYS_KEY, MIXED_KEY, WORDS_KEY, Case
from conformance.cases.operators import CHANNEL_GEOMETRIES, OPERATORS, REGION_PARAMETERS, Geometry, PadMode, Rounding
from reference import ResampledAxis, Windows, resampled_axes
from reports.results.vocabulary import Word

PerAxisPairs = tuple[tuple[int, int], ...]
PROGRAM_KEYS = frozenset({ARRAYS_KEY, MIXED_KEY, WORDS_KEY})
"""Parameters of a case that select its program and are no parameters of a step."""


class BuildingBlock(Word):
    """A step of compositions and rewrites that is not an operator of the catalogue."""

    RELU = "relu"
    NEGATE = "negate"
    SCALE = "scale"  # multiply by the constant `scale`
    POWER = "power"  # raise to the parameter `exponent`, an expression as text
    CROP = "crop"
    SUBSAMPLE = "subsample"  # select every n-th cell; n is the stride
    OVER_ONES = "over_ones"  # divide the result of `parts` for x by their result for ones


@dataclass(frozen=True)
class Step:
    """One call of an operator, with the shape and dtype of its input and its parameters.

    operator: an operator of the catalogue, never a gradient, or a BuildingBlock;
    shape: (n, c, *spatial) of the input; kernel: shape of the weights, `()` without weights;
    kernel_dtype: the dtype of the weights, "" for that of the input;
    bias, mask: whether the call has these inputs;
    constants: arrays written into the program, `kernel` or `scale`, channels first;
    gradient: whether the case requests the gradient of the step; some framework calls have no gradient;
    parts: only for OVER_ONES: steps that compute a sum; their result for x is divided by their result for ones.
    """

    operator: str
    shape: tuple[int, ...]
    dtype: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kernel: tuple[int, ...] = ()
    bias: bool = False
    kernel_dtype: str = ""
    constants: Mapping[str, Array] = field(default_factory=dict)
    gradient: bool = False
    parts: tuple[Step, ...] = ()
    mask: bool = False

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.shape) - 2

    @property
    def window(self) -> tuple[int, ...]:
        """Extent of the window, or of the kernel, on each spatial axis."""
        return tuple(self.parameters.get("window", self.kernel[2:]))

    @property
    def stride(self) -> tuple[int, ...] | None:
        """Stride of the window on each spatial axis; None where a convention case omits it."""
        return self.parameters.get("stride")

    @property
    def padding(self) -> PerAxisPairs:
        """(before, after) on each spatial axis: padding of a window operator, or the pads of `pad`."""
        pairs: PerAxisPairs = self.parameters.get("padding", self.parameters.get("pads", ((0, 0),) * self.rank))
        return pairs

    @property
    def dilation(self) -> tuple[int, ...]:
        """Distance between neighbouring cells of the window on each spatial axis."""
        return tuple(self.parameters.get("dilation", (1,) * self.rank))

    @property
    def dilated(self) -> bool:
        """Whether the dilation is not 1 on some axis."""
        return any(step != 1 for step in self.dilation)

    @property
    def padded(self) -> bool:
        """Whether there is any padding."""
        return any(any(pair) for pair in self.padding)

    @property
    def symmetric(self) -> tuple[int, ...] | None:
        """The padding as one number per axis, None if before and after differ on some axis."""
        equal = all(before == after for before, after in self.padding)
        return tuple(before for before, _ in self.padding) if equal else None

    def rewritten(self, rewrite: Rewrite) -> tuple[Step, ...]:
        """Return the steps that replace this step. They are cached, because surfaces use the same ones."""
        if rewrite not in self._rewritten:
            self._rewritten[rewrite] = rewrite(self)
        return self._rewritten[rewrite]

    @cached_property
    def _rewritten(self) -> dict[Rewrite, tuple[Step, ...]]:
        return {}

    @cached_property
    def windows(self) -> Windows:
        """The positions of the windows."""
        rounding = self.parameters.get("rounding", Rounding.FLOOR)
        return Windows.of(self._plane, self.window, self.stride, self.padding, self.dilation, rounding)

    @property
    def _plane(self) -> tuple[int, ...]:
        """The extents of the plane that windows are on: x, or the output if columns are added to it."""
        described = OPERATORS.get(self.operator)
        is_output = described is not None and described.geometry is Geometry.FROM_COLUMNS
        return tuple(self.parameters["output_size"] if is_output else self.shape[2:])

    @property
    def padding_to_last_window(self) -> PerAxisPairs:
        """Number of cells by which the windows extend past each end of x.

        This is the padding; at the end, the cells of the last window that exceed the padding are added (overhang).
        """
        ends = zip(self.windows.pads, self.windows.overhang, strict=True)
        return tuple((before, after + over) for (before, after), over in ends)

    @property
    def has_one_bin(self) -> bool:
        """Whether adaptive pooling has one bin, which is the whole plane."""
        return all(bins == 1 for bins in self.parameters["output_size"])

    @property
    def has_windows_in_end_padding(self) -> bool:
        """Whether, with rounding up, a window starts in the padding after x. Some frameworks drop such windows."""
        if self.parameters.get("rounding") != Rounding.CEIL:
            return False
        windows = self.windows
        axes = zip(windows.output, windows.stride, windows.size, windows.pads, strict=True)
        return any((count - 1) * stride >= size + before for count, stride, size, (before, _) in axes)

    @property
    def channels(self) -> int:
        """Number of output channels."""
        if not self.kernel:
            return self._channels_without_weights()
        return OPERATORS[self.operator].output_channels(self.kernel, int(self.parameters.get("groups", 1)))

    @property
    def output(self) -> tuple[int, ...]:
        """The shape of the output."""
        return (self.shape[0], self.channels, *self._extents())

    def _channels_without_weights(self) -> int:
        """Return the number of output channels without weights: only blocks, columns and grids change it."""
        described = OPERATORS.get(self.operator)
        if described is not None and described.geometry is Geometry.POINTS:
            return int(self.parameters["grid_size"][0])
        if described is None or described.geometry not in CHANNEL_GEOMETRIES:
            return self.shape[1]
        has_block = "block" in described.defaults
        cells: int = self._block() ** self.rank if has_block else math.prod(self.windows.window)
        if described.geometry in {Geometry.FROM_BLOCKS, Geometry.TO_COLUMNS}:
            return self.shape[1] * cells
        return _quotient(self.shape[1], cells)

    def _block(self) -> int:
        """Return the extent of the blocks. Raises ValueError if it is below 1."""
        block = int(self.parameters["block"])
        if block < 1:
            raise ValueError(f"block {block} must be at least 1")
        return block

    def _extents(self) -> tuple[int, ...]:
        if "output_size" in self.parameters:
            return tuple(self.parameters["output_size"])
        described = OPERATORS.get(self.operator)
        if described is None:
            return BUILDING_BLOCK_EXTENTS[BuildingBlock(self.operator)](self)
        if described.has_output_per_cell:
            return (*self.windows.output, *self.window)
        return GEOMETRY_EXTENTS[described.geometry](self)

    def _padded_extents(self) -> tuple[int, ...]:
        sizes = zip(self.shape[2:], self.padding, strict=True)
        return tuple(size + before + after for size, (before, after) in sizes)

    def _subsampled_extents(self) -> tuple[int, ...]:
        axes = zip(self.shape[2:], self.parameters["stride"], strict=True)
        return tuple(-(-size // stride) for size, stride in axes)

    def _transposed_extents(self) -> tuple[int, ...]:
        names = ("stride", "dilation", "padding", "output_padding")
        axes = zip(self.shape[2:], self.window, *(self.parameters[name] for name in names), strict=True)
        return tuple(
            (size - 1) * stride + dilation * (window - 1) + 1 - sum(pads) + output_padding
            for size, window, stride, dilation, pads, output_padding in axes
        )

    @cached_property
    def resampled(self) -> tuple[ResampledAxis, ...]:
        """The axes of resizing, with the coordinates of the output cells. Raises ValueError for invalid parameters."""
        given = self.parameters
        sizes, region = (given.get("size"), given.get("scale")), {name: given.get(name) for name in REGION_PARAMETERS}
        return resampled_axes(self.shape[2:], *sizes, given["coordinates"], **region)

    def with_parameters(self, **changed: Any) -> Step:
        """Return a copy of the step with some parameters changed."""
        return replace(self, parameters={**self.parameters, **changed})

    def reading_output_of(self, before: Step) -> Step:
        """Return a copy of the step that reads the output of another step."""
        return replace(self, shape=before.output)


Rewrite = Callable[[Step], tuple[Step, ...]]
"""Function that returns the steps that replace a step, none if it does not apply."""


def _quotient(number: int, divisor: int) -> int:
    """Return a quotient without remainder. Raises ValueError if there is one."""
    if number % divisor:
        raise ValueError(f"{number} cannot be divided by {divisor}")
    return number // divisor


# Output extents of operators without the parameter `output_size`.
GEOMETRY_EXTENTS: Mapping[Geometry, Callable[[Step], tuple[int, ...]]] = MappingProxyType(
    {
        Geometry.WINDOWS: lambda step: step.windows.output,
        Geometry.DEFORMED: lambda step: step.windows.output,
        Geometry.TRANSPOSED: Step._transposed_extents,
        Geometry.TO_COLUMNS: lambda step: step.windows.output,
        Geometry.PADS: Step._padded_extents,
        Geometry.GLOBAL: lambda step: (1,) * step.rank,
        Geometry.CHANNELS: lambda step: step.shape[2:],
        Geometry.CELLS: lambda step: step.shape[2:],
        Geometry.RESAMPLING: lambda step: tuple(axis.output for axis in step.resampled),
        # The output (n, *grid_size, axes) has the axes of the grid in place of channels and spatial axes.
        Geometry.POINTS: lambda step: (*step.parameters["grid_size"][1:], step.shape[1]),
        Geometry.TO_BLOCKS: lambda step: tuple(step._block() * extent for extent in step.shape[2:]),
        Geometry.FROM_BLOCKS: lambda step: tuple(_quotient(extent, step._block()) for extent in step.shape[2:]),
    }
)
BUILDING_BLOCK_EXTENTS: Mapping[BuildingBlock, Callable[[Step], tuple[int, ...]]] = MappingProxyType(
    {
        BuildingBlock.RELU: lambda step: step.shape[2:],
        BuildingBlock.NEGATE: lambda step: step.shape[2:],
        BuildingBlock.SCALE: lambda step: step.shape[2:],
        BuildingBlock.POWER: lambda step: step.shape[2:],
        BuildingBlock.CROP: Step._padded_extents,
        BuildingBlock.SUBSAMPLE: Step._subsampled_extents,
        BuildingBlock.OVER_ONES: lambda step: step.parts[-1].output[2:],
    }
)


def case_step(case: Case) -> Step:
    """Return the operator of a case as a step; for a gradient, the forward operator."""
    kernel, kernel_dtype = (spec.shape, spec.dtype) if (spec := case.inputs.get("kernel")) else ((), "")
    operator = OPERATORS[case.operator]
    parameters = {name: value for name, value in case.parameters.items() if name not in PROGRAM_KEYS}
    if operator.is_gradient:
        known = OPERATORS[operator.forward].defaults.keys()
        parameters = {name: value for name, value in parameters.items() if name in known and name != "output"}
    return Step(
        operator.forward,
        case.shape,
        case.dtype,
        parameters,
        kernel,
        bias="bias" in case.inputs,
        mask="mask" in case.inputs,
        kernel_dtype=kernel_dtype,
        gradient=operator.is_gradient,
    )


CELL_NUMBERS: Mapping[str, Callable[[int], int]] = MappingProxyType({"offset": lambda rank: rank, "mask": lambda _: 1})
"""Inputs of deformable convolution: the count of their numbers for a cell of a window, by the number of axes."""


def input_shape(name: str, case: Case) -> tuple[int, ...]:
    """Return the shape of an input derived from x and the parameters. Raises ValueError for invalid parameters."""
    if name == "indices":
        return case.shape
    if name == "samples":
        return (*case.shape[:2], len(case.shape) - 2)
    if name == "grid":
        return (case.shape[0], *case.parameters["output_size"], len(case.shape) - 2)
    if name in CELL_NUMBERS:
        step = case_step(case)
        count = int(case.parameters["offset_groups"]) * math.prod(step.window) * CELL_NUMBERS[name](step.rank)
        return (case.shape[0], count, *step.output[2:])
    return case_step(case).output


def pad_step(step: Step, pads: PerAxisPairs, value: float) -> Step:
    """Return a `pad` step for the input of a step."""
    return Step("pad", step.shape, step.dtype, {"pads": pads, "mode": PadMode.CONSTANT.value, "value": value})


def without_padding(step: Step, padding: Step) -> Step:
    """Return the step without padding, reading the output of a `pad` step."""
    no_padding = ((0, 0),) * step.rank
    rounding = {"rounding": Rounding.FLOOR.value} if "rounding" in step.parameters else {}
    return step.with_parameters(padding=no_padding, **rounding).reading_output_of(padding)


def split_padding(step: Step, value: float) -> tuple[tuple[Step, ...], Step]:
    """Return a `pad` step for all cells outside x (or no step, if there are none), and the step without padding."""
    if not any(any(pair) for pair in step.padding_to_last_window):
        return (), step.with_parameters(rounding=Rounding.FLOOR.value) if "rounding" in step.parameters else step
    padding = pad_step(step, step.padding_to_last_window, value)
    return (padding,), without_padding(step, padding)


def split_counted_zeros(step: Step) -> tuple[tuple[Step, ...], Step]:
    """Split the counted zeros from average pooling: return a `pad` step, or no step, and the remaining average.

    The remaining average counts no padding. Cells of the last window past the padding are never counted, so they
    remain padding of the average.
    """
    if not (step.parameters["count_include_pad"] and step.padded):
        return (), step.with_parameters(count_include_pad=False)
    padding = pad_step(step, step.windows.pads, 0)
    pads = tuple((0, over) for over in step.windows.overhang)
    average = step.with_parameters(count_include_pad=False, padding=pads, rounding=Rounding.FLOOR.value)
    return (padding,), average.reading_output_of(padding)
