"""Graphs of nodes in place of modules. CONFORMANCE_ONNX_PYTHON is the path of a Python that has onnx."""

import ast
import os
import subprocess

import pytest

from conformance.adapters import registry
from conformance.translation.source.module_text import module_lines
from tests.conformance.translation.source import test_planted_ports
from tests.conformance.translation.source.test_planted_ports import layers

PYTHON = os.environ.get("CONFORMANCE_ONNX_PYTHON", "")
SURFACE = "onnx.reference"
SEQUENCE = "from torch import nn\nnet = nn.Sequential({})\n"
CLASS = """\
from torch import nn
class Net(nn.Module):
    def __init__(self, planes, stride=2):
        super().__init__()
        self.conv = nn.Conv2d(3, planes, 3, stride=stride, padding=1)
        self.pool = nn.MaxPool2d(2, ceil_mode=True)
    def forward(self, x):
        return self.pool(self.conv(x))
"""


@pytest.fixture(autouse=True)
def surfaces(monkeypatch):
    monkeypatch.setitem(test_planted_ports.SURFACES, "onnx", SURFACE)


def graph(text):
    found = layers(text, "torch", "onnx", None)
    lines = "\n".join(module_lines(found, SURFACE, registry.module_styles()[SURFACE]))
    ast.parse(lines)
    return lines


def test_nodes_of_a_sequence_are_connected_by_the_names_of_the_source():
    text = graph(SEQUENCE.format("nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2)"))
    assert "helper.make_node('Conv', ['input', 'net.0.weight', 'net.0.bias'], ['net.0'], name='net.0')" in text
    assert "# write it here; it reads 'net.0' and computes 'net.1'" in text
    assert "helper.make_node('MaxPool', ['net.1'], ['net.2'], name='net.2', kernel_shape=[2, 2]" in text
    assert "make_empty_tensor_value_info('net.2')" in text


def test_an_operator_that_the_target_lacks_is_a_node_that_fails():
    text = graph(SEQUENCE.format("nn.Conv2d(3, 8, 3), nn.FractionalMaxPool2d(2, output_size=5)"))
    assert "helper.make_node('NotTranslated', ['net.0'], ['net.1'], name='net.1')," in text


def test_nodes_of_a_class_have_its_parameters_and_its_calls():
    text = graph(CLASS)
    assert "def Net(planes, stride=2):" in text
    assert "strides=[stride, stride]" in text
    assert "['pool.input'], ['pool']" in text
    assert "#        return self.pool(self.conv(x))" in text


def test_constants_have_the_name_of_the_layer():
    text = graph(SEQUENCE.format("nn.Conv2d(3, 8, 3, padding=1, padding_mode='reflect')"))
    assert "helper.make_node('Pad', ['input', 'net.0.pads'], ['net.0.x1'], name='net.0.x1', mode='reflect')" in text
    assert "['net.0.x1', 'net.0.weight', 'net.0.bias'], ['net.0']" in text
    assert "numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), 'net.0.pads')" in text


@pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_ONNX_PYTHON is not set")
def test_the_graph_of_a_sequence_is_a_model():
    text = graph(SEQUENCE.format("nn.MaxPool2d(3, 2, ceil_mode=True), nn.AvgPool2d(2, padding=1)"))
    check = """
from onnx.reference import ReferenceEvaluator
opset = [helper.make_opsetid("", 21)]
net = helper.make_model(model(), opset_imports=opset)
x = np.arange(64, dtype="f4").reshape(1, 1, 8, 8)
print(ReferenceEvaluator(net).run(None, {"input": x})[0].shape)
"""
    done = subprocess.run([PYTHON, "-c", text + check], check=True, capture_output=True, text=True)
    assert done.stdout == "(1, 1, 3, 3)\n"
