"""Steps, which carry cases out in words that every framework has.

A step is one call of one operator on channels-first data. A plain case is one step; `via` and `then` make more, see
conformance.compositions. Adapters know steps only, so that a composition is written once and runs on every surface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from conformance.cases.arrays import Array
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
from reference import Windows

PerAxisPairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Step:
    """One call: what it does, on which shape and dtype, with which parameters.

    verb: an operator of the catalogue, never a gradient, or one of `relu`, `negate`, `scale`, `over_ones`;
    shape: (n, c, *spatial) of what it reads; kernel: shape (out, in/groups, *window) of its weights, `()` without;
    constants: arrays that the step brings along, `kernel` or `scale`, channels first;
    gradient: whether the case asks for the gradient of what the step does, which some calls have not.
    parts: of `over_ones`, the steps that sum: what they make of x is divided by what they make of ones.
    """

    operator: str
    shape: tuple[int, ...]
    dtype: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kernel: tuple[int, ...] = ()
    bias: bool = False
    constants: Mapping[str, Array] = field(default_factory=dict)
    gradient: bool = False
    parts: tuple[Step, ...] = ()

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
        """Step of the window on each spatial axis; None where a question leaves it out."""
        return self.parameters.get("stride")

    @property
    def padding(self) -> PerAxisPairs:
        """(before, after) on each spatial axis: padding of a window operator, or what `pad` adds."""
        pairs: PerAxisPairs = self.parameters.get("padding", self.parameters.get("pads", ((0, 0),) * self.rank))
        return pairs

    @property
    def dilation(self) -> tuple[int, ...]:
        """Distance of neighbouring cells of the window on each spatial axis."""
        return tuple(self.parameters.get("dilation", (1,) * self.rank))

    @property
    def dilated(self) -> bool:
        """Whether the window has holes."""
        return any(step != 1 for step in self.dilation)

    @property
    def padded(self) -> bool:
        """Whether there is any padding."""
        return any(any(pair) for pair in self.padding)

    @property
    def symmetric(self) -> tuple[int, ...] | None:
        """The padding as one number an axis, None where before and after differ."""
        equal = all(before == after for before, after in self.padding)
        return tuple(before for before, _ in self.padding) if equal else None

    @property
    def windows(self) -> Windows:
        """Where the windows lie."""
        rounding = self.parameters.get("rounding", "floor")
        return Windows.of(self.shape[2:], self.window, self.stride, self.padding, self.dilation, rounding)

    @property
    def window_reach(self) -> PerAxisPairs:
        """How far the windows reach past each end of x: its padding, and after it what a last window lacks."""
        walk = self.windows
        return tuple((before, after + over) for (before, after), over in zip(walk.pads, walk.overhang, strict=True))

    @property
    def has_windows_in_end_padding(self) -> bool:
        """Whether, rounding up, windows that fit start in the padding after: some frameworks leave these out."""
        if self.parameters.get("rounding") != "ceil":
            return False
        walk = self.windows
        axes = zip(walk.output, walk.stride, walk.size, walk.pads, strict=True)
        return any((windows - 1) * stride >= size + before for windows, stride, size, (before, _) in axes)

    @property
    def channels(self) -> int:
        """Number of channels of what the step returns."""
        if not self.kernel:
            return self.shape[1]
        return self.kernel[1] * int(self.parameters["groups"]) if self.operator == "conv_transpose" else self.kernel[0]

    @property
    def output(self) -> tuple[int, ...]:
        """The shape of what the step returns."""
        return (self.shape[0], self.channels, *self._extents())

    def _extents(self) -> tuple[int, ...]:
        if "output_size" in self.parameters:
            return tuple(self.parameters["output_size"])
        rule = OUTPUT_EXTENTS.get(self.operator)
        if rule:
            return rule(self)
        return self.windows.output if self.window else self.shape[2:]

    def _padded_extents(self) -> tuple[int, ...]:
        sizes = zip(self.shape[2:], self.padding, strict=True)
        return tuple(size + before + after for size, (before, after) in sizes)

    def _subsampled_extents(self) -> tuple[int, ...]:
        kept = zip(self.shape[2:], self.parameters["stride"], strict=True)
        return tuple(-(-size // stride) for size, stride in kept)

    def _transposed_extents(self) -> tuple[int, ...]:
        names = ("stride", "dilation", "padding", "output_padding")
        axes = zip(self.shape[2:], self.window, *(self.parameters[name] for name in names), strict=True)
        return tuple(
            (size - 1) * stride + dilation * (window - 1) + 1 - sum(pads) + further
            for size, window, stride, dilation, pads, further in axes
        )

    def with_parameters(self, **changed: Any) -> Step:
        """Return the step with some parameters changed."""
        return replace(self, parameters={**self.parameters, **changed})

    def reading_output_of(self, before: Step) -> Step:
        """Return the step reading what another one returns."""
        return replace(self, shape=before.output)


# Where it is neither a walk of windows nor the input's own extents.
OUTPUT_EXTENTS: Mapping[str, Callable[[Step], tuple[int, ...]]] = MappingProxyType(
    {
        "conv_transpose": Step._transposed_extents,
        "pad": Step._padded_extents,
        "crop": Step._padded_extents,
        "subsample": Step._subsampled_extents,
        "over_ones": lambda step: step.parts[-1].output[2:],
        "global_max_pool": lambda step: (1,) * step.rank,
        "global_avg_pool": lambda step: (1,) * step.rank,
        "stochastic_pool_probabilities": lambda step: (*step.windows.output, *step.window),
    }
)


def case_step(case: Case) -> Step:
    """Return the case's own operator as a step; of a gradient, the operator that it is the gradient of."""
    kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else ()
    operator = OPERATORS[case.operator]
    parameters = case.parameters
    if operator.is_gradient:
        known = OPERATORS[operator.forward].defaults.keys()
        parameters = {name: value for name, value in parameters.items() if name in known and name != "output"}
    bias, gradient = "bias" in case.inputs, operator.is_gradient
    return Step(operator.forward, case.shape, case.dtype, parameters, kernel, bias, gradient=gradient)


def input_shape(name: str, case: Case) -> tuple[int, ...]:
    """Return the shape of an input that follows from x and the parameters. Raises ValueError where none does."""
    if name == "indices":
        return case.shape
    if name == "samples":
        return (*case.shape[:2], len(case.shape) - 2)
    return case_step(case).output


def pad_step(step: Step, pads: PerAxisPairs, value: float) -> Step:
    """Return the explicit padding of what a step reads."""
    return Step("pad", step.shape, step.dtype, {"pads": pads, "mode": "constant", "value": value})


def without_padding(step: Step, padding: Step) -> Step:
    """Return the step without padding of its own, after an explicit padding."""
    nothing = ((0, 0),) * step.rank
    rule = {"rounding": "floor"} if "rounding" in step.parameters else {}
    return step.with_parameters(padding=nothing, **rule).reading_output_of(padding)


def split_padding(step: Step, value: float) -> tuple[tuple[Step, ...], Step]:
    """Return explicit padding as far as the windows reach, none or one, and the step of whole windows that reads it."""
    if not any(any(pair) for pair in step.window_reach):
        return (), step.with_parameters(rounding="floor") if "rounding" in step.parameters else step
    padding = pad_step(step, step.window_reach, value)
    return (padding,), without_padding(step, padding)


def split_counted_zeros(step: Step) -> tuple[tuple[Step, ...], Step]:
    """Return explicit padding with the zeros that an average counts, none or one, and the rest, which counts no more.

    Then the cells that count are those that the rest finds in x. What a last window lacks is none of them: it is
    padding of the rest.
    """
    if not (step.parameters["count_include_pad"] and step.padded):
        return (), step.with_parameters(count_include_pad=False)
    padding = pad_step(step, step.windows.pads, 0)
    pads = tuple((0, over) for over in step.windows.overhang)
    rest = step.with_parameters(count_include_pad=False, padding=pads, rounding="floor")
    return (padding,), rest.reading_output_of(padding)
