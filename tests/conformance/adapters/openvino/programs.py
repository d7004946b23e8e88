"""Programs of OpenVINO for tests: their lines, and inputs that several tests use."""

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

SURFACE, *_ = registry.get_backend("openvino").surfaces
ROW = {"values": "integers", "shape": [1, 2, 6]}


def program(operator, **raw):
    return translate(parse_case({"operator": operator, "source": "test"}, {"id": "case", **raw}, "test"), SURFACE)


def lines(operator, **raw):
    """Return the lines with operations, without those that build and run the model."""
    translated = program(operator, **raw)
    assert isinstance(translated, Program), translated
    body = [line.strip() for line in translated.text.splitlines()]
    start = next(number for number, line in enumerate(body) if "parameters =" in line)
    return body[start + 1 : -2]
