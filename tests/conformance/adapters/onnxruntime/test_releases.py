"""Programs for old releases of ONNX Runtime: the newest opset that the release supports."""

import pytest

from conformance.adapters.onnx.graph import OPSET_VERSION
from conformance.adapters.onnxruntime.releases import release_surfaces


@pytest.mark.parametrize(
    ("version", "opset"),
    [
        *(("1.4.0", 12), ("1.6.0", 13), ("1.8.1", 14), ("1.10.0", 15), ("1.11.1", 16), ("1.13.1", 17), ("1.14.1", 18)),
        *(("1.15.1", 18), ("1.16.3", 19), ("1.20.1", 21), ("1.24.4", 25), ("1.25.1", 26), ("99.0", OPSET_VERSION)),
    ],
)
def test_models_have_the_newest_opset_of_the_release(version, opset):
    for surface in release_surfaces(version)[:1]:
        lines = surface.wrap_program(["x = Relu(x)"], ["x"])
        assert any(f'make_opsetid("", {opset})' in line for line in lines)
