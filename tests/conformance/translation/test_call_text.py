"""The parameters of a call as words."""

import msgspec
import pytest

from conformance.cases.arrays import json_value
from conformance.cases.case import Value
from conformance.cases.parsing import parse_case
from conformance.translation.call_text import call_text

LINE, PLANE = {"values": "arange", "shape": [1, 2, 7]}, {"values": "arange", "shape": [1, 2, 7, 6]}


def words(operator, **raw):
    case = parse_case({"operator": operator, "source": "here"}, {"id": "case", **raw}, "here")
    return call_text(operator, case.parameters, case.inputs["kernel"].shape if "kernel" in case.inputs else ())


@pytest.mark.parametrize(
    ("operator", "parameters", "expected"),
    [
        ("max_pool", {"window": 3, "stride": 2, "padding": 1}, "window 3, stride 2, padding 1"),
        ("max_pool", {"window": [3, 2]}, "window 3 x 2, stride 3 x 2, padding 0"),
        ("max_pool", {"window": 3, "stride": 1, "padding": [[1, 0], [1, 0]]}, "window 3, stride 1, padding (1, 0)"),
        ("max_pool", {"window": 2, "rounding": "ceil"}, "window 2, stride 2, padding 0, rounding ceil"),
        ("avg_pool", {"window": 2, "count_include_pad": True}, "window 2, stride 2, padding 0"),
        (
            "avg_pool",
            {"window": 2, "padding": 1, "count_include_pad": True},
            "window 2, stride 2, padding 1, padding counts",
        ),
        (
            "avg_pool",
            {"window": 2, "rounding": "ceil", "count_include_pad": True},
            "window 2, stride 2, padding 0, rounding ceil, padding counts",
        ),
        ("pad", {"pads": [[1, 0], [2, 2]], "mode": "edge"}, "pads (1, 0) x (2, 2), mode edge"),
        ("global_max_pool", {}, ""),
    ],
)
def test_words_omit_defaults_and_equal_axes(operator, parameters, expected):
    assert words(operator, x=PLANE, **parameters) == expected


def test_words_are_the_same_at_every_rank():
    same = {"window": 3, "stride": 2, "padding": 1}
    assert words("max_pool", x=LINE, **same) == words("max_pool", x=PLANE, **same)


def test_window_of_a_convolution_is_that_of_its_weights():
    kernel = {"values": "arange", "shape": [4, 1, 3, 2]}
    assert words("conv", x=PLANE, kernel=kernel, groups=2) == "window 3 x 2, stride 1, padding 0, groups 2"


def test_parameters_of_a_results_file_have_the_same_words(catalogue):
    cases = [one for one in catalogue.cases if isinstance(one.expect, Value) and "kernel" not in one.inputs][::25]
    for case in cases:
        read = msgspec.json.decode(msgspec.json.encode(json_value(case.parameters)))
        assert call_text(case.operator, read) == call_text(case.operator, case.parameters), case.id
