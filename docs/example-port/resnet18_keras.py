"""ResNet-18 in Keras: the layers that `conformance translate` printed, and the calls of the source."""

import keras
import numpy as np

from conformance.translation.weights import convert


def conv(filters, window, stride, padding, name):
    layers = [keras.layers.ZeroPadding2D(((padding, padding), (padding, padding)))] if padding else []
    layers.append(keras.layers.Conv2D(filters, window, strides=stride, use_bias=False))
    return keras.Sequential(layers, name=name)


def batch_norm(name):
    return keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=name)


def basic_block(x, planes, stride, name):
    y = conv(planes, 3, stride, 1, f"{name}_conv1")(x)
    y = keras.ops.relu(batch_norm(f"{name}_bn1")(y))
    y = conv(planes, 3, 1, 1, f"{name}_conv2")(y)
    y = batch_norm(f"{name}_bn2")(y)
    if stride != 1 or x.shape[-1] != planes:
        x = conv(planes, 1, stride, 0, f"{name}_downsample_0")(x)
        x = batch_norm(f"{name}_downsample_1")(x)
    return keras.ops.relu(x + y)


def maxpool(x):
    x = keras.ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    x = keras.layers.MaxPooling2D(3, strides=2)(x)
    return x


def resnet18(shape, classes=1000):
    inputs = keras.Input(shape)
    x = conv(64, 7, 2, 3, "conv1")(inputs)
    x = maxpool(keras.ops.relu(batch_norm("bn1")(x)))
    for stage, planes in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            stride = 2 if stage > 1 and block == 0 else 1
            x = basic_block(x, planes, stride, f"layer{stage}_{block}")
    x = keras.layers.Flatten()(keras.layers.AdaptiveAveragePooling2D(1)(x))
    return keras.Model(inputs, keras.layers.Dense(classes, name="fc")(x))


def port(weights):
    """Return the model for images of 64 x 64, with the weights of the PyTorch model by name."""
    model = resnet18((64, 64, 3))
    for name, arrays in convert(weights, "torch", "keras").items():
        model.get_layer(name).set_weights(arrays)
    return model
