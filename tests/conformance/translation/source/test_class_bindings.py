"""Variables that stand for a class of layers."""

import pytest

from conformance import ConformanceError
from conformance.translation.source import model_source
from tests.conformance.translation.source.test_planted_ports import layers

HEAD = """\
from functools import partial
from torch import nn

NORM = nn.BatchNorm2d


class Local(nn.Module):
    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels)


class Net(nn.Module):
    layer_type = nn.MaxPool2d

    def __init__(self, width, norm_layer=None, act=nn.ReLU, blocks=None):
        super().__init__()
"""


def found(*lines):
    """Return the layers that the constructor of a network has, by their full name."""
    text = HEAD + "".join(f"        {line}\n" for line in lines)
    return {one.layer.full_name: one for one in layers(text, "torch", "flax", None)}


@pytest.mark.parametrize(
    ("lines", "called", "note"),
    [
        (["norm = nn.BatchNorm2d", "self.a = norm(8)"], "torch.nn.BatchNorm2d", "norm is nn.BatchNorm2d"),
        (["self.a = NORM(8)"], "torch.nn.BatchNorm2d", "NORM is nn.BatchNorm2d"),
        (["self.a = act()"], "torch.nn.ReLU", "act is nn.ReLU by default"),
        (["self.a = self.layer_type(2)"], "torch.nn.MaxPool2d", "self.layer_type is nn.MaxPool2d"),
        (
            ["if norm_layer is None:", "    norm_layer = nn.BatchNorm2d", "self.a = norm_layer(8)"],
            "torch.nn.BatchNorm2d",
            "norm_layer is nn.BatchNorm2d by default",
        ),
        (
            ["norm_layer = norm_layer or nn.GroupNorm", "self.a = norm_layer(4, 8)"],
            "torch.nn.GroupNorm",
            "norm_layer is nn.GroupNorm by default",
        ),
        (
            ["self.kind = nn.Dropout if width else nn.Dropout", "kind = self.kind", "self.a = kind()"],
            "torch.nn.Dropout",
            "kind is nn.Dropout",
        ),
        (
            ["bn = partial(nn.BatchNorm2d, eps=0.001)", "self.a = bn(8)"],
            "torch.nn.BatchNorm2d",
            "bn is partial(nn.BatchNorm2d, eps=0.001)",
        ),
    ],
)
def test_a_variable_stands_for_its_class(lines, called, note):
    layer = found(*lines)["Net.a"]
    assert layer.layer.called == called
    assert layer.notes[0] == note


def test_the_arguments_of_partial_are_those_of_the_layer():
    layer = found("bn = partial(nn.BatchNorm2d, eps=0.001)", "self.a = bn(8)")["Net.a"]
    assert layer.layer.keywords["eps"] == 0.001
    assert "epsilon (torch eps=0.001; flax" in layer.problem


@pytest.mark.parametrize(
    "lines",
    [
        ["norm = nn.BatchNorm2d", "norm = nn.GroupNorm", "self.a = norm(8)"],
        ["norm = nn.BatchNorm2d if width else nn.GroupNorm", "self.a = norm(8)"],
        ["norm = nn.BatchNorm2d", "norm = width", "self.a = norm(8)"],
        ["norm = norm_layer", "self.a = norm(8)"],
        ["norm = nn.BatchNorm2d", "for norm in blocks:", "    self.a = norm(8)"],
        ["norm = nn.BatchNorm2d", "norm, other = blocks", "self.a = norm(8)"],
    ],
)
def test_a_variable_that_may_be_several_classes_is_no_layer(lines):
    assert "Net.a" not in found(*lines)


def test_a_class_of_the_source_is_translated_for_each_call_that_passes_arguments():
    lines = ("if blocks is None:", "    blocks = [Local]", "conv_block = blocks[0]")
    layers_ = found(
        *lines, "self.a = conv_block(3, 64, kernel_size=7, padding=3)", "self.b = Local(8, 8, kernel_size=1)"
    )
    texts = {name: one.targets[0].steps[0].text for name, one in layers_.items() if one.targets}
    assert texts == {
        "Net.a.conv": "nn.Conv(64, (7, 7), strides=(1, 1), padding=((3, 3), (3, 3)), use_bias=False)",
        "Net.b.conv": "nn.Conv(8, (1, 1), strides=(1, 1), padding='VALID', use_bias=False)",
    }
    assert layers_["Local.conv"].problem == "its arguments **kwargs are not known from the text"


def test_an_index_outside_of_a_list_is_no_class():
    assert "Net.a" not in found("blocks = [Local]", "block = blocks[3]", "self.a = block(3, 64)")


def test_a_list_that_contains_its_own_items_is_no_class():
    assert "Net.a" not in found("blocks = [blocks[0], width]", "block = blocks[0]", "self.a = block(3)")


def test_the_number_of_layers_of_calls_is_limited(monkeypatch):
    monkeypatch.setattr(model_source, "MAX_LAYERS", 5)
    with pytest.raises(ConformanceError, match="more than 5 layers"):
        found(*(f"self.a{number} = Local(8, 8, kernel_size=1)" for number in range(3)))
