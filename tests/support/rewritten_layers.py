"""Networks with the kinds of layers that targets of an audit need several calls for."""

import torch
from torch import nn
from torch.nn import functional


class Image(nn.Module):
    """Padding that is neither valid nor same, counted padding, rounding up, groups and adaptive pooling."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, stride=2, padding=3)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.grouped = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2, bias=False)
        self.depthwise = nn.Conv2d(8, 8, 5, stride=2, padding=2, groups=8)
        self.adaptive = nn.AdaptiveAvgPool2d((3, 2))

    def forward(self, x):
        """Return bins of the input."""
        x = functional.avg_pool2d(self.maxpool(self.stem(x)), 3, stride=1, padding=1)
        x = self.grouped(functional.max_pool2d(x, 3, stride=2, ceil_mode=True))
        return self.adaptive(self.depthwise(functional.pad(x, (1, 2, 2, 1))))


class Video(nn.Module):
    """Convolutions and pooling with padding in three dimensions."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv3d(3, 4, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3), bias=False)
        self.pool = nn.MaxPool3d(2, padding=1)

    def forward(self, x):
        """Return the maxima of the convolution."""
        return self.pool(torch.relu(self.stem(x)))
