"""Click parameter types for sizes, padding and numbers: `3`, `3,2`, `1:0,2:2`, `same_upper`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    Kind = click.ParamType[Any]  # generic for type checkers only; click's class cannot be subscripted at run time
else:
    Kind = click.ParamType

PADDING_WORDS = ("valid", "same_upper", "same_lower")
MAX_NUMBERS = 12


class SizesType(Kind):
    """An integer, or one integer per axis separated by commas."""

    name = "sizes"
    metavar = "N[,N…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an integer or a tuple of integers."""
        if not isinstance(value, str):
            return value
        if not re.fullmatch(r"-?\d{1,9}(,-?\d{1,9})*", value):
            self.fail(f"{value!r} is not an integer or a comma-separated integer per axis, such as 3,2", param, ctx)
        numbers = tuple(map(int, value.split(",")))
        if len(numbers) > MAX_NUMBERS:
            self.fail(f"{len(numbers)} numbers given, the limit is {MAX_NUMBERS}", param, ctx)
        return numbers[0] if len(numbers) == 1 else numbers


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

    def __init__(self, words: tuple[str, ...] = PADDING_WORDS) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a name, an integer, or a tuple with an integer or a pair for each axis."""
        if not isinstance(value, str) or value in self.words:
            return value
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
