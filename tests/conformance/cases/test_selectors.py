import pytest

from conformance.cases import selectors
from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Case
from conformance.cases.features import case_features as features
from conformance.cases.features.case_features import ABSENT, SELECTOR_FEATURES, CaseFeatures
from conformance.cases.selector_values import compact_value, parse_selector_values, selector_value_text
from conformance.cases.selectors import matches
from conformance.cases.yaml_reader import read_yaml
from conformance.catalogue.loading import load_convention_cases
from tests import ROOT
from tests.support.fake_backends import load

X = "x: {values: arange, shape: [1, 1, 5, 5]}"
KERNEL_OF_TWO = "{values: arange, shape: [1, 1, 2, 2]}"
ROW = "x: {values: arange, shape: [1, 1, 4, 4]}"
PAGE = ROOT / "docs" / "ledger.md"


def facts(folder, text, **keywords):
    return CaseFeatures(load(folder, f"id: a, {text}", **keywords).cases[0])


@pytest.mark.parametrize(
    ("value", "short"),
    [
        ((3, 3), 3),
        ((3,), 3),
        ([3, 2], (3, 2)),
        ((3, 2, 3), (3, 2)),
        ((3, 2, 1), (3, 2, 1)),
        ((3, 3, 2), (3, 3, 2)),
        (((1, 1), (1, 1)), 1),
        (((1, 0), (1, 0)), (1, 0)),
        (((1, 0),), (1, 0)),
        (((1, 1), (0, 0)), ((1, 1), (0, 0))),
        (([1, 0], 0), ((1, 0), (0, 0))),
        (((1, 0), (0, 1), (1, 0)), ((1, 0), (0, 1))),
        (float("nan"), "nan"),
        (-float("inf"), "-inf"),
        (-0.0, "-0.0"),
        (0.0, 0.0),
        (None, None),
        (True, True),
        ((), ()),
        ("edge", "edge"),
    ],
)
def test_a_level_is_as_short_as_can_be(value, short):
    assert compact_value(value) == short
    assert compact_value(short) == short
    assert type(compact_value(value)) is type(short)


def test_padding_on_one_axis_is_not_padding_before_every_axis():
    assert compact_value(((1, 1), (0, 0))) != compact_value(((1, 0), (1, 0)))


@pytest.mark.parametrize(
    ("case", "operator", "key", "found"),
    [
        (f"{X}, window: 2", "max_pool", "operator", "max_pool"),
        (f"{X}, window: 2", "max_pool", "rank", 2),
        (f"{X}, window: 2", "max_pool", "dtype", "float32"),
        (f"{X}, window: 2", "max_pool", "level", "smoke"),
        (f"{X}, window: 2", "max_pool", "extent", 5),
        (f"{X}, window: 2", "max_pool", "expect", "value"),
        (f"{X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}", "max_pool", "expect", "rejected"),
        (f"{X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}", "max_pool", "violation", {"StrideIsZero"}),
        (f"{X}, window: 2", "max_pool", "negative", False),
        ("x: {values: arange, shape: [1, 1, 3], start: -3}, window: 2", "max_pool", "negative", True),
        ("x: {values: arange, shape: [1, 1, 3], start: -2}, window: 2", "max_pool", "negative", False),
        ("x: {values: [[[-2, .nan]]]}, window: 2", "max_pool", "negative", False),
        ("x: {values: [[[.nan, .nan, 1]]]}, window: 2", "max_pool", "alone", {"nan"}),
        ("x: {values: [[[.nan, 1, .nan]]]}, window: 2", "max_pool", "alone", set()),
        ("x: {values: [[[.nan, 1, .nan]]]}, window: 2, dilation: 2", "max_pool", "alone", {"nan"}),
        (
            "x: {values: [[[.inf, -.inf]]]}, window: 2, padding: 1",
            "avg_pool",
            "alone",
            {"inf", "-inf"},
        ),
        ("x: {values: [[[.inf, -.inf]]]}, window: 2", "max_pool", "alone", set()),
        ("x: {values: [[[1, 2]]]}, window: 2, padding: [[2, 0]], rounding: full", "max_pool", "alone", set()),
        ("x: {values: [[[.nan]]]}, window: 1, stride: 0, expect: {rejected: StrideIsZero}", "max_pool", "alone", set()),
        ("x: {values: [[[.nan]]]}, pads: [[1, 0]]", "pad", "alone", set()),
        ("x: {values: [[[-.inf, -.inf, 1]]]}, output_size: 3", "adaptive_max_pool", "alone", {"-inf"}),
        ("x: {values: [[[-.inf, 1, -.inf]]]}, output_size: 2", "adaptive_max_pool", "alone", set()),
        ("x: {values: [[[.inf, .inf, 1]]]}, output_size: 2", "adaptive_avg_pool", "alone", {"inf"}),
        (f"{X}, window: 2, padding: 0", "max_pool", "padded", False),
        (f"{X}, window: 2, padding: [[0, 0], [0, 1]]", "max_pool", "padded", True),
        (f"{X}, window: 2, padding: [[0, 0], [0, 1]]", "max_pool", "asymmetric", True),
        (f"{X}, window: 3, padding: [1, 0]", "max_pool", "asymmetric", False),
        (f"{X}, window: 3, stride: 1, padding: same_upper", "max_pool", "padding", 1),
        (f"{X}, pads: [[-1, 0], [0, 0]]", "pad", "padded", False),
        (f"{X}, pads: [[-1, 0], [0, 0]]", "pad", "cropped", True),
        (f"{X}, pads: [[-1, 2], [0, 0]]", "pad", "padded", True),
        (f"{X}, window: 2, stride: 2, rounding: ceil", "max_pool", "partial", True),
        (f"{X}, window: 3, stride: 2, rounding: ceil", "max_pool", "partial", False),
        (f"{X}, window: 3, padding: 1", "max_pool", "partial", True),
        (f"{X}, window: 2", "max_pool", "dilated", False),
        (f"{X}, window: 2, dilation: [1, 2]", "max_pool", "dilated", True),
        (f"{X}, window: 3, stride: 3", "max_pool", "overlapping", False),
        (f"{X}, window: [9, 1], padding: 4", "max_pool", "outgrown", True),
        (f"{X}, window: [2, 1], dilation: 8, padding: 4", "max_pool", "outgrown", True),
        (f"{X}, window: 1, padding: 4", "max_pool", "outgrown", False),
        (f"{X}, window: 3, stride: [3, 2]", "max_pool", "overlapping", True),
        (f"{X}, window: 2, dilation: 6, padding: 1", "max_pool", "bare", True),
        (f"{X}, window: 2, dilation: 5, padding: 1", "max_pool", "bare", False),
        (f"{X}, pads: [[1, 0], [0, 0]]", "pad", "bare", False),
        (f"{X}, output_size: [1, 2]", "adaptive_max_pool", "whole", True),
        (f"{X}, output_size: [2, 1]", "adaptive_max_pool", "whole", True),
        (f"{X}, output_size: [2, 2]", "adaptive_max_pool", "whole", False),
        (f"{X}, window: 1", "max_pool", "whole", False),
        (f"{X}, output_size: [3, 2]", "adaptive_max_pool", "unequal", True),
        (f"{X}, output_size: [5, 1]", "adaptive_max_pool", "unequal", False),
        (f"{X}, window: 2, stride: 1", "max_pool", "unequal", False),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 2]}}", "conv", "column", False),
        (
            "x: {values: arange, shape: [1, 1, 3, 2]}, kernel: {values: arange, shape: [1, 1, 1, 2]}",
            "conv",
            "column",
            True,
        ),
        (
            "x: {values: arange, shape: [1, 1, 3, 2]}, window: [1, 2], stride: 0, expect: {rejected: StrideIsZero}",
            "max_pool",
            "column",
            False,
        ),
        (f"{X}, window: [5, 2]", "max_pool", "flat", True),
        (f"{X}, window: 2", "max_pool", "flat", False),
        (f"{X}, window: 1, stride: 2, rounding: ceil", "max_pool", "dropped", False),
        ("x: {values: [[[1, 2]]]}, window: 1, stride: 2, rounding: ceil", "max_pool", "dropped", True),
        ("x: {values: [[[1, 2]]]}, window: 1, stride: 2", "max_pool", "dropped", False),
        (
            "x: {values: [[[1, 2]]]}, window: 1, stride: 2, rounding: full, padding: [[0, 1]]",
            "max_pool",
            "dropped",
            False,
        ),
        ("x: {values: [[[1, 2, 3]]]}, window: 2, stride: 2, rounding: ceil", "max_pool", "dropped", False),
        ("x: {values: [[[1, 2, 3]]]}, window: 2, stride: 2, padding: 1, rounding: ceil", "max_pool", "dropped", True),
        (
            "x: {values: [[[1, 2, 3]]]}, window: 2, stride: 0, rounding: ceil, expect: {rejected: StrideIsZero}",
            "max_pool",
            "dropped",
            False,
        ),
        ("x: {values: [[[1, 2147483647, -2147483648]]], dtype: int64}, window: 1", "max_pool", "long", False),
        ("x: {values: [[[1, 2147483648]]], dtype: int64}, window: 1", "max_pool", "long", True),
        ("x: {values: [[[1, -2147483649]]], dtype: int64}, window: 1", "max_pool", "long", True),
        ("x: {values: [[[2147483648, 1]]], dtype: uint64}, window: 1", "max_pool", "long", True),
        ("x: {values: [[[2147483648, 1]]], dtype: float64}, window: 1", "max_pool", "long", False),
        (f"{X}, window: 3, stride: 1, padding: same_upper", "max_pool", "words", False),
        (f"{X}, window: 3, stride: 1, padding: same_upper, words: true", "max_pool", "words", True),
        (f"{X}, output_size: [1, 3]", "adaptive_max_pool", "flat", True),
        (f"{X}, output_size: [3, 1]", "adaptive_max_pool", "flat", True),
        (f"{X}, output_size: [2, 3]", "adaptive_max_pool", "flat", False),
        (f"{X}, window: 3", "max_pool", "convention", set()),
        (f"{X}, window: 3", "max_pool", "monochrome", True),
        ("x: {values: arange, shape: [1, 2, 6, 6]}, window: 3", "max_pool", "monochrome", False),
        (f"{X}, window: [3, 1], stride: [3, 2]", "max_pool", "skipping", True),
        (f"{X}, window: 3, stride: 3", "max_pool", "skipping", False),
        (f"{X}, window: 2, stride: [2, 1]", "max_pool", "disjoint", True),
        (f"{X}, window: 2, stride: [2, 1], dilation: 2", "max_pool", "disjoint", False),
        (f"{X}, window: 2, stride: 3, dilation: 2", "max_pool", "disjoint", True),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 2]}}, stride: 2", "conv_transpose", "disjoint", True),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 3]}}, stride: 2", "conv_transpose", "disjoint", False),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 3]}}, stride: 2", "conv_transpose", "output_padded", False),
        (
            f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 3]}}, stride: 2, output_padding: [0, 1]",
            "conv_transpose",
            "output_padded",
            True,
        ),
        (f"{X}, window: 2", "max_pool", "output_padded", False),
        (f"{X}, kernel: {KERNEL_OF_TWO}, stride: 2, padding: [[2, 0], [0, 0]]", "conv_transpose", "overpadded", True),
        (f"{X}, kernel: {KERNEL_OF_TWO}, stride: 2, padding: [[1, 2], [1, 2]]", "conv_transpose", "overpadded", False),
        (f"{X}, kernel: {KERNEL_OF_TWO}, stride: 2, dilation: 2, padding: 2", "conv_transpose", "overpadded", False),
        (f"{X}, kernel: {KERNEL_OF_TWO}, stride: 1, padding: 2", "conv_transpose", "overpadded", False),
        (f"{X}, kernel: {KERNEL_OF_TWO}, stride: 2, padding: 2", "conv", "overpadded", False),
        ("x: {values: [0, 64], shape: [1, 1, 2]}, window: 2", "softmax_pool", "steep", False),
        ("x: {values: [0, 64.5, .inf], shape: [1, 1, 3]}, window: 2", "softmax_pool", "steep", True),
        ("x: {values: arange, shape: [1, 4097, 1]}, size: 1, mode: linear", "resize", "wide", False),
        ("x: {values: arange, shape: [1, 4098, 1]}, size: 1, mode: linear", "resize", "wide", True),
        (f"{X}, window: 3", "max_pool", "violation", set()),
        (f"{X}, size: [5, 3], mode: cubic", "resize", "unresized", True),
        (f"{X}, size: [3, 3], mode: cubic", "resize", "unresized", False),
        ("x: {values: arange, shape: [1, 1, 1, 2]}, size: [1, 3], mode: linear", "resize", "unresized", False),
        (f"{X}, window: 1", "max_pool", "unresized", False),
        ("x: {values: [[[16777217]]], dtype: int32}, size: [2], mode: nearest", "resize", "inexact", True),
        ("x: {values: [[[16777218, -16777216]]], dtype: int32}, size: [2], mode: nearest", "resize", "inexact", False),
        ("x: {values: [[[-16777217]]], dtype: int64}, size: [2], mode: nearest", "resize", "inexact", True),
        ("x: {values: [[[18446744073709551615]]], dtype: uint64}, size: [2], mode: nearest", "resize", "inexact", True),
        ("x: {values: [[[16777217]]]}, size: [2], mode: nearest", "resize", "inexact", False),
        (f"{ROW}, grid: {{values: [[[[3, 0]]]]}}, output_size: [1, 1], mode: linear", "grid_sample", "far", False),
        (f"{ROW}, grid: {{values: [[[[3.25, 0]]]]}}, output_size: [1, 1], mode: linear", "grid_sample", "far", True),
        (f"{ROW}, grid: {{values: [[[[-3, 0]]]]}}, output_size: [1, 1], mode: nearest", "grid_sample", "far", False),
        (f"{ROW}, grid: {{values: [[[[-3.25, 0]]]]}}, output_size: [1, 1], mode: nearest", "grid_sample", "far", True),
        (f"{ROW}, grid: {{values: [[[[1.75, 0]]]]}}, output_size: [1, 1], mode: cubic", "grid_sample", "far", False),
        (f"{ROW}, grid: {{values: [[[[2.25, 0]]]]}}, output_size: [1, 1], mode: cubic", "grid_sample", "far", True),
        (
            f"{ROW}, grid: {{values: [[[[3.25, 0]]]]}}, output_size: [1, 1], mode: linear, align_corners: true",
            "grid_sample",
            "far",
            True,
        ),
        (
            f"{ROW}, grid: {{values: [[[[3, 0]]]]}}, output_size: [1, 1], mode: linear, align_corners: true",
            "grid_sample",
            "far",
            False,
        ),
        (
            f"{ROW}, grid: {{values: [[[[1.5, 0]]]]}}, output_size: [1, 1], mode: cubic, align_corners: true",
            "grid_sample",
            "far",
            False,
        ),
        (
            f"{ROW}, grid: {{values: [[[[2.5, 0]]]]}}, output_size: [1, 1], mode: cubic, align_corners: true",
            "grid_sample",
            "far",
            True,
        ),
        (f"{X}, window: 2, words: true", "max_pool", "words", True),
        (f"{X}, window: 2", "max_pool", "words", False),
        (f"{X}, window: 3", "max_pool", "crowded", False),
        (f"{X}, window: 64, padding: 32", "max_pool", "crowded", True),
        ("x: {values: arange, shape: [1, 1, 64, 64]}, window: 2, stride: 2", "max_pool", "crowded", True),
        ("x: {values: arange, shape: [1, 1, 64, 63]}, window: 2, stride: 2", "max_pool", "crowded", False),
        ("x: {values: arange, shape: [1, 5, 63, 13]}", "global_max_pool", "crowded", False),
        ("x: {values: arange, shape: [2, 2, 64, 16]}", "global_max_pool", "crowded", True),
        ("x: {values: arange, shape: [1, 3, 4]}, window: 2, stride: 1", "max_pool", "square", True),
        ("x: {values: arange, shape: [1, 3, 3, 5]}, window: [1, 2], stride: 1", "max_pool", "square", False),
        ("x: {values: arange, shape: [1, 1, 2]}, window: 2, stride: 1", "max_pool", "square", False),
        ("x: {values: arange, shape: [1, 1, 2]}, output_size: 98", "adaptive_max_pool", "reciprocal", True),
        ("x: {values: arange, shape: [1, 1, 3, 700]}, output_size: [3, 49]", "adaptive_avg_pool", "reciprocal", True),
        ("x: {values: arange, shape: [1, 1, 5]}, output_size: 55", "adaptive_avg_pool", "reciprocal", True),
        ("x: {values: arange, shape: [1, 1, 7]}, output_size: 7", "adaptive_avg_pool", "reciprocal", True),
        ("x: {values: arange, shape: [1, 1, 2]}, output_size: 97", "adaptive_max_pool", "reciprocal", False),
        (f"{X}, window: 3", "max_pool", "reciprocal", False),
        (f"{X}, kernel: {{values: arange, shape: [5, 1, 3, 2]}}", "conv", "out", 5),
        (f"{X}, kernel: {{values: arange, shape: [1, 5, 3, 2]}}", "conv_transpose", "out", 5),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 2]}}", "conv", "depthwise", True),
        (f"{X}, kernel: {{values: arange, shape: [2, 1, 3, 2]}}", "conv", "depthwise", False),
        (f"{X}, kernel: {{values: arange, shape: [1, 2, 3, 2]}}", "conv_transpose", "depthwise", False),
        (f"{X}, window: 3", "max_pool", "depthwise", False),
        (
            "x: {values: arange, shape: [1, 9, 3]}, kernel: {values: arange, shape: [1, 9, 3]}",
            "conv",
            "many_channels",
            True,
        ),
        (
            "x: {values: arange, shape: [1, 8, 3]}, kernel: {values: arange, shape: [8, 8, 3]}",
            "conv",
            "many_channels",
            False,
        ),
        (
            "x: {values: arange, shape: [1, 1, 3]}, kernel: {values: arange, shape: [9, 1, 3]}",
            "conv",
            "many_channels",
            True,
        ),
        (
            "x: {values: arange, shape: [1, 9, 3]}, kernel: {values: arange, shape: [9, 1, 3]}, groups: 9",
            "conv",
            "many_channels",
            False,
        ),
        (f"{X}, window: 3", "max_pool", "many_channels", False),
        (f"{X}, window: 3", "max_pool", "out", 1),
        (f"{X}, window: [3, 2]", "max_pool", "window", (3, 2)),
        (f"{X}, window: 2, via: [pad, max_pool], padding: 1", "max_pool", "composed", True),
        (f"{X}, window: 2, via: [pad, max_pool], padding: 1", "max_pool", "via", {"pad", "max_pool"}),
        (f"{X}, window: 2, then: [{{operator: max_pool, window: 2}}]", "max_pool", "then", {"max_pool"}),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 2]}}", "conv", "window", (3, 2)),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 3]}}", "conv", "overlapping", True),
        (f"{X}, kernel: {{values: arange, shape: [1, 1, 3, 3]}}", "conv", "bias", False),
        (f"{X}, pads: [[1, 0], [0, 0]], value: 7", "pad", "value", 7),
        (f"{X}, pads: [[1, 0], [0, 0]]", "pad", "window", ABSENT),
        (f"{X}, window: 2", "max_pool", "divisor", ABSENT),
        (f"{X}, window: 2", "avg_pool", "divisor", None),
    ],
)
def test_what_a_case_has(tmp_path, case, operator, key, found):
    assert facts(tmp_path, case, operator=operator)[key] == found


def test_every_case_of_a_convention_has_the_id_of_the_convention():
    found = {CaseFeatures(case)["convention"] for case in load_convention_cases("quantized_avg_pool")}
    assert found == {frozenset({case.convention_id}) for case in load_convention_cases("quantized_avg_pool")}
    assert len(found) > 1


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ("[[[1, 2]]]", {"literal"}),
        ("[[[1, .nan]]]", {"literal", "nan"}),
        ("[[[.inf, -.inf]]]", {"literal", "inf", "-inf"}),
        ("[[[-0.0, 0.0]]]", {"literal", "-0.0"}),
    ],
)
def test_values_are_the_generator_and_the_specials(tmp_path, numbers, words):
    assert facts(tmp_path, f"x: {{values: {numbers}}}, window: 2")["values"] == words


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"output": (2, 2), "p": 2.5, "ties": "first"},
        {"stride": None, "window": (2, 2), "dilation": 2, "padding": "valid"},
        {"padding": "same_upper", "output_padding": (1, 0)},
        {"stride": 0, "window": 9, "dilation": (1, 1), "rounding": "sideways"},
        {"table": {"a": 1}},
    ],
)
def test_operators_and_parameters_never_seen_before_break_nothing(parameters):
    found = CaseFeatures(Case("new/a", "new", {"x": ArraySpec("arange", (1, 2, 4, 4), "float32")}, parameters))
    assert [key for key in SELECTOR_FEATURES if found[key] is ABSENT] == ([] if "window" in parameters else ["window"])
    assert all(matches(found, {key: parse_selector_values([value])}) for key, value in parameters.items())
    assert found["padded"] is (parameters.get("padding") == "same_upper")


@pytest.mark.parametrize("mark", ["nan", "-inf", "-0.0", "subnormal"])
def test_a_generator_tells_its_marks_by_the_words_of_its_options(tmp_path, mark):
    found = facts(tmp_path, f"x: {{values: marked, mark: '{mark}', shape: [1, 1, 3]}}, window: 2")
    assert found["values"] == {"marked", mark}
    assert matches(found, {"values": parse_selector_values(mark)})


@pytest.mark.parametrize(
    ("where", "picked"),
    [
        ({"window": [[3, 2]]}, True),
        ({"window": [3, 2]}, False),
        ({"padding": [[0, 1]]}, True),
        ({"padding": [1, [0, 1]]}, True),
        ({"padding": 1}, False),
        ({"dtype": "float*"}, True),
        ({"dtype": ["int*", "bfloat16"]}, False),
        ({"padded": True, "overlapping": True}, True),
        ({"padded": True, "dilated": True}, False),
        ({"groups": 1}, False),
        ({"divisor": None}, True),
        ({"divisor": 1}, False),
        ({"count_include_pad": 0}, False),
        ({"count_include_pad": False}, True),
        ({}, True),
    ],
)
def test_a_selector_picks_what_has_one_of_the_values_for_every_key(tmp_path, where, picked):
    found = facts(tmp_path, f"{X}, window: [3, 2], stride: 1, padding: [[0, 1], [0, 1]]", operator="avg_pool")
    assert matches(found, {key: parse_selector_values(value) for key, value in where.items()}) is picked


def test_any_word_of_several_will_do(tmp_path):
    found = facts(tmp_path, "x: {values: [[[1, .nan]]]}, window: 2")
    assert matches(found, {"values": ("nan",)})
    assert matches(found, {"values": ("lit*",)})
    assert not matches(found, {"values": ("inf", "-inf")})


def test_a_fact_is_looked_for_once(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(features, "SELECTOR_FEATURES", {"rank": calls.append})
    found = facts(tmp_path, f"{X}, window: 2")
    assert [found["rank"], found["rank"]] == [None, None]
    assert len(calls) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_nan_is_not_below_zero(tmp_path, dtype):
    text = f"x: {{values: marked, mark: nan, shape: [1, 1, 3], low: -9, high: -1, dtype: {dtype}}}, window: 2"
    assert facts(tmp_path, text)["negative"] is False


def test_every_fact_of_every_case_is_found(catalogue):
    for case in catalogue.cases[::7]:
        found = CaseFeatures(case)
        assert [key for key in SELECTOR_FEATURES if found[key] is ABSENT and key != "window"] == []


def test_keys_are_facts_and_the_parameters_of_all_operators():
    keys = selectors.selector_keys()
    assert keys[0] == "operator"
    assert len(keys) == len(set(keys))
    assert {"padded", "count_include_pad", "groups", "mode", "value", "stride"} <= set(keys)


def test_unknown_key_is_reported_with_what_is_known():
    assert selectors.unknown_key_problem("padded") is None
    assert "did you mean 'padded'?" in selectors.unknown_key_problem("pdded")
    assert "known keys: operator, dtype" in selectors.unknown_key_problem("weather")


@pytest.mark.parametrize("value", [7, -1.5, "nan", "float32", "*", True, None, (3, 2), ((1, 0), (0, 1)), "0x2", "yes"])
def test_a_level_is_read_back_from_its_text(tmp_path, value):
    path = tmp_path / "file.yaml"
    path.write_text(f"a: [{selector_value_text(value)}]\n", "utf-8")
    assert parse_selector_values(read_yaml(path).data["a"]) == (value,)


def test_every_fact_stands_in_the_documentation():
    page = PAGE.read_text("utf-8")
    assert [key for key in SELECTOR_FEATURES if f"`{key}`" not in page] == []
