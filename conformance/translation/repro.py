"""Stand-alone reproduction script for one case on one surface. It needs the framework and NumPy, not the suite."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from conformance.adapters.api import Backend, Program, source_text
from conformance.cases.arrays import BFLOAT16, Array
from conformance.cases.case import Case
from conformance.judging.expected import Expected, Target
from conformance.judging.tolerance import target_for

MAX_LITERAL_SIZE = 4096
"""Number of elements above which an array is written as hexadecimal bytes."""


def repro_script(case: Case, expected: Expected, backend: Backend, program: Program) -> str:
    """Return the script: the program, the inputs, the expected result and the comparison.

    The script exits with status 0 if the output agrees with the reference within the bound, with 1 if not.
    """
    # The text becomes part of a docstring, so backslashes and triple quotes are escaped.
    about = (case.about or case.source).replace("\\", "\\\\").replace('"""', "'''")
    doc = f'"""{case.id} on {program.surface}.\n\n{about}\n"""'
    inputs = "\n".join(f"{name} = {_array_literal(array)}" for name, array in expected.inputs.items())
    call = f"run({', '.join(expected.inputs)})"
    comparison = _judgement_lines(_expected_with_surface_bound(case, expected, backend, program), call)
    return f"{doc}\n\nimport sys\n\n{_program_lines(backend, program)}\n\n{inputs}\n\n{comparison}"


def _expected_with_surface_bound(case: Case, expected: Expected, backend: Backend, program: Program) -> Expected:
    """Return the expected result with the error bound that applies to the surface."""
    surface = next((surface for surface in backend.surfaces if surface.name == program.surface), None)
    if not expected.target or not surface:
        return expected
    target = target_for(expected.target, case, surface, program.how, expected.inputs)
    return replace(expected, target=target) if target else expected


def _program_lines(backend: Backend, program: Program) -> str:
    """Return the program after the setup lines that it needs, or a function that sends it to a worker."""
    if backend.worker is None:
        return f"{_setup_lines(backend, program)}\n\n{program.text}"
    command = f"COMMAND = {backend.worker.command()}\n"
    texts = {"SETUP": backend.setup + program.mode, "PROGRAM": program.text}
    lines = [f"{name} = {_text_literal(text)}\n" for name, text in texts.items()]
    return OTHER_LANGUAGE_IMPORTS + command + "".join(lines) + OTHER_LANGUAGE_FUNCTION


def _text_literal(text: str) -> str:
    """Return a text as source text, with as many lines."""
    is_readable = "\n" in text and not ('"""' in text or "\\" in text)
    return f'"""\\\n{text}"""' if is_readable else repr(text)


def _setup_lines(backend: Backend, program: Program) -> str:
    """Return the setup lines that the program needs, so that the framework and NumPy are sufficient."""
    needed = "\n".join(source_text.required_setup(backend.setup + program.mode, program.text))
    setup = f"{backend.threads}\n{needed}".strip()
    return setup if "import numpy as np" in setup else f"import numpy as np\n{setup}"


def _array_literal(array: Array) -> str:
    """Return source text that evaluates to exactly the array; a large one is written as bytes."""
    if array.dtype.name == BFLOAT16:  # programs take bfloat16 as 16-bit words
        return _array_literal(array.view(np.uint16))
    dtype, shape = source_text.dtype_text(array), source_text.tuple_of(array.shape)
    if array.size == 0:
        return f"np.zeros({shape}, {dtype})"
    if array.size <= MAX_LITERAL_SIZE:
        return source_text.array_text(array)
    return f"np.frombuffer(bytes.fromhex({array.tobytes().hex()!r}), {dtype}).reshape{shape}.copy()"


def _judgement_lines(expected: Expected, call: str) -> str:
    if expected.target is None:
        return _convention_lines(expected, call)
    if expected.target.exact is None:
        return REJECTION_TEMPLATE.format(call=call, violation=expected.target.violation)
    return _comparison_lines(expected.target, call)


def _comparison_lines(target: Target, call: str) -> str:
    assert target.exact is not None  # noqa: S101 - checked by the caller
    # `high` is the exact result before rounding to the dtype; it is written only where rounding changed a value.
    value, high = target.exact.value, target.exact.high
    rounded = high is not None and bool((value.astype(np.float64) != high).any())
    unrounded = f"exact = {_array_literal(high)}  # before it was rounded\n" if rounded and high is not None else ""
    bound = np.zeros(target.exact.value.shape) if target.bound is None else target.bound
    exact = "exact" if unrounded else "expected.astype(np.float64)"
    texts = {"expected": _array_literal(value), "unrounded": unrounded, "exact": exact, "bound": _bound_text(bound)}
    comparison = COMPARISON_TEMPLATE.format(call=call, **texts)
    return comparison if value.dtype.name != BFLOAT16 else _bfloat16_comparison(comparison, call)


def _bfloat16_comparison(comparison: str, call: str) -> str:
    """Return the comparison for bfloat16, converted to float32, since NumPy has no bfloat16."""
    converted = comparison.replace(f"got = {call}", f"got = numbers({call})")
    return BFLOAT16_TEMPLATE + converted.replace("\nbound = ", "\nexpected = numbers(of_words(expected))\nbound = ", 1)


def _bound_text(bound: Array) -> str:
    if bound.size == 0 or (bound == bound.flat[0]).all():
        value = float(bound.flat[0]) if bound.size else 0.0
        return source_text.number(value) if math.isfinite(value) else "np.inf"
    return _array_literal(bound.astype(np.float64))


def _convention_lines(expected: Expected, call: str) -> str:
    values = {name: target.exact.value for name, target in expected.answers.items() if target.exact is not None}
    narrow = any(value.dtype.name == BFLOAT16 for value in values.values())
    answers = {name: _answer_text(values[name]) if name in values else "None  # rejected" for name in expected.answers}
    lines = "".join(f"answers[{name!r}] = {text}\n" for name, text in answers.items())
    # Another answer may have the same numbers in float32.
    compared = BFLOAT16_COMPARISON if narrow else ""
    shown = "numbers(got)" if narrow else "got"
    script = CONVENTION_TEMPLATE.format(call=call, answers=lines, compared=compared, shown=shown)
    return BFLOAT16_TEMPLATE * narrow + script


def _answer_text(value: Array) -> str:
    return f"of_words({_array_literal(value)})" if value.dtype.name == BFLOAT16 else _array_literal(value)


OTHER_LANGUAGE_IMPORTS = """\
import base64
import json
import subprocess

import numpy as np

"""
OTHER_LANGUAGE_FUNCTION = '''

def run(*arrays):
    """Send the program to the worker, which is no Python process, and return its result."""
    inputs = [
        {"dtype": str(array.dtype), "shape": array.shape, "data": base64.b64encode(array.tobytes()).decode()}
        for array in arrays
    ]
    requests = {"hello": 1, "setup": SETUP}, {"program": PROGRAM, "arrays": inputs}
    lines = "".join(json.dumps({"request": str(n), **request}) + "\\n" for n, request in enumerate(requests))
    reply = json.loads(subprocess.run(COMMAND, input=lines, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
    if "error" in reply:
        raise RuntimeError("{type}: {message}".format(**reply["error"]))
    (item,) = reply["arrays"]
    return np.frombuffer(base64.b64decode(item["data"]), item["dtype"]).reshape(item["shape"])
'''
COMPARISON_TEMPLATE = """\
expected = {expected}
{unrounded}bound = {bound}  # error bound; 0 where nothing is rounded

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

BFLOAT16_TEMPLATE = '''\
def is_bfloat16(array):
    return array.dtype.name == "bfloat16" or array.dtype.names == ("bfloat16",)


def numbers(words):
    """Return bfloat16 as float32, whose upper half it is; return any other array unchanged."""
    if not is_bfloat16(words):
        return words
    return (np.ascontiguousarray(words).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def of_words(array):
    """Return an array of 16-bit words as bfloat16."""
    return array.view([("bfloat16", np.uint16)])


'''

REJECTION_TEMPLATE = """\
try:
    got = {call}
except Exception as error:
    print("rejected, as required ({violation}):", type(error).__name__, error)
else:
    print("got", got, sep="\\n")
    sys.exit("accepted in spite of {violation}")
"""

BFLOAT16_COMPARISON = """\
    if is_bfloat16(answer) != is_bfloat16(got):
        return False
    answer, got = numbers(answer), numbers(got)
"""

CONVENTION_TEMPLATE = """\
def same(answer, got):
    if answer is None or got is None:
        return answer is got
{compared}    if (answer.dtype, answer.shape) != (got.dtype, got.shape):
        return False
    nan = answer != answer
    if answer.dtype.kind == "f" and (np.signbit(answer) != np.signbit(got))[~nan].any():
        return False
    return bool((nan == (got != got)).all() and ((answer == got) | nan).all())


answers = {{}}
{answers}
try:
    got = {call}
except Exception as error:
    got = None
    print("rejected:", type(error).__name__, error)
else:
    print("got", {shown}, sep="\\n")
for name, answer in answers.items():
    print("yes " if same(answer, got) else "no  ", name)
"""
