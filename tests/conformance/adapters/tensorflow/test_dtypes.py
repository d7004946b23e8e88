"""The module `dtypes` of TensorFlow."""

from conformance.cases.steps import Step
from tests.conformance.adapters.tensorflow.programs import LAYERS, lines


def test_negative_pads_are_a_cropping_layer():
    step = Step("pad", (1, 1, 4, 4), "float32", {"pads": ((-1, 0), (0, -2)), "mode": "constant", "value": 0})
    assert lines(step, LAYERS) == ("native", ["x = tf.keras.layers.Cropping2D(((1, 0), (0, 2)), dtype=x.dtype)(x)"])
