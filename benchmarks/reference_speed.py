"""Measure the speed of the reference compared with onnx's ReferenceEvaluator, and with torch on one thread.

Ratios are medians of pairs that are measured one after the other, so other load on the machine slows both.

    python benchmarks/reference_speed.py --write docs/benchmarks.md
"""

# ruff: noqa: E402  (threads are limited before NumPy starts them)
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import math
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
import onnx
import resize_speed
import torch
from onnx import helper
from onnx.reference import ReferenceEvaluator

import reference
from reference.arithmetic.certainty import without_certainty_check

POOLS = {"max_pool": "MaxPool", "avg_pool": "AveragePool", "lp_pool": "LpPool"}


@dataclass(frozen=True)
class Shape:
    """One operator on one input; out: number of kernels of a convolution, 0 for pooling."""

    operator: str
    shape: tuple[int, ...]
    window: int
    stride: int = 1
    padding: int = 0
    out: int = 0
    groups: int = 1

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.shape) - 2

    @property
    def megabytes(self) -> float:
        """Size of the input in megabytes."""
        return math.prod(self.shape) * 4 / 1e6

    @property
    def description(self) -> str:
        """The case as shown in the table."""
        size = "×".join(map(str, self.shape))
        kernels = f" → {self.out}" + (f", {self.groups} groups" if self.groups > 1 else "") if self.out else ""
        return f"{self.operator} {size}{kernels}, window {self.window}, stride {self.stride}, padding {self.padding}"

    def arrays(self) -> list[np.ndarray]:
        """Return random inputs with full mantissas: x, and the kernel of a convolution."""
        rng = np.random.default_rng(1)
        x = rng.standard_normal(self.shape, dtype=np.float32)
        if not self.out:
            return [x]
        kernel = (self.out, self.shape[1] // self.groups, *(self.window,) * self.rank)
        return [x, rng.standard_normal(kernel, dtype=np.float32)]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the reference's function."""
        common = {"stride": self.stride, "padding": self.padding}
        return {**common, "groups": self.groups} if self.out else {**common, "window": self.window}


IMAGES = [
    Shape(operator, shape, window, stride, padding)
    for operator in POOLS
    for shape in ((1, 4, 56, 56), (1, 64, 56, 56), (1, 16, 112, 112))
    for window, stride, padding in ((2, 2, 0), (3, 2, 1))
] + [
    *(Shape(operator, (1, 16, 56, 56), 3, 1, 1) for operator in POOLS),
    Shape("conv", (1, 4, 112, 112), 3, 1, 1, out=8),
    Shape("conv", (1, 16, 112, 112), 3, 2, 1, out=16),
    Shape("conv", (1, 32, 56, 56), 3, 1, 1, out=32, groups=32),
    Shape("conv", (1, 64, 56, 56), 3, 1, 1, out=64),
    Shape("conv", (1, 64, 56, 56), 1, out=64),
]

PLANES = [
    ((8, 64, 112, 112), 3, 2, 1),
    ((8, 64, 112, 112), 2, 2, 0),
    ((8, 64, 56, 56), 3, 1, 1),
    ((8, 64, 56, 56), 5, 1, 2),
    ((32, 64, 14, 14), 3, 2, 1),
    ((8, 192, 28, 28), 3, 1, 1),
    ((8, 3, 1024, 1024), 3, 2, 1),
    ((4, 256, 14, 14), 2, 2, 0),
]
VOLUMES = [
    ((2, 16, 32, 56, 56), 3, 2, 1),
    ((2, 16, 32, 56, 56), 2, 2, 0),
    ((2, 16, 16, 56, 56), 3, 1, 1),
]
LINES = [
    ((16, 64, 4096), 3, 2, 1),
    ((16, 64, 4096), 2, 2, 0),
    ((16, 64, 4096), 5, 1, 2),
    ((64, 64, 4096), 2, 2, 0),
    ((16, 16, 65536), 3, 1, 1),
]
POOLINGS = [
    Shape(operator, *shape)
    for operator in ("max_pool", "avg_pool")
    for shapes in (PLANES, VOLUMES, LINES)
    for shape in shapes
]
CONVOLUTIONS = {
    "dense, 64 or more channels": [
        Shape("conv", (4, 64, 56, 56), 3, 1, 1, out=64),
        Shape("conv", (2, 64, 112, 112), 3, 1, 1, out=64),
        Shape("conv", (4, 128, 28, 28), 3, 1, 1, out=128),
        Shape("conv", (4, 64, 56, 56), 3, 2, 1, out=128),
        Shape("conv", (2, 256, 28, 28), 1, out=256),
        Shape("conv", (1, 64, 16, 28, 28), 3, 1, 1, out=64),
    ],
    "depthwise and narrow": [
        Shape("conv", (4, 64, 56, 56), 3, 1, 1, out=64, groups=64),
        Shape("conv", (2, 32, 112, 112), 3, 2, 1, out=32, groups=32),
        Shape("conv", (4, 4, 112, 112), 3, 1, 1, out=8),
        Shape("conv", (4, 3, 224, 224), 3, 2, 1, out=16),
        Shape("conv", (4, 16, 56, 56), 3, 1, 1, out=16),
    ],
}


def seconds(function: Callable[[], object]) -> float:
    """Return the processor time of one call in seconds; unlike wall time it excludes other programs."""
    start = time.process_time()
    function()
    return time.process_time() - start


def in_turn(functions: Iterable[Callable[[], object]], rounds: int) -> list[list[float]]:
    """Return the seconds of each function in every round. A first round, which only warms up, is not included."""
    functions = list(functions)
    measured = [[seconds(function) for function in functions] for _ in range(rounds + 1)][1:]
    return [list(column) for column in zip(*measured, strict=True)]


def ratio(above: list[float], below: list[float]) -> float:
    """Return the median of the ratios of all rounds."""
    return median(a / b for a, b in zip(above, below, strict=True))


def evaluator(case: Shape) -> Callable[[], object]:
    """Return a call of onnx's ReferenceEvaluator on the inputs of the case."""
    window, pads = [case.window] * case.rank, [case.padding] * 2 * case.rank
    attributes = {"kernel_shape": window, "strides": [case.stride] * case.rank, "pads": pads}
    attributes |= {"group": case.groups} if case.out else {}
    arrays = dict(zip(("x", "kernel"), case.arrays(), strict=False))
    node = helper.make_node(POOLS.get(case.operator, "Conv"), list(arrays), ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape) for name, array in arrays.items()
    ]
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "one", inputs, [output])
    model = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]))
    return lambda: model.run(None, arrays)


def reference_call(case: Shape) -> Callable[[], object]:
    """Return a call of the reference that computes the value and its error bound, as the suite does."""
    operator, arrays, parameters = reference.OPERATORS[case.operator], case.arrays(), case.parameters()
    return lambda: (exact := operator(*arrays, **parameters)).value is not exact.bound()


def against_onnx(rounds: int) -> list[str]:
    """Measure all image cases; return Markdown lines."""
    lines = ["| case | onnx ms | reference ms | times faster |", "|---|--:|--:|--:|"]
    ratios: dict[str, list[float]] = {}
    for case in IMAGES:
        theirs, ours = in_turn([evaluator(case), reference_call(case)], rounds)
        ratios.setdefault(case.operator, []).append(ratio(theirs, ours))
        lines.append(f"| {case.description} | {milli(theirs)} | {milli(ours)} | {ratios[case.operator][-1]:.1f} |")
    means = {operator: geometric_mean(values) for operator, values in ratios.items()}
    listed = ", ".join(f"{operator} {mean:.1f}" for operator, mean in means.items())
    over_cases = geometric_mean(value for values in ratios.values() for value in values)
    over_operators = geometric_mean(means.values())
    return [
        *lines,
        "",
        f"Geometric mean over the cases: **{over_cases:.0f}**; over the operators: **{over_operators:.0f}**",
        f"({listed}). Target: 30.",
        "onnx computes a convolution as one matrix product in float32. The reference computes two in float64: one for "
        "the sums, and",
        "one for the sums of absolute values in the bound.",
    ]


def milli(times: list[float]) -> str:
    """Return the median in milliseconds."""
    return f"{1e3 * median(times):.2f}"


def torch_calls(case: Shape) -> tuple[Callable[[], object], Callable[[], object] | None]:
    """Return calls of torch on contiguous inputs and on channels_last inputs; None if the rank has no such layout."""
    functions = torch.nn.functional
    function = getattr(functions, f"{case.operator}{case.rank}d")
    x, *kernel = map(torch.from_numpy, case.arrays())
    parameters = {"stride": case.stride, "padding": case.padding}
    parameters |= {"groups": case.groups} if case.out else {"kernel_size": case.window}
    layouts = {2: torch.channels_last, 3: torch.channels_last_3d}
    if case.rank not in layouts:
        return lambda: function(x, *kernel, **parameters), None
    channels_last = [tensor.contiguous(memory_format=layouts[case.rank]) for tensor in (x, *kernel)]
    return lambda: function(x, *kernel, **parameters), lambda: function(*channels_last, **parameters)


def measure(case: Shape, rounds: int) -> tuple[str, float, float | None]:
    """Return a table row and the speed of the reference relative to torch: contiguous, and channels_last."""
    operator, arrays, parameters = getattr(reference, case.operator), case.arrays(), case.parameters()
    parameters |= {"count_include_pad": True} if case.operator == "avg_pool" else {}

    def unchecked() -> None:
        with without_certainty_check():
            operator(*arrays, **parameters)

    contiguous, channels_last = torch_calls(case)
    ours, checked, theirs, *more = in_turn(
        [unchecked, lambda: operator(*arrays, **parameters), contiguous, *([channels_last] if channels_last else [])],
        rounds,
    )
    speed, speed_last = ratio(theirs, ours), ratio(more[0], ours) if more else None
    size = f"{case.megabytes:.0f}" if case.megabytes >= 10 else f"{case.megabytes:.1f}"
    speed_last_text = "–" if speed_last is None else f"{speed_last:.2f}"
    times = [milli(theirs), milli(ours), f"{speed:.2f}", speed_last_text, f"{ratio(checked, ours):.1f}"]
    return f"| {' | '.join([case.description, size, *times])} |", speed, speed_last


HEADER = [
    "| case | input MB | torch ms | reference ms | times as fast | as torch channels_last |"
    " time with the check, times |",
    "|---|--:|--:|--:|--:|--:|--:|",
]


def against_torch(cases: list[Shape], rounds: int, groups: dict[str, Callable[[Shape], bool]]) -> list[str]:
    """Measure the cases; return Markdown lines with a row per case and the geometric mean of each group."""
    measured = [(case, *measure(case, rounds)) for case in cases]
    lines = [*HEADER, *(row for _, row, _, _ in measured), ""]
    for name, contains in groups.items():
        mean = geometric_mean(speed for case, _, speed, _ in measured if contains(case))
        speeds_last = [speed for case, _, _, speed in measured if contains(case) and speed is not None]
        compared = f"; compared with channels_last {geometric_mean(speeds_last):.2f}" if speeds_last else ""
        lines.append(f"- {name}: geometric mean **{mean:.2f}** times as fast as torch{compared}")
    return lines


def pooling_groups() -> dict[str, Callable[[Shape], bool]]:
    """Return the groups of pooling cases that have a target, by title."""
    return {
        f"{operator}, {words} (target {aim})": lambda case, operator=operator, ranks=ranks: (
            case.operator == operator and case.rank in ranks
        )
        for operator, aim_of in (("max_pool", "2"), ("avg_pool", "1"))
        for words, ranks, aim in (("2-D and 3-D", (2, 3), aim_of), ("1-D", (1,), "0.8"))
    }


def report(rounds: int) -> str:
    """Return the documentation page in Markdown."""
    torch.set_num_threads(1)
    today = datetime.now(timezone.utc).date().isoformat()
    modules = ", ".join(f"{module.__name__} {module.__version__}" for module in (np, onnx, torch))
    versions = f"Python {platform.python_version()}, {modules}"
    lines = [
        "# Speed of the reference",
        "",
        "For the speed of a run see [run_speed.md](run_speed.md), for its memory see [run_memory.md](run_memory.md).",
        "",
        f"Measured on {today} by `benchmarks/reference_speed.py`, on one thread of {machine()}; {versions}.",
        f"All times are processor time, and medians of {rounds} rounds. Each round measures every implementation once. "
        "Compare ratios rather",
        "than times, because other programs ran on the same machine. [reference_linear.svg](reference_linear.svg), "
        "drawn by",
        "`benchmarks/linear.py`, shows that the time grows linearly with the size of the input.",
        "",
        "## Compared with onnx's ReferenceEvaluator: value and bound, as the suite uses the reference, float32",
        "",
        *against_onnx(max(rounds // 3, 1)),
        "",
        *resize_speed.section(rounds),
        "",
        "## Pooling compared with torch: float32, contiguous, channels first, certainty check off",
        "",
        "The certainty check makes sure that every result is rounded correctly. Operators that select a value, such as "
        "max_pool, do",
        "not round and have no certainty check.",
        "",
        *against_torch(POOLINGS, rounds, pooling_groups()),
    ]
    for words, cases in CONVOLUTIONS.items():
        aim = "0.25" if words.startswith("dense") else "0.05"
        title = f"## Convolution compared with torch: {words}; accumulated in float64, certainty check off"
        lines += ["", title, "", *against_torch(cases, rounds, {f"{words} (target {aim} each)": lambda _: True})]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """Return the name of the processor."""
    path = Path("/proc/cpuinfo")
    named = [line.split(":", 1)[1].strip() for line in path.read_text().splitlines() if line.startswith("model name")]
    return named[0] if named else platform.machine()


def main() -> None:
    """Parse the command line, measure, print, and write the page if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rounds", type=int, default=9, help="number of rounds; each measures every implementation once"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the Markdown to this file")
    arguments = parser.parse_args()
    text = report(arguments.rounds)
    print(text)
    if arguments.write:
        arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
