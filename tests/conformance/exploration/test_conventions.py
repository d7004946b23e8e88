"""Conventions that candidates observe: their domains, and the surfaces on which such candidates are checked."""

import sys
from dataclasses import replace
from itertools import islice

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Declaration, Program, Surface, Unsupported
from conformance.cases.case import Rejected
from conformance.cases.operators import OPERATORS, Geometry
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import CONVENTION_DOMAINS, conventions_of, domains_of
from conformance.exploration.conventions import (
    declaration_for,
    expected_on,
    reference_answers,
    unsupported_by_oracle,
)
from conformance.exploration.draws.conventions import EMPTY_FACTORS
from conformance.exploration.draws.invalid_calls import Violation
from conformance.exploration.evaluation import LocalEvaluator, make_requests
from conformance.exploration.oracles import ReferenceOracle
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace, is_affordable
from conformance.judging.expected import compute_expected
from conformance.judging.ledger import Ledger
from tests.support.nightly import only_nightly

NATIVE = Program("some.surface", "native", "def run(x): return x")
TIED = Candidate(
    "max_pool_with_indices",
    {"rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (2,), "stride": (1,), "dilation": (1,),
     "padding": 0, "rounding": "floor", "output": "indices", "values": "integers", "dtype": "float32"},
    {"x": {"values": "integers", "low": 1, "high": 1}},
)  # fmt: skip
TIE = "max_pool_with_indices/tie"
PADDING_ONLY_LEVELS = {name: level for name, level in TIED.levels.items() if name != "output"} | {
    "extent": (1,), "padding": ((1, 1),), "dilation": (2,)
}  # fmt: skip


def draw_inside(space, domain, *seeds):
    """Return a draw in a convention domain, None if it is invalid or too large."""
    rng = Rng(*seeds)
    levels, inputs = space._draw_usual(rng)
    candidate = Candidate(space.operator, *domain.draw_inside((levels, inputs), rng))
    return candidate if is_affordable(candidate) else None


def test_every_convention_is_in_the_catalogue_and_the_reference_has_an_answer():
    ids = {convention_id for domain in CONVENTION_DOMAINS for convention_id in domain.conventions.values()}
    assert set(reference_answers()) == ids
    assert reference_answers()["max_pool/window-of-padding-only"] == "minus-infinity"
    assert reference_answers()["max_pool/zeros-of-both-signs"] == "positive"


@pytest.mark.parametrize(("rank", "dtype", "answer"), [(2, "float32", "first"), (3, "float32", "other")])
def test_a_condition_that_no_case_of_the_rank_and_dtype_meets_does_not_matter(rank, dtype, answer):
    volumes = Declaration("first", depends_on="the rank", by_case={f"{TIE}-in-three-dimensions": "other"})
    levels = {"rank": rank, "dtype": dtype, "extent": (2,) * rank, "window": (2,) * rank, "stride": (1,) * rank}
    candidate = replace(TIED, levels={**TIED.levels, **levels, "dilation": (1,) * rank})
    found = declaration_for(volumes, TIE, candidate)
    assert (found.summary, found.answers) == (answer, (answer,))


def test_a_condition_remains_if_cases_of_the_rank_and_dtype_differ_or_do_not_exist():
    convention = "global_max_pool/nan-in-channel"
    declared = Declaration("propagates", depends_on="the size", by_case={"global_max_pool/nan-among-4-cells": "other"})
    assert declaration_for(declared, convention, TIED) is declared
    other = replace(TIED, levels={**TIED.levels, "dtype": "uint8"})
    assert declaration_for(declared, convention, other) is declared


CEIL = "avg_pool/window-in-the-padding-with-ceil"
OBSERVED = {
    "max_pool": {"max_pool/window-of-padding-only", "max_pool/order-of-subnormals", CEIL},
    "min_pool_grad": {"max_pool/window-of-padding-only", "max_pool/order-of-subnormals", "min_pool_grad/tie", CEIL},
    "global_max_pool": {
        "global_max_pool/channel-of-minus-infinity",
        "global_max_pool/nan-in-channel",
        "global_max_pool/order-of-subnormals",
    },
    "avg_pool": {
        "avg_pool/window-of-padding-only",
        "avg_pool/integers",
        "avg_pool/integers-in-int32",
        "avg_pool/accumulation-in-float16",
        CEIL,
    },
    "avg_pool_grad": {CEIL},
    "adaptive_avg_pool": {"adaptive_avg_pool/accumulation-in-float16"},
    "global_avg_pool": {
        "avg_pool/integers",
        "global_avg_pool/integers",
        "global_avg_pool/accumulation-in-float16",
    },
    "adaptive_max_pool_grad": {
        "adaptive_max_pool_grad/tie",
        "adaptive_max_pool_grad/tie-in-a-plane",
        "max_pool/order-of-subnormals",
    },
    "lp_pool": {"lp_pool/power-that-overflows", CEIL},
    "lp_pool_grad": {"lp_pool/p-1-of-negative-values", "lp_pool/odd-p-of-negative-values", CEIL},
    "max_unpool_grad": {
        "max_pool/window-of-padding-only",
        "max_pool/padding-equal-to-window",
        "max_unpool_grad/duplicate-indices",
        *(f"max_unpool/indices-in-{dtype}" for dtype in ("int16", "int32", "uint8", "uint64")),
    },
    "conv": {"conv/algorithm", "conv/sum-that-overflows-in-float16"},
    "pad_grad": {f"pad/{mode}-beyond-the-extent" for mode in ("reflect", "symmetric", "wrap")},
}


@pytest.mark.parametrize(
    ("channels", "size", "largest", "dtype", "observes"),
    [
        (1, 1, 256, "float16", True),
        (1, 1, 255, "float16", False),
        (1, 9, 255, "float16", False),
        (4, 4, 128, "float16", True),
        (4, 4, 127, "float16", False),
        (4, 3, 128, "float16", False),
        (1, 1, 256, "bfloat16", False),
    ],
)
def test_normalization_observes_the_convention_where_squares_exceed_float16(channels, size, largest, dtype, observes):
    levels = {"rank": 2, "batch": 1, "channels": channels, "extent": (1, 2), "values": "integers", "dtype": dtype}
    levels |= {"local_size": size, "alpha": 1, "beta": 1, "k": 1, "alpha_over_size": True, "extra_channel": "after"}
    candidate = Candidate("lrn", levels, {"x": {"values": "integers", "low": 0, "high": largest}})
    assert ("lrn/square-that-overflows" in conventions_of(candidate)) == observes


@pytest.mark.parametrize(
    ("operator", "numbers", "weights", "dtype", "observes"),
    [
        ("conv", [30_000, -9], [[[-3, 0]]], "float16", True),
        ("conv", [30_000, 9], [[[1, 1]]], "float16", False),
        ("conv", [30_000, 9], [[[1, 1]], [[-1, 2]]], "float16", True),
        ("conv", [30_000, 9], [[[1, 1]], [[1, 1]]], "float16", False),
        ("conv", [30_000, 9], [[[3, 1]]], "bfloat16", False),
        ("conv_transpose", [30_000, 9], [[[1, 1], [1, 1]]], "float16", False),
        ("conv_transpose", [30_000, 9], [[[1, 1], [1, 2]]], "float16", True),
    ],
)
def test_convolution_observes_the_convention_where_sums_exceed_float16(operator, numbers, weights, dtype, observes):
    levels = {"rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (2,), "stride": (1,), "dilation": (1,),
              "padding": 0, "groups": 1, "bias": False, "output_channels": len(weights), "output_padding": 0,
              "values": "integers", "dtype": dtype}  # fmt: skip
    inputs = {"x": {"values": "integers"}, "kernel": {"values": "integers"}}
    candidate = Candidate(operator, levels, inputs).with_numbers(x=[[numbers]], kernel=weights)
    assert (f"{operator}/sum-that-overflows-in-float16" in conventions_of(candidate)) == observes


@pytest.mark.parametrize(
    ("window", "stride", "padding", "rounding", "observes"),
    [
        (1, 1, (0, 1), "ceil", True),
        (1, 1, (0, 1), "floor", False),
        (2, 1, (0, 1), "ceil", False),
        (2, 2, (0, 2), "ceil", True),
        (2, 2, (0, 1), "ceil", False),
        (1, 2, (0, 2), "ceil", True),
        (3, 2, (0, 2), "ceil", False),
    ],
)
def test_a_window_that_starts_in_the_padding_is_a_convention_with_ceil(window, stride, padding, rounding, observes):
    sizes = {"extent": (4,), "window": (window,), "stride": (stride,), "padding": (padding,), "rounding": rounding}
    levels = {name: level for name, level in TIED.levels.items() if name != "output"} | sizes
    candidate = Candidate("avg_pool", {**levels, "count_include_pad": True, "divisor": None}, TIED.inputs)
    assert (CEIL in conventions_of(candidate)) == observes


@pytest.mark.parametrize(
    ("dtype", "mode", "size", "observes"),
    [
        ("float16", "nearest", 5, True), ("float16", "nearest", 2, False), ("float16", "linear", 2, True),
        ("bfloat16", "cubic", 9, True), ("float32", "linear", 9, False),
    ],
)  # fmt: skip
def test_sums_of_gradients_in_16_bits_are_a_convention(dtype, mode, size, observes):
    levels = {"rank": 1, "batch": 1, "channels": 1, "extent": (4,), "size": (size,), "mode": mode, "dtype": dtype,
              "coordinates": "half_pixel", "values": "integers"}  # fmt: skip
    candidate = Candidate("resize_grad", levels, {"x": {"values": "integers"}, "grad": {"values": "integers"}})
    conventions = {one for one in conventions_of(candidate) if "accumulation" in one}
    assert conventions == ({f"resize_grad/accumulation-in-{dtype}"} if observes else set())


def empty_conventions(operator):
    moves = OPERATORS[operator].geometry in {Geometry.WINDOWS, Geometry.PADS}
    return {f"{operator}/empty-{name}" for name in EMPTY_FACTORS if not (moves and name == "extent")}


@pytest.mark.parametrize("operator", OBSERVED)
def test_conventions_follow_from_the_properties_of_an_operator(operator):
    byte_order = "conv/other-byte-order" if operator == "conv" else "max_pool/other-byte-order"
    expected = OBSERVED[operator] | empty_conventions(operator) | {byte_order}
    assert {domain.conventions[operator] for domain in domains_of(operator)} == expected


@pytest.mark.parametrize(
    ("operator", "names"),
    [
        ("unfold", {"batch"}), ("fold", {"batch", "channels"}), ("quantize", {"batch"}), ("dequantize", {"batch"}),
        ("fold_grad", set()), ("unfold_grad", set()), ("quantized_avg_pool", set()), ("resize", set()),
        ("softmax_pool", set()), ("depth_to_space", set()),
    ],
)  # fmt: skip
def test_operators_with_few_conventions_about_empty_arrays(operator, names):
    conventions = {domain.conventions[operator] for domain in domains_of(operator)}
    assert {name for name in EMPTY_FACTORS if f"{operator}/empty-{name}" in conventions} == names


@pytest.mark.parametrize(
    "domain",
    [domain for domain in CONVENTION_DOMAINS if domain.draw_inside],
    ids=lambda domain: next(iter(domain.conventions.values())),
)
def test_draws_in_a_domain_observe_its_convention(domain, sweeps):
    for operator, convention_id in domain.conventions.items():
        space = OperatorSpace.from_sweeps(operator, sweeps)
        found = [one for number in range(60) if (one := draw_inside(space, domain, operator, convention_id, number))]
        # One domain draws for all conventions about empty arrays.
        observed = empty_conventions(operator) if convention_id.endswith("/empty-batch") else {convention_id}
        inside = [one for one in found if observed & {*conventions_of(one)}]
        # Some operators have only one of the three.
        assert len(inside) > len(found) / 4 > 3, operator


@only_nightly
def test_about_half_of_all_draws_observe_no_convention(sweeps):
    # A surface is checked there only if it declares its answer. Small planes often have equal maxima.
    needed = 68  # more than 45 % of 150
    for operator in OPERATORS:
        space = OperatorSpace.from_sweeps(operator, sweeps)
        drawn = (space.draw(Rng("asks", operator, number)) for number in range(150))
        # Drawn until the result is certain.
        others = islice((one for one in drawn if not conventions_of(one)), needed)
        assert sum(1 for _ in others) == needed, operator


def surface_declaring(**declares):
    return Surface("some.surface", {}, declarations={name: Declaration(answer) for name, answer in declares.items()})


def no_entry(_case):
    """Stand-in for a ledger without entries."""
    return False


def test_a_surface_is_not_checked_in_a_rank_in_which_it_deviates_from_its_answer():
    levels = {name: level for name, level in TIED.levels.items() if name != "output"}
    candidate = Candidate("max_pool_grad", levels, {**TIED.inputs, "grad": {"values": "integers"}})
    surface = surface_declaring(**{"max_pool_grad/tie": "first"})

    def known(case):
        return case.id == "max_pool_grad/tie-in-three-dimensions"

    assert unsupported_by_oracle(candidate, surface, NATIVE, known) is None
    volume = candidate.with_levels(rank=3)
    assert unsupported_by_oracle(volume, surface, NATIVE, no_entry) is None
    assert "another answer for 3 spatial axes" in unsupported_by_oracle(volume, surface, NATIVE, known).reason


def test_a_surface_is_not_checked_if_it_deviates_from_its_declared_answer():
    candidate = Candidate("max_pool", {**PADDING_ONLY_LEVELS, "values": "integers"}, {"x": {"values": "integers"}})
    assert conventions_of(candidate) == ("max_pool/window-of-padding-only",)
    surface = surface_declaring(**{"max_pool/window-of-padding-only": "minus-infinity"})
    assert unsupported_by_oracle(candidate, surface, NATIVE, no_entry) is None
    assert (
        unsupported_by_oracle(candidate, surface, NATIVE, lambda case: case.id == "max_pool/window-of-padding-only")
        is not None
    )


def test_the_index_of_a_window_without_a_cell_is_a_separate_convention():
    candidate = Candidate(
        "max_pool_with_indices", {**PADDING_ONLY_LEVELS, "output": "indices"}, {"x": {"values": "distinct"}}
    )
    assert "max_pool_with_indices/window-of-padding-only" in conventions_of(candidate)
    assert "max_pool_with_indices/window-of-padding-only" not in conventions_of(candidate.with_levels(output="values"))


def test_a_draw_may_have_the_input_between_the_cells_of_a_dilated_window(sweeps):
    domain = next(one for one in CONVENTION_DOMAINS if "min_pool_grad" in one.conventions)
    space = OperatorSpace.from_sweeps("min_pool_grad", sweeps)
    found = [one for number in range(60) if (one := draw_inside(space, domain, "hole", number))]
    dilated = [one for one in found if (1, 1) in one.per_axis("padding") and max(one.per_axis("dilation")) > 1]
    assert any("max_pool/window-of-padding-only" in conventions_of(one) for one in dilated)


def test_distinct_numbers_that_a_dtype_rounds_to_one_value_are_tied():
    few = replace(TIED, inputs={"x": {"values": "distinct"}}).with_levels(dtype="bfloat16", extent=(128,))
    assert conventions_of(few) == ()
    assert conventions_of(few.with_levels(extent=(600,))) == (TIE,)


def test_a_native_call_is_checked_if_the_surface_declares_the_answer_of_the_reference():
    assert conventions_of(TIED) == (TIE,)
    assert unsupported_by_oracle(TIED, surface_declaring(**{TIE: "first"}), NATIVE, no_entry) is None
    for surface, program, reason in (
        (surface_declaring(**{TIE: "last"}), NATIVE, "some.surface answers last"),
        (surface_declaring(), NATIVE, "answer of some.surface is not known"),
        (surface_declaring(**{TIE: "first"}), replace(NATIVE, how="composed"), "checked for single calls"),
    ):
        unsupported = unsupported_by_oracle(TIED, surface, program, no_entry)
        assert isinstance(unsupported, Unsupported)
        assert reason in unsupported.reason


def test_a_case_without_conventions_is_checked_on_every_surface():
    distinct = replace(TIED, inputs={"x": {"values": "distinct"}})
    assert conventions_of(distinct) == ()
    assert unsupported_by_oracle(distinct, surface_declaring(), replace(NATIVE, how="composed"), no_entry) is None


def test_explicit_numbers_decide_which_conventions_are_observed():
    distinct = replace(TIED, inputs={"x": {"values": "distinct"}})
    assert conventions_of(distinct.with_numbers(x=[[[1, 2]]])) == ()
    assert conventions_of(distinct.with_numbers(x=[[[2, 2]]])) == (TIE,)
    assert conventions_of(distinct.with_numbers(x=[[[-0.0, 0.0]]])) == (TIE, "max_pool/zeros-of-both-signs")
    assert "max_pool_with_indices/nan" in conventions_of(distinct.with_numbers(x=[[[float("nan"), 1]]]))


def test_subnormal_numbers_observe_a_convention_beside_a_number_that_a_kernel_may_compare_as_equal():
    distinct = replace(TIED, inputs={"x": {"values": "distinct"}})
    order = "max_pool/order-of-subnormals"
    assert conventions_of(distinct.with_numbers(x=[[[1e-40, 0]]])) == (order,)
    assert conventions_of(distinct.with_numbers(x=[[[1e-40, -2e-40]]])) == (order,)
    assert conventions_of(distinct.with_numbers(x=[[[1e-40, 1]]])) == ()
    generated = replace(distinct.with_levels(values="subnormal"), inputs={"x": {"values": "integers"}})
    assert order in conventions_of(generated)
    assert order not in conventions_of(replace(generated, inputs={"x": {"values": "integers", "low": 1}}))


@pytest.mark.usefixtures("planted")
def test_ties_are_a_difference_only_if_the_surface_declares_the_answer_of_the_reference():
    """The bug `ties-last` is a bug only on a surface that declares that the first of equal values wins."""
    statuses = {}
    for answer in ("first", "last"):
        evaluator = LocalEvaluator(
            registry.get_backend("planted"), sys.executable, Ledger(), surfaces=["planted.ties-last"]
        )
        (surface,) = evaluator.backend.surfaces
        declares = {**surface.declarations, TIE: Declaration(answer)}
        evaluator.backend = replace(evaluator.backend, surfaces=(replace(surface, declarations=declares),))
        with evaluator:
            (result,) = evaluator.evaluate(make_requests(ReferenceOracle(), [TIED]))
        statuses[answer] = result.surface_results[0].status
    assert statuses == {"first": "fail", "last": "unsupported"}


TIED_GRADIENT = Candidate(
    "max_pool_grad",
    {name: level for name, level in TIED.levels.items() if name != "output"},
    {**TIED.inputs, "grad": {"values": "integers", "low": 1, "high": 1}},
)


def test_a_surface_with_another_answer_is_compared_with_that_answer():
    candidate = TIED_GRADIENT.with_numbers(x=[[[1, 1]]], grad=[[[1]]])
    assert conventions_of(candidate) == ("max_pool_grad/tie",)
    expected = compute_expected(candidate.case)
    gradients = {}
    for answer in ("first", "last", "all"):
        surface = surface_declaring(**{"max_pool_grad/tie": answer})
        assert unsupported_by_oracle(candidate, surface, NATIVE, no_entry) is None
        gradients[answer] = expected_on(candidate, surface, expected).target.exact.value.tolist()
    assert gradients == {"first": [[[1, 0]]], "last": [[[0, 1]]], "all": [[[1, 1]]]}


def test_a_surface_that_declares_a_rejection_of_wide_pads_must_reject_them(sweeps):
    domain = next(one for one in CONVENTION_DOMAINS if "pad/wrap-beyond-the-extent" in one.conventions.values())
    space = OperatorSpace.from_sweeps("pad", sweeps)
    candidate = next(
        one for seed in range(99) if (one := draw_inside(space, domain, "wide", seed)) and conventions_of(one)
    )
    (convention_id,) = conventions_of(candidate)
    surface = surface_declaring(**{convention_id: "rejected"})
    expected = expected_on(candidate, surface, compute_expected(candidate.case))
    assert (expected.target.exact, expected.target.violation) == (None, "PadsBeyondTheExtent")


def invalid_candidate(operator, name, sweeps):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    valid = (replace(space.draw(Rng("accepted", seed)), violation=None, following=None) for seed in range(99))
    return next(bad for one in valid if (bad := replace(one, violation=Violation(name))).is_valid())


def test_an_invalid_call_is_not_checked_if_the_ledger_lists_that_the_surface_accepts_its_violation(sweeps):
    candidate, surface = invalid_candidate("max_pool", "StrideIsZero", sweeps), surface_declaring()
    assert unsupported_by_oracle(candidate, surface, NATIVE, no_entry) is None
    found = unsupported_by_oracle(candidate, surface, NATIVE, lambda case: case.id == "max_pool/rejects/stride-is-zero")
    assert "the violation StrideIsZero that the surface accepts" in found.reason
    others = unsupported_by_oracle(candidate, surface, NATIVE, lambda case: case.expect != Rejected("StrideIsZero"))
    assert others is None


def test_an_invalid_call_is_not_checked_if_documents_give_it_a_meaning(sweeps):
    # The catalogue has a convention about windows larger than the padded input, and no case that must be rejected.
    candidate = invalid_candidate("max_pool", "WindowExceedsPaddedInput", sweeps)
    found = unsupported_by_oracle(candidate, surface_declaring(), NATIVE, no_entry)
    assert found.reason == "the surface does not declare for max_pool/window-larger-than-input that it rejects the call"


def test_an_invalid_call_is_checked_if_the_surface_declares_that_it_rejects_it(sweeps):
    candidate = invalid_candidate("max_pool", "WindowExceedsPaddedInput", sweeps)
    names = ("max_pool/window-larger-than-input", "max_pool/window-larger-than-input-stride-1")
    rejects = surface_declaring(**dict.fromkeys(names, "rejected"))
    assert unsupported_by_oracle(candidate, rejects, NATIVE, no_entry) is None
    other = surface_declaring(**{names[0]: "rejected", names[1]: "empty"})
    assert "does not declare" in unsupported_by_oracle(candidate, other, NATIVE, no_entry).reason


def test_an_array_in_the_other_byte_order_is_checked_against_the_declared_answer():
    levels = {"rank": 1, "batch": 1, "channels": 1, "extent": (2,), "values": "integers", "dtype": "float32"}
    candidate = Candidate("global_avg_pool", levels, {"x": {"values": "integers"}}, array_use="byte_swapped")
    assert conventions_of(candidate) == ("max_pool/other-byte-order",)
    assert conventions_of(replace(candidate, array_use="strided")) == ()
    converting = surface_declaring(**{"max_pool/other-byte-order": "converted"})
    assert unsupported_by_oracle(candidate, converting, NATIVE, no_entry) is None
    rejecting = surface_declaring(**{"max_pool/other-byte-order": "rejected"})
    assert "answers rejected" in unsupported_by_oracle(candidate, rejecting, NATIVE, no_entry).reason
    misreading = unsupported_by_oracle(
        candidate, converting, NATIVE, lambda case: case.id == "max_pool/other-byte-order"
    )
    assert "another answer" in misreading.reason


def test_equal_indices_in_a_plane_observe_the_convention_about_them(sweeps):
    space = OperatorSpace.from_sweeps("max_unpool_grad", sweeps)
    drawn = (space.draw(Rng("duplicates", number)) for number in range(400))
    written = [one for one in drawn if "indices" in one.written_numbers and not one.violation]
    observing = [one for one in written if "max_unpool_grad/duplicate-indices" in conventions_of(one)]
    assert 0 < len(observing) < len(written)
    for one in observing:
        planes = one.case.inputs["indices"].make().reshape(one.case.shape[0] * one.case.shape[1], -1)
        assert any(len(set(plane.tolist())) < plane.size for plane in planes)
