"""Values of options: sizes, padding, numbers, ranges and shards."""

import click
import pytest

from conformance.cli.parameter_types import (
    NameType,
    NumberType,
    PaddingType,
    RangeWithoutNaN,
    ShapeType,
    ShardType,
    SizesType,
)
from conformance.execution.selection import Shard


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
        (SizesType(), "9" * 18, 10**18 - 1),
        (NameType(["max_pool", "conv"]), "conv", "conv"),
        (NumberType(), "-3", -3),
        (NumberType(), "0.5", 0.5),
        (NumberType(), "inf", float("inf")),
        (NumberType(), 7, 7),
        (RangeWithoutNaN(0, 5), "2", 2.0),
        (ShardType(), "1/4", Shard(1, 4)),
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
        (PaddingType(), "same", "'same' is not valid, same_upper or same_lower, nor a number"),
        (SizesType(), "1" * 19, "is not an integer"),
        (NameType(["max_pool", "conv"]), "maxpool", "'maxpool' is unknown, did you mean 'max_pool'"),
        (NameType(["max_pool", "conv"]), "zzz", "'zzz' is not one of 'max_pool', 'conv'"),
        (NumberType(), "one", "'one' is not a number"),
        (RangeWithoutNaN(0, 5), "nan", "nan is not a number"),
        (RangeWithoutNaN(0, 5), "6", "6.0 is not in the range 0<=x<=5"),
        (ShardType(), "4/1", "'4/1' is not K/N with 1 ≤ K ≤ N"),
    ],
)
def test_other_text_is_rejected(kind, text, message):
    with pytest.raises(click.BadParameter, match=message):
        kind.convert(text, None, None)
