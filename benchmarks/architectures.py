"""Networks whose layers `audit_architectures.py` checks, with random weights. Needs PyTorch and torchvision.

The functions without an argument are references for `conformance audit benchmarks.architectures:NAME`.
"""

import torch
from torch import nn

_register_fake = torch.library.register_fake


def _register_known_fake(name, *arguments, **keywords):
    """Register a fake kernel, but none of an operator that a torchvision without compiled operators lacks."""
    if str(name).startswith("torchvision::"):
        return lambda function: function
    return _register_fake(name, *arguments, **keywords)


torch.library.register_fake = _register_known_fake
from torchvision import models  # noqa: E402 - after the change above
from torchvision.models import video  # noqa: E402

torch.library.register_fake = _register_fake

IMAGE, LARGE_IMAGE, SOUND, CLIP = "1x3x224x224", "1x3x299x299", "1x1x16000", "1x3x16x112x112"
NETWORKS = {
    "AlexNet": ("alexnet", IMAGE),
    "VGG-16": ("vgg16", IMAGE),
    "GoogLeNet": ("googlenet", IMAGE),
    "Inception v3": ("inception_v3", LARGE_IMAGE),
    "ResNet-18": ("resnet18", IMAGE),
    "ResNet-50": ("resnet50", IMAGE),
    "DenseNet-121": ("densenet121", IMAGE),
    "SqueezeNet 1.0": ("squeezenet1_0", IMAGE),
    "ShuffleNet v2": ("shufflenet_v2_x1_0", IMAGE),
    "MobileNet v3": ("mobilenet_v3_small", IMAGE),
    "MNASNet 1.0": ("mnasnet1_0", IMAGE),
    "RegNetY-400MF": ("regnet_y_400mf", IMAGE),
    "EfficientNet-B0": ("efficientnet_b0", IMAGE),
    "ConvNeXt tiny": ("convnext_tiny", IMAGE),
    "U-Net": ("unet", "1x3x256x256"),
    "WaveNet stack": ("wavenet", SOUND),
    "ResNet-18 for video": ("r3d_18", CLIP),
}
"""Name, function and input shape of each network."""


class Block(nn.Sequential):
    """Two convolutions of a U-Net."""

    def __init__(self, channels, out):
        super().__init__(
            nn.Conv2d(channels, out, 3, padding=1), nn.ReLU(), nn.Conv2d(out, out, 3, padding=1), nn.ReLU()
        )


class UNet(nn.Module):
    """The U-Net of Ronneberger et al. with padded convolutions and four levels."""

    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        self.down = nn.ModuleList(Block(a, b) for a, b in zip((3, *widths), widths, strict=False))
        self.pool = nn.MaxPool2d(2)
        pairs = list(zip(widths[1:], widths, strict=False))[::-1]
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in pairs)
        self.merge = nn.ModuleList(Block(2 * b, b) for _, b in pairs)
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        """Return a score of two classes for each pixel."""
        skipped = []
        for number, block in enumerate(self.down):
            x = block(x if number == 0 else self.pool(x))
            skipped.append(x)
        for up, merge, skip in zip(self.up, self.merge, skipped[-2::-1], strict=True):
            x = merge(torch.cat([skip, up(x)], 1))
        return self.last(x)


class WaveNet(nn.Module):
    """A stack of dilated causal convolutions over a second of sound."""

    def __init__(self, width=32, levels=10):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.stack = nn.ModuleList(nn.Conv1d(width, width, 2, dilation=2**level) for level in range(levels))

    def forward(self, x):
        """Return the sum of all levels."""
        x = self.first(x)
        for layer in self.stack:
            x = x + torch.relu(layer(nn.functional.pad(x, (layer.dilation[0], 0))))
        return x


def unet():
    """Return a U-Net."""
    return UNet()


def wavenet():
    """Return a WaveNet-like stack."""
    return WaveNet()


def __getattr__(name):
    found = getattr(models, name, None) or getattr(video, name, None)
    if found is None:
        raise AttributeError(name)
    return found
