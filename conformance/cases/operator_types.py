"""Types of the operator table: parameters, inputs, operators, and their properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Any

from conformance.cases.arrays import Array
from reports.results.vocabulary import Word

GRADIENT_SUFFIX = "_grad"


class Rounding(Word):
    """The rule for the number of windows."""

    FLOOR = "floor"
    CEIL = "ceil"
    FULL = "full"


class PadMode(Word):
    """The values that padding writes."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
    WRAP = "wrap"


class ResizeMode(Word):
    """How resizing computes an output cell from the cells of x around its coordinate."""

    NEAREST = "nearest"
    LINEAR = "linear"
    CUBIC = "cubic"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    AREA = "area"


class OutsideMode(Word):
    """The cells outside x when sampling at points; the words of ONNX, and INSIDE for points of windows."""

    ZEROS = "zeros"
    BORDER = "border"
    REFLECTION = "reflection"
    INSIDE = "inside"


class Coordinates(Word):
    """The coordinate of an output cell in x when resizing; the words of ONNX."""

    HALF_PIXEL = "half_pixel"
    HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
    PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
    ASYMMETRIC = "asymmetric"
    ALIGN_CORNERS = "align_corners"
    TF_HALF_PIXEL_FOR_NN = "tf_half_pixel_for_nn"
    TF_CROP_AND_RESIZE = "tf_crop_and_resize"


class NearestRounding(Word):
    """The cell that a coordinate selects when resizing; the words of ONNX."""

    FLOOR = "floor"
    CEIL = "ceil"
    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"


class BlockOrder(Word):
    """The order of channels that become a block of cells; the words of ONNX."""

    DCR = "dcr"
    CRD = "crd"


class QuantizedDtype(Word):
    """The dtype of quantized numbers."""

    INT8 = "int8"
    UINT8 = "uint8"


class ExtraChannel(Word):
    """The side of the extra channel of a window of an even number of channels."""

    BEFORE = "before"
    AFTER = "after"


class RoundMode(Word):
    """The whole number to which quantization rounds a number."""

    HALF_EVEN = "half_even"
    HALF_AWAY = "half_away"
    HALF_UP = "half_up"
    TOWARD_ZERO = "toward_zero"


class Formula(Word):
    """How quantization computes the number that it rounds to a whole number."""

    QUOTIENT = "quotient"
    RECIPROCAL = "reciprocal"
    QUOTIENT_PLUS_ZERO_POINT = "quotient_plus_zero_point"
    RECIPROCAL_PLUS_ZERO_POINT = "reciprocal_plus_zero_point"
    FUSED = "fused"


class Requantization(Word):
    """How quantized convolution computes the number of an exact sum that it rounds to a whole number."""

    PRODUCT = "product"
    RECIPROCAL = "reciprocal"
    EXACT = "exact"
    FUSED = "fused"
    STEPWISE = "stepwise"
    FLOAT64 = "float64"
    FIXED_POINT = "fixed_point"


class PaddingWord(Word):
    """Padding that is computed from the extents."""

    VALID = "valid"
    SAME_UPPER = "same_upper"
    SAME_LOWER = "same_lower"


class Ties(Word):
    """The rule for the gradient of equal values."""

    FIRST = "first"
    LAST = "last"
    ALL = "all"
    SPLIT = "split"


class ParameterKind(Enum):
    """The form of a parameter. The schema, the command-line option and the levels of a sweep follow from it."""

    SIZES = "a whole number, or one for each spatial axis"
    SCALES = "a number, or one for each spatial axis"
    PADDING = "a whole number, a number or (before, after) pair for each spatial axis, or a PaddingWord"
    PAIRS = "a (before, after) pair for each spatial axis"
    CHOICE = "one of the words in `choices`"
    OUTPUT = "the name of one of the operator's outputs"
    FLAG = "true or false"
    COUNT = "a whole number in `limits`"
    CHANNEL_NUMBERS = "a number, or one for each channel"
    CHANNEL_COUNTS = "a whole number, or one for each channel"
    NUMBER = "a number, in `limits` if there are any"


PER_AXIS_KINDS = frozenset({ParameterKind.SIZES, ParameterKind.SCALES, ParameterKind.PADDING, ParameterKind.PAIRS})


@dataclass(frozen=True)
class Parameter:
    """A parameter of operators.

    default: None if it has no default, or one that depends on other parameters; required: whether a case must give it.
    choices: the allowed words; limits: the smallest and the largest number, None if any number is allowed.
    id_prefix: text before the value in the id of a sweep's case. The id omits a default, except with `always_in_id`.
    is_geometric: whether it determines which input cells an output element depends on.
    only_with: another parameter and its only value with which this one has an effect; None if it always has one.
    only_if_true: whether a flag has an effect only if it is true. Headings name it in that case only.
    """

    name: str
    kind: ParameterKind
    default: object
    help: str
    choices: tuple[str, ...] = ()
    limits: tuple[int, int] | None = None
    required: bool = False
    id_prefix: str = ""
    always_in_id: bool = False
    is_geometric: bool = False
    only_with: tuple[str, str] | None = None
    only_if_true: bool = False

    @property
    def is_per_axis(self) -> bool:
        """Whether it has a value for each spatial axis."""
        return self.kind in PER_AXIS_KINDS

    @property
    def is_named_choice(self) -> bool:
        """Whether each value is a variant of the operator: a word, a result, or one of few numbers such as a power."""
        has_few_numbers = self.kind is ParameterKind.NUMBER and self.limits is not None
        return has_few_numbers or self.kind in {ParameterKind.CHOICE, ParameterKind.OUTPUT}


@dataclass(frozen=True)
class Input:
    """An input of operators.

    is_derived: whether its shape follows from x and the parameters; is_position: whether it selects cells, so that no
    output is computed from its numbers. has_gradient: whether gradients are also taken with respect to it.
    dtype: its only dtype, "" for a floating dtype or that of x.
    """

    name: str
    help: str
    dtype: str = ""
    is_derived: bool = False
    is_position: bool = False
    has_gradient: bool = False


class Geometry(Enum):
    """How the cells of the output depend on the cells of x along an axis."""

    WINDOWS = "each output reads a window of the padded input"
    DEFORMED = "each output reads a window of the padded input whose cells are moved by offsets"
    TRANSPOSED = "each input is added to a window of the output, which padding crops"
    PADS = "the output is the input with added or cropped cells"
    GLOBAL = "one output reads all cells"
    BINS = "each output reads one of `output_size` nearly equal parts"
    FRACTIONS = "each output reads a window, and random samples place the windows"
    RESAMPLING = "each output interpolates the cells around its coordinate"
    SAMPLING = "each output interpolates the cells around a given point"
    POINTS = "each output is a coordinate of a cell of a grid, multiplied by a matrix in x"
    TO_BLOCKS = "the channels of a cell become a block of cells"
    FROM_BLOCKS = "a block of cells becomes the channels of a cell"
    TO_COLUMNS = "a window of the padded input becomes the channels of a cell"
    FROM_COLUMNS = "the channels of a cell are added to a window of the output, which padding crops"
    UNPOOLING = "each input is written to a given position of the output"
    CHANNELS = "each output reads a window of the channels of its cell"
    CELLS = "each output is computed from the cell at its position"


FAMILIES: Mapping[Geometry, str] = MappingProxyType(
    {
        Geometry.PADS: "padding",
        Geometry.RESAMPLING: "resampling",
        Geometry.SAMPLING: "resampling",
        Geometry.POINTS: "resampling",
        Geometry.TO_BLOCKS: "blocks",
        Geometry.FROM_BLOCKS: "blocks",
        Geometry.TO_COLUMNS: "columns",
        Geometry.FROM_COLUMNS: "columns",
        Geometry.CHANNELS: "normalization",
        Geometry.CELLS: "quantization",
    }
)
"""Folders of the catalogue for operators without weights; those of all others are in `pooling`."""
CHANNEL_GEOMETRIES = frozenset({Geometry.TO_BLOCKS, Geometry.FROM_BLOCKS, Geometry.TO_COLUMNS, Geometry.FROM_COLUMNS})
"""Geometries in which cells become channels, or channels become cells."""


class Arithmetic(Enum):
    """How the numbers of the output are computed from those of x."""

    SELECTION = "some input values, unchanged"
    SUM = "sums of products, linear in x"
    AVERAGE = "sums divided by a number"
    POWERS = "powers and roots"
    EXPONENTIALS = "exponentials"
    PROBABILITIES = "x as probabilities, so it must not be negative"
    LARGEST_SUM = "the largest of sums of two numbers"
    OTHER = "unknown"

    @property
    def is_linear(self) -> bool:
        """Whether the result is x multiplied by a matrix."""
        return self in {Arithmetic.SUM, Arithmetic.AVERAGE}


class Operation(Word):
    """A kind of floating-point operation that the cost of an operator counts."""

    COMPARISONS = "comparisons"
    ADDITIONS = "additions"
    MULTIPLICATIONS = "multiplications"
    DIVISIONS = "divisions"
    EXPONENTIALS = "exponentials"


WindowOperations = Callable[[Array], Mapping[Operation, Array]]
"""Return the number of operations of each kind in windows; argument: the number of terms of each window."""


@dataclass(frozen=True)
class Operator:
    """One operator of the catalogue, or the gradient of one.

    help: a description of one or two sentences; the exact definition is in docs/semantics.md.
    inputs: its inputs, in the order of the reference's arguments; optional_inputs: those that a case may omit.
    outputs: the names of the returned arrays if there are several; the parameter `output` of a case selects one.
    has_ties: whether its gradient has the parameter `ties`, the rule for equal values.
    has_output_per_cell: whether the output has an element for each cell of each window, not for each window.
    has_channel_kernels: whether the weights are a window for each channel, (channels, 1, *window).
    has_disputed_geometry: whether conventions specify windows that contain only padding, or pads beyond the extent.
    is_differentiable: whether it has a gradient.
    operations: the cost of windows; None if the cost is not counted.
    dtypes: default dtypes of inputs that differ from those of other operators.
    """

    name: str
    help: str
    geometry: Geometry
    arithmetic: Arithmetic = Arithmetic.OTHER
    parameters: tuple[Parameter, ...] = ()
    inputs: tuple[str, ...] = ("x",)
    optional_inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    has_ties: bool = False
    has_output_per_cell: bool = False
    has_channel_kernels: bool = False
    has_disputed_geometry: bool = False
    is_differentiable: bool = True
    operations: WindowOperations | None = None
    dtypes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def defaults(self) -> Mapping[str, object]:
        """Every parameter with its default."""
        return MappingProxyType({parameter.name: parameter.default for parameter in self.parameters})

    @cached_property
    def required_parameters(self) -> tuple[str, ...]:
        """The parameters that a case must give."""
        return tuple(parameter.name for parameter in self.parameters if parameter.required)

    @property
    def is_pooling(self) -> bool:
        """Whether it is pooling with a window and a rounding rule, so that it has no weights."""
        return "window" in self.defaults and "rounding" in self.defaults

    @property
    def has_weights(self) -> bool:
        """Whether it has a kernel, which determines the window and the number of output channels."""
        return "kernel" in self.inputs

    @property
    def is_gradient(self) -> bool:
        """Whether it is the gradient of another operator."""
        return self.name.endswith(GRADIENT_SUFFIX)

    @property
    def changes_channels(self) -> bool:
        """Whether an output channel is not computed from the input channel of the same number alone."""
        mixes_channels = self.has_weights and not self.has_channel_kernels
        return mixes_channels or self.geometry in {Geometry.CHANNELS, Geometry.POINTS, *CHANNEL_GEOMETRIES}

    @property
    def forward(self) -> str:
        """The name of the operator; for a gradient, the name of the forward operator."""
        return self.name.removesuffix(GRADIENT_SUFFIX)

    @property
    def family(self) -> str:
        """The folder of its file in the catalogue."""
        if self.is_gradient:
            return "gradients"
        if not self.is_differentiable:
            return "quantization"
        if self.has_weights:
            return "morphology" if self.has_channel_kernels else "convolution"
        return FAMILIES.get(self.geometry, "pooling")

    def channel_multiple(self, parameters: Mapping[str, Any], rank: int) -> int:
        """Return a number that divides the channels of x; 1 for parameters that are invalid. rank: the spatial axes."""
        if self.geometry is Geometry.FROM_COLUMNS:
            return _cell_count(parameters.get("window", 1), rank)
        if self.geometry is Geometry.TO_BLOCKS:
            return int(_positive(parameters.get("block", 1)) ** rank)
        return math.lcm(*(_positive(parameters.get(name, 1)) for name in ("groups", "offset_groups")))

    def kernel_shape(self, channels: int, out: int, groups: int, window: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the weights; channels, out: input and output channels of each group."""
        if self.has_channel_kernels:
            return (channels, 1, *window)
        if self.geometry is Geometry.TRANSPOSED:
            return (channels * groups, out, *window)
        return (out * groups, channels, *window)

    def input_channels(self, kernel: tuple[int, ...], groups: int) -> int:
        """Return the number of channels of x that fits weights of this shape."""
        is_first = self.has_channel_kernels or self.geometry is Geometry.TRANSPOSED
        return kernel[0] if is_first else kernel[1] * groups

    def output_channels(self, kernel: tuple[int, ...], groups: int) -> int:
        """Return the number of output channels for weights of this shape."""
        return kernel[1] * groups if self.geometry is Geometry.TRANSPOSED else kernel[0]


def _positive(number: Any) -> int:
    """Return a number, or 1 if it is not a whole number above 0."""
    return number if isinstance(number, int) and number > 0 else 1


def _cell_count(window: Any, rank: int) -> int:
    """Return the number of cells of a window, whose extents are repeated over the axes; 1 if one is below 1."""
    extents = tuple(window) if isinstance(window, (list, tuple)) else (window,)
    if not extents or not all(isinstance(extent, int) and extent > 0 for extent in extents):
        return 1
    return math.prod(extents[axis % len(extents)] for axis in range(rank))
