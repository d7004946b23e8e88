"""A stand-alone script for one case on one surface: it needs the framework and NumPy, nothing of the suite."""

from __future__ import annotations

import math

import numpy as np

from conformance import code
from conformance.adapter import Backend, Program
from conformance.cases import Case
from conformance.errors import ConformanceError
from conformance.expected import Expected, Target
from conformance.values import Array

MAX_LITERAL = 4096


def script(case: Case, wanted: Expected, backend: Backend, program: Program) -> str:
    """Return the script: inputs, the call, what must come out, the difference, and an exit status that says it.

    The script leaves with 0 where the output is what the reference says, within the bound, and with 1 where not.
    """
    about = (case.about or case.source).replace("\\", "\\\\").replace('"""', "'''")
    doc = f'"""{case.id} on {program.surface}.\n\n{about}\n"""'
    inputs = "\n".join(f"{name} = {_literal(array)}" for name, array in wanted.inputs.items())
    call = f"run({', '.join(wanted.inputs)})"
    return f"{doc}\n\nimport sys\n\n{_setup(backend)}\n\n{program.text}\n\n{inputs}\n\n{_judgement(wanted, call)}"


def _setup(backend: Backend) -> str:
    setup = f"{backend.threads}\n{backend.setup}".strip()
    return setup if "import numpy as np" in setup else f"import numpy as np\n{setup}"


def _literal(array: Array) -> str:
    """Return text that makes the very array; a long one is written as bytes."""
    if array.dtype.name == "bfloat16":
        raise ConformanceError("no script for bfloat16: NumPy has no such dtype without ml_dtypes")
    dtype, shape = code.dtype_text(array), code.tuple_of(array.shape)
    if array.size == 0:
        return f"np.zeros({shape}, {dtype})"
    if array.size <= MAX_LITERAL:
        return code.array_text(array)
    return f"np.frombuffer(bytes.fromhex({array.tobytes().hex()!r}), {dtype}).reshape{shape}.copy()"


def _judgement(wanted: Expected, call: str) -> str:
    if wanted.target is None:
        return _question(wanted, call)
    if wanted.target.exact is None:
        return REFUSAL.format(call=call, fault=wanted.target.rejected)
    return _comparison(wanted.target, call)


def _comparison(target: Target, call: str) -> str:
    assert target.exact is not None  # noqa: S101 - asked before
    value, high = target.exact.value, target.exact.high
    rounded = high is not None and bool((value.astype(np.float64) != high).any())
    unrounded = f"exact = {_literal(high)}  # before it was rounded\n" if rounded and high is not None else ""
    bound = np.zeros(target.exact.value.shape) if target.bound is None else target.bound
    exact = "exact" if unrounded else "expected.astype(np.float64)"
    texts = {"expected": _literal(value), "unrounded": unrounded, "exact": exact, "bound": _bound(bound)}
    return COMPARISON.format(call=call, **texts)


def _bound(bound: Array) -> str:
    if bound.size == 0 or (bound == bound.flat[0]).all():
        value = float(bound.flat[0]) if bound.size else 0.0
        return code.number(value) if math.isfinite(value) else "np.inf"
    return _literal(bound.astype(np.float64))


def _question(wanted: Expected, call: str) -> str:
    answers = {
        name: "None  # refused" if target.exact is None else _literal(target.exact.value)
        for name, target in wanted.answers.items()
    }
    lines = "".join(f"answers[{name!r}] = {text}\n" for name, text in answers.items())
    return QUESTION.format(call=call, answers=lines)


COMPARISON = """\
expected = {expected}
{unrounded}bound = {bound}  # the error that rounding may leave; 0 where nothing is rounded

got = {call}
print("expected", expected.dtype, expected.shape, expected, sep="\\n")
print("got", got.dtype, got.shape, got, sep="\\n")
if got.dtype != expected.dtype or got.shape != expected.shape:
    sys.exit("differs in dtype or shape")
with np.errstate(invalid="ignore"):
    same = (got == expected) | ((got != got) & (expected != expected))
    difference = np.where(same, 0, got.astype(np.float64) - {exact})
print("difference", difference, sep="\\n")
within = same | ((np.abs(difference) <= bound) & (np.asarray(bound) > 0))
sys.exit("differs" if not within.all() else 0)
"""

REFUSAL = """\
try:
    got = {call}
except Exception as error:
    print("refused, as it must be ({fault}):", type(error).__name__, error)
else:
    print("got", got, sep="\\n")
    sys.exit("accepted in spite of {fault}")
"""

QUESTION = """\
answers = {{}}
{answers}
try:
    got = {call}
except Exception as error:
    got = None
    print("refused:", type(error).__name__, error)
else:
    print("got", got, sep="\\n")
for name, answer in answers.items():
    same = answer is got is None or (answer is not None and got is not None and np.array_equal(answer, got))
    print("yes " if same else "no  ", name)
"""
