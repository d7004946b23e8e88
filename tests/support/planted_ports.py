"""Ten ports of a PyTorch model with one planted mistake each: the source, the right port and the wrong port.

Each source defines `Net`. A mistake is in the source of the wrong port, or in the conversion of its weights.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from conformance.translation.weights import LayerKind, WeightedLayer

TORCH = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        return self.layer(x)
"""
FLAX = """\
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return {layer}
"""
KERAS = """\
import keras
import numpy as np


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def call(self, x):
        return self.layer(x)
"""
KERAS_POOL = """\
import keras
import numpy as np


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.layer = keras.layers.MaxPooling2D(3, strides=2)

    def call(self, x):
        x = keras.ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)){value})
        return self.layer(x)
"""
SOURCES = {"flax": FLAX, "keras": KERAS}


def unchanged(weights):
    return weights


@dataclass(frozen=True)
class PlantedPort:
    """A model of one layer and its ports.

    layer, right, wrong: the layer in PyTorch and in both ports. target: the framework of the ports.
    differs: the parameter in which the wrong port differs from the source, "" if its weights differ.
    shape: of the input, (n, c, *spatial), on which the wrong port gives another result.
    properties: for the conversion of weights. wrong_weights: returns the wrong weights for the right ones.
    """

    layer: str
    target: str
    right: str
    wrong: str
    shape: tuple
    differs: str = ""
    properties: WeightedLayer = field(default_factory=WeightedLayer)
    wrong_weights: Callable = unchanged
    template: str = ""

    @property
    def source(self):
        """The source of the model."""
        return TORCH.format(layer=self.layer)

    def port(self, text):
        """Return the source of a port with this layer."""
        return self.template.format(value=text) if self.template else SOURCES[self.target].format(layer=text)


def _exchanged_channels(weights):
    """Return the kernel (*window, in, out) with input and output channels exchanged, of equal number."""
    layer = weights["params"]["layer"]
    return {"params": {"layer": {**layer, "kernel": np.swapaxes(layer["kernel"], -1, -2)}}}


def _other_order_of_groups(weights):
    """Return a depthwise kernel whose output channels were split as (multiplier, in) in place of (in, multiplier)."""
    kernel, *bias = weights["layer"]
    *window, channels, multiplier = kernel.shape
    flat = kernel.reshape(*window, channels * multiplier)
    return {"layer": [np.swapaxes(flat.reshape(*window, multiplier, channels), -1, -2), *bias]}


NAME = 'name="layer"'
PORTS = {
    "stride-default": PlantedPort(
        "nn.MaxPool2d(3)",
        "flax",
        "nn.max_pool(x, (3, 3), strides=(3, 3))",
        "nn.max_pool(x, (3, 3))",
        (1, 2, 9, 9),
        "stride",
    ),
    "same-padding-is-not-symmetric": PlantedPort(
        "nn.Conv2d(3, 4, 3, stride=2, padding=1)",
        "keras",
        f"keras.Sequential([keras.layers.ZeroPadding2D(1), keras.layers.Conv2D(4, 3, strides=2, {NAME})])",
        f'keras.layers.Conv2D(4, 3, strides=2, padding="same", {NAME})',
        (1, 3, 8, 8),
        "padding",
    ),
    "weights-not-transposed": PlantedPort(
        "nn.Conv2d(4, 4, 3)",
        "flax",
        f'nn.Conv(4, (3, 3), padding="VALID", {NAME})(x)',
        f'nn.Conv(4, (3, 3), padding="VALID", {NAME})(x)',
        (1, 4, 6, 6),
        wrong_weights=_exchanged_channels,
    ),
    "zeros-before-max-pooling": PlantedPort(
        "nn.MaxPool2d(3, stride=2, padding=1)",
        "keras",
        ", constant_values=-np.inf",
        "",
        (1, 2, 8, 8),
        "padding",
        template=KERAS_POOL,
    ),
    "count-include-pad": PlantedPort(
        "nn.AvgPool2d(3, stride=2, padding=1)",
        "flax",
        "nn.avg_pool(x, (3, 3), strides=(2, 2), padding=((1, 1), (1, 1)))",
        "nn.avg_pool(x, (3, 3), strides=(2, 2), padding=((1, 1), (1, 1)), count_include_pad=False)",
        (1, 2, 8, 8),
        "count_include_pad",
    ),
    "ceil-mode-dropped": PlantedPort(
        "nn.MaxPool2d(3, stride=2, ceil_mode=True)",
        "flax",
        "nn.max_pool(x, (3, 3), strides=(2, 2), padding=((0, 1), (0, 1)))",
        "nn.max_pool(x, (3, 3), strides=(2, 2))",
        (1, 2, 8, 8),
        "padding",
    ),
    "dilation-on-one-axis": PlantedPort(
        "nn.Conv2d(2, 3, 3, dilation=2)",
        "flax",
        f'nn.Conv(3, (3, 3), padding="VALID", kernel_dilation=(2, 2), {NAME})(x)',
        f'nn.Conv(3, (3, 3), padding="VALID", kernel_dilation=(2, 1), {NAME})(x)',
        (1, 2, 8, 8),
        "dilation",
    ),
    "transposed-kernel-not-flipped": PlantedPort(
        "nn.ConvTranspose2d(2, 2, 3, stride=2)",
        "flax",
        f'nn.ConvTranspose(2, (3, 3), (2, 2), padding="VALID", transpose_kernel=True, {NAME})(x)',
        f'nn.ConvTranspose(2, (3, 3), (2, 2), padding="VALID", {NAME})(x)',
        (1, 2, 4, 4),
        properties=WeightedLayer(LayerKind.CONV_TRANSPOSE),
    ),
    "order-of-groups": PlantedPort(
        "nn.Conv2d(3, 6, 3, groups=3)",
        "keras",
        f"keras.layers.DepthwiseConv2D(3, depth_multiplier=2, {NAME})",
        f"keras.layers.DepthwiseConv2D(3, depth_multiplier=2, {NAME})",
        (1, 3, 6, 6),
        properties=WeightedLayer(depthwise=2),
        wrong_weights=_other_order_of_groups,
    ),
    "epsilon": PlantedPort(
        "nn.BatchNorm2d(4)",
        "keras",
        f"keras.layers.BatchNormalization(epsilon=1e-5, {NAME})",
        f"keras.layers.BatchNormalization({NAME})",
        (1, 4, 5, 5),
        "epsilon",
    ),
}
