"""Calls of operators of TOSA, and their results in its reference model.

CONFORMANCE_TOSA_PYTHON is the path of a Python that has tosa-tools. It needs an environment of its own: the package has
a top-level module `conformance`, too. Arrays have channels first here and channels last in TOSA.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PYTHON = os.environ.get("CONFORMANCE_TOSA_PYTHON", "")
SCRIPT = Path(__file__).with_name("tosa_model.py")
# Characters of an error: after an assertion, the model prints the stack.
MAX_MESSAGE = 500


@dataclass(frozen=True, eq=False)
class Call:
    """An operator of TOSA. An input is an array with channels last, or an earlier call of the same run.

    attributes: the arguments of the operator's attribute in tosa_serializer; a string is a member of an enum. shape:
    that of the output, with channels first. unsigned: whether the result is uint8, which TOSA writes in int8.
    """

    operator: str
    inputs: list
    attributes: list
    shape: tuple
    dtype: str = "int32"
    unsigned: bool = False


def channels_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def one_number(value, dtype="int8"):
    return np.array([value], dtype)


def flat(pairs):
    return [number for pair in pairs for number in pair]


def convolution(operator, operands, geometry, shape):
    """Return a convolution without a bias. operands: x, the kernel in the order of TOSA, and two zero points."""
    x, kernel, zeros = operands
    inputs = [channels_last(x), np.ascontiguousarray(kernel), one_number(0, "int32"), *map(one_number, zeros)]
    return Call(operator, inputs, [*geometry, False, "INT32"], shape)


def rescaling(x, scale, zeros, rounding="SINGLE_ROUND", unsigned=(False, False)):
    """Return RESCALE to eight bits.

    x: an array with channels first, or a call. scale: a multiplier and a shift, or a tuple of each with a number for
    each channel. zeros: the zero points of x and of the result. unsigned: whether these are uint8, in bytes of int8.
    """
    first, dtype = (x, x.dtype) if isinstance(x, Call) else (channels_last(x), x.dtype.name)
    numbers = [np.ravel(given).astype(kind) for given, kind in zip(scale, ("int32", "int8"), strict=True)]
    points = [
        one_number(zero, "uint8").view(np.int8) if is_unsigned else one_number(zero, kind)
        for zero, is_unsigned, kind in zip(zeros, unsigned, (dtype, "int8"), strict=True)
    ]
    attributes = [True, rounding, len(numbers[0]) > 1, *unsigned]
    return Call("RESCALE", [first, *numbers, *points], attributes, x.shape, "int8", unsigned[1])


def results(calls, folder):
    """Return the results of the calls with channels first, computed in one process."""
    names, arrays, lines = {id(call): str(number) for number, call in enumerate(calls)}, {}, []
    for number, call in enumerate(calls):
        given = {names.get(id(one), f"{number}-{place}"): one for place, one in enumerate(call.inputs)}
        arrays |= {name: one for name, one in given.items() if not isinstance(one, Call)}
        n, c, *spatial = (int(extent) for extent in call.shape)
        facts = {"operator": call.operator, "attributes": call.attributes, "dtype": call.dtype.upper()}
        lines.append({"inputs": [*given], "shape": [n, *spatial, c], **facts})
    np.savez(folder / "arrays.npz", **arrays)
    (folder / "calls.json").write_text(json.dumps(lines))
    done = subprocess.run([PYTHON, SCRIPT, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:MAX_MESSAGE]
    with np.load(folder / "results.npz") as found:
        numbers = [np.moveaxis(found[str(number)], -1, 1) for number in range(len(calls))]
    return [one.view(np.uint8) if call.unsigned else one for one, call in zip(numbers, calls, strict=True)]


def check(calls, expected, folder):
    """Compare the results of TOSA with those of the reference, and their dtypes."""
    for number, (got, wanted) in enumerate(zip(results(calls, folder), expected, strict=True)):
        np.testing.assert_array_equal(got, wanted, err_msg=f"call {number}: {calls[number].attributes}")
        assert got.dtype == wanted.dtype
