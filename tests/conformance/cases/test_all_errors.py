"""All errors of a case are reported, without errors that are consequences of others."""

import json
import re

import pytest
from hypothesis import given, strategies as st

from conformance import CatalogueError
from conformance.catalogue import loading
from tests.support.fake_backends import family, load

X = "x: {values: arange, shape: [1, 1, 4, 4]}"


def faults(folder, text, **keywords):
    """Return the sorted error messages of the only case of a file."""
    with pytest.raises(CatalogueError) as refused:
        load(folder, f"id: a, {text}", **keywords)
    return sorted(line.split("case a: ")[1] for line in str(refused.value).splitlines())


def test_unknown_key_window_that_does_not_fit_and_ragged_output_are_reported_together(tmp_path):
    assert faults(tmp_path, f"{X}, window: 9, strid: 1, expect: [[1, 2], [3]]") == [
        "key 'expect': its rows differ in length",
        "key 'strid': unknown key, did you mean 'stride'?",
        "window 9 exceeds the padded input 4 on axis 0",
    ]


def test_errors_of_every_part_are_reported_together(tmp_path):
    text = "x: {values: [1, 2], shape: [3]}, bias: {values: arange}, window: 2, mode: constant, via: [conv], divisor: 2"
    assert [line.split(":")[0] for line in faults(tmp_path, f"{text}, then: [{{operator: pad}}], also: [[1]]")] == [
        "key 'also'",
        "key 'bias'",
        "key 'divisor'",
        "key 'mode'",
        "key 'then.0'",
        "key 'via'",
        "key 'x.shape'",
    ]


def test_key_one_letter_off_is_not_reported_as_missing_too(tmp_path):
    assert faults(tmp_path, f"{X}, windw: 2") == ["key 'windw': unknown key, did you mean 'window'?"]


@pytest.mark.parametrize(
    "text",
    [
        f"{X}, window: 5, padding: same_uper",
        f"{X}, window: x, stride: 1",
        f"{X}, window: 2, expect: {{rejected: 3}}, stride: 0",
        "x: {values: arange, shpe: [1, 1, 4, 4]}, window: 2",
        "x: {values: arange, shape: [4, 4]}, window: [2, 2]",
        "x: 3, window: [2, 2]",
        f"{X}, window: 2, then: [{{operator: avg_pool, windw: 2}}]",
        f"{X}, window: 2, stride: 0",
        f"{X}, window: [2, 2, 2]",
        f"{X}, padding: 1",
    ],
)
def test_error_that_may_be_due_to_another_is_not_told(tmp_path, text):
    assert len(faults(tmp_path, text)) == 1


def test_missing_inputs_and_other_errors_of_a_convolution_are_reported_together(tmp_path):
    assert faults(tmp_path, f"{X}, count_include_pad: true, rounding: ceil", operator="conv") == [
        "conv needs the key 'kernel'",
        "key 'count_include_pad': conv has no such parameter; known parameters: dilation, groups, padding, stride",
        "key 'rounding': conv has no such parameter; known parameters: dilation, groups, padding, stride",
    ]


def test_kernel_and_input_are_both_looked_at(tmp_path):
    text = "x: {values: [1, [2]]}, kernel: {values: [1, [2]]}, via: [pad]"
    assert [line.split(":")[0] for line in faults(tmp_path, text, operator="conv")] == [
        "key 'kernel.values'",
        "key 'via'",
        "key 'x.values'",
    ]


def test_inputs_whose_shape_follows_from_the_rest_are_not_blamed_for_it(tmp_path):
    text = f"{X}, grad: {{values: arange, sed: 3}}, window: 9, ties: lats, divisor: 2"
    assert [line.split(":")[0] for line in faults(tmp_path, text, operator="max_pool_grad")] == [
        "key 'divisor'",
        "key 'grad.sed'",
        "key 'ties'",
        "window 9 exceeds the padded input 4 on axis 0",
    ]


def test_output_size_of_another_rank_hides_nothing_else(tmp_path):
    text = f"{X}, output_size: [2, 2, 2], window: 2"
    assert [line.split(":")[0] for line in faults(tmp_path, text, operator="adaptive_max_pool")] == [
        "key 'output_size'",
        "key 'window'",
    ]


def test_pads_that_are_missing_hide_nothing_else(tmp_path):
    assert faults(tmp_path, f"{X}, window: 2, then: [{{operator: pad}}]", operator="pad") == [
        "key 'then.0': pad needs the key 'pads'",
        "key 'window': pad has no such parameter; known parameters: mode, pads, value",
        "pad needs the key 'pads'",
    ]


def test_question_is_looked_at_like_a_case(tmp_path):
    text = (
        f"id: q, about: A, {X}, window: 2, divisor: 2, mode: constant, answers: {{a: {{stride: 1}}, b: {{stride: 2}}}}"
    )
    _, told = loading.load_with_errors([family(tmp_path, text, section="questions")])
    assert [line.split(": ")[2] for line in told] == ["key 'divisor'", "key 'mode'"]


def test_case_that_is_no_mapping_is_one_error(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("operator: max_pool\nsource: s\ncases: [3, {a: 1}]\n", "utf-8")
    _, told = loading.load_with_errors([path])
    assert told[0] == f"{path}:3: case number 1: 3 is not a case"


def test_case_without_an_id_is_looked_at_all_the_same(tmp_path):
    _, told = loading.load_with_errors([family(tmp_path, f"{X}, window: 9, via: [conv]")])
    assert [line.split(": ", 2)[2] for line in told] == [
        "key 'via': max_pool can be composed from [pad, max_pool] or [conv, relu], not from [conv]",
        "needs the key 'id'",
        "window 9 exceeds the padded input 4 on axis 0",
    ]


JUNK = [
    None,
    -1,
    0,
    3,
    10**7,
    1.5,
    "x",
    "arange",
    True,
    [],
    [2],
    [1, [2]],
    [[1, 1]],
    {},
    {"values": 3},
    {"rejected": "A"},
]
KEYS = "id x kernel grad window stride padding dilation rounding mode pads via then expect also inexact level about zzz"
SOUND = {"id": "a", "x": {"values": "arange", "shape": [1, 2, 5, 5]}, "window": [2, 2], "stride": 1, "padding": 0}


@given(
    st.dictionaries(
        st.sampled_from([*KEYS.split(), "x.values", "x.shape", "x.zzz"]), st.sampled_from(JUNK), max_size=4
    ),
    st.sets(st.sampled_from(sorted(SOUND)), max_size=2),
    st.sampled_from(["max_pool", "conv", "pad", "max_pool_grad"]),
)
def test_whatever_a_case_says_its_errors_are_reported_line_by_line(tmp_path_factory, changes, dropped, operator):
    raw = {key: value for key, value in SOUND.items() if key not in dropped}
    for key, value in changes.items():
        outer, _, inner = key.partition(".")
        raw[outer] = {**SOUND["x"], inner: value} if inner else value
    path = tmp_path_factory.mktemp("case") / "file.yaml"
    path.write_text(json.dumps({"operator": operator, "source": "s", "cases": [raw]}), "utf-8")
    found, told = loading.load_with_errors([path])
    assert len(found.cases) + bool(told) == 1
    assert all(re.match(rf"{path}:1: case [a-z0-9 ]+: ", line) for line in told)
    assert len(set(told)) == len(told)


def test_valid_case_has_no_errors(tmp_path):
    assert loading.load_with_errors([family(tmp_path, f"id: a, {X}, window: 2")])[1] == []
