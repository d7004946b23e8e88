"""A residual network in Flax, for `conformance audit`. It is a factory, and the script writes its StableHLO.

python -m benchmarks.flax_architectures FILE
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from flax import linen as nn

IMAGE = (1, 224, 224, 3)


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    channels: int
    stride: int

    @nn.compact
    def __call__(self, x, *, train=False):
        """Return (n, *spatial, channels)."""
        y = nn.Conv(self.channels, (3, 3), self.stride, use_bias=False)(x)
        y = nn.relu(nn.BatchNorm(use_running_average=not train)(y))
        y = nn.Conv(self.channels, (3, 3), use_bias=False)(y)
        y = nn.BatchNorm(use_running_average=not train)(y)
        if x.shape != y.shape:
            x = nn.Conv(self.channels, (1, 1), self.stride, use_bias=False, name="shortcut")(x)
        return nn.relu(x + y)


class ResNet18(nn.Module):
    """The residual network with 18 layers."""

    @nn.compact
    def __call__(self, x, *, train=False):
        """Return the scores of 1,000 classes."""
        x = nn.Conv(64, (7, 7), 2, padding=3, use_bias=False, name="stem")(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(x))
        x = nn.max_pool(x, (3, 3), (2, 2), ((1, 1), (1, 1)))
        for stage, channels in enumerate((64, 128, 256, 512)):
            for block in range(2):
                x = Block(channels, 2 if stage and not block else 1)(x, train=train)
        return nn.Dense(1000)(jnp.mean(x, (1, 2)))


def resnet18():
    """Return the function and the shapes of its arguments."""
    network = ResNet18()
    image = jax.ShapeDtypeStruct(IMAGE, "float32")
    return network.apply, (jax.eval_shape(network.init, jax.random.key(0), image), image)


if __name__ == "__main__":
    call, arguments = resnet18()
    Path(sys.argv[1]).write_text(jax.export.export(jax.jit(call))(*arguments).mlir_module(), "utf-8")
