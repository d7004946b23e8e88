"""Known deviations of the surfaces that a case is translated to, and of those that it is translated from."""

import pytest

from conformance.catalogue import describe
from conformance.judging.ledger import load_ledger
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.side_by_side import TranslationBackground, source_deviations, translate_case

DEVIATION = "known deviation torch-norm-of-a-partial-window"
PARTIAL, WHOLE = (1, 1, 6, 6), (1, 1, 7, 7)
"""Shapes of which the last window of 3 cells with stride 2 is partial, and whole."""


@pytest.fixture(scope="module")
def background():
    return TranslationBackground((), load_ledger())


def request_of(shape, **further):
    return CaseRequest("lp_pool", {"window": [3, 3], "stride": [2, 2], "rounding": "ceil", **further}, shape=shape)


def surfaces(*names):
    return [describe.surfaces_by_name()[name][1] for name in names]


@pytest.mark.parametrize(("shape", "count"), [(PARTIAL, 1), (WHOLE, 0)])
def test_entries_for_generated_cases_apply_to_requested_layers(background, shape, count):
    request = request_of(shape)
    surface = describe.surfaces_by_name()["torch.nn"]
    (found,) = translate_case(request.case(), [surface], background, request)
    assert sum(one.startswith(DEVIATION) for one in found.warnings) == count


@pytest.mark.parametrize(("shape", "count"), [(PARTIAL, 1), (WHOLE, 0)])
def test_layer_has_the_known_deviations_of_its_own_surfaces(background, shape, count):
    found = list(source_deviations(request_of(shape).case(), surfaces("torch.nn", "torch.nn.functional"), background))
    assert len(found) == count
    assert all(one.startswith(f"not the result of torch.nn, torch.nn.functional: {DEVIATION}") for one in found)


@pytest.mark.parametrize(("p", "count"), [(1, 1), (1.5, 1), (2, 0), (3, 1)])
def test_norm_of_signed_powers_is_not_that_of_the_programs(background, p, count):
    found = list(source_deviations(request_of(WHOLE, p=p).case(), surfaces("torch.nn"), background))
    assert len(found) == count, found
