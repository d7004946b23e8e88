"""Nodes of a model file with their translations."""

import ast

import pytest

from conformance.adapters import registry
from conformance.cli.lookup import find_surfaces
from conformance.models.graph_translation import CHANNEL_NUMBERS, translate_nodes, with_few_channels
from conformance.models.layer import Model, ModelLayer, ModelNode
from conformance.translation.side_by_side import TranslationBackground
from conformance.translation.source.layer_translation import SourceTranslator
from conformance.translation.source.module_text import list_lines, module_lines
from conformance.translation.source.translated_layer import LayerKind

WINDOWS = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
POOLING = {"window": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "rounding": "floor"}


def conv(channels, out, *, groups=1, extent=8, name="/stem/Conv"):
    kernel = (out, channels // groups, 3, 3)
    return ModelLayer(
        name, "conv", {**WINDOWS, "groups": groups}, (1, channels, extent, extent), kernel=kernel, bias=True
    )


POOL = ModelLayer("pool", "max_pool", POOLING, (1, 8, 8, 8))
CHAIN = (
    ModelNode("weight", "Identity", (), ("w",)),
    ModelNode("/stem/Conv", "Conv", ("x",), ("a",)),
    ModelNode("relu", "Relu", ("a",), ("b",)),
    ModelNode("pool", "MaxPool", ("b",), ("y",)),
)


def translated(*layers, nodes=(), target="flax.linen"):
    model = Model("res-net 18.file", "onnx.reference", tuple(layers), {}, tuple(nodes))
    surfaces, styles = find_surfaces([target]), registry.module_styles()
    translator = SourceTranslator("onnx", (), surfaces, styles, registry.other_layers(), TranslationBackground())
    return translate_nodes(model, translator)


def text(layer):
    return layer.targets[0].steps[0].text


def test_every_node_is_listed_and_window_operators_are_translated():
    found = translated(conv(3, 8), POOL, nodes=CHAIN)
    assert [(one.layer.name, one.kind) for one in found] == [
        ("weight", LayerKind.OTHER),
        ("/stem/Conv", LayerKind.TRANSLATED),
        ("relu", LayerKind.OTHER),
        ("pool", LayerKind.TRANSLATED),
    ]
    assert "  relu, node 3: Relu(a)" in [*list_lines(found, "net")]


def test_a_chain_is_written_as_a_module_that_calls_its_nodes_in_order():
    found = translated(conv(3, 8), POOL, nodes=CHAIN)
    lines = [*module_lines(found, "flax.linen", registry.module_styles()["flax.linen"])]
    ast.parse("\n".join(lines))
    assert "class ResNet18(nn.Module):" in lines
    calls = [line.strip() for line in lines if line.strip().startswith("x = self.")]
    assert calls == ["x = self.stem_Conv(x)", "x = self.relu(x)", "x = self.pool(x)"]
    assert "        raise NotImplementedError('Relu(a)')" in lines


@pytest.mark.parametrize(
    "changed",
    [
        ModelNode("pool", "Add", ("a", "b"), ("y",)),
        ModelNode("pool", "MaxPool", ("a",), ("y",)),
    ],
)
def test_a_graph_with_a_branch_is_no_chain(changed):
    assert Model("", "", (), {}, CHAIN).is_chain
    assert not Model("", "", (), {}, (*CHAIN[:3], changed)).is_chain
    assert not Model("", "", ()).is_chain


def test_a_reader_without_nodes_gives_its_layers():
    assert [one.layer.name for one in translated(conv(3, 8), POOL)] == ["/stem/Conv", "pool"]


def test_a_layer_that_cannot_be_read_has_the_reason():
    (found,) = translated(ModelLayer("roi", source="RoiAlign", problem="no region pooling"))
    assert (found.kind, found.problem) == (LayerKind.UNTRANSLATED, "no region pooling")


@pytest.mark.parametrize(("channels", "out"), [(512, 1024), (512, 512)])
def test_a_layer_that_is_too_large_has_its_own_numbers(channels, out):
    (found,) = translated(conv(channels, out, extent=224), target="torch.nn")
    assert text(found) == f"nn.Conv2d({channels}, {out}, 3, padding=1)"


def test_a_large_depthwise_layer_has_its_own_number_of_groups():
    (found,) = translated(conv(512, 512, groups=512, extent=224), target="torch.nn")
    assert text(found) == "nn.Conv2d(512, 512, 3, padding=1, groups=512)"


def test_few_channels_stay_what_they_are():
    small, numbers = with_few_channels(conv(3, 64), CHANNEL_NUMBERS[0])
    assert small.shape[1] == 3
    assert numbers == {"64": CHANNEL_NUMBERS[0][2]}
