"""Programs of Keras for tests: their lines, and inputs that several tests use."""

from conformance.adapters import keras
from conformance.adapters.api import Unsupported
from conformance.translation.step_lowering import lower_step

SURFACES = {surface.name: surface for variant in keras.VARIANTS.values() for surface in variant.surfaces}
OPS = [name for name in SURFACES if name.endswith(".ops")]
LAYERS = [name for name in SURFACES if name.endswith(".layers")]
CHANNELS_FIRST = [name for name in SURFACES if name.endswith(".channels_first")]


def lines(step, surface, *, native_only=False):
    """Return how a step is lowered (native, padded or composed), and its lines."""
    lowered = lower_step(step, SURFACES[surface], native_only=native_only, inner=False)
    assert not isinstance(lowered, Unsupported), lowered.reason
    return lowered[1], lowered[0]
