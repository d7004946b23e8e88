"""The module `nodes` of ONNX."""

from conformance.adapters.onnx.nodes import fold, grid_sample, resize
from conformance.cases.steps import Step, case_step
from conformance.translation.lowering import translate
from tests.conformance.adapters.onnx.programs import PLANE, RUNTIME, both, nodes


@both
def test_pads_before_all_axes_come_first(made, surface):
    case = made("pad", f"{PLANE}, pads: [[1, 2], [3, 0]], value: 7")
    text = translate(case, surface).text
    assert "pads = np.array([0, 0, 1, 3, 0, 0, 2, 0])" in text
    assert "value = np.array(7, x.dtype)" in text
    assert nodes(translate(case, surface)) == ['"Pad", ["x", "pads", "value"], ["y"]']


@both
def test_indices_are_converted_to_indices_in_each_channel(made, surface):
    x = "x: {values: arange, shape: [2, 2, 1, 4]}"
    case = made("max_pool_with_indices", f"{x}, window: [1, 2], stride: [1, 2], output: indices")
    program = translate(case, surface)
    assert program.how == "composed"
    assert "plane = np.array(4)" in program.text
    assert nodes(program)[1] == '"Mod", ["indices", "plane"], ["y"]'


@both
def test_indices_of_one_channel_are_not_converted(made, surface):
    case = made("max_pool_with_indices", f"{PLANE}, window: [1, 2], stride: [1, 2], output: indices")
    program = translate(case, surface)
    assert (program.how, len(nodes(program))) == ("native", 1)


@both
def test_unpooling_converts_indices_to_indices_in_the_whole_tensor(made, surface):
    case = made(
        "max_unpool",
        "x: {values: arange, shape: [1, 3, 2]}, indices: {values: [[[0, 1], [2, 3], [0, 3]]]}, output_size: [4]",
    )
    program = translate(case, surface)
    assert "first = np.arange(3, dtype=indices.dtype).reshape(1, 3, 1) * 4" in program.text
    assert nodes(program)[0] == '"Add", ["indices", "first"], ["add"]'


@both
def test_convention_about_the_default_stride_passes_no_strides(catalogue, surface):
    assert "strides" not in translate(catalogue.by_id["max_pool/stride-when-none-is-given"], surface).text


@both
def test_flat_pads_are_passed_with_their_axes(catalogue, surface):
    program = translate(catalogue.by_id["pad/order-of-pads"], surface)
    assert "pads = np.array([1, 2, 3, 0])" in program.text
    assert nodes(program) == ['"Pad", ["x", "pads", "", "axes"], ["y"]']


@both
def test_unpooling_to_a_smaller_size_pads_by_less_than_the_window(made, surface):
    case = made("max_unpool", "x: {values: [[[1, 2, 3]]]}, indices: {values: [[[0, 0, 0]]]}, output_size: [1]")
    (node,) = nodes(translate(case, surface))
    assert "kernel_shape=[3], pads=[2, 2]" in node


@both
def test_resize_has_scales_or_sizes(made, surface):
    sized = translate(made("resize", f"{PLANE}, size: [4, 3], mode: linear"), surface)
    assert "sizes = np.array([4, 3])" in sized.text
    assert nodes(sized) == ['"Resize", ["x", "", "", "sizes"], ["y"], axes=[2, 3], mode=\'linear\'']
    scaled = translate(made("resize", f"{PLANE}, scale: [0.5, 2], mode: linear"), surface)
    assert "scales = np.array([0.5, 2], np.float32)" in scaled.text
    assert nodes(scaled) == ['"Resize", ["x", "", "scales"], ["y"], axes=[2, 3], mode=\'linear\'']


CROP = "mode: linear, coordinates: tf_crop_and_resize"


@both
def test_resize_of_a_region_has_its_ends_as_an_input(made, surface):
    text = f"{PLANE}, size: [4, 3], {CROP}, roi_start: [0.25, -0.5], extrapolation_value: -7"
    crop = translate(made("resize", text), surface)
    assert "roi = np.array([0.25, -0.5, 1, 1], np.float32)" in crop.text
    (node,) = nodes(crop)
    assert node.startswith('"Resize", ["x", "roi", "", "sizes"], ["y"], axes=[2, 3]')
    assert node.endswith("coordinate_transformation_mode='tf_crop_and_resize', extrapolation_value=-7.0")
    whole = translate(made("resize", f"{PLANE}, size: [4, 3], {CROP}"), surface)
    assert "roi = np.array([0, 0, 1, 1], np.float32)" in whole.text


def test_resize_without_the_attribute_axes_has_a_region_of_all_axes(made):
    case = made("resize", f"{PLANE}, size: [4, 3], {CROP}, roi_end: [0.5, 2]")
    lines = resize(case_step(case), all_axes=True)
    assert lines[0] == "roi = np.array([0, 0, 0, 0, 1, 1, 0.5, 2], np.float32)"


def test_old_coordinates_have_an_old_opset_and_no_attribute_axes(made):
    surface = RUNTIME
    old = f"{PLANE}, size: [4, 3], mode: nearest, coordinates: tf_half_pixel_for_nn"
    text = translate(made("resize", old), surface).text
    assert 'helper.make_opsetid("", 12)' in text
    assert "axes=" not in text
    assert "roi = np.array([], np.float32)" in text
    new = translate(made("resize", f"{PLANE}, size: [4, 3], mode: nearest"), surface)
    assert 'helper.make_opsetid("", 26)' in new.text
    filtered = f"{PLANE}, size: [1, 1], mode: linear, antialias: true, coordinates: tf_half_pixel_for_nn"
    assert "Resize-11" in translate(made("resize", filtered), surface).reason


@both
def test_resize_names_rules_that_are_not_the_default(made, surface):
    text = f"{PLANE}, size: [4, 4], mode: nearest, coordinates: asymmetric, nearest_rounding: floor"
    (node,) = nodes(translate(made("resize", text), surface))
    assert node.endswith("axes=[2, 3], coordinate_transformation_mode='asymmetric', nearest_mode='floor'")
    (node,) = nodes(translate(made("resize", f"{PLANE}, size: [4, 4], mode: cubic, cubic_a: -0.5"), surface))
    assert node.endswith("mode='cubic', cubic_coeff_a=-0.5")
    filtered = f"{PLANE}, size: [1, 1], mode: linear, antialias: true, exclude_outside: true"
    (node,) = nodes(translate(made("resize", filtered), surface))
    assert node.endswith("mode='linear', antialias=1, exclude_outside=1")
    assert (
        "nearest, linear and cubic" in translate(made("resize", f"{PLANE}, size: [2, 2], mode: area"), surface).reason
    )


@both
def test_grid_sample_names_what_is_not_the_default(made, surface):
    plane = f"{PLANE}, grid: {{values: integers}}, output_size: [2, 3]"
    assert nodes(translate(made("grid_sample", f"{plane}, mode: linear"), surface)) == [
        '"GridSample", ["x", "grid"], ["y"]'
    ]
    text = f"{plane}, mode: nearest, padding_mode: border, align_corners: true"
    assert nodes(translate(made("grid_sample", text), surface)) == [
        '"GridSample", ["x", "grid"], ["y"], mode=\'nearest\', padding_mode=\'border\', align_corners=1'
    ]


def test_modes_of_grid_sample_have_other_names_before_opset_20(made):
    step = case_step(made("grid_sample", f"{PLANE}, grid: {{values: integers}}, output_size: [2, 3], mode: cubic"))
    assert grid_sample(step, opset_version=16) == 'GridSample(x, grid, mode="bicubic")'
    assert grid_sample(step, opset_version=20) == 'GridSample(x, grid, mode="cubic")'


@both
def test_blocks_have_a_mode_in_one_direction_only(made, surface):
    channels = "x: {values: integers, shape: [1, 8, 2, 2]}, block: 2"
    assert nodes(translate(made("depth_to_space", f"{channels}, order: dcr"), surface)) == [
        '"DepthToSpace", ["x"], ["y"], blocksize=2'
    ]
    assert nodes(translate(made("depth_to_space", f"{channels}, order: crd"), surface)) == [
        '"DepthToSpace", ["x"], ["y"], blocksize=2, mode=\'CRD\''
    ]
    assert nodes(translate(made("space_to_depth", f"{channels}, order: dcr"), surface)) == [
        '"SpaceToDepth", ["x"], ["y"], blocksize=2'
    ]
    assert translate(made("space_to_depth", f"{channels}, order: crd"), surface).reason == "the call has the order dcr"
    row = "x: {values: integers, shape: [1, 8, 2]}, block: 2, order: dcr"
    assert translate(made("depth_to_space", row), surface).reason == "the call is for planes only"


def test_fold_joins_the_axes_of_the_windows_first():
    given = {"window": (2, 3), "stride": (1, 2), "padding": ((1, 0), (0, 0)), "dilation": (1, 1), "order": "crd"}
    step = Step("fold", (1, 12, 4, 2), "float32", {**given, "output_size": (4, 5)})
    lines = fold(step)
    assert lines[0] == "columns = np.array([1, 12, 8])"
    assert lines[-1] == "x = Col2Im(x, image, block, strides=[1, 2], pads=[1, 0, 0, 0])"
    assert "the order crd" in fold(step.with_parameters(order="dcr")).reason
