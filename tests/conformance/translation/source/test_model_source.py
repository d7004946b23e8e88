"""Layers in a source text: names, lines, values, and hostile texts."""

import time

import pytest

from conformance import ConformanceError
from conformance.cli.lookup import find_dialects
from conformance.translation.source.body import MAX_LAYERS
from conformance.translation.source.constants import Symbol
from conformance.translation.source.model_source import read_model_source

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Conv2d as C
from collections import OrderedDict

WIDTH = 32
CHANGED = 1
CHANGED = 2
"""
MODEL = f"""{HEAD}
class Net(nn.Module):
    expansion = 4

    def __init__(self, planes, stride=2, *, groups=1):
        super().__init__()
        half = WIDTH // 2
        if planes:
            other = 3
        self.inner = 8
        self.counter = 1
        self.conv1 = C(3, 2 * WIDTH, 7, stride, padding=(half, 1))
        self.conv2 = nn.Conv2d(self.inner, planes * self.expansion, 3, groups=groups)
        self.counter += 1
        self.conv3 = torch.nn.Conv2d(self.counter, CHANGED, other)
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), Block(4))
        self.named = nn.Sequential(OrderedDict([("pool", nn.MaxPool2d(2)), ("act", nn.ReLU())]))
        self.list = nn.ModuleList([nn.AvgPool2d(2), nn.AvgPool2d(3)])
        self.only = nn.Sequential(nn.MaxPool2d(2))
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        y = F.max_pool2d(F.avg_pool2d(self.conv1(x), 2), 3)
        return F.max_pool2d(torch.flatten(y), kernel_size=2)


class Block(nn.Module):
    def __init__(self, n):
        self.conv1 = nn.Conv2d(n, n, 1)


def conv3x3(i, o, stride=1):
    return nn.Conv2d(i, o, 3, stride)


pool = nn.MaxPool2d(2)
"""


def read(text, framework="torch", given=None):
    return read_model_source(text, "model.py", find_dialects(framework), {"ReLU", "flatten"}, given or {})


@pytest.fixture(scope="module")
def layers():
    return {layer.full_name: layer for layer in read(MODEL)}


def test_layers_have_the_names_of_attributes_members_and_variables(layers):
    assert list(layers) == [
        "Net.conv1", "Net.conv2", "Net.conv3", "Net.features.0", "Net.features.1", "Net.features.2", "Net.named.pool",
        "Net.named.act", "Net.list.0", "Net.list.1", "Net.only.0", "Net.avg_pool2d", "Net.max_pool2d_1", "Net.flatten",
        "Net.max_pool2d_2", "Block.conv1", "conv3x3.conv2d", "pool",
    ]  # fmt: skip
    assert layers["Net.conv1"].called == "torch.nn.Conv2d"
    assert MODEL.splitlines()[layers["Net.conv1"].line - 1].strip().startswith("self.conv1")
    assert layers["conv3x3.conv2d"].returned
    assert layers["Net.features.2"].local_line


def test_values_are_computed_and_parameters_are_symbols(layers):
    stride = Symbol("stride", 2, has_default=True)
    assert layers["Net.conv1"].arguments == (3, 64, 7, stride)
    assert layers["Net.conv1"].keywords == {"padding": (16, 1)}
    assert layers["Net.conv2"].arguments == (8, Symbol("planes * 4"), 3)
    assert layers["Net.conv2"].symbols == [Symbol("planes * 4"), Symbol("groups", 1, has_default=True)]


def test_names_that_change_have_no_value(layers):
    assert layers["Net.conv3"].arguments == (Symbol("self.counter"), Symbol("CHANGED"), Symbol("other"))


def test_attribute_that_another_method_changes_has_no_value():
    text = """\
from torch import nn
class Net(nn.Module):
    def __init__(self):
        self.planes = 64
        self.block()
        self.conv = nn.Conv2d(3, self.planes, 3)
    def block(self):
        self.planes = 128
"""
    assert read(text)[0].arguments == (3, Symbol("self.planes"), 3)


def test_given_values_replace_names():
    layers = read(MODEL, given={"planes": 5, "groups": 1})
    assert [one.arguments for one in layers if one.name == "conv2"] == [(8, 20, 3)]


def test_layers_of_a_functional_source_have_the_name_argument_or_a_number():
    text = """\
from tensorflow.keras import layers
from keras import Sequential
x = layers.Conv2D(8, 3, name="first")(x)
x = layers.Conv2D(8, 3)(layers.MaxPooling2D(2)(x))
model = Sequential([layers.Conv2D(4, 3)])
"""
    assert [layer.name for layer in read(text, "keras")] == ["first", "maxpooling2d", "conv2d", "model.0"]


def test_layers_of_a_dataclass_have_fields_as_symbols():
    text = """\
from flax import linen as nn
class Net(nn.Module):
    features: int = 8
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.features, (3, 3))(x)
        return nn.max_pool(x, (2, 2))
"""
    conv, pool = read(text, "flax")
    assert conv.arguments == (Symbol("self.features", 8, has_default=True), (3, 3))
    assert (conv.name, pool.name, pool.arguments[1]) == ("conv", "max_pool", (2, 2))


def test_star_import_resolves_known_names():
    assert [layer.called for layer in read("from torch.nn import *\na = MaxPool2d(2)\n")] == ["MaxPool2d"]
    assert read("a = MaxPool2d(2)\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n",
        "\0",
        "x = " + "(" * 300,
        "x = " + "-" * 100_000 + "1",
        "x = " + "f(" * 90 + ")" * 90 + "\ny = " + "+".join(["nn.MaxPool2d(2)"] * 20_000),
        "x = nn" + ".a" * 50_000 + "(2)",
        "nn.MaxPool2d(2)\n" * (MAX_LAYERS + 1),
        "9" * 5000,
        "#" * 2**21,
    ],
)
def test_hostile_text_ends_in_one_line_or_is_read(text):
    start, message = time.monotonic(), ""
    try:
        read(text)
    except ConformanceError as error:
        message = str(error)
    assert "\n" not in message
    assert time.monotonic() - start < 20


def test_nothing_of_the_text_is_run(tmp_path):
    mark = tmp_path / "ran"
    text = f"import torch.nn as nn\nopen({str(mark)!r}, 'w')\na = nn.MaxPool2d(__import__('os').mkdir({str(mark)!r}))\n"
    assert len(read(text)) == 1
    assert not mark.exists()


FOREIGN = """
import timm
import torch
from pathlib import Path
from torch import nn
from mylib import Swish, Swish as S, make_block, WIDTH
from . import other


class Net(nn.Module):
    def __init__(self):
        options = timm.Options(3)
        self.path = Path("weights")
        self.normal = torch.distributions.Normal(0, 1)
        self.block = make_block(3)
        self.a = Swish(3)
        self.b = timm.layers.MaxPool2d(3)
        self.c = nn.Sequential(nn.ReLU(), other.Foo(), S())


def make():
    return Swish(3)
"""


def test_classes_of_other_modules_are_listed_where_an_object_is_stored():
    found = [one for one in read(FOREIGN) if one.is_foreign]
    assert [(one.name, one.called) for one in found] == [
        ("a", "mylib.Swish"),
        ("b", "timm.layers.MaxPool2d"),
        ("c.1", "..other.Foo"),
        ("c.2", "mylib.Swish"),
    ]
    assert [one.name for one in read(FOREIGN) if not one.is_foreign] == ["c.0"]
