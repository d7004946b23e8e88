"""The adapter for IREE: its programs, and the nodes that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.iree import NO_BFLOAT16, node_limit
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

(SURFACE,) = registry.get_backend("iree").surfaces
CASES = cases_by_id("standard")


def step(operator, dtype="float32", **parameters):
    geometry = {"window": (2,), "stride": (1,), "padding": ((0, 0),), "dilation": (1,)}
    return Step(operator, (1, 2, 4), dtype, {**geometry, **parameters})


def test_kernels_are_constants_of_a_graph_that_is_imported_and_compiled():
    program = translate(CASES["conv/2d-groups"], SURFACE)
    assert isinstance(program, Program)
    assert "onnx_importer.NodeImporter.define_function(imported.main_graph, operation)" in program.text
    assert 'target_backends=["llvm-cpu"], input_type="onnx"' in program.text
    assert 'inputs = {"x": x}' in program.text


def test_float64_is_not_computed_in_float32():
    program = translate(CASES["conv/2d-groups"], SURFACE)
    assert "--iree-input-demote-f64-to-f32=false" in program.text


def test_arrays_of_bfloat16_are_unsupported():
    case = next(case for case in CASES.values() if case.operator == "max_pool" and case.dtype == "bfloat16")
    assert translate(case, SURFACE).reason == NO_BFLOAT16.reason


def test_nodes_have_the_dtypes_of_their_schemas():
    assert "does not allow int32" in node_limit(step("max_pool", "int32")).reason
    assert node_limit(step("max_pool")) is None


@pytest.mark.parametrize(("extra", "stride", "rejected"), [(1, 1, True), (2, 2, True), (1, 2, False)])
def test_output_padding_is_below_the_stride(extra, stride, rejected):
    limit = node_limit(step("conv_transpose", stride=(stride,), output_padding=(extra,)))
    assert isinstance(limit, Unsupported) == rejected
