"""Ports of net_torch.py to Keras: a correct one, and some with one mistake each."""

import keras
import numpy as np
from keras import layers
from mistakes import not_transposed, reversed_groups


def make(weights, *, dilation=(1, 1)):
    """Return the model. Its input has the channels last."""
    x = image = keras.Input((32, 32, 3))
    x = layers.ZeroPadding2D(1)(x)
    x = layers.Conv2D(8, 3, strides=2, name="conv1")(x)
    x = layers.BatchNormalization(epsilon=1e-5, name="bn")(x)
    x = layers.ReLU()(x) - 2
    # Padding of a maximum must be smaller than all numbers.
    x = keras.ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-1e30)
    x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Conv2D(16, 3, groups=4, padding="same", dilation_rate=dilation, use_bias=False, name="grouped")(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, name="up")(x)
    x = layers.Cropping2D(((1, 0), (1, 0)))(x)
    x = layers.ZeroPadding2D(1)(x)
    x = layers.AveragePooling2D(3, 2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(5, name="fc")(x)
    model = keras.Model(image, x)

    def kernel(name):
        return np.transpose(weights[f"{name}.weight"], (2, 3, 1, 0))

    model.get_layer("conv1").set_weights([kernel("conv1"), weights["conv1.bias"]])
    names = ("weight", "bias", "running_mean", "running_var")
    model.get_layer("bn").set_weights([weights[f"bn.{name}"] for name in names])
    model.get_layer("grouped").set_weights([kernel("grouped")])
    model.get_layer("up").set_weights([kernel("up"), weights["up.bias"]])
    model.get_layer("fc").set_weights([weights["fc.weight"].T, weights["fc.bias"]])
    return model


def dilated(weights):
    """Return a port that dilates the convolution in groups on one axis."""
    return make(weights, dilation=(2, 1))


def wrong_groups(weights):
    """Return a port whose groups have another order."""
    return make(reversed_groups(weights))


def wrong_layout(weights):
    """Return a port that reads a kernel without its transposition."""
    return make(not_transposed(weights))
