"""Programs of JAX for tests: their lines, and inputs that several tests use."""

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

SURFACES = {surface.name: surface for surface in registry.get_backend("jax").surfaces}
PLANE = {"values": "integers", "shape": [1, 2, 4, 5]}
ROW = {"values": "integers", "shape": [1, 2, 6]}


def program(surface, operator, **raw):
    case = parse_case({"operator": operator, "source": "here"}, {"id": "case", **raw}, "here")
    return translate(case, SURFACES[surface])


def lines(surface, operator, **raw):
    """Return the lines of a program between the conversion of its inputs and the conversion of its result."""
    translated = program(surface, operator, **raw)
    assert isinstance(translated, Program), translated
    body = [line.strip() for line in translated.text.splitlines()]
    return [line for line in body if not line.endswith(("device_put(x)", "1, -1))"))][1:-1]
