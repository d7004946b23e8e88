"""Measure the time of the reference over four decades of size, to show that it is linear in the number of elements.

python benchmarks/linear.py --write docs/reference_linear.svg

Operators that would take too long are left out: softmax_pool, and lp_pool with a large or fractional p. They compute
each window in decimal arithmetic.
"""

# ruff: noqa: E402  (threads are limited before NumPy starts them)
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot

import reference

SIDE = 64
SIZES = [round(10 ** (4 + step / 2)) // SIDE**2 + 1 for step in range(9)]
KERNEL = np.random.default_rng(2).standard_normal((4, 4, 3, 3), dtype=np.float32)
OPERATORS: dict[str, Callable[[np.ndarray], object]] = {
    "max_pool": lambda x: reference.max_pool(x, 3, stride=2, padding=1),
    "avg_pool": lambda x: reference.avg_pool(x, 3, stride=2, padding=1),
    "conv, 4 channels": lambda x: reference.conv(x.reshape(-1, 4, SIDE, SIDE), KERNEL, padding=1),
    "pad": lambda x: reference.pad(x, 1),
    "lp_pool, p = 2": lambda x: reference.lp_pool(x, 3, stride=2, padding=1),
    "max_pool_with_indices": lambda x: reference.max_pool_with_indices(x, 3, stride=2, padding=1),
    "adaptive_avg_pool": lambda x: reference.adaptive_avg_pool(x, 20),
}


def seconds(operator: Callable[[np.ndarray], object], x: np.ndarray) -> float:
    """Return the median processor time of 3 to 50 calls; fewer if they are long."""
    times = []
    while len(times) < 3 or (sum(times) < 0.2 and len(times) < 50):
        start = time.process_time()
        operator(x)
        times.append(time.process_time() - start)
    return median(times)


def measure() -> dict[str, list[tuple[int, float]]]:
    """Return (elements, seconds) for each operator and size."""
    planes = [4 * math.ceil(size / 4) for size in SIZES]
    x = np.random.default_rng(1).standard_normal((planes[-1], 1, SIDE, SIDE), dtype=np.float32)
    return {
        name: [(count * SIDE**2, seconds(operator, x[:count])) for count in planes]
        for name, operator in OPERATORS.items()
    }


def slope(points: list[tuple[int, float]]) -> float:
    """Return the exponent e of time ~ elements**e, fitted to the sizes for which the fixed cost of a call is small."""
    sizes, times = np.log10(np.array(points[2:])).T
    return float(np.polyfit(sizes, times, 1)[0])


def draw(measured: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Write the plot."""
    mpl.use("Agg")
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "reference"
    figure, axes = pyplot.subplots(figsize=(6.4, 4))
    for name, points in measured.items():
        axes.loglog(
            *zip(*points, strict=True), marker="o", markersize=3, label=f"{name} (exponent {slope(points):.2f})"
        )
    smallest, largest = measured["max_pool"][0][0], measured["max_pool"][-1][0]
    axes.loglog(
        [smallest, largest], [smallest * 1e-9, largest * 1e-9], color="gray", linestyle=":", label="1 ns per element"
    )
    axes.set(xlabel="elements of the input, float32", ylabel="processor seconds")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Parse the command line, measure, print, and draw the plot if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the plot to this file (.svg or .png)")
    arguments = parser.parse_args()
    measured = measure()
    for name, points in measured.items():
        print(f"{name}: time ~ elements**{slope(points):.2f}")
        for elements, time_taken in points:
            print(f"  {elements:>10} {1e3 * time_taken:10.3f} ms {1e9 * time_taken / elements:8.2f} ns per element")
    if arguments.write:
        draw(measured, arguments.write)


if __name__ == "__main__":
    main()
