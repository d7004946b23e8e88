"""Click parameter types for sizes, padding, numbers and shards: `3`, `3,2`, `1:0,2:2`, `same_upper`, `1/4`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from conformance import ConformanceError
from conformance.cases.operators import OPERATORS, PaddingWord, Parameter, ParameterKind
from conformance.execution.selection import parse_shard
from conformance.system.suggestions import suggestion
from reports.results.vocabulary import ROUTE_ARROW

if TYPE_CHECKING:
    ChoiceBase = click.Choice[str]
    Kind = click.ParamType[Any]  # generic for type checkers only; click's class cannot be subscripted at run time
else:
    ChoiceBase = click.Choice
    Kind = click.ParamType

MAX_NUMBERS = 12
"""Maximum number of numbers in one value."""
MAX_DIGITS = 18
"""Maximum number of digits of one number."""


class NameChoice(ChoiceBase):
    """One of many names. The error suggests a similar name instead of listing all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        near = suggestion(str(value), self.choices) if value not in self.choices else ""
        if near:
            self.fail(f"{value!r} is unknown{near}", param, ctx)
        return super().convert(value, param, ctx)


class SurfaceNameType(click.types.StringParamType):
    """The name of a surface, or a glob. `->` is another spelling of the arrow in the name of a route."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name with an arrow."""
        return super().convert(value, param, ctx).replace("->", ROUTE_ARROW)


SURFACE_NAME = SurfaceNameType()


class SizesType(Kind):
    """An integer, or one integer per axis separated by commas."""

    name = "sizes"
    metavar = "N[,N…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an integer or a tuple of integers."""
        if not isinstance(value, str):
            return value
        # Numbers above the limit of a parameter are rejected later, with the limit.
        if not re.fullmatch(rf"-?\d{{1,{MAX_DIGITS}}}(,-?\d{{1,{MAX_DIGITS}}})*", value):
            self.fail(f"{value!r} is not an integer or a comma-separated integer per axis, such as 3,2", param, ctx)
        numbers = tuple(map(int, value.split(",")))
        if len(numbers) > MAX_NUMBERS:
            self.fail(f"{len(numbers)} numbers given, the limit is {MAX_NUMBERS}", param, ctx)
        return numbers[0] if len(numbers) == 1 else numbers


class ScalesType(Kind):
    """A number, or one number per axis separated by commas."""

    name = "scales"
    metavar = "NUMBER[,NUMBER…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number or a tuple of numbers."""
        if not isinstance(value, str):
            return value
        parts = value.split(",")
        if len(parts) > MAX_NUMBERS or not all(re.fullmatch(r"-?\d{1,9}(\.\d{1,9})?", part) for part in parts):
            self.fail(f"{value!r} is not a number or a comma-separated number per axis, such as 2,0.5", param, ctx)
        numbers = tuple(float(part) if "." in part else int(part) for part in parts)
        return numbers[0] if len(numbers) == 1 else numbers


class ChannelNumbersType(Kind):
    """A number, or one number per channel separated by commas."""

    name = "numbers"
    metavar = "NUMBER[,NUMBER…]"
    pattern = re.compile(r"-?\d{1,9}(\.\d{1,12})?(e-?\d{1,2})?")
    example = "a number or a comma-separated number per channel, such as 0.1,0.05"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number or a tuple of numbers."""
        if not isinstance(value, str):
            return value
        parts = value.split(",")
        if len(parts) > MAX_CHANNEL_NUMBERS or not all(self.pattern.fullmatch(part) for part in parts):
            self.fail(f"{value!r} is not {self.example}", param, ctx)
        numbers = tuple(int(part) if re.fullmatch(r"-?\d+", part) else float(part) for part in parts)
        return numbers[0] if len(numbers) == 1 else numbers


class ChannelCountsType(ChannelNumbersType):
    """A whole number, or one per channel separated by commas."""

    pattern = re.compile(r"-?\d{1,9}")
    example = "a whole number or a comma-separated one per channel, such as 3,-5"


MAX_CHANNEL_NUMBERS = 64
SHAPE_PATTERN = re.compile(r"[0-9]{1,8}([x,][0-9]{1,8})*")
MAX_INPUT_AXES = 8
MAX_INPUT_EXTENT = 10_000_000


def parse_input_shapes(texts: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """Parse shapes of the inputs of a model, NAME=1x3x224x224 or 1,3,224,224. The name of a single input is ""."""
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, shape = text.rpartition("=")
        extents = tuple(map(int, re.split("[x,]", shape))) if SHAPE_PATTERN.fullmatch(shape) else ()
        if not 1 <= len(extents) <= MAX_INPUT_AXES or not all(1 <= extent <= MAX_INPUT_EXTENT for extent in extents):
            raise ConformanceError(f"--input {text[:60]}: is not [NAME=]SHAPE with a shape such as 1x3x224x224")
        if name in found:
            raise ConformanceError(f"--input {name}: given twice")
        found[name] = extents
    return found


class ShapeType(SizesType):
    """Integers separated by commas."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a tuple of integers."""
        found = super().convert(value, param, ctx)
        return (found,) if isinstance(found, int) else found


class PaddingType(Kind):
    """An integer, one per axis, a before:after pair for one or for each axis, or a named padding."""

    name = "padding"
    metavar = "N[:N][,N[:N]…]"

    def __init__(self, words: tuple[str, ...] = tuple(map(str, PaddingWord))) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a name, an integer, or a tuple with an integer or a pair for each axis."""
        if not isinstance(value, str) or value in self.words:
            return value
        if self.words and re.fullmatch(r"[A-Za-z_]+", value):
            words = f"{', '.join(self.words[:-1])} or {self.words[-1]}"
            self.fail(f"{value!r} is not {words}, nor a number", param, ctx)
        if ":" not in value:
            return SizesType().convert(value, param, ctx)
        parts = value.split(",")
        if not all(re.fullmatch(r"-?\d{1,9}(:-?\d{1,9})?", part) for part in parts) or len(parts) > MAX_NUMBERS:
            words = f" or one of {', '.join(self.words)}" if self.words else ""
            self.fail(
                f"{value!r} is not an integer or a before:after pair per axis, such as 1:0,2:2{words}", param, ctx
            )
        pairs = tuple(tuple(map(int, part.split(":"))) for part in parts)
        return tuple(pair if len(pair) > 1 else pair * 2 for pair in pairs)


class NumberType(Kind):
    """A number: an int if it is written without a fraction, otherwise a float; inf and nan are accepted."""

    name = "number"
    metavar = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number."""
        if not isinstance(value, str):
            return value
        try:
            return int(value) if re.fullmatch(r"-?\d{1,18}", value) else float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)


class RangeWithoutNaN(click.FloatRange):
    """A number in a range. click accepts NaN in any range, because its comparisons with the ends are false."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a number."""
        try:
            float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class ShardType(Kind):
    """The shard K/N."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Shard."""
        try:
            return parse_shard(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parameter_type(parameter: Parameter) -> Any:
    """Return the type of the option for a parameter of operators; None for an on/off option."""
    if parameter.kind is ParameterKind.OUTPUT:
        names = (name for operator in OPERATORS.values() if not operator.is_gradient for name in operator.outputs)
        return click.Choice([*dict.fromkeys(names)])
    return {
        ParameterKind.SIZES: SizesType(),
        ParameterKind.SCALES: ScalesType(),
        ParameterKind.CHANNEL_NUMBERS: ChannelNumbersType(),
        ParameterKind.CHANNEL_COUNTS: ChannelCountsType(),
        ParameterKind.PADDING: PaddingType(),
        ParameterKind.PAIRS: PaddingType(()),
        # click would show the names of enum members instead of their texts.
        ParameterKind.CHOICE: click.Choice([*map(str, parameter.choices)]),
        ParameterKind.FLAG: None,
        ParameterKind.COUNT: click.INT,
        ParameterKind.NUMBER: NumberType(),
    }[parameter.kind]


KIND_FORMATS = {
    ParameterKind.SIZES: "3, or one number per axis: 3,2.",
    ParameterKind.SCALES: "2, or one number per axis: 2,0.5.",
    ParameterKind.CHANNEL_NUMBERS: "0.1, or one number per channel: 0.1,0.05.",
    ParameterKind.CHANNEL_COUNTS: "3, or one number per channel: 3,-5.",
    ParameterKind.PADDING: (
        f"1, or one number per axis: 1,0; before:after: 1:0 or 1:0,2:2; {', '.join(map(str, PaddingWord))}."
    ),
    ParameterKind.PAIRS: "1, or one number per axis: 1,0; before:after: 1:0 or 1:0,2:2.",
}
"""Format of the value of an option, for its help text, by the kind of the parameter."""


def parameter_help(parameter: Parameter) -> str:
    """Return the help text of the option for a parameter of operators."""
    return " ".join(filter(None, (parameter.help, KIND_FORMATS.get(parameter.kind))))
