"""Programs of MXNet for tests: their lines, and inputs that several tests use."""

import re

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program

GLUON, NPX, ND, BOOK = registry.get_backend("mxnet").surfaces
everywhere = pytest.mark.parametrize("surface", [GLUON, NPX, ND], ids=lambda surface: surface.name)


def body(program):
    """Return the lines of a program without the conversions of inputs and outputs."""
    assert isinstance(program, Program), program
    lines = [line[4:] for line in program.text.splitlines()[1:]]
    return [
        line for line in lines if not re.match(r"(x|grad|kernel|bias|draws|indices) = (?:mnp|mx.nd).array\(\w+, ", line)
    ][:-1]


ROW = "x: {values: [[[1, 2, 3]]]}"
GRAD = "grad: {values: integers}"
PLANE = "x: {values: integers, shape: [1, 1, 3, 4]}"
