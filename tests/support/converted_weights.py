"""Runs of layers with converted weights in the frameworks, compared with the reference. Each needs its framework."""

# ruff: noqa: PLC0415, S307 - a framework is imported only where it is used, and the texts are those of EXAMPLES

import numpy as np

from conformance.translation.weights import convert
from tests.support.weighted_layers import EXAMPLES

FORMATS = {"torch": ("torch",), "jax": ("flax.linen", "flax.nnx"), "keras": ("keras",)}
TOLERANCE = 2e-6
"""Relative tolerance for the square root of the normalization. All other layers are exact on integers."""


def run_torch(constructor, weights, x):
    """Return the result of the layer and its weights."""
    import torch
    from torch import nn

    layer = eval(constructor, {"nn": nn})
    prefix = "1." if isinstance(layer, nn.Sequential) else ""
    layer.load_state_dict({prefix + name[6:]: torch.from_numpy(one) for name, one in weights.items()}, strict=False)
    with torch.no_grad():
        y = layer(torch.from_numpy(x)).numpy()
    own = {"layer." + name.removeprefix(prefix): one.numpy() for name, one in layer.state_dict().items()}
    return y, own


def run_linen(constructor, weights, x):
    """Return the result of the layer and its weights."""
    import jax
    from flax import linen

    layer = eval(constructor, {"linen": linen})
    variables = {collection: layers["layer"] for collection, layers in weights.items()}
    shapes = jax.tree.map(np.shape, layer.init(jax.random.key(0), x))
    assert shapes == jax.tree.map(np.shape, variables), (shapes, jax.tree.map(np.shape, variables))
    own = {collection: {"layer": jax.tree.map(np.asarray, one)} for collection, one in variables.items()}
    return np.asarray(layer.apply(variables, x)), own


def run_nnx(constructor, weights, x):
    """Return the result of the layer and its weights."""
    from flax import nnx

    layer = eval(constructor, {"nnx": nnx})
    for name, array in weights["layer"].items():
        assert getattr(layer, name).shape == array.shape, name
        getattr(layer, name)[...] = array
    own = {"layer": {name: np.asarray(getattr(layer, name)[...]) for name in weights["layer"]}}
    return np.asarray(layer(x)), own


def run_keras(constructor, weights, x):
    """Return the result of the layer and its weights."""
    import keras

    layer = eval(constructor, {"keras": keras})
    layer.build(x.shape)
    layer.set_weights(weights["layer"])
    return keras.ops.convert_to_numpy(layer(x)), {"layer": layer.get_weights()}


RUNNERS = {"torch": run_torch, "flax.linen": run_linen, "flax.nnx": run_nnx, "keras": run_keras}


def mapped(function, *trees):
    """Return nested dictionaries and lists with a function applied to the arrays at the same place of each."""
    if isinstance(trees[0], dict):
        return {key: mapped(function, *(tree[key] for tree in trees)) for key in trees[0]}
    if isinstance(trees[0], list):
        return [mapped(function, *parts) for parts in zip(*trees, strict=True)]
    return function(*trees)


def run_groups(run, constructor, weights, x, groups):
    """Return the result and the weights of a layer in groups, which the framework computes one after another."""
    split = [mapped(lambda array, at=number: np.split(array, groups, -1)[at], weights) for number in range(groups)]
    found = [run(constructor, own, part) for own, part in zip(split, np.split(x, groups, -1), strict=True)]
    joined = mapped(lambda *arrays: np.concatenate(arrays, -1), *(own for _, own in found))
    return np.concatenate([y for y, _ in found], -1), joined


def problem(name, example, target):
    """Return why a layer differs from the reference, or None."""
    state, x = example.state(), example.x()
    weights = convert(state, "torch", target, {"layer": example.layer})
    if target != "torch":
        x = np.moveaxis(x, 1, -1)
        x = x.reshape(len(x), -1) if example.layer.flattened else x
    run, groups = RUNNERS[target], 1 if target == "torch" else example.layer.groups
    constructor = example.constructors[target]
    y, own = run(constructor, weights, x) if groups == 1 else run_groups(run, constructor, weights, x, groups)
    y = np.moveaxis(y, -1, 1) if target != "torch" else y
    if not np.allclose(y, example.expected(), rtol=TOLERANCE if name == "batch-norm" else 0, atol=TOLERANCE * 10):
        return f"{name} on {target}: differs by {np.abs(y - example.expected()).max()}"
    back = convert(own, target, "torch", {"layer": example.layer})
    different = [key for key, array in state.items() if not np.array_equal(back[key], array)]
    return f"{name} on {target}: converted back, {different[0]} differs" if different else None


def layers_of(backend):
    """Return each layer that a backend has: its name, the example and the format of the weights."""
    return [
        (name, example, target)
        for target in FORMATS[backend.partition("-")[0]]
        for name, example in EXAMPLES.items()
        if target in example.constructors
    ]
