"""The adapter for tract: its programs, and the nodes that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.tract import (
    FLOAT32_SAMPLES,
    LARGEST_WINDOW,
    NO_BFLOAT16,
    NO_CROPPING,
    NO_LARGE_WINDOW,
    NO_WORDS,
    NO_WRAP,
    composition_limit,
    node_limit,
)
from conformance.cases.operators import PadMode
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

(SURFACE,) = registry.get_backend("tract").surfaces
CASES = cases_by_id("standard")


def step(operator, window=(2,), dtype="float32", **parameters):
    geometry = {"window": window, "stride": (1,), "padding": ((0, 0),), "dilation": (1,)}
    return Step(operator, (1, 2, 4), dtype, {**geometry, **parameters})


def test_the_graph_is_read_from_a_file_and_kernels_are_constants():
    program = translate(CASES["conv/2d-groups"], SURFACE)
    assert isinstance(program, Program)
    assert "tract.onnx().load(file.name)" in program.text
    assert 'inputs = {"x": x}' in program.text


def test_grids_are_sampled_in_float32():
    case = "grid_sample/linear-at-rounded-points/2d-i5x7-to4x6-linear-border-float64"
    assert translate(CASES[case], SURFACE).reason == FLOAT32_SAMPLES.reason
    assert "GridSample" in translate(CASES["grid_sample/2d-linear-centres"], SURFACE).text


@pytest.mark.parametrize("padding", [((-1, 0),), ((0, -1),), ((-1, 1),)])
def test_pad_does_not_crop(padding):
    assert node_limit(step("pad", padding=padding, mode=PadMode.EDGE)) is NO_CROPPING
    assert node_limit(step("pad", padding=((1, 1),), mode=PadMode.EDGE)) is None


def test_pad_has_no_mode_wrap():
    wrapped = node_limit(step("pad", padding=((1, 1),), mode=PadMode.WRAP))
    assert wrapped is NO_WRAP
    assert wrapped.rejected_call is not None


def test_windows_that_take_minutes_are_not_run():
    assert node_limit(step("max_pool", window=(LARGEST_WINDOW + 1,))) is NO_LARGE_WINDOW
    assert node_limit(step("max_pool", window=(LARGEST_WINDOW,))) is None
    assert node_limit(step("max_pool", window=(1 << 63,))) is None


def test_nodes_without_an_implementation_quote_the_reader():
    assert "Unimplemented(LpPool)" in node_limit(step("lp_pool", p=2)).reason


def test_bfloat16_is_unsupported():
    assert node_limit(step("max_pool", dtype="bfloat16")) is NO_BFLOAT16


def test_compositions_name_the_dtype_that_a_node_lacks():
    reduction = "x = ReduceMax(x, axes)"
    assert isinstance(composition_limit(step("max_pool", dtype="uint64"), reduction), Unsupported)
    assert composition_limit(step("max_pool", dtype="uint32"), "x = Pad(x, pads)") is NO_WORDS
    assert composition_limit(step("max_pool", dtype="uint32"), reduction) is None
    assert composition_limit(step("max_pool"), reduction) is None
