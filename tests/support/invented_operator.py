"""An operator that the suite does not have: the sum of each window.

Importing this module adds it in the places that CONTRIBUTING.md names: reference, table and adapter. Import it before
any module that reads the table. The surface `numpy.maximum` returns the maximum instead of the sum.

As a script, it writes a catalogue with the case files of the operator into a folder (first argument), runs a JSON list
of commands (second argument), and prints the exit status and the output of each as JSON.
"""

import contextlib
import io
import json
import math
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from conformance.cases import operators, schema
from conformance.system import cache
from reference import Windows
from reference.operators.pooling import average_windows
from reference.operators.pooling_grad import average_grad
from reference.registry import operator

NAME = "window_sum"
CASES = """\
operator: window_sum
source: a test

cases:
  - id: 1d-padding
    x: {values: [[[1, 2, 4]]]}
    window: [2]
    stride: [1]
    padding: [[1, 1]]
    expect: [[[1, 3, 6, 4]]]

sweeps:
  - id: sides
    level: smoke
    cover: pairs
    factors: {rank: [1, 2], extent: [[5, 4]], window: [2, 3], stride: [1, 2], padding: [0, 1]}
    x: {values: integers}
"""
GRADIENT_CASES = """\
operator: window_sum_grad
source: a test

cases:
  - id: 1d-stride
    x: {values: [[[0, 0, 0]]]}
    grad: {values: [[[1, 2]]]}
    window: [2]
    stride: [1]
    expect: [[[1, 3, 2]]]
"""


@operator
def window_sum(x, window, *, stride=None, padding=0, dilation=1, rounding="floor"):
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return average_windows(x, windows, np.ones(windows.output, np.int64))


@operator
def window_sum_grad(grad, x, window, *, stride=None, padding=0, dilation=1, rounding="floor"):
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return average_grad(grad, x, windows, np.ones(windows.output, np.int64))


INVENTED = operators.Operator(
    NAME,
    "The sum of each window.",
    operators.Geometry.WINDOWS,
    operators.Arithmetic.SUM,
    operators.OPERATORS["max_pool"].parameters,
    operations=lambda terms: {"additions": terms - 1},
)
OWN = {one.name: one for one in (INVENTED, operators.gradient_operator(INVENTED))}
operators.OPERATORS = {**operators.OPERATORS, **OWN}
operators.FORWARD_OPERATORS += (NAME,)

# Imported after the table is complete.
from conformance.adapters import numpy as adapter  # noqa: E402
from conformance.adapters.api import ArrayOperations, PoolingCompositions, StackedCells  # noqa: E402
from conformance.adapters.numpy.padding_convolution import pad  # noqa: E402
from conformance.adapters.numpy.pooling import window_pool_gradient  # noqa: E402
from conformance.cli import main  # noqa: E402
from docs.generate.schema import schema_text  # noqa: E402

OPERATIONS = ArrayOperations(stack="np.stack({list}{axis})")
STACKED = PoolingCompositions(OPERATIONS, StackedCells(OPERATIONS.stack), pad)


def gradient_of_sum(step):
    """Return the gradient of an average that is divided by 1."""
    parameters = {**step.parameters, "divisor": 1, "count_include_pad": False}
    return window_pool_gradient(replace(step, operator="avg_pool", parameters=parameters))


(LOOPS,) = adapter.SURFACES
OWN_LOWERINGS = {NAME: STACKED.window_sum, f"{NAME}_grad": gradient_of_sum}
adapter.SURFACES = (
    replace(LOOPS, lowerings={**LOOPS.lowerings, **OWN_LOWERINGS}),
    # Without the gradient: its loops take too long for large cases.
    replace(LOOPS, name="numpy.sum", lowerings={NAME: STACKED.window_sum}),
    replace(LOOPS, name="numpy.maximum", lowerings={NAME: partial(STACKED.extreme_pool, "max", -math.inf)}),
)


def make_catalogue(folder):
    """Write a catalogue with the cases of the operator, and use it instead of the built-in one."""
    for case_file, text in ((f"pooling/{NAME}.yaml", CASES), (f"gradients/{NAME}_grad.yaml", GRADIENT_CASES)):
        (folder / case_file).parent.mkdir()
        (folder / case_file).write_text(text, "utf-8")
    (folder / "schema.json").write_text(schema_text(), "utf-8")
    (folder / "ledger.yaml").write_text("entries: []\n", "utf-8")
    ledger_schema = schema.catalogue_folder() / "ledger.schema.json"
    (folder / ledger_schema.name).write_bytes(ledger_schema.read_bytes())
    schema.catalogue_folder = lambda: folder
    # The digest in the name of a cache file does not cover this module.
    cache.cache_folder = lambda name: folder / "build" / name


def run_command(arguments):
    """Return the exit status and the output of a command."""
    output, status = io.StringIO(), None
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(arguments)
        except SystemExit as end:
            status = end.code or 0
    return status, output.getvalue()


if __name__ == "__main__":
    make_catalogue(Path(sys.argv[1]))
    print(json.dumps([run_command(arguments) for arguments in json.loads(sys.argv[2])]))
