"""The module `padding` of MXNet."""

import re

import pytest

from conformance.adapters.api import Program, Unsupported
from conformance.cases.case import Value
from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import GLUON, GRAD, NPX, ROW, body, everywhere

both = pytest.mark.parametrize("surface", [GLUON, NPX], ids=lambda surface: surface.name)


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
def test_gradient_of_a_padding_mode_indexes_with_padded_flat_indices(made, mode):
    forward = made("pad", f"{ROW}, pads: [[1, 2]], mode: {mode}")
    assert body(translate(forward, NPX)) == [f'x = mnp.pad(x, ((0, 0), (0, 0), (1, 2)), mode="{mode}")']
    backward = body(translate(made("pad_grad", f"{ROW}, {GRAD}, pads: [[1, 2]], mode: {mode}"), NPX))
    indices = f'mnp.pad(mnp.arange(x.size).reshape(x.shape), ((0, 0), (0, 0), (1, 2)), mode="{mode}")'
    assert f"    x = x.reshape(-1).take({indices})" in backward


def test_gradient_of_constant_padding_uses_the_call(made):
    backward = body(translate(made("pad_grad", f"{ROW}, {GRAD}, pads: [[1, 2]]"), NPX))
    assert "    x = mnp.pad(x, ((0, 0), (0, 0), (1, 2)))" in backward


def test_mode_wrap_uses_cyclic_indices(made):
    program = translate(made("pad", f"{ROW}, pads: [[1, 2]], mode: wrap"), NPX)
    assert program.how == "composed"
    assert body(program) == ['x = x.take(mnp.arange(-1, 5), axis=2, mode="wrap")']


@both
def test_only_convention_programs_crop_with_mnp_pad(catalogue, surface):
    programs = (translate(case, surface) for case in catalogue.cases if isinstance(case.expect, Value))
    lines = [line for program in programs if isinstance(program, Program) for line in program.text.splitlines()]
    calls = [line for line in lines if "mnp.pad(" in line]
    assert calls
    assert not [line for line in calls if re.search(r"\((-\d+, -?\d+|\d+, -\d+)\)", line)]


@both
def test_gradient_of_padding_with_minus_infinity(made, surface):
    case = made("max_pool_grad", f"{ROW}, {GRAD}, window: [2], padding: [[1, 0]], stride: [1]")
    pairs = "((0, 0), (0, 0), (1, 0))"
    filled = "mnp.full((1, 1, 4), -np.inf, dtype=x.dtype)"
    padded = f"    x = mnp.where(mnp.pad(mnp.ones_like(x), {pairs}), mnp.pad(x, {pairs}), {filled})"
    assert padded in body(translate(case, surface))


def test_greatest_integer_is_not_converted_to_float(made):
    case = made("min_pool", "x: {values: [[[1, 2, 3]]], dtype: int64}, window: [2], padding: [[1, 0]]")
    text = translate(case, NPX).text
    assert "mnp.array(np.full((1, 1, 4), 9223372036854775807), dtype=x.dtype)" in text


@everywhere
def test_padding_of_four_axes_is_unsupported_except_by_cyclic_indices(made, surface):
    volume = "x: {values: integers, shape: [1, 1, 2, 2, 2, 2]}, pads: [[1, 0], [0, 0], [0, 0], [0, 0]]"
    assert isinstance(translate(made("pad", volume), surface), Unsupported)
    assert isinstance(translate(made("pad", volume.replace("[1, 0]", "[-1, 0]")), surface), Unsupported)
    wrapped = translate(made("pad", f"{volume}, mode: wrap"), surface)
    assert isinstance(wrapped, Program) == (surface is not GLUON)
