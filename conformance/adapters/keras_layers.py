"""Keras: its layers are read as those that come with TensorFlow are, whichever engine computes them."""

from __future__ import annotations

from conformance.adapters.keras import VARIANTS
from conformance.adapters.tensorflow_layers import DIALECTS as WITH_TENSORFLOW

DIALECTS = {f"keras-{engine}.layers": WITH_TENSORFLOW["tf.keras.layers"] for engine in VARIANTS}
