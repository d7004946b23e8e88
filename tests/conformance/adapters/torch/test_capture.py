"""Recorded calls of PyTorch. CONFORMANCE_TORCH_PYTHON is the path of a Python that has torch."""

import numpy as np
import pytest

from tests.support.captured_models import assert_reference_agrees, captured, needs, numbers, python_of

pytestmark = needs("torch")
HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F

def make():
    return """
WHOLE = """\


class Whole(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        with torch.no_grad():
            for number, one in enumerate(layer.parameters()):
                one.copy_((torch.arange(one.numel()).reshape(one.shape) * 7 + number) % 5 - 2)

    def forward(self, x):
        return self.layer(x)
"""


def run(folder, model, *shapes):
    return captured(folder, "torch", f"{HEAD}{model}\n{WHOLE}", *shapes, python=python_of("torch"))


@pytest.mark.parametrize(
    ("layer", "operators"),
    [
        ("nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)", ["conv"]),
        ("nn.Conv2d(4, 6, 3, padding='same', bias=False)", ["conv"]),
        ("nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)", ["conv_transpose"]),
        ("nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True)", ["max_pool"]),
        ("nn.MaxPool2d(2)", ["max_pool"]),
        ("nn.AvgPool2d(3, stride=2, padding=1)", ["avg_pool"]),
        ("nn.AvgPool2d((3, 2), padding=1, count_include_pad=False)", ["avg_pool"]),
        ("nn.AdaptiveAvgPool2d((3, 2))", ["adaptive_avg_pool"]),
        ("nn.AdaptiveMaxPool2d(1)", ["adaptive_max_pool"]),
    ],
)
def test_the_reference_computes_what_was_recorded(tmp_path, layer, operators):
    found = run(tmp_path, f"Whole({layer})", (2, 4, 9, 8))
    assert_reference_agrees(found, *operators)
    assert found.calls[0].name == "layer"
    assert np.array_equal(found.calls[0].x, numbers((2, 4, 9, 8)))


def test_functions_have_no_name_and_are_recorded(tmp_path):
    found = run(tmp_path, "lambda x: F.max_pool2d(F.pad(x, (1, 0, 2, 1)), 2, 1)", (1, 2, 6, 6))
    assert_reference_agrees(found, "pad", "max_pool")
    assert [call.name for call in found.calls] == ["", ""]


def test_a_later_operator_may_change_a_result_in_its_place(tmp_path):
    layers = "nn.Conv2d(2, 3, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.ReLU6(inplace=True)"
    found = run(tmp_path, f"Whole(nn.Sequential({layers}))", (1, 2, 6, 6))
    assert_reference_agrees(found, "conv", "max_pool")
    conv, pool = found.calls
    assert conv.result.min() < 0
    assert np.array_equal(pool.x, np.maximum(conv.result, 0))
    assert pool.result.max() > 6
    assert np.array_equal(found.results[0], np.minimum(pool.result, 6))


def test_several_inputs_are_positional(tmp_path):
    found = run(tmp_path, "lambda x, y: F.avg_pool2d(x, 2) + y", (1, 2, 6, 6), (1, 2, 3, 3))
    assert_reference_agrees(found, "avg_pool")
    assert np.array_equal(found.results[0], found.calls[0].result + numbers((1, 2, 3, 3), 1))


def test_products_with_a_matrix_are_dense_layers(tmp_path):
    found = run(tmp_path, "Whole(nn.Sequential(nn.Flatten(), nn.Linear(12, 5)))", (2, 3, 2, 2))
    assert_reference_agrees(found, "conv")
    assert [(call.kind, call.shaped_result.shape) for call in found.calls] == [("dense", (2, 5))]
    found = run(tmp_path, "lambda x: x @ torch.ones(4, 6)", (1, 2, 3, 4))
    assert_reference_agrees(found, "conv")
    assert found.calls[0].x.shape == (1, 4, 2, 3)
