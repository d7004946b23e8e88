"""Layers with weights in each framework, and their results in NumPy, for tests of the conversion of weights."""

from dataclasses import dataclass, field

import numpy as np

import reference
from conformance.translation.weights import LayerKind, WeightedLayer

INFERRED = WeightedLayer()
TRANSPOSED = LayerKind.CONV_TRANSPOSE


@dataclass(frozen=True)
class Example:
    """A layer: the shapes of its PyTorch weights, and its constructor in each framework.

    shape: of the input, (n, c, *spatial). constructors: by format; the names are those of the programs below.
    """

    weights: dict
    shape: tuple
    constructors: dict
    layer: WeightedLayer = INFERRED
    options: dict = field(default_factory=dict)

    def state(self):
        """Return integer weights that differ in every element as far as the dtype allows."""
        rng = np.random.default_rng(1)
        return {
            f"layer.{name}": rng.integers(1 if name == "running_var" else -4, 5, shape).astype("float32")
            for name, shape in self.weights.items()
        }

    def x(self):
        return np.random.default_rng(2).integers(-4, 5, self.shape).astype("float32")

    def expected(self):
        """Return the result by the reference, (n, c, *spatial), or (n, features)."""
        state = {name.partition(".")[2]: array for name, array in self.state().items()}
        x, kernel, bias = self.x(), state["weight"], state.get("bias")
        if "running_mean" in state:
            shape = (-1,) + (1,) * (x.ndim - 2)
            scaled = (x - state["running_mean"].reshape(shape)) / np.sqrt(state["running_var"].reshape(shape) + 1e-5)
            return scaled * kernel.reshape(shape) + bias.reshape(shape)
        if kernel.ndim == 2:
            return x.reshape(len(x), -1) @ kernel.T + (0 if bias is None else bias)
        operator = reference.conv_transpose if self.layer.kind is TRANSPOSED else reference.conv
        return operator(x, kernel, bias, **self.options)


EXAMPLES = {
    "conv": Example(
        {"weight": (6, 4, 3, 2), "bias": (6,)},
        (2, 4, 7, 6),
        {
            "torch": "nn.Conv2d(4, 6, (3, 2), stride=(2, 1), dilation=(1, 2))",
            "flax.linen": "linen.Conv(6, (3, 2), (2, 1), 'VALID', kernel_dilation=(1, 2))",
            "flax.nnx": "nnx.Conv(4, 6, (3, 2), (2, 1), padding='VALID', kernel_dilation=(1, 2), rngs=nnx.Rngs(0))",
        },
        options={"stride": (2, 1), "dilation": (1, 2)},
    ),
    "conv-1d-without-bias": Example(
        {"weight": (6, 4, 3)},
        (2, 4, 7),
        {
            "torch": "nn.Conv1d(4, 6, 3, bias=False)",
            "flax.linen": "linen.Conv(6, (3,), padding='VALID', use_bias=False)",
            "flax.nnx": "nnx.Conv(4, 6, (3,), padding='VALID', use_bias=False, rngs=nnx.Rngs(0))",
            "keras": "keras.layers.Conv1D(6, 3, use_bias=False)",
        },
    ),
    "conv-3d": Example(
        {"weight": (3, 2, 2, 3, 1), "bias": (3,)},
        (1, 2, 4, 5, 3),
        {
            "torch": "nn.Conv3d(2, 3, (2, 3, 1))",
            "flax.linen": "linen.Conv(3, (2, 3, 1), padding='VALID')",
            "flax.nnx": "nnx.Conv(2, 3, (2, 3, 1), padding='VALID', rngs=nnx.Rngs(0))",
            "keras": "keras.layers.Conv3D(3, (2, 3, 1))",
        },
    ),
    "conv-groups": Example(
        {"weight": (6, 2, 3, 2), "bias": (6,)},
        (2, 4, 5, 6),
        {
            "torch": "nn.Conv2d(4, 6, (3, 2), groups=2)",
            "flax.linen": "linen.Conv(6, (3, 2), padding='VALID', feature_group_count=2)",
            "flax.nnx": "nnx.Conv(4, 6, (3, 2), padding='VALID', feature_group_count=2, rngs=nnx.Rngs(0))",
            "keras": "keras.layers.Conv2D(6, (3, 2), groups=2)",
        },
        options={"groups": 2},
    ),
    "depthwise": Example(
        {"weight": (6, 1, 3, 2), "bias": (6,)},
        (2, 3, 5, 6),
        {
            "torch": "nn.Conv2d(3, 6, (3, 2), groups=3)",
            "flax.linen": "linen.Conv(6, (3, 2), padding='VALID', feature_group_count=3)",
            "flax.nnx": "nnx.Conv(3, 6, (3, 2), padding='VALID', feature_group_count=3, rngs=nnx.Rngs(0))",
            "keras": "keras.layers.DepthwiseConv2D((3, 2), depth_multiplier=2)",
        },
        WeightedLayer(depthwise=2),
        {"groups": 3},
    ),
    "transposed": Example(
        {"weight": (4, 3, 3, 2), "bias": (3,)},
        (2, 4, 4, 5),
        {
            "torch": "nn.ConvTranspose2d(4, 3, (3, 2), stride=2)",
            "flax.linen": "linen.ConvTranspose(3, (3, 2), (2, 2), 'VALID', transpose_kernel=True)",
            "flax.nnx": "nnx.ConvTranspose(4, 3, (3, 2), (2, 2), padding='VALID', transpose_kernel=True, "
            "rngs=nnx.Rngs(0))",
            "keras": "keras.layers.Conv2DTranspose(3, (3, 2), strides=2)",
        },
        WeightedLayer(TRANSPOSED),
        {"stride": 2},
    ),
    "transposed-flipped": Example(
        {"weight": (4, 3, 3, 2), "bias": (3,)},
        (2, 4, 4, 5),
        {
            "torch": "nn.ConvTranspose2d(4, 3, (3, 2), stride=2)",
            "flax.linen": "linen.ConvTranspose(3, (3, 2), (2, 2), 'VALID')",
            "flax.nnx": "nnx.ConvTranspose(4, 3, (3, 2), (2, 2), padding='VALID', rngs=nnx.Rngs(0))",
        },
        WeightedLayer(TRANSPOSED, flipped=True),
        {"stride": 2},
    ),
    "transposed-groups": Example(
        {"weight": (4, 3, 3, 2), "bias": (6,)},
        (2, 4, 4, 5),
        {
            "torch": "nn.ConvTranspose2d(4, 6, (3, 2), stride=2, groups=2)",
            # The layer of one group, see converted_weights.run_groups.
            "flax.linen": "linen.ConvTranspose(3, (3, 2), (2, 2), 'VALID', transpose_kernel=True)",
            "flax.nnx": "nnx.ConvTranspose(2, 3, (3, 2), (2, 2), padding='VALID', transpose_kernel=True, "
            "rngs=nnx.Rngs(0))",
            "keras": "keras.layers.Conv2DTranspose(3, (3, 2), strides=2)",
        },
        WeightedLayer(TRANSPOSED, groups=2),
        {"stride": 2, "groups": 2},
    ),
    "transposed-1d": Example(
        {"weight": (4, 3, 3)},
        (2, 4, 4),
        {
            "torch": "nn.ConvTranspose1d(4, 3, 3, bias=False)",
            "flax.linen": "linen.ConvTranspose(3, (3,), padding='VALID', use_bias=False, transpose_kernel=True)",
            "keras": "keras.layers.Conv1DTranspose(3, 3, use_bias=False)",
        },
        WeightedLayer(TRANSPOSED),
    ),
    "transposed-3d": Example(
        {"weight": (2, 3, 2, 3, 1)},
        (1, 2, 3, 2, 2),
        {
            "torch": "nn.ConvTranspose3d(2, 3, (2, 3, 1), bias=False)",
            "flax.linen": "linen.ConvTranspose(3, (2, 3, 1), padding='VALID', use_bias=False, transpose_kernel=True)",
            "keras": "keras.layers.Conv3DTranspose(3, (2, 3, 1), use_bias=False)",
        },
        WeightedLayer(TRANSPOSED),
    ),
    "dense": Example(
        {"weight": (5, 7), "bias": (5,)},
        (3, 7),
        {
            "torch": "nn.Linear(7, 5)",
            "flax.linen": "linen.Dense(5)",
            "flax.nnx": "nnx.Linear(7, 5, rngs=nnx.Rngs(0))",
            "keras": "keras.layers.Dense(5)",
        },
    ),
    "dense-after-flatten": Example(
        {"weight": (5, 24), "bias": (5,)},
        (2, 4, 3, 2),
        {
            "torch": "nn.Sequential(nn.Flatten(), nn.Linear(24, 5))",
            "flax.linen": "linen.Dense(5)",
            "flax.nnx": "nnx.Linear(24, 5, rngs=nnx.Rngs(0))",
            "keras": "keras.layers.Dense(5)",
        },
        WeightedLayer(flattened=(4, 3, 2)),
    ),
    "batch-norm": Example(
        {"weight": (4,), "bias": (4,), "running_mean": (4,), "running_var": (4,)},
        (2, 4, 3, 2),
        {
            "torch": "nn.BatchNorm2d(4).eval()",
            "flax.linen": "linen.BatchNorm(use_running_average=True, epsilon=1e-5)",
            "flax.nnx": "nnx.BatchNorm(4, use_running_average=True, epsilon=1e-5, rngs=nnx.Rngs(0))",
            "keras": "keras.layers.BatchNormalization(epsilon=1e-5)",
        },
    ),
}
