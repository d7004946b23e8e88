"""Programs of TensorFlow for tests: their lines, and inputs that several tests use."""

from conformance.adapters import tensorflow
from conformance.adapters.api import Unsupported
from conformance.translation.step_lowering import lower_step

NN, LAYERS, COMPILED, CHANNELS_FIRST = (
    next(s for s in tensorflow.SURFACES if s.name == name)
    for name in ("tf.nn", "tf.keras.layers", "tf.function", "tf.nn.nchw")
)


def lines(step, surface=NN):
    """Return how a step is lowered (native, padded or composed), and its lines."""
    lowered = lower_step(step, surface, native_only=False, inner=False)
    assert not isinstance(lowered, Unsupported), lowered.reason
    return lowered[1], lowered[0]
