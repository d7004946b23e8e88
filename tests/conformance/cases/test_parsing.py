import time

import numpy as np
import pytest

from conformance import CatalogueError
from conformance.cases.case import Answers, Rejected, Value
from conformance.cases.compositions import plan_steps
from conformance.cases.parsing import flatten_nested
from tests.support.fake_backends import load, one

X = "x: {values: arange, shape: [1, 1, 4, 4]}"


def refusal(tmp_path, text, **keywords):
    with pytest.raises(CatalogueError) as refused:
        one(tmp_path, text, **keywords)
    message = str(refused.value)
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path / 'file.yaml'}:4: case a: ")


def test_every_parameter_is_explicit_once_expanded(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 2")
    assert case.parameters == {
        "window": (2, 2),
        "stride": (2, 2),
        "padding": ((0, 0), (0, 0)),
        "dilation": (1, 1),
        "rounding": "floor",
    }


@pytest.mark.parametrize(("word", "pads"), [("same_upper", ((1, 1), (0, 1))), ("same_lower", ((1, 1), (1, 0)))])
def test_same_padding_becomes_pairs(tmp_path, word, pads):
    case = one(tmp_path, f"id: a, {X}, window: [3, 2], stride: 1, padding: {word}")
    assert case.parameters["padding"] == pads


def test_kernel_gives_the_window_of_a_convolution(tmp_path):
    text = f"id: a, {X}, kernel: {{values: arange, shape: [2, 1, 3, 2]}}, padding: same_upper"
    case = one(tmp_path, text, operator="conv")
    assert case.parameters["padding"] == ((1, 1), (0, 1))
    assert "window" not in case.parameters


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("window: 2, stride: [1, 1, 1]", "stride (1, 1, 1) has 3 entries: expected 2"),
        ("window: [2]", "window (2,) has 1 entries: expected 2"),
        ("window: 2, padding: [[1, 1]]", "padding ((1, 1),) has 1 entries: expected 2"),
        ("window: 2, stride: 0", "stride 0 on axis 0 must be at least 1"),
        ("window: 2, dilation: -1", "dilation -1 on axis 0 must be at least 1"),
        ("window: 2, padding: -1", "padding -1 must be at least 0"),
        ("window: 5", "window 5 exceeds the padded input 4 on axis 0"),
        ("window: [2, 3], dilation: 2", "window 3 (dilated to 5) exceeds the padded input 4 on axis 1"),
        ("stride: 1", "max_pool needs the key 'window'"),
        ("window: 2, divisor: 2", "key 'divisor': max_pool has no such parameter"),
        ("window: 2, kernel: {values: [1]}", "key 'kernel': max_pool has no such input"),
        ("window: 2, expect: [[1, 2], [3]]", "key 'expect': its rows differ in length"),
        ("window: 2, also: [[1]]", "key 'also': needs a printed output"),
        ("window: 2, inexact: because", "key 'inexact': needs a printed output"),
        ("window: 2, via: [conv]", "key 'via': max_pool can be composed from [pad, max_pool] or [conv, relu]"),
        ("window: 2, padding: 1, via: [conv, relu]", "key 'via': the composition needs padding"),
        ("window: 2, rounding: ceil, via: [pad, max_pool]", "key 'via': the composition needs rounding floor"),
        ("window: 2, then: [{operator: conv}]", "key 'then.0': conv needs the key 'kernel'"),
        ("window: 2, then: [{operator: max_pool}]", "key 'then.0': max_pool needs the key 'window'"),
        ("window: 2, then: [{operator: max_pool, window: 3}]", "key 'then': window 3 exceeds the padded input 2"),
        ("window: 2, then: [{operator: max_pool, window: 1, divisor: 2}]", "key 'then.0.divisor': max_pool has no"),
    ],
)
def test_parameters_that_contradict_each_other_are_rejected(tmp_path, text, says):
    assert refusal(tmp_path, f"id: a, {X}, {text}").startswith(says)


@pytest.mark.parametrize(
    ("array", "says"),
    [
        ("values: [[[1, 2], [3]]]", "key 'x.values': its rows differ in length"),
        ("values: [1, 2, 3], shape: [1, 1, 2]", "key 'x.shape': [1, 1, 2] needs 2 numbers, but there are 3"),
        ("values: arange", "key 'x': values: arange needs a shape"),
        ("values: arange, shape: [1, 1, 3], seed: 3", "key 'x.seed': is not an option of values: arange"),
        ("values: [[[1]]], low: 3", "key 'x.low': is not an option of values: literal"),
        ("values: integers, shape: [1, 1, 3], low: 5, high: 4", "key 'x.low': 5 is above high, 4"),
        ("values: integers, shape: [1, 1, 3], low: 10", "key 'x.low': 10 is above high, 9"),
        ("values: arange, shape: [1, 3]", "key 'x.shape': [1, 3] is not (n, c, *spatial)"),
        ("values: 5", "key 'x.shape': [] is not (n, c, *spatial)"),
        ("values: arange, shape: [1000, 1000, 1000]", "key 'x.shape': [1000, 1000, 1000] has more than the limit"),
    ],
)
def test_inputs_that_contradict_themselves_are_rejected(tmp_path, array, says):
    assert refusal(tmp_path, f"id: a, x: {{{array}}}, window: 1").startswith(says)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ("[[[300]]]", "int8"),
        ("[[[1.5]]]", "int32"),
        ("[[[.nan]]]", "int64"),
        ("[[[-1]]]", "uint8"),
        ("[[[2]]]", "bool"),
        (f"[[[{2**63}]]]", "int64"),
        ("[[[1.0e+39]]]", "float32"),
        ("[[[70000]]]", "float16"),
        (f"[[[{10**390}]]]", "float64"),
        ("arange, shape: [1, 1, 300]", "int8"),
        ("integers, shape: [1, 1, 3]", "uint16"),
    ],
)
def test_numbers_that_the_dtype_does_not_hold_are_rejected_instead_of_wrapped(tmp_path, values, dtype):
    said = refusal(tmp_path, f"id: a, x: {{values: {values}, dtype: {dtype}}}, window: 1")
    assert said.startswith("key 'x.values': ")
    assert said.endswith(f"cannot be represented in {dtype}")


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ("[[[-128, 127]]]", "int8"),
        (f"[[[{2**64 - 1}]]]", "uint64"),
        ("[[[0, 1]]]", "bool"),
        ("[[[-3.4028234663852886e+38, .inf, .nan]]]", "float32"),
        ("[[[3.3895313892515355e+38]]]", "bfloat16"),
    ],
)
def test_extreme_numbers_that_the_dtype_holds_are_kept(tmp_path, values, dtype):
    array = one(tmp_path, f"id: a, x: {{values: {values}, dtype: {dtype}}}, window: 1").inputs["x"].make()
    assert array.dtype.name == dtype
    assert float(array.ravel()[0]) == float(values.strip("[]").split(",")[0])


def test_question_leaves_out_what_only_its_answers_give(tmp_path):
    answers = "answers: {window: {stride: [3, 3]}, one: {stride: [1, 1]}}"
    case = one(tmp_path, f"id: a, about: b, {X}, window: 3, {answers}", section="questions")
    assert case.omitted_parameters == ("stride",)
    assert "stride" not in case.parameters
    assert isinstance(case.expect, Answers)


def test_question_keeps_a_parameter_that_it_gives_itself(tmp_path):
    answers = "answers: {as-given: {}, other: {stride: [1, 1]}}"
    case = one(tmp_path, f"id: a, about: b, {X}, window: 3, stride: 2, {answers}", section="questions")
    assert case.omitted_parameters == ()
    assert case.parameters["stride"] == (2, 2)


@pytest.mark.parametrize(
    ("text", "operator", "parameter"),
    [
        ("window: [2, 2, 2], stride: 1", "max_pool", ("window", (2, 2, 2))),
        ("window: 2, stride: [1, 1, 1]", "max_pool", ("stride", (1, 1, 1))),
        ("window: 2, padding: [[1, 1]]", "max_pool", ("padding", ((1, 1),))),
        ("output_size: [1, 1, 1]", "adaptive_max_pool", ("output_size", (1, 1, 1))),
    ],
)
def test_parameters_of_another_rank_reach_the_call_where_they_must_be_rejected(tmp_path, text, operator, parameter):
    case = one(tmp_path, f"id: a, {X}, {text}, expect: {{rejected: Anything}}", operator=operator)
    assert case.parameters[parameter[0]] == parameter[1]


def test_question_has_parameters_of_the_rank_of_its_input(tmp_path):
    answers = "answers: {one: {divisor: 1}, two: {rejected: StrideIsZero}}"
    said = refusal(tmp_path, f"id: a, about: b, {X}, window: 2, stride: [0, 0, 0], {answers}", section="questions")
    assert "question a: key 'stride': [0, 0, 0] has 3 entries" in said


def test_case_that_must_be_rejected_keeps_its_faulty_parameters(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}")
    assert case.parameters["stride"] == (0, 0)
    assert case.expect == Rejected("StrideIsZero")


def test_largest_stride_of_the_reference_is_accepted_and_the_next_one_is_rejected(tmp_path):
    text = "id: a, x: {values: [[[1, 2, 3]]]}, window: 2, stride: %d"
    assert one(tmp_path, text % (2**31 - 1)).parameters["stride"] == (2**31 - 1,)
    with pytest.raises(CatalogueError, match="stride 2147483648 on axis 0 must be at most 2147483647"):
        one(tmp_path, text % 2**31)


def test_padding_is_limited_although_a_stride_is_not(tmp_path):
    with pytest.raises(CatalogueError, match=r"key 'padding'.*at most 1000000"):
        one(tmp_path, f"id: a, x: {{values: [[[1, 2, 3]]]}}, window: 2, stride: {2**31 - 1}, padding: {2**31}")


def test_output_of_no_cells_is_possible_in_a_convention_only(tmp_path):
    text = "id: a, about: b, x: {values: [[[1, 2, 3]]]}, output_size: 0"
    answers = "answers: {accepted: {values: [], shape: [1, 1, 0]}, rejected: {rejected: OutputSizeIsZero}}"
    case = one(tmp_path, f"{text}, {answers}", operator="adaptive_avg_pool", section="questions")
    assert case.parameters["output_size"] == (0,)
    with pytest.raises(CatalogueError, match=r"key 'output_size'.*must be at least 1"):
        one(tmp_path, text, operator="adaptive_avg_pool")


def test_operator_that_follows_has_every_parameter_of_its_own(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 2, stride: 1, then: [{{operator: avg_pool, window: 2, divisor: 3}}]")
    assert case.then[0].parameters == {"window": 2, "divisor": 3}


def test_convolution_that_follows_has_its_kernel_as_a_constant(tmp_path):
    kernel = "kernel: {values: integers, shape: [3, 1, 2, 2], seed: 4}"
    case = one(tmp_path, f"id: a, {X}, window: 1, then: [{{operator: conv, {kernel}, padding: same_upper}}]")
    step = plan_steps(case)[-1]
    assert case.then[0].inputs["kernel"].shape == step.kernel == (3, 1, 2, 2)
    assert np.array_equal(step.constants["kernel"], case.then[0].inputs["kernel"].make())
    assert step.padding == ((0, 1), (0, 1))


def test_padding_that_follows_has_pads_for_every_axis(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 1, then: [{{operator: pad, pads: [[1, 0], [0, -1]], value: 3}}]")
    before, step = plan_steps(case)
    assert step.output[2:] == (before.output[2] + 1, before.output[3] - 1)


@pytest.mark.parametrize(
    ("following", "message"),
    [
        ("operator: conv", "needs the key 'kernel'"),
        ("operator: pad", "needs the key 'pads'"),
        ("operator: max_pool, window: 1, kernel: {values: [[[[1]]]]}", "max_pool has no such parameter"),
        ("operator: max_pool_with_indices, window: 1", "cannot follow"),
        ("operator: max_pool_grad, window: 1", "cannot follow"),
        ("operator: conv, kernel: {values: [[[1]]]}", "window (1,) has 1 entries: expected 2"),
    ],
)
def test_operator_that_cannot_follow_is_an_error_of_its_case(tmp_path, following, message):
    assert message in refusal(tmp_path, f"id: a, {X}, window: 1, then: [{{{following}}}]")


def test_literal_without_shape_has_the_shape_of_its_nesting(tmp_path):
    case = one(tmp_path, "id: a, x: {values: [[[1, 2, 3]], [[4, 5, 6]]]}, window: 1")
    assert case.shape == (2, 1, 3)
    assert case.dtype == "float32"
    assert np.array_equal(case.inputs["x"].make().ravel(), [1, 2, 3, 4, 5, 6])


def test_expectation_defaults_to_the_reference_alone(tmp_path):
    assert one(tmp_path, f"id: a, {X}, window: 2").expect == Value()


def test_source_of_the_family_stands_for_every_case_that_has_none(tmp_path):
    first, second = load(tmp_path, f"id: a, {X}, window: 2", f"id: b, {X}, window: 2, source: mine").cases
    assert (first.source, second.source) == ("a test", "mine")


def test_the_gradient_of_a_bias_that_is_missing_is_rejected(tmp_path):
    text = "id: a, x: {values: [[[1, 2]]]}, kernel: {values: [[[3]]]}, grad: {values: integers}, output: bias"
    with pytest.raises(CatalogueError, match="key 'output': the case has no input bias"):
        one(tmp_path, text, operator="conv_grad")


def test_time_for_a_long_list_of_numbers_is_proportional_to_its_length():
    numbers, start = [0] * 200_000, time.process_time()
    assert flatten_nested([numbers]) == ((1, 200_000), tuple(numbers))
    # If each number copied the numbers before it, this would take a minute.
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: {values: [[[1, 0, 0], [0, 1, 0]]]}, grid_size: [2, 3, 4]", r"expected matrices of 3 x 4, \[n, 3, 4\]"),
        ("x: {values: integers, shape: [1, 2, 4]}, grid_size: [2, 3]", r"\[1, 2, 4\]: expected matrices of 2 x 3"),
        ("x: {values: integers, shape: [1, 2, 3, 1]}, grid_size: 2", r"\[1, 2, 3, 1\]: expected matrices of 2 x 3"),
        ("x: {values: integers, shape: [1, 4, 5]}, grid_size: 2", "has 4 entries: expected 2 or 3"),
        ("x: {values: [[[1, 0, 0], [0, 1, 0]]]}, grid_size: [2, 0]", "must be at least 1 along every axis"),
    ],
)
def test_matrices_have_a_row_for_each_axis_of_the_grid(tmp_path, text, message):
    with pytest.raises(CatalogueError, match=message):
        one(tmp_path, f"id: a, {text}", operator="affine_grid")


def test_a_number_is_the_extent_of_every_axis_of_the_grid(tmp_path):
    case = one(tmp_path, "id: a, x: {values: integers, shape: [1, 3, 4]}, grid_size: 5", operator="affine_grid")
    assert case.parameters["grid_size"] == (5, 5, 5)
