"""Programs of tinygrad for tests: their lines, and inputs that several tests use."""

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

BACKEND = registry.get_backend("tinygrad")
(SURFACE,) = BACKEND.surfaces
ROW = {"values": "integers", "shape": [1, 2, 6]}


def program(operator, **raw):
    return translate(parse_case({"operator": operator, "source": "a test"}, {"id": "case", **raw}, "a test"), SURFACE)


def lines(operator, **raw):
    """Return the lines of a program without conversions of arrays."""
    made = program(operator, **raw)
    assert isinstance(made, Program), made
    body = [line.strip() for line in made.text.splitlines()]
    return [line for line in body if "= Tensor(" not in line][1:-1]
