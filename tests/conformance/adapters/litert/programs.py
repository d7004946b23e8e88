"""Programs of LiteRT for tests: their lines, and inputs that several tests use."""

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

DEFAULT, BUILTIN, REFERENCE = registry.get_backend("litert").surfaces
ROW = {"values": "integers", "shape": [1, 2, 6]}
PLANE = {"values": "integers", "shape": [1, 2, 4, 5]}
VOLUME = {"values": "integers", "shape": [1, 2, 4, 5, 3]}


def program(operator, surface=DEFAULT, **raw):
    return translate(parse_case({"operator": operator, "source": "test"}, {"id": "case", **raw}, "test"), surface)


def lines(operator, surface=DEFAULT, **raw):
    """Return the lines between those that start the graph and those that run it."""
    translated = program(operator, surface, **raw)
    assert isinstance(translated, Program), translated
    body = [line.strip() for line in translated.text.splitlines()]
    return body[body.index("x = graph.input(x)") + 1 : -2]
