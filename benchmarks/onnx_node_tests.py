"""Measure how fast the node tests of onnx for window operators run: with onnx's test runner, and with the suite.

Both test ONNX Runtime in a separate process. onnx's runner generates all of its tests, as it always does, and runs
those of these operators. The suite runs the same parameters, shapes and dtypes as cases, with a warm cache, and judges
them with its own error bounds. Inputs of more than 1,000 numbers are too long for a case file; the suite generates them
as full mantissas. Both times include the start of Python. Each round measures both, and the result is the median.

    python benchmarks/onnx_node_tests.py --python PATH/TO/python --write docs/run_speed.md

The interpreter needs onnxruntime and onnx.
"""

import pickle
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import tables
import yaml
from run_speed import seconds

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.execution.connection import ONE_THREAD_VARIABLES
from conformance.translation.layer import parse_layer

OPERATORS = (
    *("MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool"),
    *("MaxUnpool", "Pad", "Conv", "ConvTranspose"),
)
# Operator of onnx -> names of its inputs in the suite, in the order of onnx.
INPUTS = {
    **dict.fromkeys(("Conv", "ConvTranspose"), ("x", "kernel", "bias")),
    "MaxUnpool": ("x", "indices"),
}
MAX_WRITTEN_NUMBERS = 1000
"""Maximum number of numbers of an input that are written into a case file."""
# Writes [(name, operator, node as source text, inputs)]. The pads of a Pad become an attribute for all axes.
COLLECT = """\
import pickle, sys, warnings
from onnx import helper
warnings.simplefilter("ignore")
from onnx.backend.test.case.node import collect_testcases
found = []
for test in collect_testcases(None):
    nodes = test.model.graph.node
    if len(nodes) != 1 or nodes[0].op_type not in sys.argv[2].split():
        continue
    node, inputs = nodes[0], test.data_sets[0][0]
    said = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    said = {key: value.decode() if isinstance(value, bytes) else value for key, value in said.items()}
    if node.op_type == "Pad":
        rank = inputs[0].ndim
        axes = inputs[3].tolist() if len(inputs) > 3 else range(rank)
        pads, count = inputs[1].tolist(), len(axes)
        said["pads"] = [0] * 2 * rank
        for number, axis in enumerate(axes):
            said["pads"][axis % rank], said["pads"][rank + axis % rank] = pads[number], pads[count + number]
        if len(inputs) > 2:
            said["value"] = float(inputs[2])
        inputs = inputs[:1]
    words = "".join(f", {key}={value!r}" for key, value in said.items())
    names = list(node.input)[:1] if node.op_type == "Pad" else list(node.input)
    text = f"make_node({node.op_type!r}, {names}, {list(node.output)}{words})"
    found.append((test.name, node.op_type, text, inputs))
with open(sys.argv[1], "wb") as file:
    pickle.dump([(*one[:3], [(x.dtype.name, x.shape, x.tolist()) for x in one[3]]) for one in found], file)
"""
RUNNER = """\
import os, sys, unittest
import onnx.backend.test
import onnxruntime.backend
tests = onnx.backend.test.BackendTest(onnxruntime.backend, __name__)
for name in sys.argv[1:]:
    tests.include(f"^{name}_cpu$")
with open(os.devnull, "w") as away:
    done = unittest.TextTestRunner(stream=away).run(tests.test_suite)
ran = done.testsRun - len(done.skipped)
sys.exit(f"{ran} tests ran, {len(sys.argv) - 1} were asked for" if ran != len(sys.argv) - 1 else 0)
"""


def collect_tests(python: str, folder: Path) -> list[tuple[str, str, str, list[Any]]]:
    """Return the tests of onnx: name, operator, node as source text, inputs as (dtype, shape, numbers)."""
    path = folder / "tests.pickle"
    subprocess.run([python, "-c", COLLECT, str(path), " ".join(OPERATORS)], check=True)  # noqa: S603
    tests: list[tuple[str, str, str, list[Any]]] = pickle.loads(path.read_bytes())  # noqa: S301
    return tests


def raw_cases(operator: str, text: str, inputs: Sequence[Any]) -> tuple[str, list[dict[str, Any]]]:
    """Return the operator of the suite and one raw case per output. Raises ConformanceError if no case fits."""
    shapes = [tuple(shape) for _, shape, _ in inputs]
    weighted = operator in {"Conv", "ConvTranspose"}
    layer = parse_layer(text, registry.dialects()["onnxruntime"], shapes[0], shapes[1] if weighted else None)
    request = replace(
        layer.request, shape=shapes[0], dtype=inputs[0][0], kernel=shapes[1] if weighted else None, bias=len(inputs) > 2
    )
    case = request.case()
    given = {key: value for key, value in case.parameters.items() if value is not None}
    for name, (dtype, shape, numbers) in zip(INPUTS.get(operator, ("x",)), inputs, strict=False):
        flat = np.ravel(numbers).tolist()
        values = flat if len(flat) <= MAX_WRITTEN_NUMBERS else "mantissas"
        given[name] = {"dtype": dtype, "shape": list(shape), "values": values}
    outputs = ("values", "indices") if "output" in given else (None,)
    return case.operator, [given | ({"output": one} if one else {}) for one in outputs]


def write_cases(tests: Sequence[tuple[str, str, str, list[Any]]], folder: Path) -> dict[str, list[str]]:
    """Write the cases, one file per operator; return the case ids of each test that the suite can express."""
    files: dict[str, list[Any]] = defaultdict(list)
    ids: dict[str, list[str]] = {}
    for name, operator, text, inputs in tests:
        try:
            suite_operator, cases = raw_cases(operator, text, inputs)
        except ConformanceError as error:
            print(f"left out of both measurements: {name}: {error}", file=sys.stderr)
            continue
        ids[name] = []
        for number, case in enumerate(cases):
            short = f"{name.removeprefix('test_').replace('_', '-').lower()}{f'-{number}' if number else ''}"
            files[suite_operator].append({"id": short, "about": f"{name} of onnx.", **case})
            ids[name].append(f"{suite_operator}/{short}")
    (folder / "onnx").mkdir(parents=True)
    for suite_operator, cases in files.items():
        document = {"operator": suite_operator, "source": "onnx, backend/test/case/node", "cases": cases}
        content = yaml.safe_dump(_as_lists(document), sort_keys=False)
        (folder / "onnx" / f"{suite_operator}.yaml").write_text(content, "utf-8")
    return ids


def _as_lists(value: Any) -> Any:
    """Replace tuples by lists, because YAML has no tuples."""
    if isinstance(value, dict):
        return {key: _as_lists(one) for key, one in value.items()}
    return [_as_lists(one) for one in value] if isinstance(value, (list, tuple)) else value


def main() -> None:
    """Measure, and print the table."""
    parser = tables.arguments(__doc__)
    parser.add_argument("--python", required=True, help="an interpreter with onnxruntime and onnx")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids = write_cases(collect_tests(arguments.python, folder), folder / "cases")
        run = [
            sys.executable,
            "-m",
            "conformance.cli",
            "run",
            "--backend",
            f"onnxruntime={arguments.python}",
            "--quiet",
        ]
        run += ["--jobs", "1", "--cases", str(folder / "cases"), "--out", str(folder)]
        commands = {"onnx's runner": [arguments.python, "-c", RUNNER, *ids], "`conformance run`": run}
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(arguments.rounds + 1):
            for runner, command in commands.items():
                duration = seconds(command, may_fail=True, variables=ONE_THREAD_VARIABLES)
                if number:  # the first round fills the caches
                    taken[runner].append(duration)
    rows = [(runner, f"{median(times):.2f}", f"{len(ids) / median(times):.0f}") for runner, times in taken.items()]
    title = f"{len(ids)} node tests of onnx on ONNX Runtime, {arguments.rounds} rounds, {tables.environment()}"
    tables.write_table(title, ("", "seconds", "tests per second"), rows, arguments.write)


if __name__ == "__main__":
    main()
