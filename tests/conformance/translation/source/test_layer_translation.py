"""Translations of the layers of a source: symbols, sizes, other layers and modules."""

import ast

import pytest

from conformance.adapters import registry
from conformance.translation.source.module_text import layers_record, list_lines, module_lines
from tests.conformance.translation.source.test_planted_ports import SURFACES, layers

HEAD = "import torch.nn as nn\nclass Net(nn.Module):\n    def __init__(self, planes, stride=1, mode='zeros'):\n"


def net(*lines):
    return HEAD + "".join(f"        self.{line}\n" for line in lines)


def texts(layer):
    return [step.text for step in layer.targets[0].steps or ()]


def translated(line, target="flax", shape=None):
    return layers(net(line), "torch", target, shape)[0]


def test_symbol_stays_in_the_text_where_it_changes_nothing_else():
    layer = translated("c = nn.Conv2d(planes, planes * 2, 3, stride=stride, padding=1)")
    assert texts(layer) == ["nn.Conv(planes * 2, (3, 3), strides=(stride, stride), padding=((1, 1), (1, 1)))"]
    assert "stride is 1 by default" in layer.meaning


def test_depthwise_layer_has_one_symbol_for_all_numbers():
    layer = translated("c = nn.Conv2d(planes, planes, 3, groups=planes)")
    assert "feature_group_count=planes" in texts(layer)[0]


def test_value_that_changes_more_is_needed_by_name():
    layer = translated("c = nn.Conv2d(8, planes, 3, padding_mode=mode, bias=planes)")
    assert "--set planes=…" in layer.problem


def test_default_is_used_where_the_text_depends_on_it():
    layer = translated("c = nn.Conv2d(8, 8, 3, padding_mode=mode)")
    assert layer.notes == ("written for mode='zeros', the default",)
    assert texts(layer)


def test_other_names_stay_where_one_default_is_used():
    text = (
        "from torch import nn\ndef f(i, o, stride=1, groups=1):\n    return nn.Conv2d(i, o, 3, stride, groups=groups)\n"
    )
    (layer,) = layers(text, "torch", "flax", None)
    assert texts(layer) == ["nn.Conv(o, (3, 3), strides=(stride, stride), padding='VALID')"]
    assert layer.notes == ("written for groups=1, the default",)


def test_text_without_a_shape_has_numbers_in_place_of_a_word():
    """For extents 9 and 224, `same` means other paddings; the numbers are right for both."""
    layer = translated("c = nn.Conv2d(3, 8, 7, stride=2, padding=3)", "keras")
    assert texts(layer)[0] == "keras.layers.ZeroPadding2D(((3, 3), (3, 3)))"


def test_text_that_depends_on_the_size_asks_for_it():
    assert translated("p = nn.MaxPool2d(3, 2, ceil_mode=True)").targets[0].needs_shape
    given = translated("p = nn.MaxPool2d(3, 2, ceil_mode=True)", shape=(1, 2, 112, 112)).targets[0]
    assert not given.needs_shape
    assert "((0, 1), (0, 1))" in given.steps[0].text


def test_layer_with_a_known_size_is_the_one_exact_call():
    layer = translated("c = nn.MaxPool2d(2, ceil_mode=True)", "keras", (1, 2, 8, 8))
    assert texts(layer) == ["keras.layers.MaxPooling2D(2)"]
    assert "exact for 6 x 6, 8 x 8 and 10 x 10, not for 7 x 7 and 9 x 9" in layer.targets[0].caveats[0]
    assert not layer.targets[0].needs_shape


def test_layer_with_many_channels_is_translated_with_fewer():
    layer = translated("c = nn.Conv2d(512, 1024, 3, padding=1)", shape=(1, 512, 224, 224))
    assert texts(layer) == ["nn.Conv(1024, (3, 3), strides=(1, 1), padding=((1, 1), (1, 1)))"]


def test_unsupported_layer_has_the_reason():
    layer = translated("c = nn.FractionalMaxPool2d(2, output_size=3)")
    assert layer.targets[0].steps is None
    assert "no fractional pooling" in layer.targets[0].reason


def test_layer_of_another_kind_has_no_translation():
    layer = translated("f = nn.Linear(3, 4)")
    assert "not a window operator: the weights are (out, in)" in layer.problem


@pytest.mark.parametrize(
    ("mode", "target", "expected"),
    [
        ("circular", "flax", ["nn.Conv(8, (3, 3), strides=(1, 1), padding='CIRCULAR')"]),
        ("circular", "torch", ["nn.Conv2d(8, 8, 3, padding=1, padding_mode='circular')"]),
        (
            "replicate",
            "keras",
            ["x = keras.ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), 'edge')", "keras.layers.Conv2D(8, 3)"],
        ),
    ],
)
def test_layer_that_pads_in_another_mode_has_no_numbers_in_place_of_weights(mode, target, expected):
    layer = translated(f"c = nn.Conv2d(8, 8, 3, padding=1, padding_mode='{mode}')", target)
    assert texts(layer) == expected
    assert "; then conv, window 3" in layer.meaning
    assert "zeros" not in layer.meaning
    assert not layer.targets[0].needs_shape


def test_depthwise_layer_that_pads_in_another_mode_has_symbols():
    layer = translated("c = nn.Conv2d(planes, planes, 3, padding=1, groups=planes, padding_mode='reflect')")
    assert texts(layer) == ["nn.Conv(planes, (3, 3), strides=(1, 1), padding='REFLECT', feature_group_count=planes)"]


def test_activation_comes_after_the_layer():
    text = "from keras import layers\nx = layers.Conv2D(8, 3, activation='relu')\n"
    (layer,) = layers(text, "keras", "torch", (1, 3, 8, 8))
    assert layer.notes == ("activation='relu' comes after it",)
    assert texts(layer) == ["nn.Conv2d(3, 8, 3)"]


MODEL = (
    net(
        "conv1 = nn.Conv2d(3, planes, 3, stride=stride, padding=1)",
        "bn = nn.BatchNorm2d(planes)",
        "pool = nn.MaxPool2d(3, 2, 1)",
        "features = nn.Sequential(nn.Conv2d(3, 4, 2), nn.ConvTranspose2d(4, 4, 2, groups=2))",
    )
    + "    def forward(self, x):\n        return self.pool(self.conv1(x))\n"
)


@pytest.mark.parametrize("target", SURFACES)
def test_module_is_python_with_all_layers(target):
    found = layers(MODEL, "torch", target, (1, 3, 8, 8)) if target != "flax" else layers(MODEL, "torch", target, None)
    surface = SURFACES[target]
    text = "\n".join(module_lines(found, surface, registry.module_styles()[surface]))
    tree = ast.parse(text)
    (cls,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    attributes = {ast.unparse(one.targets[0]) for one in ast.walk(cls) if isinstance(one, ast.Assign)}
    methods = {one.name for one in cls.body if isinstance(one, ast.FunctionDef)}
    assert {"self.conv1", "self.features_0"} <= attributes
    assert "self.pool" in attributes or "pool" in methods
    assert "# line 5: bn = nn.BatchNorm2d(planes)" in text
    assert "#     return self.pool(self.conv1(x))" in text


def test_module_of_a_dataclass_reads_its_fields():
    surface = SURFACES["flax"]
    lines = [*module_lines(layers(MODEL, "torch", "flax", None), surface, registry.module_styles()[surface])]
    assert "    stride: int = 1" in lines
    assert any("self.conv1 = nn.Conv(self.planes" in line for line in lines)


@pytest.mark.parametrize("target", SURFACES)
def test_module_with_a_class_as_default_and_without_layers_is_python(target):
    text = (
        "from torch import nn\nclass Net(nn.Module):\n"
        "    def __init__(self, act=nn.ReLU, width=8, norm=nn.BatchNorm2d):\n"
        "        self.act = act()\n"
    )
    found = layers(text, "torch", target, None)
    tree = ast.parse("\n".join(module_lines(found, SURFACES[target], registry.module_styles()[SURFACES[target]])))
    assert any(isinstance(node, ast.ClassDef) for node in tree.body)


SEQUENCE = """\
from torch import nn


class Block(nn.Sequential):
    def __init__(self, channels):
        super().__init__(nn.Conv2d(channels, 8, 3), nn.ReLU())


class Net(nn.Module):
    expansion: int = 4

    def __init__(self, width, block=None):
        super().__init__()
        self.body = Block(2 * width)
        block = Block
        self.tail = block(width)

    def forward(self, x):
        return self.tail(self.body(x))
"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("flax", ["self.body = Block(2 * self.width)", "self.tail = Block(self.width)"]),
        ("torch", ["self.body = Block(2 * width)", "self.tail = Block(width)"]),
    ],
)
def test_classes_of_the_source_are_called_and_sequences_call_their_layers(target, expected):
    found = layers(SEQUENCE, "torch", target, None)
    assert [one.layer.name for one in found] == ["0", "1", "body", "tail"]
    lines = [line.strip() for line in module_lines(found, SURFACES[target], registry.module_styles()[SURFACES[target]])]
    ast.parse("\n".join(module_lines(found, SURFACES[target], registry.module_styles()[SURFACES[target]])))
    assert [line for line in lines if line.startswith(("self.body", "self.tail"))] == expected
    calls = lines.index("x = self.layer_0(x)")
    assert lines[calls + 1 : calls + 3] == ["x = self.layer_1(x)", "return x"]


def test_class_of_the_source_with_the_number_of_a_loop_is_a_comment():
    text = SEQUENCE.replace(
        "        block = Block\n",
        "        block = Block\n        for number in range(2):\n            part = Block(number)\n",
    )
    found = layers(text, "torch", "flax", None)
    lines = [*module_lines(found, SURFACES["flax"], registry.module_styles()[SURFACES["flax"]])]
    assert any("part = Block(number)" in line for line in lines if line.strip().startswith("#"))
    assert not any("Block(number)" in line for line in lines if not line.strip().startswith("#"))


def test_parameters_of_the_constructor_come_before_attributes_of_the_class():
    found = layers(SEQUENCE, "torch", "keras", None)
    text = "\n".join(module_lines(found, SURFACES["keras"], registry.module_styles()[SURFACES["keras"]]))
    assert "def __init__(self, width, block=None, expansion=4):" in text


def test_record_has_every_layer_with_its_kind():
    found = layers(net("c = nn.Conv2d(8, planes, 3)", "f = nn.Linear(3, 4)"), "torch", "flax", None)
    record = layers_record(found, "net.py")
    assert [(one["name"], one["kind"]) for one in record["layers"]] == [
        ("Net.c", "translated"),
        ("Net.f", "not a window operator"),
    ]
    (target,) = record["layers"][0]["targets"].values()
    assert target["steps"][0]["has_weights"]


def test_list_names_every_layer_once():
    lines = [*list_lines(layers(MODEL, "torch", "flax", None), "model.py")]
    assert [line.split(",")[0].strip() for line in lines if line.startswith("  ") and not line.startswith("   ")] == [
        "conv1", "bn", "pool", "features.0", "features.1",
    ]  # fmt: skip


def test_layer_with_several_results_names_the_command_for_the_second():
    layer = translated("p = nn.MaxPool2d(2, 2, return_indices=True)")
    assert texts(layer) == ["x = nn.max_pool(x, (2, 2), strides=(2, 2))"]
    (caveat,) = layer.targets[0].caveats
    assert "also returns the indices" in caveat
    assert "'nn.MaxPool2d(2, 2, return_indices=True)[1]' --from torch --to flax.linen" in caveat


def test_unpooling_is_translated_with_its_indices():
    layer = translated("u = nn.MaxUnpool2d(2, 2)", "torch", (1, 4, 9, 9))
    assert texts(layer) == ["nn.MaxUnpool2d(2)"]
    layer = translated("u = nn.MaxUnpool2d(2, 2)", "flax", (1, 4, 9, 9))
    assert "pool(x, indices)" in texts(layer)[-1]


def test_layer_of_a_file_asks_for_its_shape_by_the_option_of_a_file():
    layer = translated("u = nn.MaxUnpool2d(2, 2)")
    assert layer.problem.endswith("add --input Net.u=N,C,…")


def test_program_that_reads_the_weights_is_named_by_its_command():
    layer = translated("t = nn.ConvTranspose2d(12, 8, 3, stride=2, groups=4)")
    reason = layer.targets[0].reason
    assert "conformance translate 'nn.ConvTranspose2d(12, 8, 3, stride=2, groups=4)' --from torch --to flax" in reason


@pytest.mark.parametrize(
    ("assignment", "arguments", "is_known"),
    [
        ("d = {'stride': 2, 'device': None}", "**d", True),
        ("d = dict(stride=2)", "**d", True),
        ("pass", "**{'stride': 2}", True),
        ("d = {'stride': 2}; d['stride'] = 3", "**d", False),
        ("d = {'stride': 2}; d.update(stride=3)", "**d", False),
        ("d = {'stride': 2}; d = {}", "**d", False),
        ("d = {mode: 2}", "**d", False),
    ],
)
def test_arguments_of_a_dictionary_are_known_if_it_never_changes(assignment, arguments, is_known):
    source = f"{HEAD}        {assignment}\n        self.c = nn.Conv2d(3, 8, 3, {arguments})\n"
    (layer,) = layers(source, "torch", "flax", None)
    found = texts(layer) if layer.targets else []
    assert (found == ["nn.Conv(8, (3, 3), strides=(2, 2), padding='VALID')"]) is is_known
    assert is_known or "not known from the text" in layer.problem


def test_method_of_an_unpooling_takes_the_indices():
    found = layers(net("u = nn.MaxUnpool2d(2, 2)"), "torch", "flax", (1, 4, 9, 9))
    lines = list(module_lines(found, "flax.linen", registry.module_styles()["flax.linen"]))
    assert "    def u(self, x, indices):" in lines


def test_layer_of_another_module_is_not_that_of_the_framework():
    (layer,) = layers(f"from mylib import MaxPool2d\n{net('pool = MaxPool2d(2)')}", "torch", "flax", None)
    assert layer.problem == "a class of another module, which is not read"
    assert not layer.targets
