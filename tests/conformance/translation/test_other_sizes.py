"""Sizes for further calls of a compiled program: the calls of a case must be the same for them."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import InputSizes, Unsupported
from conformance.translation.lowering import translate
from conformance.translation.other_sizes import ONE_SIZE, SIZE_OF_MATRICES, SIZES_OF_INDICES, other_sizes
from tests.support.fake_backends import one

X = "x: {values: integers, shape: [2, 1, 7, 5]}"


def constant(_case):
    return "the same calls"


def test_a_few_cells_are_added_to_every_axis_but_an_extent_of_one(tmp_path):
    sizes = other_sizes(one(tmp_path, f"id: a, {X}, window: 2"), constant)
    assert sizes == {"x": InputSizes((2, 1, 7, 5), ((3, 1, 8, 6), (3, 1, 9, 7)))}
    single = one(tmp_path, "id: a, x: {values: integers, shape: [1, 1, 7]}, window: 2")
    assert other_sizes(single, constant)["x"].others == ((1, 1, 8), (1, 1, 9))


def test_calls_that_depend_on_the_remainder_get_sizes_with_the_same_remainder(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 7, stride: [7, 1], padding: [3, 1]")
    sizes = other_sizes(case, lambda other: other.shape[2] % 7)
    assert sizes["x"].others == ((3, 1, 14, 6), (3, 1, 21, 7))


def test_calls_that_depend_on_the_size_have_no_other_sizes(tmp_path):
    assert other_sizes(one(tmp_path, f"id: a, {X}, window: 2"), lambda other: other.shape) is ONE_SIZE


def test_same_padding_is_that_of_the_other_size(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 3, stride: 2, padding: same_upper")
    seen = []

    def lower(other):
        seen.append((other.shape[2:], other.parameters["padding"]))

    other_sizes(case, lower)
    assert seen[:2] == [((7, 5), ((1, 1), (1, 1))), ((8, 6), ((0, 1), (0, 1)))]


def test_gradients_have_the_shape_of_the_other_output(tmp_path):
    text = f"id: a, {X}, grad: {{values: integers}}, window: 2, stride: 2"
    sizes = other_sizes(one(tmp_path, text, operator="max_pool_grad"), constant)
    assert sizes["grad"] == InputSizes((2, 1, 3, 2), ((3, 1, 4, 3), (3, 1, 4, 3)))


def test_indices_belong_to_one_size(tmp_path):
    text = "id: a, x: {values: [[[1, 2]]]}, indices: {values: [[[0, 3]]]}, output_size: 4"
    assert other_sizes(one(tmp_path, text, operator="max_unpool"), constant) is SIZES_OF_INDICES


def test_matrices_have_one_size(tmp_path):
    text = "id: a, x: {values: [[[1, 0, 0], [0, 1, 0]]]}, grid_size: [2, 3]"
    assert other_sizes(one(tmp_path, text, operator="affine_grid"), constant) is SIZE_OF_MATRICES


def test_dimensions_that_vary_have_no_number():
    sizes = InputSizes((2, 1, 7, 5), ((3, 1, 8, 5),))
    assert sizes.dimensions() == (None, 1, None, 5)
    assert sizes.channels_last() == InputSizes((2, 7, 5, 1), ((3, 8, 5, 1),))


@pytest.mark.parametrize(
    ("backend", "surface", "parts"),
    [
        ("torch", "torch.compile.dynamic", ["dynamic=True", "forward(torch.ones((3, 1, 8, 6)"]),
        ("tensorflow", "tf.function.dynamic", ["tf.TensorSpec([None, None, None, 1]", "graph(tf.ones((3, 8, 6, 1)"]),
        ("jax", "jax.export", ['symbolic_shape("n, 1, d2, d3"', "exported.call(jnp.ones((3, 1, 8, 6)"]),
        ("onnxruntime", "onnxruntime.dynamic", ["['x0', 1, 'x2', 'x3']", "np.ones((3, 1, 8, 6)"]),
        ("openvino", "openvino.dynamic", ["ops.parameter([-1, 1, -1, -1]", "ov.Shape([3, 1, 8, 6])"]),
    ],
)
def test_programs_have_symbolic_extents_and_are_called_with_another_size_first(tmp_path, backend, surface, parts):
    (found,) = [known for known in registry.get_backend(backend).surfaces if known.name == surface]
    text = translate(one(tmp_path, f"id: a, {X}, window: 3, stride: 2"), found).text
    assert [part for part in parts if part not in text] == []


def test_window_that_exceeds_the_input_is_unsupported_where_nothing_checks_it(tmp_path):
    (found,) = [known for known in registry.get_backend("openvino").surfaces if known.name == "openvino.dynamic"]
    fits = one(tmp_path, f"id: a, {X}, pads: [[4, 4], [4, 4]], mode: reflect", operator="pad")
    answers = "answers: {x: {}, y: {rejected: NegativePads}}"
    beyond = f"id: a, {X}, about: b, pads: [[0, 0], [5, 0]], mode: reflect, {answers}"
    exceeds = one(tmp_path, beyond, operator="pad", section="questions")
    assert not isinstance(translate(fits, found), Unsupported)
    assert "reads past their end" in translate(exceeds, found).reason
