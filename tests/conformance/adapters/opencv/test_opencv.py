"""The adapter for OpenCV: its programs, and the nodes that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.adapters.opencv import (
    COUNTED_PADDING,
    NO_CUBIC_VOLUMES,
    NO_GRID_RANK,
    NO_INDICES_RANK,
    NO_RESIZE_RANK,
    NO_VOLUME_AVERAGES,
    NO_VOLUMES,
    OVERWRITTEN_MEMORY,
    ROUNDED_UP,
    UNSTABLE_RESIZE,
    composition_limit,
    node_limit,
    quantized_avg_pool,
)
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id

(SURFACE,) = registry.get_backend("opencv").surfaces
CASES = cases_by_id("standard")
WINDOW = {"window": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def step(operator, shape=(1, 2, 4, 4), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOW, **parameters})


def test_kernels_are_constants_and_the_net_reads_the_model():
    program = translate(CASES["conv/2d-groups"], SURFACE)
    assert isinstance(program, Program)
    assert 'inputs = {"x": x}' in program.text
    assert 'numpy_helper.from_array(kernel, "kernel")' in program.text
    assert "cv2.dnn.readNetFromONNX(" in program.text


@pytest.mark.parametrize("operator", ["global_max_pool", "global_avg_pool"])
def test_global_pooling_has_two_axes_at_most(operator):
    assert node_limit(step(operator)) is None
    assert node_limit(step(operator, (1, 2, 4, 4, 4))) is NO_VOLUMES


@pytest.mark.parametrize("shape", [(1, 2, 4), (1, 2, 4, 4, 4)])
def test_indices_of_rows_and_volumes_are_rejected(shape):
    assert node_limit(step("max_pool_with_indices", shape, output="indices")) is NO_INDICES_RANK
    assert node_limit(step("max_pool_with_indices", shape, output="values")) is None
    assert node_limit(step("max_pool_with_indices", output="indices")) is None


def test_grids_sample_planes_and_volumes():
    row, plane, volume = (1, 2, 4), (1, 2, 4, 4), (1, 2, 4, 4, 4)
    assert node_limit(step("grid_sample", row, mode="linear")) is NO_GRID_RANK
    assert node_limit(step("grid_sample", plane, mode="cubic")) is None
    assert node_limit(step("grid_sample", volume, mode="linear")) is None
    assert node_limit(step("grid_sample", volume, mode="cubic")) is NO_CUBIC_VOLUMES


@pytest.mark.parametrize(
    ("images", "size", "limit"),
    [
        (2, (2, -3, 4), OVERWRITTEN_MEMORY),
        (2, (0, 3, 4), OVERWRITTEN_MEMORY),
        (2, (2, 3, 4), None),
        (1, (2, -3, 4), None),
        (2, (-3, 4), None),
    ],
)
def test_invalid_sizes_of_grids_of_volumes_are_not_run(images, size, limit):
    matrices = (images, len(size), len(size) + 1)
    assert node_limit(step("affine_grid", matrices, grid_size=size)) is limit


def test_the_cubic_mode_of_a_grid_has_its_name_since_opset_20():
    assert "mode='cubic'" in translate(CASES["grid_sample/2d-cubic-middle"], SURFACE).text


def test_results_without_cells_are_not_returned():
    assert isinstance(node_limit(step("max_pool", (0, 2, 4, 4))), Unsupported)
    assert isinstance(composition_limit(step("max_pool", (0, 2, 4, 4)), "x = Relu(x)"), Unsupported)


def test_resize_names_its_mode_and_the_sizes_of_all_axes():
    program = translate(CASES["resize/2d-nearest-up-then-rows-down"], SURFACE)
    assert "sizes = np.array([1, 1, 2, 4])" in program.text
    assert "mode='nearest'" in program.text
    assert "axes" not in program.text
    assert "scales = np.array([1, 1, 0.6, 0.6]" in translate(CASES["resize/2d-linear-down-kept-scale"], SURFACE).text


@pytest.mark.parametrize(
    ("shape", "mode", "limit"),
    [
        ((1, 1, 1, 4), "linear", UNSTABLE_RESIZE),
        ((1, 1, 4, 1), "linear", None),
        ((1, 1, 1, 4), "nearest", None),
        ((1, 1, 4), "nearest", NO_RESIZE_RANK),
    ],
)
def test_linear_interpolation_of_one_row_is_not_run(shape, mode, limit):
    assert node_limit(step("resize", shape, mode=mode)) is limit


def test_compositions_name_the_node_that_lacks_a_kernel():
    double = step("avg_pool", dtype="float64")
    assert "Softmax" in composition_limit(double, "x = Softmax(x)").reason
    assert composition_limit(double, "x = Add(x, x)") is None
    assert composition_limit(step("avg_pool"), "x = Softmax(x)") is None


def test_operators_without_a_layer_quote_the_reader():
    assert "cannot be loaded" in node_limit(step("lp_pool", p=2)).reason


AVERAGE = {
    "window": (1, 2), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "rounding": "floor",
    "count_include_pad": False, "divisor": None, "x_zero_point": 3, "round_mode": "half_even",
    "formula": "reciprocal_plus_zero_point",
}  # fmt: skip


def average(shape=(1, 2, 4, 6), **parameters):
    return quantized_avg_pool(Step("quantized_avg_pool", shape, "uint8", {**AVERAGE, **parameters}))


def test_averages_of_quantized_numbers_are_a_node_of_another_domain():
    assert average()[-1].startswith("x = QLinearAveragePool(x, scale, zero, scale, zero, kernel_shape=[1, 2]")
    padded = {"padding": ((0, 0), (1, 1)), "count_include_pad": True}
    assert "count_include_pad=1, domain='com.microsoft'" in average(**padded)[-1]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"shape": (1, 2, 4, 7)}, ROUNDED_UP),
        ({"padding": ((0, 0), (1, 1))}, COUNTED_PADDING),
        ({"dilation": (1, 2)}, NO_VOLUME_AVERAGES),
        ({"shape": (1, 2, 4, 6, 3)}, NO_VOLUME_AVERAGES),
    ],
)
def test_an_average_that_the_node_computes_otherwise_is_unsupported(changed, reason):
    assert average(**changed) is reason


def test_an_average_of_another_formula_is_unsupported():
    # Two cells: the reciprocal is exact. Three cells have another reciprocal.
    assert not isinstance(average(formula="quotient_plus_zero_point"), Unsupported)
    other = average((1, 2, 4, 6), window=(1, 3), stride=(1, 3), formula="quotient_plus_zero_point")
    assert "computes the formula reciprocal_plus_zero_point" in other.reason
