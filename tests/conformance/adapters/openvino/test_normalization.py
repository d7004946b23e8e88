"""The module `normalization` of the adapter for OpenVINO."""

from conformance.adapters.openvino.normalization import NARROWER, lrn
from conformance.adapters.openvino.onnx_graphs import node_limit
from conformance.cases.steps import Step

NUMBERS = {"alpha": 1, "beta": 0.75, "k": 2, "alpha_over_size": True, "extra_channel": "after"}


def step(size=3, **parameters):
    return Step("lrn", (1, 4, 2, 3), "float32", {"local_size": size, **NUMBERS, **parameters})


def test_the_window_is_along_the_channels():
    assert lrn(step()) == "ops.lrn(x, np.array([1]), alpha=1.0, beta=0.75, bias=2.0, size=3)"
    bare = Step("lrn", (1, 4, 2, 3), "float32", {"local_size": 3})
    assert lrn(bare) == "ops.lrn(x, np.array([1]), size=3)"


def test_an_even_size_is_observed_by_conventions_only():
    bare = Step("lrn", (1, 4, 2, 3), "float32", {"local_size": 2})
    assert lrn(step(2)) is NARROWER
    assert node_limit(step(2)) is NARROWER
    assert lrn(bare).endswith("size=2)")
    assert node_limit(bare) is None
