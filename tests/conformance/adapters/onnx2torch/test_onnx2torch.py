"""The adapter for onnx2torch: its programs, and the nodes that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.onnx2torch import (
    NO_BFLOAT16,
    NO_CUBIC,
    NO_DILATED_AVERAGE,
    NO_FILTER,
    NO_HALF_VOLUMES,
    NO_INDICES,
    NO_INTEGERS_IN_ONE_DIMENSION,
    NO_LARGE_PADDING,
    NO_NEAREST_RULE,
    NO_PADDED_INTEGERS,
    NO_RULE,
    NO_WRAP,
    UNEQUAL_PADDING,
    composition_limit,
    node_limit,
)
from conformance.cases.operators import PadMode
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

(SURFACE,) = registry.get_backend("onnx2torch").surfaces
CASES = cases_by_id("standard")


def step(operator, window=(2,), dtype="float32", **parameters):
    rank = len(window)
    geometry = {"window": window, "stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank}
    return Step(operator, (1, 2, *(4,) * rank), dtype, {**geometry, **parameters})


def test_graph_has_the_newest_opset_that_is_converted_and_kernels_are_constants():
    program = translate(CASES["conv/2d-groups"], SURFACE)
    assert isinstance(program, Program)
    assert 'helper.make_opsetid("", 17)' in program.text
    assert 'inputs = {"x": x}' in program.text
    assert "onnx2torch.convert(model)" in program.text


@pytest.mark.parametrize("operator", ["avg_pool", "conv_transpose"])
def test_unequal_padding_is_not_converted(operator):
    assert node_limit(step(operator, padding=((0, 1),))) is UNEQUAL_PADDING[operator]
    assert node_limit(step(operator, padding=((1, 1),))) is None


def test_unequal_padding_of_maxima_is_for_floats():
    assert node_limit(step("max_pool", window=(2, 2), dtype="int8", padding=((0, 1), (0, 0)))) is NO_PADDED_INTEGERS
    assert node_limit(step("max_pool", window=(2, 2), dtype="int8", padding=((1, 1), (0, 0)))) is None
    assert node_limit(step("max_pool", padding=((0, 1),))) is None


def test_maxima_of_integers_need_two_dimensions():
    assert node_limit(step("max_pool", dtype="uint8")) is NO_INTEGERS_IN_ONE_DIMENSION
    assert node_limit(step("max_pool", window=(2, 2), dtype="uint8")) is None


@pytest.mark.parametrize(("before", "limit"), [(1, None), (2, NO_LARGE_PADDING)])
def test_padding_is_at_most_half_of_the_window(before, limit):
    assert node_limit(step("max_pool", window=(3,), padding=((before, before),), dilation=(2,))) is limit


def test_averages_have_no_dilation_and_no_volumes_in_float16():
    assert node_limit(step("avg_pool", dilation=(2,))) is NO_DILATED_AVERAGE
    assert node_limit(step("avg_pool", window=(2, 2, 2), dtype="float16")) is NO_HALF_VOLUMES
    assert node_limit(step("avg_pool", window=(2, 2), dtype="float16")) is None


def test_indices_are_observed_by_conventions_only():
    limit = node_limit(step("max_pool_with_indices", output="indices"))
    assert limit is NO_INDICES
    assert limit.rejected_call is not None
    assert node_limit(step("max_pool_with_indices", output="values")) is None


def test_nodes_that_are_not_converted_quote_the_error():
    assert "Converter is not implemented" in node_limit(step("lp_pool", p=2)).reason
    assert node_limit(step("pad", padding=((1, 1),), mode=PadMode.WRAP)) is NO_WRAP
    assert node_limit(step("max_pool", dtype="bfloat16")) is NO_BFLOAT16


def test_compositions_name_the_node_that_is_missing():
    for text in ("x = ReduceMax(x, axes)", "x = Cast(x, to=TensorProto.UINT32)", "x = GatherND(x, y, batch_dims=1)"):
        assert isinstance(composition_limit(step("max_pool"), text), Unsupported)
    assert composition_limit(step("max_pool"), "x = ReduceSum(x, axes)") is None
    assert composition_limit(step("max_pool"), "x = Cast(x, to=TensorProto.INT32)") is None


@pytest.mark.parametrize("case_id", ["max_pool/words/1d-same-with-stride-2", "conv/words/1d-same-of-one-odd-cell"])
def test_programs_do_not_name_the_same_padding(case_id):
    program = translate(CASES[case_id], SURFACE)
    assert isinstance(program, Unsupported) or 'auto_pad="SAME' not in program.text


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}, None),
        ({"mode": "nearest", "coordinates": "half_pixel", "nearest_rounding": "ceil"}, NO_NEAREST_RULE),
        ({"mode": "nearest"}, None),
        ({"mode": "linear", "coordinates": "half_pixel"}, None),
        ({"mode": "linear", "coordinates": "align_corners"}, None),
        ({"mode": "linear", "coordinates": "asymmetric"}, NO_RULE),
        ({"mode": "cubic", "coordinates": "half_pixel"}, None),
        ({"mode": "cubic", "coordinates": "half_pixel", "cubic_a": -0.5}, NO_CUBIC),
        ({"mode": "cubic", "coordinates": "half_pixel", "exclude_outside": True}, NO_FILTER),
        ({"mode": "linear", "coordinates": "half_pixel", "size": (2, 2), "antialias": True}, NO_FILTER),
        ({"mode": "linear", "coordinates": "half_pixel", "antialias": True}, None),
    ],
)
def test_resize_has_the_rules_of_pytorch(parameters, limit):
    plane = Step("resize", (1, 2, 4, 4), "float32", {"cubic_a": -0.75, "size": (7, 7), **parameters})
    assert node_limit(plane) is limit


def test_other_coordinates_that_are_the_same_for_a_size():
    # The converter writes half_pixel for asymmetric. Both copy the single cell of the input.
    row = Step("resize", (1, 1, 1), "float32", {"size": (4,), "mode": "linear", "coordinates": "asymmetric"})
    assert node_limit(row) is None


def test_resize_has_the_sizes_of_all_axes():
    program = translate(CASES["resize/2d-linear-two-channels"], SURFACE)
    assert "sizes = np.array([1, 2, 1, 1])" in program.text
    assert "axes" not in program.text
