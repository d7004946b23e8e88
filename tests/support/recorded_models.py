"""A small network in NumPy, and ports of it with one mistake each, recorded like the models of a framework."""

import numpy as np

from conformance.judging.expected import compute_reference
from conformance.models.comparison.recording import RecordedCall, RecordedModel, RecordedRun, nudged
from conformance.models.comparison.source import ModelSource

SHAPE = (2, 3, 16, 16)
# The layer that each mistake changes, and a part of the reason. "" for a mistake between layers.
MISTAKES = {
    "stride default": ("conv1", "stride: 2 x 2 in the source, 1 x 1 in the port"),
    "same padding": ("conv1", "padding: 1 x 1 in the source, (0, 1) x (0, 1) in the port"),
    "kernel not transposed": ("conv2", "with input and output channels exchanged"),
    "zero padding": ("pool", "pads with 0 before max_pool"),
    "count_include_pad": ("avg", "count_include_pad: true in the source, false in the port"),
    "ceil mode dropped": ("pool", "rounding: ceil in the source, floor in the port"),
    "dilation on one axis": ("conv2", "dilation: 2 x 2 in the source, 2 x 1 in the port"),
    "flipped kernel": ("up", "flipped on all spatial axes"),
    "groups order": ("grouped", "that of the source with its groups in the order 3, 0, 1, 2"),
    "epsilon": ("pool", ""),
}


class Recording:
    """Computes operators with the reference, and records the calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, name, operator, x, **given):
        weights = {key: given.pop(key) for key in ("kernel", "bias") if key in given}
        value = compute_reference(operator, {"x": x, **weights}, given).value
        self.calls.append(RecordedCall(operator, name, given, {"x": x, **weights}, value))
        return value


def make_weights():
    """Return the weights of the network, by name."""
    rng = np.random.default_rng(5)
    shapes = {
        "conv1": (8, 3, 3, 3),
        "bias1": (8,),
        "conv2": (8, 8, 3, 3),
        "grouped": (16, 2, 3, 3),
        "up": (16, 8, 3, 3),
        "fc": (8, 5),
    }
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def run_network(x, op, mistake=""):
    """Compute the network, with a mistake or without one."""
    w = make_weights()
    stride = (1, 1) if mistake == "stride default" else (2, 2)
    padding = ((0, 1), (0, 1)) if mistake == "same padding" else ((1, 1), (1, 1))
    x = op("conv1", "conv", x, kernel=w["conv1"], bias=w["bias1"], stride=stride, padding=padding)
    epsilon = np.float32(1e-3 if mistake == "epsilon" else 1e-5)
    x = np.maximum(x / np.sqrt(np.float32(0.01) + epsilon), 0) - np.float32(2)
    given = {"window": (3, 3), "stride": (2, 2), "padding": ((0, 0), (0, 0))}
    if mistake != "ceil mode dropped":
        given["rounding"] = "ceil"
    if mistake == "zero padding":
        x = op("", "pad", x, pads=((1, 1), (1, 1)), mode="constant", value=0.0)
    else:
        given["padding"] = ((1, 1), (1, 1))
    x = op("pool", "max_pool", x, **given)
    kernel = w["conv2"].swapaxes(0, 1) if mistake == "kernel not transposed" else w["conv2"]
    dilation = (2, 1) if mistake == "dilation on one axis" else (2, 2)
    x = op("conv2", "conv", x, kernel=kernel, padding=((2, 2), (2, 2)), dilation=dilation)
    kernel = np.roll(w["grouped"], 4, 0) if mistake == "groups order" else w["grouped"]
    x = op("grouped", "conv", x, kernel=kernel, padding=((1, 1), (1, 1)), groups=4)
    kernel = w["up"][..., ::-1, ::-1] if mistake == "flipped kernel" else w["up"]
    x = op("up", "conv_transpose", x, kernel=kernel, stride=(2, 2), padding=((1, 1), (1, 1)), output_padding=(1, 1))
    given = {"window": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1))}
    x = op("avg", "avg_pool", x, **given, count_include_pad=mistake != "count_include_pad")
    return x.mean((2, 3), dtype=np.float32) @ w["fc"]


def record_network(mistake="", *, sign=-1):
    """Return the record of the network for one input, all of whose numbers have the same sign."""
    rng = np.random.default_rng(1)
    x = (sign * (1 + np.abs(rng.standard_normal(SHAPE)))).astype(np.float32)
    runs = []
    for one in (x, nudged(x)):
        op = Recording()
        runs.append((op.calls, run_network(one, op, mistake)))
    (calls, result), (noisy_calls, noisy) = runs
    noise = [
        RecordedCall(
            one.operator,
            one.name,
            one.parameters,
            one.inputs,
            one.result,
            float(np.abs(one.x - two.x).max()),
            float(np.abs(one.result - two.result).max()),
        )
        for one, two in zip(calls, noisy_calls, strict=True)
    ]
    run = RecordedRun(noise, [result], [float(np.abs(result - noisy).max())])
    return RecordedModel(ModelSource("numpy", "net.py", "make"), [run], make_weights())
