"""Measure the speed of the reference's resize compared with onnx's ReferenceEvaluator, on one thread.

The reference computes the value and its error bound, as the suite does. Ratios are medians of pairs that are measured
one after the other, so other load on the machine slows both.

    python benchmarks/resize_speed.py

`benchmarks/reference_speed.py` writes the section into docs/benchmarks.md.
"""

# ruff: noqa: E402  (threads are limited before NumPy starts them)
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
import tracemalloc
from collections.abc import Callable
from functools import lru_cache
from statistics import median

import numpy as np
import onnx
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
OLDER_EVALUATOR = (
    "onnx 1.21.0 computes each cell alone. Compared with it, for 1×1×28×28 and scale 2, the reference is 2,900 "
    "(nearest), 800",
    "(linear) and 375 (cubic) times as fast; one round on 2026-11-29. 1.22.0 changed the evaluator",
    "([onnx/onnx#7920](https://github.com/onnx/onnx/pull/7920)).",
)
"""A measurement with an earlier release, in which SHAPE takes minutes for each case."""
RIGHT = 1e-3
"""Largest difference of two results, so that both compute the same."""


def evaluator(x: np.ndarray, attributes: dict[str, object], scale: float) -> Callable[[], np.ndarray]:
    """Return a call of onnx's ReferenceEvaluator."""
    scales = numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32), "scales")
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    types = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)]
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


def fill(x: np.ndarray) -> np.ndarray:
    """Fill the five arrays of one result with a constant: value, high, low, magnitude and extra."""
    shape = (*x.shape[:2], *(SCALE * n for n in x.shape[2:]))
    value, *_ = [np.full(shape, 1, dtype) for dtype in (np.float32, *[np.float64] * 4)]
    return value


def multiply_by_weights(x: np.ndarray) -> np.ndarray:
    """Interpolate linearly with one matrix of float32 weights, without a bound."""
    n = x.shape[2]
    coordinates = np.clip((np.arange(SCALE * n) + 0.5) / SCALE - 0.5, 0, n - 1)
    weights = np.maximum(1 - np.abs(coordinates[:, None] - np.arange(n)), 0).astype(np.float32)
    product: np.ndarray = weights @ x @ weights.T
    return product


def double_by_neighbours(x: np.ndarray) -> np.ndarray:
    """Interpolate linearly with the weights 1/4 and 3/4 of scale 2, float32, without a bound."""
    for axis in (3, 2):
        x = np.moveaxis(x, axis, -1)
        doubled = np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        far, near = np.concatenate([x[..., :1], x, x[..., -1:]], -1) * np.float32(1 / 4), x * np.float32(3 / 4)
        np.add(far[..., :-2], near, out=doubled[..., 0::2])
        np.add(far[..., 2:], near, out=doubled[..., 1::2])
        x = np.moveaxis(doubled, -1, axis)
    return x


def add_last_terms(x: np.ndarray) -> np.ndarray:
    """Add the last term of each sum in float64, round the sums to float32, and add the last term of each bound.

    All other terms are computed before, and the bounds have float32 only. A sum and a bound have two terms or more, and
    sums of float32 are not exact, so that no method needs less.
    """
    sums, bounds = last_terms(x.shape)
    value = (sums[0] + sums[1]).astype(np.float32)
    bounds[0] + bounds[1]
    return value


@lru_cache(maxsize=1)
def last_terms(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return two pairs of arrays with the shape of a result, float64 and float32."""
    terms = np.random.default_rng(2).standard_normal((2, 2, *shape[:2], *(SCALE * n for n in shape[2:])))
    return terms[0], terms[1].astype(np.float32)


def ratio_to_linear(function: Callable[[np.ndarray], np.ndarray], rounds: int, *, is_value: bool = True) -> float:
    """Return how many times as fast as onnx's linear resize a function is."""
    x = np.random.default_rng(1).standard_normal(SHAPE, dtype=np.float32)
    theirs = evaluator(x, {"mode": "linear"}, SCALE)
    assert not is_value or np.abs(theirs() - function(x)).max() < RIGHT
    return median(seconds(theirs) / seconds(lambda: function(x)) for _ in range(rounds))


def lanczos_row(operator: str, rounds: int) -> tuple[str, ...]:
    """Return a row of the second table: milliseconds, the ratio to the mode cubic, and the peak memory."""
    rng, small, large = np.random.default_rng(1), (1, 1, 64, 64), (1, 1, 129, 129)
    x, grad = (rng.standard_normal(shape, dtype=np.float32) for shape in (small, large))
    arrays = (grad, x) if operator == "resize_grad" else (x,)

    def call(mode: str) -> np.ndarray:
        result = reference.OPERATORS[operator](*arrays, size=large[-1], mode=mode)
        result.bound()
        value: np.ndarray = result.value
        return value

    times = [(seconds(lambda: call("lanczos3")), seconds(lambda: call("cubic"))) for _ in range(rounds)]
    tracemalloc.start()
    call("lanczos3")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (
        operator,
        f"{1e3 * median(a for a, _ in times):.0f}",
        f"{median(a / b for a, b in times):.1f}",
        f"{peak / 2**20:.1f}",
    )


def section(rounds: int) -> list[str]:
    """Measure all cases; return Markdown lines."""
    rows = [row(parameters, attributes, rounds) for parameters, attributes in CASES]
    return [
        f"## Resize of {'×'.join(map(str, SHAPE))} compared with onnx's ReferenceEvaluator: value and bound, float32",
        "",
        "| case | onnx ms | reference ms | times faster |",
        "|---|--:|--:|--:|",
        *(f"| {' | '.join(one)} |" for one in rows),
        "",
        f"onnx {onnx.__version__} resizes one axis after the other with float32 or float64 arrays. The reference adds "
        "exact slices of the input, divides",
        "them by the denominators of the weights, and computes three more sums for the bound. Target: 20.",
        "",
        "Modes with weights do not reach the target. Parts of their work in NumPy are this many times as fast as onnx "
        "in the mode linear:",
        "",
        "- the float32 values without a bound, from a matrix of weights: "
        f"{ratio_to_linear(multiply_by_weights, rounds):.0f}",
        "- the float32 values without a bound, from the weights 1/4 and 3/4 of scale 2: "
        f"{ratio_to_linear(double_by_neighbours, rounds):.0f}",
        f"- filling the five arrays of a result with a constant: {ratio_to_linear(fill, rounds, is_value=False):.0f}",
        "- the last addition of each sum in float64, the rounding of the sums, and the last addition of each bound in "
        "float32: "
        f"{ratio_to_linear(add_last_terms, rounds, is_value=False):.0f}",
        "",
        "A sum and its bound each have two terms or more, and sums in float32 are not exact. Therefore the last line",
        "is an upper limit for every method that uses NumPy.",
        "",
        *OLDER_EVALUATOR,
        "",
        "The mode lanczos3 from 64×64 to 129×129, whose weights have denominators of hundreds of digits:",
        "",
        "| operator | reference ms | ratio to the mode cubic | peak MB |",
        "|---|--:|--:|--:|",
        *(f"| {' | '.join(lanczos_row(operator, rounds))} |" for operator in ("resize", "resize_grad")),
    ]


def main() -> None:
    """Measure, and print the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="number of rounds; each measures both once")
    print("\n".join(section(parser.parse_args().rounds)))


if __name__ == "__main__":
    main()
