"""The adapter for TVM: its programs, and the nodes that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.tvm import (
    FLOAT32_LRN,
    FLOAT32_SAMPLES,
    NO_BFLOAT16_POWER,
    NO_BOOL_REDUCTION,
    NO_EVEN_SIZE,
    NO_GRID_OF_ONE_CELL,
    NO_GRID_RANK,
    NO_INDICES,
    NO_LRN_RANK,
    ROUNDED_STEPS,
    composition_limit,
    node_limit,
)
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

BACKEND = registry.get_backend("tvm")
(SURFACE,) = BACKEND.surfaces
CASES = cases_by_id("standard")


def step(operator, dtype="float32", **parameters):
    geometry = {"window": (2,), "stride": (1,), "padding": ((0, 0),), "dilation": (1,)}
    return Step(operator, (1, 2, 4), dtype, {**geometry, **parameters})


def test_kernels_are_constants_of_a_graph_that_is_compiled():
    program = translate(CASES["conv/2d-groups"], SURFACE)
    assert isinstance(program, Program)
    assert 'tvm.compile(from_onnx(model), target="llvm")' in program.text
    assert 'inputs = {"x": x}' in program.text


def test_indices_of_maxima_are_not_read_from_the_second_output():
    assert node_limit(step("max_pool_with_indices", output="indices")) is NO_INDICES
    assert node_limit(step("max_pool_with_indices")) is None
    written = translate(CASES["max_pool_with_indices/2d-indices"], SURFACE)
    assert isinstance(written, Program)
    assert "values, x" not in written.text
    assert "ArgMax" in written.text


def test_convention_of_indices_is_unsupported():
    assert translate(CASES["max_pool_with_indices/flattening"], SURFACE) is NO_INDICES


def test_powers_of_bfloat16_are_unsupported():
    assert node_limit(step("lp_pool", "bfloat16", p=2)) is NO_BFLOAT16_POWER
    assert node_limit(step("lp_pool", p=2)) is None
    assert composition_limit(step("lp_pool", "bfloat16", p=2), "x = Pow(x, power)") is NO_BFLOAT16_POWER
    assert composition_limit(step("lp_pool", p=2), "x = Pow(x, power)") is None


def test_reductions_of_bool_are_unsupported():
    assert composition_limit(step("min_pool", "bool"), "x = ReduceMin(windows, last)") is NO_BOOL_REDUCTION
    assert composition_limit(step("min_pool", "int32"), "x = ReduceMin(windows, last)") is None
    assert composition_limit(step("max_pool", "bool"), "x = ReduceMax(windows, last)") is NO_BOOL_REDUCTION


def normalization(shape=(1, 5, 4, 4), dtype="float32", size=3, **parameters):
    return Step("lrn", shape, dtype, {"local_size": size, **parameters})


def test_normalization_is_in_float32_with_an_odd_window():
    assert node_limit(normalization()) is None
    assert node_limit(normalization(dtype="float64")) is FLOAT32_LRN
    assert node_limit(normalization((1, 5, 2, 2, 2))) is NO_LRN_RANK
    assert node_limit(normalization(size=4, extra_channel="after")) is NO_EVEN_SIZE


def test_an_even_window_of_a_convention_and_of_one_channel_is_written():
    assert node_limit(normalization(size=4)) is None
    assert node_limit(normalization((1, 1, 4, 4), size=4, extra_channel="after")) is None


def test_grids_of_16_bits_and_of_rows_are_not_sampled():
    assert node_limit(Step("grid_sample", (1, 2, 4, 4), "float16", {})) is FLOAT32_SAMPLES
    assert node_limit(Step("grid_sample", (1, 2, 4), "float32", {})) is NO_GRID_RANK
    assert node_limit(Step("grid_sample", (1, 2, 4, 4), "float64", {})) is None


@pytest.mark.parametrize(("extra", "stride", "rejected"), [(1, 1, True), (2, 2, True), (1, 2, False)])
def test_output_padding_is_below_the_stride(extra, stride, rejected):
    limit = node_limit(step("conv_transpose", stride=(stride,), output_padding=(extra,)))
    assert isinstance(limit, Unsupported) == rejected


def test_sizes_of_resize_are_those_of_all_axes():
    program = translate(CASES["resize/1d-linear-to-one-cell-align-corners"], SURFACE)
    assert isinstance(program, Program)
    assert "axes=" not in program.text
    assert "sizes = np.array([1, 1, 1])" in program.text


def test_integers_are_cast_where_a_schema_allows_floats_only():
    assert "does not allow int32" in node_limit(step("max_pool", "int32")).reason


def test_resizing_of_float64_is_unsupported():
    assert not SURFACE.supports("resize", "float64")
    assert SURFACE.supports("resize", "float32")
    assert SURFACE.supports("conv", "float64")


def test_grids_from_matrices_have_two_cells_or_more_with_align_corners():
    assert node_limit(step("affine_grid", grid_size=(2, 1), align_corners=True)) is NO_GRID_OF_ONE_CELL
    assert node_limit(step("affine_grid", grid_size=(2, 1), align_corners=False)) is None
    assert node_limit(step("affine_grid", grid_size=(2, 3), align_corners=True)) is None
    assert node_limit(step("affine_grid", "float16", grid_size=(2, 3))) is ROUNDED_STEPS


def test_deformable_convolution_has_no_converter():
    assert (
        '"The following operators are not supported for frontend ONNX: DeformConv"'
        in node_limit(step("deform_conv")).reason
    )
