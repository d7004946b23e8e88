import itertools

import numpy as np
import pytest

from conformance.adapters.api import Program
from conformance.catalogue import describe
from conformance.judging.expected import compute_reference
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from conformance.translation.side_by_side import TranslationBackground, translate_case
from conformance.translation.single_call import case_in_effect, find_single_call, single_call_case, sizes_text

KERAS = describe.surfaces_by_name()["keras-tensorflow.layers"][1]
TORCH = describe.surfaces_by_name()["torch.nn"][1]


def case_of(operator, extent, **given):
    return CaseRequest(operator, given, shape=(1, 2, extent, extent)).case()


def result(case):
    x = case.inputs["x"].make()
    return compute_reference(case.operator, {"x": x}, case.parameters).value


@pytest.mark.parametrize("operator", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("rounding", ["floor", "ceil"])
def test_the_parameters_in_effect_give_the_same_result(operator, rounding):
    changed = 0
    for extent, window, stride, padding in itertools.product(range(4, 9), (2, 3), (1, 2, 3), (0, 1)):
        given = {"window": (window, window), "stride": (stride, stride), "padding": ((padding, padding),) * 2}
        for counts in (True, False) if operator == "avg_pool" else (None,):
            more = {} if counts is None else {"count_include_pad": counts}
            case = case_of(operator, extent, **given, **more, rounding=rounding)
            other = case_in_effect(case)
            if other is not None:
                changed += 1
                assert other.parameters["rounding"] == "floor"
                assert np.array_equal(result(other), result(case))
    assert changed > 10


CEIL = {"window": (3, 3), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "rounding": "ceil"}


@pytest.mark.parametrize(
    ("extent", "padding", "text"),
    [(31, ((0, 0), (0, 0)), "MaxPooling2D(3, strides=2, dtype"), (30, ((0, 1), (0, 1)), 'padding="same"')],
)
def test_rounding_up_is_one_call_where_the_size_allows_it(extent, padding, text):
    case = case_of("max_pool", extent, **CEIL)
    found = single_call_case(case, KERAS)
    assert found.parameters["padding"] == padding
    program = translate(found, KERAS)
    assert isinstance(program, Program)
    assert text in program.text
    assert "stack" not in program.text


def test_a_target_with_the_parameter_needs_no_other_one():
    assert single_call_case(case_of("max_pool", 31, **CEIL), TORCH) is None


def test_counted_padding_remains():
    given = {"window": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)), "count_include_pad": True}
    assert single_call_case(case_of("avg_pool", 8, **given), KERAS) is None


def test_padding_that_no_single_call_has_remains():
    given = {"window": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1))}
    assert single_call_case(case_of("max_pool", 8, **given), KERAS) is None


def test_the_sizes_for_which_a_call_is_exact_are_named():
    assert sizes_text(case_of("max_pool", 31, **CEIL), KERAS) == (
        "exact for 29 x 29, 31 x 31 and 33 x 33, not for 30 x 30 and 32 x 32"
    )
    # For even extents, padding="same" adds no cell.
    pairs = CEIL | {"window": (2, 2)}
    assert sizes_text(case_of("max_pool", 7, **pairs), KERAS) == "exact for 5 x 5, 6 x 6, 7 x 7, 8 x 8 and 9 x 9"
    assert (
        sizes_text(case_of("max_pool", 8, **pairs), KERAS)
        == "exact for 6 x 6, 8 x 8 and 10 x 10, not for 7 x 7 and 9 x 9"
    )


@pytest.mark.parametrize(
    ("window", "extent", "text", "sizes"),
    [
        (2, 8, "MaxPooling2D(2, dtype", "exact for 6 x 6, 8 x 8 and 10 x 10, not for 7 x 7 and 9 x 9"),
        (3, 31, "MaxPooling2D(3, strides=2, dtype", "exact for 29 x 29, 31 x 31 and 33 x 33, not for 30 x 30"),
        (3, 30, 'padding="same"', "exact for 28 x 28, 30 x 30 and 32 x 32, not for 29 x 29 and 31 x 31"),
    ],
)
def test_a_requested_call_is_translated_to_the_one_exact_call(window, extent, text, sizes):
    given = CEIL | {"window": (window, window)}
    request = CaseRequest("max_pool", given, shape=(1, 2, extent, extent))
    surface = describe.surfaces_by_name()["keras-tensorflow.layers"]
    (found,) = translate_case(request.case(), [surface], TranslationBackground(), request)
    assert found.program.how == "native"
    assert text in found.program.text
    assert sizes in found.remarks[0]
    # A case of the catalogue has the program that a run compares.
    (own,) = translate_case(request.case(), [surface], TranslationBackground())
    assert own.program == translate(request.case(), surface[1])


def test_a_call_that_is_exact_for_every_size_has_no_note():
    case = case_of("max_pool", 8, window=(2, 2), stride=(2, 2), padding=((0, 0), (0, 0)))
    assert find_single_call(case, KERAS) is None
