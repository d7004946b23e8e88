"""Decoding JSON into structs, with errors that name the key."""

import math
from collections.abc import Mapping

import pytest
from msgspec.json import Decoder

from reports.results import RecordError
from reports.results.json_structs import JsonStruct, decode, measure, nullable


class Window(JsonStruct, frozen=True):
    size: int
    name: str | None = nullable()
    note: str | None = None


class Windows(JsonStruct, frozen=True):
    windows: tuple[Window, ...]
    by_name: Mapping[str, Window] = {}


WINDOWS = Decoder(Windows)


def test_plain_defaults_are_omitted_and_nullable_keys_are_written():
    assert Window(3).json_values() == {"size": 3, "name": None}
    assert Window(3, "a", "b").json_values() == {"size": 3, "name": "a", "note": "b"}


def test_absent_keys_have_their_defaults():
    assert decode(b'{"windows": [{"size": 3}]}', WINDOWS) == Windows((Window(3, None, None),))


@pytest.mark.parametrize(("number", "converted"), [("inf", math.inf), ("-inf", -math.inf), (0.5, 0.5), (None, None)])
def test_strings_of_infinities_become_floats(number, converted):
    assert measure(number) == converted


def test_string_of_nan_becomes_a_float():
    assert math.isnan(measure("nan"))


def test_lone_surrogate_in_a_text_is_accepted():
    decoded = decode(rb'{"windows": [{"size": 3, "name": "\ud800"}]}', WINDOWS)
    assert decoded.windows[0].name == "\ud800"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"windows": [{"size": 3}, {"size": "3"}]}', "windows[1].size: expected `int`, got `str`"),
        (b'{"windows": [{}]}', "windows[0]: object missing required field `size`"),
        (b'{"windows": [], "by_name": {"a": 1}}', "by_name[...]: expected `object`, got `int`"),
        (b"{}", "object missing required field `windows`"),
        (b'{"windows": ', "not JSON: Expecting value at column 13"),
        (b'{"windows": NaN}', 'not JSON: NaN must be written as a string such as "nan"'),
        (b'{"windows": [{"size": 1, "name": "\xff"}]}', "not UTF-8 at byte 34"),
        (b'{"unknown": ' + b"[" * 100_000, "not readable JSON: nested too deeply"),
    ],
)
def test_error_is_one_line_that_begins_with_the_key(content, message):
    with pytest.raises(RecordError) as error:
        decode(content, WINDOWS)
    assert str(error.value) == message
