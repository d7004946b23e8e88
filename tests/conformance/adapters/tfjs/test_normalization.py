"""The module `normalization` of the adapter for TensorFlow.js."""

from conformance.adapters.api.normalization.recipes import ONLY_ODD
from conformance.adapters.tfjs.normalization import NO_RANK, fallback, lrn
from conformance.cases.steps import Step

NUMBERS = {"alpha": 2, "beta": 0.75, "k": 1, "alpha_over_size": False, "extra_channel": "before"}


def step(shape=(1, 5, 2, 3), size=3, **parameters):
    return Step("lrn", shape, "float32", {"local_size": size, **NUMBERS, **parameters})


def test_arguments_are_the_radius_the_constant_alpha_and_beta():
    assert lrn(step(size=5)) == "tf.localResponseNormalization(x, 2, 1, 2, 0.75)"


def test_numbers_that_a_convention_leaves_out_are_undefined_or_not_written():
    bare = {"local_size": 3, "extra_channel": "after"}
    assert lrn(Step("lrn", (1, 5, 2, 3), "float32", bare)) == "tf.localResponseNormalization(x, 1)"
    text = lrn(Step("lrn", (1, 5, 2, 3), "float32", {**bare, "beta": 0.75}))
    assert text == "tf.localResponseNormalization(x, 1, undefined, undefined, 0.75)"


def test_even_windows_are_not_written():
    assert lrn(step(size=4)) is fallback(step(size=4)) is ONLY_ODD


def test_rows_are_planes_with_one_row():
    assert lrn(step((1, 5, 4))) is NO_RANK
    assert fallback(step((1, 5, 4)))[0] == "x = tf.reshape(x, [1, 1, 4, 5])"
    assert fallback(step((1, 5, 4)))[-1] == "x = tf.reshape(x, [1, 4, 5])"
