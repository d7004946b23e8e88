"""What somebody asks to be written, in the words of the catalogue: an operator with parameters becomes a case.

A case has a shape, a question often has none: one is chosen then, small and large enough for the window. The case goes
through the schema and the expansion of the catalogue, so that whatever is wrong is told in the same words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api.layers import IMPLIED
from conformance.cases.arrays import DTYPES
from conformance.cases.case import Case, Value
from conformance.cases.invalid import PREDICATES, has
from conformance.cases.invalid.parameters import OF_PARAMETERS
from conformance.cases.operators import GRADIENT, OPERATORS, Operator
from conformance.cases.parameters import Faulty
from conformance.cases.parsing import expand
from conformance.cases.schema import catalogue_folder, faults
from conformance.cases.yaml_reader import Document

ID = "asked"
RANK = 2
EXTENT = 8
"""Cells of an axis where no shape is given and no window needs more."""
CHANNELS = 2
MEANT = frozenset({"PaddingReachesWindow"})
"""What the catalogue wants refused of no surface's own accord, though the reference gives it a meaning."""
REFUSED = ("KernelChannelsMismatch", "KernelIsEmpty", *(name for name in OF_PARAMETERS if name not in MEANT))
AXES = ("window", "stride", "padding", "dilation", "output_size", "output_padding", "pads")


@dataclass(frozen=True)
class Request:
    """An operator with parameters as a catalogue file has them, and what is known of its inputs.

    given: parameters, `window` also where it is the extent of a kernel; shape: (n, c, *spatial); kernel: the shape of
    the weights; bias: whether there is one; gradient: of which input, None for the operator itself.
    """

    operator: str
    given: Mapping[str, Any] = field(default_factory=dict)
    rank: int | None = None
    shape: tuple[int, ...] | None = None
    dtype: str = "float32"
    channels: int | None = None
    kernel: tuple[int, ...] | None = None
    out_channels: int | None = None
    bias: bool = False
    gradient: str | None = None

    @property
    def asked(self) -> Operator:
        """The operator of the case: that of the gradient, where it is asked for."""
        return OPERATORS[self.operator + GRADIENT if self.gradient else self.operator]

    @property
    def weighted(self) -> bool:
        """Whether it has a kernel."""
        return "kernel" in self.asked.inputs

    @property
    def axes(self) -> int:
        """Number of spatial axes: as something says it, or two."""
        if self.shape is not None:
            return len(self.shape) - 2
        if self.kernel is not None and self.weighted:
            return len(self.kernel) - 2
        spread = (len(value) for value in map(self.given.get, AXES) if isinstance(value, (list, tuple)))
        return self.rank or next(spread, RANK)

    def case(self) -> Case:
        """Return the case. Raises ConformanceError naming option, value and limit."""
        raw = self._raw()
        self._examine(raw)
        try:
            case = expand({"operator": self.asked.name, "source": ""}, raw, "")
        except Faulty as error:
            raise ConformanceError(_option(str(error), self.operator)) from None
        wrong = next((name for name in REFUSED if has(name, case)), None)
        if wrong:
            shapes = [f"{name} {list(spec.shape)}" for name, spec in case.inputs.items()]
            values = ", ".join([*shapes, *(f"{key} {size_text(value)}" for key, value in self.given.items())])
            raise ConformanceError(f"{self.operator}: {PREDICATES[wrong].__doc__} ({wrong}: {values})")
        return case

    def _examine(self, raw: Mapping[str, Any]) -> None:
        """Hold what is asked against the schema of the catalogue."""
        if self.gradient and self.gradient not in (self.asked.outputs or ("x",)):
            known = ", ".join(self.asked.outputs or ("x",))
            raise ConformanceError(f"{self.operator}: --gradient {self.gradient}: there is one for {known} only")
        if self.shape is not None and self.rank not in (None, len(self.shape) - 2):
            raise ConformanceError(
                f"--rank {self.rank}: --shape {','.join(map(str, self.shape))} has {len(self.shape) - 2} spatial axes"
            )
        document = Document(Path("-"), {"operator": self.asked.name, "source": "-", "cases": [raw]})
        for fault in faults(document, catalogue_folder() / "schema.json"):
            raise ConformanceError(_option(fault.sentence, self.operator))

    def _raw(self) -> dict[str, Any]:
        given = {key: _listed(value) for key, value in self.given.items()}
        if "pads" in given and isinstance(given["pads"], int):
            given["pads"] = [given["pads"]] * self.axes
        if isinstance(given.get("pads"), list):
            given["pads"] = [pads if isinstance(pads, list) else [pads, pads] for pads in given["pads"]]
        if self.gradient and "kernel" in self.asked.inputs:
            given["output"] = self.gradient
        window = given.pop("window", None) if self.weighted else None
        shape = list(self.shape or self._usual_shape())
        if given.get("groups") == IMPLIED:
            given["groups"] = max(shape[1] // max(self.kernel[1], 1), 1) if self.kernel else 1
        raw = {"id": ID, **given, "x": self._array(shape)}
        if self.weighted:
            raw["kernel"] = self._array(list(self.kernel or self._usual_kernel(shape, window)))
            raw |= {"bias": self._array([self._outputs(raw["kernel"]["shape"])])} if self.bias else {}
        further = [name for name in self.asked.inputs if name not in {"x", "kernel", "bias"}]
        return raw | {name: {"values": "integers", "low": 0, "high": 0} for name in further}

    def _array(self, shape: list[int]) -> dict[str, Any]:
        signed = DTYPES[self.dtype].kind in "fiV" if self.dtype in DTYPES else True
        limits = {} if signed and self.operator[:10] != "stochastic" else {"low": 0, "high": 1}
        return {"values": "integers", "shape": shape, "dtype": self.dtype, **limits}

    def _groups(self) -> int:
        groups = self.given.get("groups", 1)
        return groups if isinstance(groups, int) and groups > 0 else 1

    def _usual_kernel(self, shape: list[int], window: Any) -> list[int]:
        if window is None:
            raise ConformanceError(f"{self.operator} needs --window or --kernel-shape")
        extents = window if isinstance(window, list) else [window] * self.axes
        groups = self._groups()
        outputs = self.out_channels or CHANNELS * groups
        if self.operator == "conv":
            return [outputs, shape[1] // groups, *extents]
        return [shape[1], max(outputs // groups, 1), *extents]

    def _outputs(self, kernel: list[int]) -> int:
        return kernel[0] if self.operator == "conv" else kernel[1] * self._groups()

    def _usual_shape(self) -> list[int]:
        return [1, self._usual_channels(), *(self._extent(axis) for axis in range(self.axes))]

    def _usual_channels(self) -> int:
        if self.channels is not None:
            return self.channels
        if self.weighted and self.kernel:
            return self.kernel[1] * self._groups() if self.operator == "conv" else self.kernel[0]
        return CHANNELS * self._groups() if self.weighted else CHANNELS

    def _extent(self, axis: int) -> int:
        """Return an extent that the window goes into at least twice."""
        window = self.kernel[2 + axis] if self.kernel and self.weighted else self._along("window", axis, 1)
        reach = (window - 1) * self._along("dilation", axis, 1) + 1 + self._along("stride", axis, 1)
        output, ends = self._along("output_size", axis, 1), self._along("pads", axis, 0)
        if self.operator == "max_unpool":
            return max(output // 2, 1)
        return max(EXTENT, reach, 2 * output, ends + 1)

    def _along(self, name: str, axis: int, usual: int) -> int:
        """Return a number of a parameter on an axis, the usual one for what is none."""
        value = self.given.get(name, usual)
        for _ in range(2):
            if isinstance(value, (list, tuple)) and value:
                value = value[axis % len(value)] if _ == 0 else max(value)
        return value if isinstance(value, int) and 0 < value < LARGE else usual

    def elsewhere(self) -> Iterator[tuple[str, Request]]:
        """Yield the same for inputs of other sizes, each with the word for what is otherwise."""
        first, channels, *extents = (spec := self.case().inputs["x"]).shape
        yield "the batch", self._resized((first + 1, channels, *extents))
        for further in (1, 2, max(spec.shape[2:], default=1) + 1):
            yield "the extents", self._resized((first, channels, *(extent + further for extent in extents)))
        if not self.weighted:
            yield "the channels", self._resized((first, channels + 1, *extents))

    def _resized(self, shape: tuple[int, ...]) -> Request:
        return replace(self, shape=shape, kernel=self.kernel, channels=shape[1], rank=None)

    @classmethod
    def of(cls, case: Case) -> Request | None:
        """Return what asks for a case; None for a question, for what must be refused, and for a composition."""
        if not isinstance(case.expect, Value) or case.via or case.then:
            return None
        operator = OPERATORS[case.operator]
        given = {key: value for key, value in case.parameters.items() if value is not None and key != "output"}
        kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else None
        output = case.parameters.get("output")
        if output is not None and not operator.gradient:
            given["output"] = output
        return cls(
            operator.forward,
            given if kernel is None else {key: value for key, value in given.items() if key != "window"},
            shape=case.shape,
            dtype=case.dtype,
            kernel=kernel,
            bias="bias" in case.inputs,
            gradient=(output or "x") if operator.gradient else None,
        )


LARGE = 10**6


def _listed(value: Any) -> Any:
    """Return tuples as lists, and infinities as YAML has them."""
    if isinstance(value, (list, tuple)):
        return [_listed(item) for item in value]
    return value


def _option(text: str, operator: str) -> str:
    """Return a fault of a case as one of the command line: keys are options there."""
    text = re.sub(rf"^case {ID}: ", "", text)
    found = re.match(r"key '([^']*)': (.*)", text)
    if not found:
        needed = re.sub(r"needs the key '(\w+)'", lambda key: f"needs --{_dashed(key[1])}", text)
        named = re.sub(rf"^({'|'.join(AXES)})\b", lambda key: f"--{_dashed(key[1])}", needed)
        return named if named.startswith(operator) else f"{operator}: {named}"
    keys, what = found.groups()
    key = keys.split(".")[0]
    option = {"x": "shape", "kernel": "kernel-shape", "output": "gradient"}.get(key, _dashed(key))
    option = "dtype" if keys.endswith(".dtype") else option
    return f"{operator}: --{option}: {what}"


def _dashed(key: str) -> str:
    return key.replace("_", "-")


def size_text(values: Any) -> str:
    """Return sizes as people say them: 3 x 3."""
    if isinstance(values, (list, tuple)):
        if any(isinstance(value, (list, tuple)) for value in values):
            pairs = [tuple(value) for value in values]
            symmetric = all(before == after for before, after in pairs)
            return size_text([pair[0] for pair in pairs] if symmetric else [f"({a}, {b})" for a, b in pairs])
        return " x ".join(map(str, values))
    if isinstance(values, float) and values.is_integer() and not math.isinf(values):
        return str(int(values))
    return str(values).lower() if isinstance(values, bool) else str(values)


def option_text(value: Any) -> str:
    """Return a value as it is written on the command line."""
    if isinstance(value, (list, tuple)):
        return ",".join(":".join(map(str, item)) if isinstance(item, (list, tuple)) else str(item) for item in value)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return str(value)
