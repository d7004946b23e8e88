"""The module `ndarray` of MXNet."""

import re

import pytest

from conformance.adapters.api import Program
from conformance.cases.case import Value
from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import ND, PLANE, ROW, body


def test_nd_pooling_has_the_same_parameters_under_other_names(made):
    pool = "x: {values: integers, shape: [1, 1, 5, 5]}, window: [3, 3], stride: [2, 2], padding: [[1, 1], [1, 1]]"
    pooled = "x = mx.nd.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1)"
    assert body(translate(made("max_pool", pool), ND)) == [f"{pooled})"]
    counted = "count_include_pad: false"
    average = body(translate(made("avg_pool", f"{pool}, {counted}"), ND))
    assert average == [f'{pooled}, pool_type="avg", count_include_pad=False)']
    norm = body(translate(made("lp_pool", f"{pool}, p: 2"), ND))
    assert norm == [f'{pooled}, pool_type="lp", p_value=2)']
    full = body(translate(made("max_pool", f"{ROW}, window: [2], stride: [2], rounding: full"), ND))
    assert full == ['x = mx.nd.Pooling(x, kernel=(2,), stride=(2,), pooling_convention="full")']


def test_nd_convolution_and_deconvolution(made):
    kernel = "kernel: {values: [[[1, 2]]]}"
    forward, transposed = (
        body(translate(made(operator, f"{ROW}, {kernel}"), ND)) for operator in ("conv", "conv_transpose")
    )
    assert forward == ["x = mx.nd.Convolution(x, kernel, kernel=(2,), stride=(1,), num_filter=1, no_bias=True)"]
    assert transposed == ["x = mx.nd.Deconvolution(x, kernel, kernel=(2,), stride=(1,), num_filter=1)"]


@pytest.mark.parametrize(
    ("more", "arguments"),
    [
        ("value: 7", 'mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 0, 2), constant_value=7'),
        ("mode: edge", 'mode="edge", pad_width=(0, 0, 0, 0, 1, 0, 0, 2)'),
        ("mode: reflect", 'mode="reflect", pad_width=(0, 0, 0, 0, 1, 0, 0, 2)'),
    ],
)
def test_nd_pads_2d_data_with_one_call(made, more, arguments):
    program = translate(made("pad", f"{PLANE}, pads: [[1, 0], [0, 2]], {more}"), ND)
    assert (program.how, body(program)) == ("native", [f"x = mx.nd.pad(x, {arguments})"])


@pytest.mark.parametrize(
    ("x", "more", "lines"),
    [
        (
            ROW,
            "value: 7",
            [
                'x = mx.nd.pad(x.expand_dims(2), mode="constant", pad_width=(0, 0, 0, 0, 0, 0, 1, 0), '
                "constant_value=7).squeeze(2)"
            ],
        ),
        (ROW, "mode: edge", ["x = x.take(mx.nd.array([min(max(i, 0), 2) for i in range(-1, 3)]), axis=2)"]),
        (
            "x: {values: [[[1, 2, 3]]], dtype: int64}",
            "value: 7",
            ["y = mx.nd.full((1, 1, 4), 7, dtype=x.dtype)", "y[:, :, 1:4] = x", "x = y"],
        ),
    ],
)
def test_nd_composes_padding_that_the_call_does_not_support(made, x, more, lines):
    program = translate(made("pad", f"{x}, pads: [[1, 0]], {more}"), ND)
    assert (program.how, body(program)) == ("composed", lines)


def test_nd_reflection_by_the_input_size_uses_indexing(made):
    near, far = (
        body(translate(made("pad", f"{PLANE}, pads: [[{before}, 0], [0, 0]], mode: reflect"), ND)) for before in (2, 3)
    )
    assert near[0].startswith("x = mx.nd.pad(x, ")
    assert far == ["x = x.take(mx.nd.array([min(i % 4, 4 - i % 4) for i in range(-3, 3)]), axis=2)"]


def test_nd_padding_never_crops(catalogue):
    programs = (translate(case, ND) for case in catalogue.cases if isinstance(case.expect, Value))
    texts = [program.text for program in programs if isinstance(program, Program) and "mx.nd.pad(" in program.text]
    assert texts
    assert not [text for text in texts if re.search(r"pad_width=\([^)]*-", text)]


def test_nd_does_not_support_empty_arrays(made):
    unsupported = translate(made("max_pool", "x: {values: integers, shape: [0, 1, 3]}, window: [2]"), ND)
    assert unsupported.issue == "https://github.com/apache/mxnet/issues/19684"
