"""Drawn numbers: they fit the dtype and the operator, and include the values that the sweeps do not have."""

import math
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.cases.case import ArrayUse
from conformance.cases.operators import OPERATORS
from conformance.exploration.candidate import FollowingPool
from conformance.exploration.draws.numbers import (
    FOLLOWED_OPERATORS,
    INDEX_DTYPES,
    draw_array_use,
    draw_following,
    draw_numbers,
)
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate


def drawn_with_numbers(operator, sweeps, count, *seeds):
    space, found = OperatorSpace.from_sweeps(operator, sweeps), []
    for number in range(count):
        rng = Rng(*seeds, number)
        one = draw_numbers(space.draw(rng).valid, space.specials, rng)
        if "x" in one.written_numbers and one.is_valid():
            found.append(one)
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_drawn_numbers_make_valid_cases(operator, sweeps):
    found = drawn_with_numbers(operator, sweeps, 12, "valid")
    assert found
    for one in found[:4]:
        assert compute_expected(one.case).target is not None


def arrays(operator, name, sweeps, count=150):
    found = drawn_with_numbers(operator, sweeps, count, "values", operator)
    return [(one, one.case.inputs[name].make().astype(float)) for one in found if name in one.case.inputs]


def test_norms_have_windows_of_zeros_and_powers_that_overflow(sweeps):
    cells = [array for _, array in arrays("lp_pool", "x", sweeps)]
    assert any((array == 0).mean() > 0.5 for array in cells)
    assert any((np.abs(array[np.isfinite(array)]) >= 300).any() for array in cells)
    assert any((array < 0).all() for array in cells)


def test_averages_have_sums_that_overflow_in_float16(sweeps):
    sums = [
        array[np.isfinite(array)].sum()
        for one, array in arrays("avg_pool", "x", sweeps, 400)
        if one.case.dtype == "float16"
    ]
    assert max(sums) > 65504


def test_planes_have_several_special_values(sweeps):
    cells = [array for _, array in arrays("max_pool", "x", sweeps)]
    assert any(np.isnan(array).sum() > 1 for array in cells)
    assert any(np.isnan(array).any() and np.isinf(array).any() for array in cells)
    assert any((array == -np.inf).sum() > 1 for array in cells)


def test_activations_are_never_negative_but_may_be_zero(sweeps):
    cells = [array for _, array in arrays("stochastic_pool", "x", sweeps)]
    assert min(array.min() for array in cells) == 0
    assert any((one == 0).any() for _, one in arrays("stochastic_pool", "draws", sweeps))


def test_indices_are_repeated_and_may_have_other_integer_dtypes(sweeps):
    found = arrays("max_unpool", "indices", sweeps, 200)
    assert any(
        len(np.unique(plane)) < plane.size
        for _, array in found
        for plane in array.reshape(-1, math.prod(array.shape[2:]))
    )
    assert {one.case.inputs["indices"].dtype for one, _ in found} == {"int64", *INDEX_DTYPES}


def test_a_pooling_may_follow_and_the_reference_computes_both(sweeps):
    for operator in FOLLOWED_OPERATORS:
        space, computed = OperatorSpace.from_sweeps(operator, sweeps), 0
        for number in range(20):
            rng = Rng("follow", number)
            one = draw_following(space.draw(rng).valid, rng)
            if one.is_valid():
                assert one.case.then
                computed += compute_expected(one.case).target is not None
        assert computed


def test_every_use_of_arrays_is_drawn_and_makes_a_valid_case(sweeps):
    space, uses = OperatorSpace.from_sweeps("global_max_pool", sweeps), set()
    for number in range(300):
        rng = Rng("arrays", number)
        one = draw_array_use(space.draw(rng).valid, rng)
        if one.is_valid():  # an expanded array must not contain NaN
            assert one.case.parameters["arrays"] == one.array_use
            uses.add(one.array_use)
    assert uses == {*ArrayUse} - {ArrayUse.NUMPY_TWICE}


@pytest.mark.parametrize("use", ["byte_swapped", "numpy"])
def test_bfloat16_has_no_other_byte_order_and_is_no_numpy_array(use, sweeps):
    space = OperatorSpace.from_sweeps("global_max_pool", sweeps)
    one = replace(space.draw(Rng("arrays", 0)).valid.with_levels(values="integers", dtype="float32"), array_use=use)
    assert one.is_valid()
    assert not one.with_levels(dtype="bfloat16").is_valid()


def test_a_gradient_takes_no_numpy_arrays(sweeps):
    for operator, possible in (("global_max_pool", True), ("global_max_pool_grad", False)):
        space = OperatorSpace.from_sweeps(operator, sweeps)
        valid = space.draw(Rng("numpy", 0)).valid.with_levels(values="integers", dtype="float32")
        assert replace(valid, following=None, array_use="numpy").is_valid() == possible


def test_a_pooling_follows_an_axis_that_is_cropped_at_one_end_and_padded_at_the_other(sweeps):
    space = OperatorSpace.from_sweeps("pad", sweeps)
    drawn = [space.draw(Rng("crop", number)) for number in range(300)]
    assert any(one.following and any(min(pair) < 0 < max(pair) for pair in one.per_axis("pads")) for one in drawn)


def test_integers_may_all_be_in_the_upper_half_of_their_range(sweeps):
    found = [(one.case.dtype, array) for one, array in arrays("min_pool", "x", sweeps, 400)]
    assert any(dtype == "uint8" and (array > 127).all() for dtype, array in found)
    assert any(dtype == "int64" and (array > 2**61).all() for dtype, array in found)


def test_words_are_drawn_for_a_quarter_of_the_cases_with_padding_by_name(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    drawn = [space.draw(Rng("words", number)) for number in range(1600)]
    plain = [one for one in drawn if not (one.violation or one.following or one.array_use)]
    named = [one for one in plain if isinstance(one.levels["padding"], str)]
    worded = [one for one in named if one.has_words]
    assert len(named) / 12 < len(worded) < len(named) / 2
    assert any(one.has_words for one in plain if one not in named)
    assert all(one.case.parameters["words"] and "words" in one.case.id for one in worded)


def test_gradients_and_sequences_have_no_words(sweeps):
    assert not any(
        one.has_words and (one.following or "grad" in operator)
        for operator in ("pad", "max_pool_grad")
        for number in range(100)
        for one in [OperatorSpace.from_sweeps(operator, sweeps).draw(Rng("no words", number))]
    )
    one = replace(OperatorSpace.from_sweeps("pad", sweeps).draw(Rng("no words", 0)).valid, has_words=True)
    assert not replace(one, following=FollowingPool("max_pool", 1)).is_valid()


@pytest.mark.parametrize("operator", ["max_pool", "avg_pool", "conv", "conv_transpose", "pad"])
def test_every_surface_translates_words(operator, sweeps):
    space, written = OperatorSpace.from_sweeps(operator, sweeps), 0
    surfaces = [surface for name in registry.backend_names() for surface in registry.get_backend(name).surfaces]
    valid = [space.draw(Rng("translated", number)).valid for number in range(12)]
    for one in (replace(one, has_words=True, following=None) for one in valid):
        programs = [translate(one.case, surface) for surface in surfaces]
        assert all(isinstance(program, Program | Unsupported) for program in programs), one.name
        written += sum(isinstance(program, Program) for program in programs)
    assert written
