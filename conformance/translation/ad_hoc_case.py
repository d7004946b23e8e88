"""Cases from the command line: an operator with parameters becomes a case that is in no catalogue file.

If no shape is given, a small shape is chosen that fits the window. The case passes the schema and the parser of the
catalogue, so its errors are the same as those of catalogue files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api import IMPLIED_GROUPS
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import DRAWN_KEY, Case, Value
from conformance.cases.generators import GeneratorName
from conformance.cases.invalid import VIOLATIONS, has_violation
from conformance.cases.invalid.parameters import PARAMETER_VIOLATIONS
from conformance.cases.operators import (
    GRADIENT_SUFFIX,
    MATRIX_AXES,
    OPERATORS,
    WEIGHT_INPUTS,
    Arithmetic,
    Geometry,
    Operator,
    PaddingWord,
)
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import parse_case
from conformance.cases.schema import catalogue_folder, document_errors
from conformance.cases.yaml_reader import YamlDocument
from conformance.translation.option_text import PER_AXIS_OPTIONS, REQUEST_CASE_ID, as_option_error, size_text
from reference import Windows

DEFAULT_SPATIAL_RANK = 2
"""Number of spatial axes if neither a shape nor a parameter gives it."""
DEFAULT_EXTENT = 8
"""Spatial size in cells if no shape is given and the window fits into it."""
DEFAULT_CHANNELS = 2
"""Number of channels, or of channels of each group, if no shape is given."""
MAX_REQUEST_NUMBER = 10**6
"""Parameters above this number do not influence the default shape, so that it remains small."""
ALLOWED_VIOLATIONS = frozenset({"PaddingReachesWindow"})
"""Violations that a requested case may have, since the reference computes a result for them."""
REJECTED_VIOLATIONS = (
    "KernelChannelsMismatch",
    "KernelIsEmpty",
    *(name for name in PARAMETER_VIOLATIONS if name not in ALLOWED_VIOLATIONS),
)
"""Violations that raise an error before a requested case is translated."""


@dataclass(frozen=True)
class CaseRequest:
    """An operator with parameters and the known properties of its inputs.

    parameters: as in catalogue files; `window` may also give the spatial size of a kernel.
    rank: number of spatial axes.
    shape: (n, c, *spatial).
    kernel: shape of the weights.
    bias, mask: whether the operator has these inputs.
    gradient: name of the input whose gradient is computed, None for the forward operator.
    padding_mode: the PadMode in which a convolution pads, "" for zeros. Its case pads first and then convolves.
    """

    operator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rank: int | None = None
    shape: tuple[int, ...] | None = None
    dtype: str = "float32"
    channels: int | None = None
    kernel: tuple[int, ...] | None = None
    out_channels: int | None = None
    bias: bool = False
    mask: bool = False
    gradient: str | None = None
    padding_mode: str = ""

    @property
    def case_operator(self) -> Operator:
        """The operator of the case: the gradient operator if a gradient is requested."""
        return OPERATORS[self.operator + GRADIENT_SUFFIX if self.gradient else self.operator]

    @property
    def has_kernel(self) -> bool:
        """Whether the operator has a kernel."""
        return self.case_operator.has_weights

    @property
    def spatial_rank(self) -> int:
        """Number of spatial axes: from the shape, the kernel, the rank or a parameter, else 2."""
        if self.shape is not None:
            return len(self.shape) - 2
        if self.kernel is not None and self.has_kernel:
            return len(self.kernel) - 2
        lengths = (
            len(value) for value in map(self.parameters.get, PER_AXIS_OPTIONS) if isinstance(value, (list, tuple))
        )
        return self.rank or next(lengths, DEFAULT_SPATIAL_RANK)

    def case(self) -> Case:
        """Return the case. Raises ConformanceError with the option, its value and the limit."""
        if self.gradient and not OPERATORS[self.operator].is_differentiable:
            raise ConformanceError(f"--gradient {self.gradient}: {self.operator} has no gradient")
        raw, operator = self._raw_case(), self.case_operator.name
        if self.padding_mode:
            raw, operator = self._padded_first(raw), "pad"
        self._check_schema(raw, operator)
        try:
            case = parse_case({"operator": operator, "source": ""}, raw, "", only_translated=True)
        except CaseError as error:
            raise ConformanceError(as_option_error(str(error), self.operator)) from None
        violation = next((name for name in REJECTED_VIOLATIONS if has_violation(name, case)), None)
        if violation:
            shapes = [f"{name} {list(spec.shape)}" for name, spec in case.inputs.items()]
            values = ", ".join([*shapes, *(f"{key} {size_text(value)}" for key, value in self.parameters.items())])
            raise ConformanceError(f"{self.operator}: {VIOLATIONS[violation].__doc__} ({violation}: {values})")
        return case

    def _check_schema(self, raw: Mapping[str, Any], operator: str) -> None:
        """Check the request against the schema of the catalogue."""
        if self.gradient and self.gradient not in (self.case_operator.outputs or ("x",)):
            known = ", ".join(self.case_operator.outputs or ("x",))
            raise ConformanceError(f"{self.operator}: --gradient {self.gradient}: gradients exist for {known} only")
        if self.shape is not None and self.rank not in (None, len(self.shape) - 2):
            raise ConformanceError(
                f"--rank {self.rank}: --shape {','.join(map(str, self.shape))} has {len(self.shape) - 2} spatial axes"
            )
        document = YamlDocument(Path("-"), {"operator": operator, "source": "-", "cases": [raw]})
        for error in document_errors(document, catalogue_folder() / "schema.json"):
            raise ConformanceError(as_option_error(error.message, self.operator))

    def _raw_case(self) -> dict[str, Any]:
        parameters = {key: _yaml_value(value) for key, value in self.parameters.items()}
        # Shorthands: one number for all axes, or one number for both ends of an axis.
        if "pads" in parameters and isinstance(parameters["pads"], int):
            parameters["pads"] = [parameters["pads"]] * self.spatial_rank
        if isinstance(parameters.get("pads"), list):
            parameters["pads"] = [pads if isinstance(pads, list) else [pads, pads] for pads in parameters["pads"]]
        if self.gradient and len(self.case_operator.outputs) > 1:
            parameters["output"] = self.gradient
        # The window of a convolution is the shape of its kernel, not a parameter of the case.
        window = parameters.pop("window", None) if self.has_kernel else None
        shape = list(self.shape or self._default_shape())
        if parameters.get("groups") == IMPLIED_GROUPS:
            parameters["groups"] = max(shape[1] // max(self.kernel[1], 1), 1) if self.kernel else 1
        raw = {"id": REQUEST_CASE_ID, **parameters, "x": self._raw_array(shape)}
        if self.has_kernel:
            raw["kernel"] = self._raw_array(list(self.kernel or self._default_kernel(shape, window)), "kernel")
            raw |= (
                {
                    "bias": self._raw_array(
                        [self.case_operator.output_channels(tuple(raw["kernel"]["shape"]), self._groups())], "bias"
                    )
                }
                if self.bias
                else {}
            )
        # Other inputs, such as indices, may be all zeros: the values do not influence the program.
        given = {"x", "kernel", "bias", *(["samples"] if DRAWN_KEY in parameters else [])}
        given |= set() if self.mask else {"mask"}
        others = [name for name in self.case_operator.inputs if name not in given]
        return raw | {name: {"values": GeneratorName.INTEGERS.value, "low": 0, "high": 0} for name in others}

    def _padded_first(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the case of a convolution as padding in a mode, followed by the convolution without padding."""
        window = raw["kernel"]["shape"][2:]
        padding = raw.get("padding", 0)
        if padding == PaddingWord.SAME_UPPER:
            cells = [self._parameter_on_axis("dilation", axis, 1) * (size - 1) for axis, size in enumerate(window)]
            pads = [[total // 2, total - total // 2] for total in cells]
        else:
            sizes = padding if isinstance(padding, list) else [padding] * len(window)
            pads = [size if isinstance(size, list) else [size, size] for size in sizes]
        # The weights are constants of the program. Zeros are short, and the user replaces them.
        zeros = {"values": GeneratorName.ARANGE.value, "step": 0}
        weights = {
            name: {**zeros, "shape": raw[name]["shape"], "dtype": self.dtype} for name in WEIGHT_INPUTS if name in raw
        }
        given = {name: raw[name] for name in ("stride", "dilation", "groups") if name in raw}
        return {
            "id": raw["id"],
            "x": raw["x"],
            "pads": pads,
            "mode": self.padding_mode,
            "then": [{"operator": self.operator, **given, **weights}],
        }

    def _raw_array(self, shape: list[int], name: str = "x") -> dict[str, Any]:
        dtype = self.case_operator.dtypes.get(name, self.dtype)
        is_unsigned = dtype in NUMPY_DTYPES and NUMPY_DTYPES[dtype].kind in "ub"
        limits = (
            {"low": 0, "high": 1} if is_unsigned or self.case_operator.arithmetic is Arithmetic.PROBABILITIES else {}
        )
        return {"values": GeneratorName.INTEGERS.value, "shape": shape, "dtype": dtype, **limits}

    def _groups(self) -> int:
        groups = self.parameters.get("groups", 1)
        return groups if isinstance(groups, int) and groups > 0 else 1

    def _default_kernel(self, shape: list[int], window: Any) -> list[int]:
        if window is None:
            raise ConformanceError(f"{self.operator} needs --window or --kernel-shape")
        extents = window if isinstance(window, list) else [window] * self.spatial_rank
        if self.case_operator.has_channel_kernels:
            return [shape[1], 1, *extents]
        groups = self._groups()
        outputs = self.out_channels or DEFAULT_CHANNELS * groups
        if self.case_operator.geometry is Geometry.TRANSPOSED:
            return [shape[1], max(outputs // groups, 1), *extents]
        return [outputs, shape[1] // groups, *extents]

    def _default_shape(self) -> list[int]:
        if self.case_operator.geometry is Geometry.POINTS:
            size = self.parameters.get("grid_size")
            axes = len(size) if isinstance(size, (list, tuple)) else MATRIX_AXES[0]
            return [1, axes, axes + 1]
        return [1, self._default_channels(), *(self._default_extent(axis) for axis in range(self.spatial_rank))]

    def _default_channels(self) -> int:
        if self.channels is not None:
            return self.channels
        if self.has_kernel and self.kernel:
            return self.case_operator.input_channels(self.kernel, self._groups())
        return DEFAULT_CHANNELS * self.case_operator.channel_multiple(self.parameters, self.spatial_rank)

    def _default_extent(self, axis: int) -> int:
        """Return a size that has room for the window at two positions at least."""
        window = (
            self.kernel[2 + axis] if self.kernel and self.has_kernel else self._parameter_on_axis("window", axis, 1)
        )
        reach = (
            (window - 1) * self._parameter_on_axis("dilation", axis, 1) + 1 + self._parameter_on_axis("stride", axis, 1)
        )
        output, pads = self._parameter_on_axis("output_size", axis, 1), self._parameter_on_axis("pads", axis, 0)
        if self.case_operator.geometry is Geometry.FROM_COLUMNS:
            return self._window_count(axis)
        if self.case_operator.geometry is Geometry.UNPOOLING:
            return max(output // 2, 1)
        extent, block = max(DEFAULT_EXTENT, reach, 2 * output, pads + 1), self._parameter_on_axis("block", axis, 1)
        return -(-extent // block) * block if self.case_operator.geometry is Geometry.FROM_BLOCKS else extent

    def _window_count(self, axis: int) -> int:
        """Return the number of windows of the output of fold on an axis; 1 if the parameters are invalid."""
        names = ("output_size", "window", "stride")
        size, window, stride = ((self._parameter_on_axis(name, axis, 1),) for name in names)
        padding = self.parameters.get("padding", 0)
        if isinstance(padding, (list, tuple)) and padding:
            padding = [padding[axis % len(padding)]]
        try:
            windows = Windows.of(size, window, stride, padding, self._parameter_on_axis("dilation", axis, 1))
        except (TypeError, ValueError):
            return 1
        return windows.output[0]

    def _parameter_on_axis(self, name: str, axis: int, default: int) -> int:
        """Return the value of a parameter on an axis, or the default if the value is not an integer in range."""
        value = self.parameters.get(name, default)
        # First select the entry of the axis, then, if it is a pair of pads, its larger number.
        for _ in range(2):
            if isinstance(value, (list, tuple)) and value:
                value = value[axis % len(value)] if _ == 0 else max(value)
        return value if isinstance(value, int) and 0 < value < MAX_REQUEST_NUMBER else default

    def other_sizes(self) -> Iterator[tuple[str, CaseRequest]]:
        """Yield the request with other input sizes, each with a phrase for the changed size."""
        first, channels, *extents = (spec := self.case().inputs["x"]).shape
        yield "the batch", self._with_shape((first + 1, channels, *extents))
        # Padding may depend on whether an extent is even. The last increase more than doubles every extent.
        # Where blocks of cells become channels, they divide every extent.
        block = self._parameter_on_axis("block", 0, 1) if self.case_operator.geometry is Geometry.FROM_BLOCKS else 1
        # The extents of columns follow from the output size.
        is_fixed = self.case_operator.geometry is Geometry.FROM_COLUMNS
        for increase in () if is_fixed else (block, 2 * block, block * (max(spec.shape[2:], default=1) + 1)):
            yield "the spatial size", self._with_shape((first, channels, *(extent + increase for extent in extents)))
        if not self.has_kernel:
            more = self.case_operator.channel_multiple(self.parameters, len(extents))
            yield "the channels", self._with_shape((first, channels + more, *extents))

    def _with_shape(self, shape: tuple[int, ...]) -> CaseRequest:
        return replace(self, shape=shape, kernel=self.kernel, channels=shape[1], rank=None)

    @classmethod
    def from_case(cls, case: Case) -> CaseRequest | None:
        """Return the request for a case; None for convention cases, cases that must be rejected, and compositions."""
        if not isinstance(case.expect, Value) or case.via or case.then:
            return None
        operator = OPERATORS[case.operator]
        given = {key: value for key, value in case.parameters.items() if value is not None and key != "output"}
        kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else None
        output = case.parameters.get("output")
        if output is not None and not operator.is_gradient:
            given["output"] = output
        return cls(
            operator.forward,
            given if kernel is None else {key: value for key, value in given.items() if key != "window"},
            shape=case.shape,
            dtype=case.dtype,
            kernel=kernel,
            bias="bias" in case.inputs,
            mask="mask" in case.inputs,
            gradient=(output or "x") if operator.is_gradient else None,
        )


def _yaml_value(value: Any) -> Any:
    """Return a value with lists in place of tuples, as YAML has them."""
    if isinstance(value, (list, tuple)):
        return [_yaml_value(item) for item in value]
    return value
