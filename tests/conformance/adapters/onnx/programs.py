"""Programs of ONNX for tests: their lines, and inputs that several tests use."""

import re

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program

RUNTIME, *_ = registry.get_backend("onnxruntime").surfaces
(EVALUATOR,) = registry.get_backend("onnx").surfaces
both = pytest.mark.parametrize("surface", [RUNTIME, EVALUATOR], ids=lambda surface: surface.name)


def nodes(program):
    """Return the arguments of each make_node call of a program."""
    assert isinstance(program, Program), program
    return re.findall(r"helper\.make_node\((.*)\)[,\]]", program.text)


ROW = "x: {values: [[[1, 2, 3]]]}"
PLANE = "x: {values: [[[[1, 2], [3, 4]]]]}"
