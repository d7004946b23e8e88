"""The module `normalization` of the adapter for TensorFlow."""

from conformance.adapters.api.normalization.recipes import ONLY_ODD
from conformance.adapters.tensorflow.normalization import NO_BFLOAT16, NO_DOUBLE, NO_RANK, fallback, lrn
from conformance.cases.steps import Step

NUMBERS = {"alpha": 3, "beta": 0.75, "k": 2, "alpha_over_size": True, "extra_channel": "after"}
CALL = "tf.nn.local_response_normalization(x, depth_radius=1, bias=2, alpha=1, beta=0.75)"


def step(size=3, shape=(1, 4, 2, 3), dtype="float32", **parameters):
    return Step("lrn", shape, dtype, {"local_size": size, **NUMBERS, **parameters})


def test_the_call_has_a_radius_and_alpha_as_it_is():
    assert lrn(step()) == CALL
    assert "alpha=3," in lrn(step(alpha_over_size=False))
    bare = Step("lrn", (1, 4, 2, 3), "float32", {"local_size": 3})
    assert lrn(bare) == "tf.nn.local_response_normalization(x, depth_radius=1)"


def test_a_size_that_must_be_rejected_has_a_negative_radius():
    assert "depth_radius=-1" in lrn(step(0))
    assert "depth_radius=-2" in lrn(step(-3))


def test_the_call_is_for_planes_odd_windows_and_two_dtypes():
    assert lrn(step(4)) is ONLY_ODD
    assert lrn(step(dtype="float64")) is NO_DOUBLE
    assert lrn(step(dtype="bfloat16")) is NO_BFLOAT16
    assert lrn(step(shape=(1, 4, 2))) is NO_RANK


def test_rows_are_reshaped_and_other_windows_are_written_as_the_formula():
    assert fallback(step(shape=(1, 4, 2))) == (
        "x = tf.reshape(x, [1, 1, 2, 4])",
        f"x = {CALL}",
        "x = tf.reshape(x, [1, 2, 4])",
    )
    assert fallback(step(4))[0] == "squares = tf.pad(x * x, ((0, 0), (0, 0), (0, 0), (1, 2)))"
    assert fallback(step(dtype="bfloat16"))[0] == "x = tf.cast(x, tf.float32)"
