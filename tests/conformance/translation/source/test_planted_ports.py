"""Ports with one planted mistake: the translation has the parameters of the source, and the wrong port has others."""

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.cli.lookup import find_dialects, find_surfaces
from conformance.translation.side_by_side import TranslationBackground
from conformance.translation.source.layer_translation import SourceTranslator
from conformance.translation.source.model_source import read_model_source
from conformance.translation.weights import convert
from tests.support.planted_ports import PORTS, TORCH

SURFACES = {"torch": "torch.nn", "flax": "flax.linen", "keras": "keras-jax.layers"}


def layers(text, framework, target, shape):
    """Return the translated layers of a source whose only window operator is named `layer`."""
    dialects, others = find_dialects(framework), registry.other_layers()
    names = {name for one in others[framework] for name in one.all_names}
    found = read_model_source(text, "model.py", dialects, names, {})
    shapes = {layer.name: shape for layer in found}
    translator = SourceTranslator(
        framework,
        dialects,
        find_surfaces([SURFACES[target]]),
        registry.module_styles(),
        others,
        TranslationBackground(),
        {} if shape is None else shapes,
        registry.separate_arguments(),
    )
    return [translator.translate(layer) for layer in found]


def texts(translated):
    return [step.text for layer in translated for target in layer.targets for step in target.steps or ()]


WINDOW_PORTS = [name for name in PORTS if name not in {"epsilon"}]


@pytest.mark.parametrize("name", WINDOW_PORTS)
def test_translation_of_the_source_is_that_of_the_right_port(name):
    """Both are translated back to one surface, so that equal calls have equal texts."""
    port = PORTS[name]
    (source,) = layers(port.source, "torch", port.target, port.shape)
    assert not source.problem
    right = texts(layers(port.port(port.right), port.target, port.target, port.shape))
    wrong = texts(layers(port.port(port.wrong), port.target, port.target, port.shape))
    written = texts([source])
    if name == "zeros-before-max-pooling":
        # The ports pad in their own method, which comes after the constructor.
        pool, pad = right
        assert written == [pad, pool]
        assert wrong == [pool, "keras.layers.ZeroPadding2D(((1, 1), (1, 1)))"]
    elif name == "same-padding-is-not-symmetric":
        assert written == ["keras.layers.ZeroPadding2D(((1, 1), (1, 1)))", "keras.layers.Conv2D(4, 3, strides=2)"]
        assert wrong == ["keras.layers.Conv2D(4, 3, strides=2, padding='same')"]
    elif name == "order-of-groups":
        assert written == ["keras.layers.Conv2D(6, 3, groups=3)"]
        assert "groups 3" in layers(port.port(port.right), "keras", "keras", port.shape)[0].meaning
    else:
        assert written == right
        assert (written != wrong) == bool(port.differs)


def test_wrong_epsilon_is_named_with_both_values():
    port = PORTS["epsilon"]
    (source,) = layers(port.source, "torch", "keras", port.shape)
    assert "epsilon (torch eps=1e-05; keras epsilon=0.001)" in source.problem
    assert "momentum" in source.problem
    given = TORCH.format(layer="nn.BatchNorm2d(4, eps=1e-3)")
    assert "epsilon" not in layers(given, "torch", "keras", port.shape)[0].problem


def test_kernel_that_is_not_flipped_has_a_note():
    port = PORTS["transposed-kernel-not-flipped"]
    (wrong,) = layers(port.port(port.wrong), "flax", "flax", port.shape)
    assert "the kernel is not flipped" in wrong.meaning


@pytest.mark.parametrize("name", [name for name, port in PORTS.items() if port.wrong == port.right])
def test_wrong_weights_have_the_shape_of_the_right_ones(name):
    """So that a framework loads them without an error."""
    port = PORTS[name]
    shape = (6, 1, 3, 3) if port.properties.depthwise else (4, 4, 3, 3)
    kernel = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    right = convert({"layer.weight": kernel}, "torch", port.target, {"layer": port.properties})
    wrong = port.wrong_weights(right)
    first, second = ([*walk(one)] for one in (right, wrong))
    assert [array.shape for array in first] == [array.shape for array in second]
    assert not np.array_equal(first[0], second[0])


def walk(weights):
    for value in weights.values() if isinstance(weights, dict) else weights:
        yield from [value] if isinstance(value, np.ndarray) else walk(value)
