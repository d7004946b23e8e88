"""Measure the speed of the reference's resize compared with onnx's ReferenceEvaluator, on one thread.

The reference computes the value and its error bound, as the suite does. Ratios are medians of pairs that are measured
one after the other, so other load on the machine slows both.

    python benchmarks/resize_speed.py --write docs/benchmarks.md
"""

# ruff: noqa: E402  (threads are limited before NumPy starts them)
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import onnx
import tables
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import reference

SHAPE, SCALE = (1, 4, 112, 112), 2
CASES = [
    ({"mode": "nearest"}, {"mode": "nearest"}),
    ({"mode": "linear"}, {"mode": "linear"}),
    ({"mode": "cubic"}, {"mode": "cubic"}),
    ({"mode": "linear", "scale": 0.5, "antialias": True}, {"mode": "linear", "antialias": 1}),
]
"""Parameters of the reference, and attributes of Resize."""
RIGHT = 1e-3
"""Largest difference of two results, so that both compute the same."""


def evaluator(x: np.ndarray, attributes: dict[str, object], scale: float) -> Callable[[], np.ndarray]:
    """Return a call of onnx's ReferenceEvaluator."""
    scales = numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32), "scales")
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    types = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (("x", x.shape),)]
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "one", types, [output], [scales])
    model = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]))
    return lambda: model.run(None, {"x": x})[0]


def exact(x: np.ndarray, parameters: dict[str, object]) -> np.ndarray:
    """Compute value and bound, and return the value."""
    result = reference.OPERATORS["resize"](x, **parameters)
    result.bound()
    return result.value


def seconds(function: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def row(parameters: dict[str, object], attributes: dict[str, object], rounds: int) -> tuple[str, ...]:
    """Return a row of the table: the case, milliseconds of both, and the ratio."""
    x = np.random.default_rng(1).standard_normal(SHAPE, dtype=np.float32)
    parameters = {"scale": SCALE, **parameters}
    theirs = evaluator(x, attributes, parameters["scale"])
    assert np.abs(theirs() - exact(x, parameters)).max() < RIGHT
    times = [(seconds(theirs), seconds(lambda: exact(x, parameters))) for _ in range(rounds)]
    words = ", ".join(f"{name} {value}" for name, value in parameters.items())
    milliseconds = (f"{1e3 * median(one):.1f}" for one in zip(*times, strict=True))
    return words, *milliseconds, f"{median(a / b for a, b in times):.1f}"


def main() -> None:
    """Measure, and print the table."""
    parser = tables.arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds; each measures both once")
    given = parser.parse_args()
    rows = [row(parameters, attributes, given.rounds) for parameters, attributes in CASES]
    size = "×".join(map(str, SHAPE))
    title = f"resize of {size} compared with onnx {onnx.__version__}: value and bound, {tables.environment()}"
    tables.write_table(title, ("case", "onnx ms", "reference ms", "times faster"), rows, given.write)


if __name__ == "__main__":
    main()
