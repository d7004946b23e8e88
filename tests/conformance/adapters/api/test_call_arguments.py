"""Arguments that calls of several frameworks share."""

import pytest

from conformance.adapters.api import (
    Step,
    count_include_pad_argument,
    crops,
    dilation_argument,
    exceeds_extent,
    flat_pads,
    groups_argument,
    nonzero_argument,
    pooling_stride_argument,
    rejected_by_extent,
    spatial_axes,
    stride_argument,
)
from conformance.cases.case import FLAT_PADS_KEY


def step(**parameters):
    return Step("conv", (1, 2, 5, 5), "float32", parameters)


def padding(mode, *pads, shape=(1, 1, 5)):
    return Step("pad", shape, "float32", {"mode": mode, "pads": pads})


@pytest.mark.parametrize(
    ("stride", "text"), [((1, 1), None), ((2, 2), "2"), ((1, 2), "(1, 2)"), (None, None), ((1,), "1")]
)
def test_stride_is_left_out_if_it_is_one_on_every_axis(stride, text):
    assert stride_argument(step(stride=stride)) == text


def test_dilation_groups_and_pads_are_left_out_where_they_change_nothing():
    assert (dilation_argument(step(dilation=(1, 1))), dilation_argument(step(dilation=(1, 3)))) == (None, "(1, 3)")
    assert (groups_argument(step(groups=1)), groups_argument(step(groups=2))) == (None, "2")
    assert (nonzero_argument((0, 0)), nonzero_argument((0, 1)), nonzero_argument((2, 2))) == (None, "(0, 1)", "2")


def test_flat_pads_start_with_the_last_axis():
    assert flat_pads(padding("edge", (1, 2), (3, 4), shape=(1, 1, 5, 5))) == "(3, 4, 1, 2)"


def test_flat_pads_of_a_convention_case_are_passed_unchanged():
    observed = Step("pad", (1, 1, 5, 5), "float32", {"pads": ((0, 0), (0, 0)), FLAT_PADS_KEY: (1, 2, 3, 0)})
    assert flat_pads(observed) == "(1, 2, 3, 0)"


def test_a_negative_pad_crops():
    assert crops(padding("constant", (1, -1)))
    assert not crops(padding("constant", (1, 0)))


@pytest.mark.parametrize(
    ("mode", "pad", "exceeds"), [("reflect", 4, False), ("reflect", 5, True), ("wrap", 5, False), ("edge", 99, False)]
)
def test_pads_are_limited_by_the_extent_and_the_margin_of_the_mode(mode, pad, exceeds):
    assert exceeds_extent(padding(mode, (0, pad)), {"reflect": 1, "wrap": 0}) is exceeds


@pytest.mark.parametrize(("mode", "pad", "limit"), [("reflect", 5, "less than"), ("wrap", 6, "at most")])
def test_rejected_pads_name_the_mode_of_pytorch_and_its_limit(mode, pad, limit):
    unsupported = rejected_by_extent(padding(mode, (0, pad)), "pad(x)")
    assert unsupported.rejected_call == "pad(x)"
    assert f"{limit} the extent" in unsupported.reason
    assert rejected_by_extent(padding(mode, (0, pad - 1)), "pad(x)") is None


def test_stride_of_pooling_is_left_out_where_it_is_the_window():
    assert pooling_stride_argument(step(window=(2, 3), stride=(2, 3))) is None
    assert pooling_stride_argument(step(window=(2, 3), stride=None)) is None
    assert pooling_stride_argument(step(window=(2, 3), stride=(2, 2))) == "2"


def test_padding_is_excluded_only_where_there_is_some():
    def argument(pad, **counted):
        return count_include_pad_argument(step(padding=((pad, 0), (0, 0)), **counted))

    assert argument(1, count_include_pad=False) == "False"
    assert argument(1, count_include_pad=True) is argument(0, count_include_pad=False) is argument(1) is None


def test_spatial_axes_depend_on_the_layout():
    assert spatial_axes(step()) == (2, 3)
    assert spatial_axes(step(), first=1) == (1, 2)
