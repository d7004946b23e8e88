"""Programs of the built-in backend for tests: their lines, and inputs that several tests use."""

import numpy as np

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

BACKEND = registry.get_backend("numpy")
(LOOPS,) = BACKEND.surfaces
ROW = {"values": [[[3, 4, 1]]]}
ONE = {"values": "integers"}


def program(operator, **raw):
    return translate(parse_case({"operator": operator, "source": "test"}, {"id": "case", **raw}, "test"), LOOPS)


def run(operator, *arrays, **raw):
    """Run the program of a case on arrays, as a worker does."""
    translated = program(operator, **raw)
    assert isinstance(translated, Program), translated
    names = {}
    exec(BACKEND.setup + translated.text, names)  # noqa: S102 - the adapter's own text
    return names["run"](*arrays)


def row(*numbers, dtype="float32"):
    return np.array(numbers, dtype).reshape(1, 1, -1)
