"""Networks of keras.applications with random weights, for `conformance audit`. `write` saves one in three formats.

python -m benchmarks.keras_architectures NAME FOLDER
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras

NETWORKS = ("ResNet50", "MobileNetV3Small", "InceptionV3", "EfficientNetB0")


def build(name):
    """Return a network with random weights."""
    keras.utils.set_random_seed(0)
    shape = (299, 299, 3) if name == "InceptionV3" else (224, 224, 3)
    return getattr(keras.applications, name)(weights=None, input_shape=shape)


def write(name, folder):
    """Write NAME.keras, the SavedModel NAME and NAME.tflite."""
    import tensorflow as tf  # noqa: PLC0415 - the other functions need no TensorFlow

    network = build(name)
    network.save(folder / f"{name}.keras")
    network.export(str(folder / name))
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder / name))
    (folder / f"{name}.tflite").write_bytes(converter.convert())


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
