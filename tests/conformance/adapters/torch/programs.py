"""Programs of PyTorch for tests: their lines, and inputs that several tests use."""

from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.translation.lowering import translate
from tests.support.fake_backends import one

SURFACES = {surface.name: surface for surface in registry.get_backend("torch").surfaces}
NN, F, LAST, COMPILED = (SURFACES[f"torch.{name}"] for name in ("nn", "nn.functional", "channels_last", "compile"))
PLANE = "x: {values: integers, shape: [1, 2, 5, 5]}"
ROW = "x: {values: integers, shape: [1, 1, 6]}"
GRAD = "grad: {values: integers}"


def lines(tmp_path, operator, text, surface=F):
    """Return the lines of a program without conversions of arrays, and how the program computes the case."""
    program = translate(one(tmp_path, f"id: a, {text}", operator=operator), surface)
    assert isinstance(program, Program), program
    body = [line.strip() for line in program.text.splitlines()[1:-1]]
    return [line for line in body if "from_numpy" not in line], program.how


def reason(tmp_path, operator, text, surface=F):
    answer = translate(one(tmp_path, f"id: a, {text}", operator=operator), surface)
    assert isinstance(answer, Unsupported), answer.text
    return answer.reason


CONV = "x: {values: integers, shape: [1, 1, 4]}, kernel: {values: [[[1, 2]]]}, bias: {values: [3]}"
