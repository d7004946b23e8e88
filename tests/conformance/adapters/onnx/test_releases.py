"""Programs for old releases of onnx: the newest opset that the release defines."""

import pytest

from conformance.adapters.onnx.graph import OPSET_VERSION
from conformance.adapters.onnx.releases import release_surfaces


@pytest.mark.parametrize(
    ("version", "opset"),
    [("1.13.1", 18), ("1.14.0", 19), ("1.14.1", 19), ("1.17.0", 22), ("1.20.1", 25), ("1.21.0", 26), ("1.23.2", 26)],
)
def test_models_have_the_newest_opset_of_the_release(version, opset):
    (surface,) = release_surfaces(version)
    lines = surface.wrap_program(["x = Relu(x)"], ["x"])
    assert any(f'make_opsetid("", {opset})' in line for line in lines)


def test_the_newest_release_has_the_opset_of_the_adapter():
    (surface,) = release_surfaces("99.0")
    assert any(f'make_opsetid("", {OPSET_VERSION})' in line for line in surface.wrap_program([], ["x"]))
