"""Write the PyTorch model with drawn weights as an ONNX file: `export_onnx.py FILE`."""

import sys

import torch
from resnet18_torch import ResNet18


def model():
    """Return the model; the weights are the same in every call."""
    torch.manual_seed(0)
    return ResNet18().eval()


if __name__ == "__main__":
    torch.onnx.export(model(), (torch.zeros(1, 3, 64, 64),), sys.argv[1])
