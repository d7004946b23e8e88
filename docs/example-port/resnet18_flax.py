"""ResNet-18 in Flax: the layers that `conformance translate` printed, and the calls of the source."""

import jax
from flax import linen as nn

from conformance.translation.weights import convert


def batch_norm():
    return nn.BatchNorm(use_running_average=True, momentum=0.9, epsilon=1e-5)


class BasicBlock(nn.Module):
    inplanes: int
    planes: int
    stride: int = 1

    def setup(self):
        self.conv1 = nn.Conv(
            self.planes, (3, 3), strides=(self.stride, self.stride), padding=((1, 1), (1, 1)), use_bias=False
        )
        self.bn1 = batch_norm()
        self.conv2 = nn.Conv(self.planes, (3, 3), strides=(1, 1), padding=((1, 1), (1, 1)), use_bias=False)
        self.bn2 = batch_norm()
        self.has_downsample = self.stride != 1 or self.inplanes != self.planes
        if self.has_downsample:
            self.downsample_0 = nn.Conv(
                self.planes, (1, 1), strides=(self.stride, self.stride), padding="VALID", use_bias=False
            )
            self.downsample_1 = batch_norm()

    def __call__(self, x):
        y = jax.nn.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.has_downsample:
            x = self.downsample_1(self.downsample_0(x))
        return jax.nn.relu(x + y)


class ResNet18(nn.Module):
    classes: int = 1000

    def setup(self):
        self.conv1 = nn.Conv(64, (7, 7), strides=(2, 2), padding=((3, 3), (3, 3)), use_bias=False)
        self.bn1 = batch_norm()
        self.layer1 = [BasicBlock(64, 64), BasicBlock(64, 64)]
        self.layer2 = [BasicBlock(64, 128, 2), BasicBlock(128, 128)]
        self.layer3 = [BasicBlock(128, 256, 2), BasicBlock(256, 256)]
        self.layer4 = [BasicBlock(256, 512, 2), BasicBlock(512, 512)]
        self.fc = nn.Dense(self.classes)

    def maxpool(self, x):
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding=((1, 1), (1, 1)))
        return x

    def avgpool(self, x):
        x = x.mean((1, 2), keepdims=True)
        return x

    def __call__(self, x):
        x = self.maxpool(jax.nn.relu(self.bn1(self.conv1(x))))
        for block in [*self.layer1, *self.layer2, *self.layer3, *self.layer4]:
            x = block(x)
        return self.fc(self.avgpool(x).reshape(len(x), -1))


def port(weights):
    """Return the model as a function, with the weights of the PyTorch model by name."""
    variables = convert(weights, "torch", "flax", rename=lambda name: name.replace("downsample.", "downsample_"))
    return lambda x: ResNet18().apply(variables, x)
