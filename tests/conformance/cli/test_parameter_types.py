"""Values of options for parameters: sizes, padding and numbers."""

import click
import pytest

from conformance.cli.parameter_types import NumberType, PaddingType, ShapeType, SizesType


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SizesType(), "3", 3),
        (SizesType(), "3,-2", (3, -2)),
        (ShapeType(), "3", (3,)),
        (ShapeType(), "1,1,8", (1, 1, 8)),
        (PaddingType(), "same_upper", "same_upper"),
        (PaddingType(), "1,0", (1, 0)),
        (PaddingType(), "1:0", ((1, 0),)),
        (PaddingType(), "1:0,2", ((1, 0), (2, 2))),
        (NumberType(), "-3", -3),
        (NumberType(), "0.5", 0.5),
        (NumberType(), "inf", float("inf")),
        (NumberType(), 7, 7),
    ],
)
def test_text_becomes_a_value(kind, text, value):
    converted = kind.convert(text, None, None)
    assert (converted, type(converted)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (SizesType(), "3x2", "'3x2' is not an integer or a comma-separated integer per axis"),
        (SizesType(), "", "is not an integer"),
        (SizesType(), ",".join("1" * 13), "13 numbers given, the limit is 12"),
        (PaddingType(), "1:", "one of valid, same_upper, same_lower"),
        (PaddingType(()), "1:2:3", "such as 1:0,2:2$"),
        (PaddingType(()), "valid", "is not an integer"),
        (NumberType(), "one", "'one' is not a number"),
    ],
)
def test_other_text_is_rejected(kind, text, message):
    with pytest.raises(click.BadParameter, match=message):
        kind.convert(text, None, None)
