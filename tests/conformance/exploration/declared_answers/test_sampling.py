"""Samples have the case itself, and as many variants as requested of each kind of change."""

import pytest

from conformance.catalogue import loading
from conformance.exploration.declared_answers.sampling import NUMBER, sample_variants
from conformance.exploration.declared_answers.variants import variants_of


def case_of(case_id):
    (case,) = [one for one in loading.load_convention_cases(case_id.partition("/")[0]) if one.id == case_id]
    return case


def names_of(case_id, per_change):
    return [variant.name for variant in sample_variants(variants_of(case_of(case_id)), per_change)]


@pytest.mark.parametrize("per_change", [1, 2])
def test_a_sample_has_a_number_of_variants_of_each_kind(per_change):
    kinds = [NUMBER.sub("", variant.name) for variant in variants_of(case_of("max_pool/nan-in-window"))]
    sampled = [NUMBER.sub("", name) for name in names_of("max_pool/nan-in-window", per_change)]
    assert len(kinds) > len(sampled) > len(set(kinds)) * per_change / 2
    assert {kind: sampled.count(kind) for kind in kinds} == {kind: min(kinds.count(kind), per_change) for kind in kinds}


def test_a_sample_begins_with_the_case_itself_and_repeats_the_order():
    names = names_of("max_pool/nan-in-window", 2)
    whole = [variant.name for variant in variants_of(case_of("max_pool/nan-in-window"))]
    assert not names[0]
    assert list(map(whole.index, names)) == sorted(map(whole.index, names))


def test_each_dtype_is_a_kind_of_change():
    assert {"float64", "float16", "bfloat16"} <= set(names_of("max_pool/nan-in-window", 1))


def test_a_sample_is_the_same_in_every_run_and_differs_between_cases():
    first, second = "max_pool/nan-in-window", "max_pool/window-of-minus-infinity"
    assert names_of(first, 1) == names_of(first, 1)
    shared = {NUMBER.sub("", name) for name in names_of(first, 1)} & {
        NUMBER.sub("", name) for name in names_of(second, 1)
    }
    chosen = [{name for name in names_of(one, 1) if NUMBER.sub("", name) in shared} for one in (first, second)]
    assert chosen[0] != chosen[1]
